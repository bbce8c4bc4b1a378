"""Whoever approved a call learns what became of it: it is done, it failed, or nobody has gone on with it."""

import asyncio
from datetime import timedelta

import pytest

from agent_adapter import Context, Outcome
from agent_adapter.integrations import functions
from agent_adapter.redis import claims
from bot.jobs import deadlines
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt, review
from tests.support.faults import eventually
from tests.support.http_api import a_key, speaking
from tests.support.people import words

RULES = "default: {channel: C0APPROVALS, approvers: [U0DANA], mask: [token]}"


async def pay(amount: int) -> str:
    """Pay."""
    if amount > 1_000:
        raise ValueError("the bank said: insufficient funds for *EUR*")
    return f"paid {amount} as tr_1"


def title_of(card):
    return card["blocks"][0]["text"]["text"]


async def in_thread(dana, saying):
    """Wait for what the bot says in the thread of a card, and give it with the card as it is then."""
    said = await dana.slack.wait_for_message(
        lambda m: m.get("thread_ts") not in {None, m["ts"]} and saying in m["text"]
    )
    messages = await dana.slack.messages("C0APPROVALS")
    assert len([m for m in messages if m.get("thread_ts") == said["thread_ts"] != m["ts"]]) == 1
    return said, next(m for m in messages if m["ts"] == said["thread_ts"])


async def test_who_approved_a_call_that_failed_is_called_and_reads_why(bot, start_bot, dana, client):
    """On the card and in one reply, which a second bot does not repeat, the error stands in a block of its own, word by word."""
    calling = asyncio.create_task(functions.run(pay, {"amount": 5_000}, approvals=client))
    await dana.press(await dana.card("amount"), "approve:0")
    with pytest.raises(ValueError, match="insufficient funds"):
        await calling

    said, card = await in_thread(dana, "Failed: pay 5000")

    assert title_of(card).startswith("❌ Failed: pay 5000 (approved by ")
    for message, name in ((card, "ran:0:text"), (said, "ran:error")):
        error = next(block for block in message["blocks"] if block["block_id"] == name)
        assert words([error]) == "ValueError: the bank said: insufficient funds for *EUR*"
    assert words(said["blocks"]).startswith("<@U0DANA>, what you approved *failed*.\npay 5000")
    await start_bot()
    await client.report(card["metadata"]["event_payload"]["id"], 0, Outcome.done("late"))
    assert (await in_thread(dana, "Failed: pay 5000"))[0]["ts"] == said["ts"]


@pytest.mark.usefixtures("bot")
async def test_a_run_does_not_wait_for_its_report(dana, client, monkeypatch):
    """Redis does not take it, and the function's result is returned all the same."""
    monkeypatch.setattr(claims, "REPORT_WITHIN", 0.1)
    monkeypatch.setattr(client._reports, "_report", lambda *_, **__: asyncio.sleep(60))
    calling = asyncio.create_task(functions.run(pay, {"amount": 5}, approvals=client))
    await dana.press(await dana.card("amount"), "approve:0")

    assert await asyncio.wait_for(calling, 60) == "paid 5 as tr_1"
    assert not title_of(await dana.card("the agent has resumed")).endswith("done")


@pytest.mark.usefixtures("bot")
async def test_many_reports_at_once_make_one_message_without_a_masked_value_of_any_call(dana, client):
    """Neither card nor thread nor notification has it, however it is spelled."""
    login = an_action("login", {"token": "sk-Ab12/34=x"})
    asking = review(client, login, *(an_action("pay", {"amount": n}) for n in range(3)))
    await dana.press(await dana.card("login"), "approve_all:0")
    resume = await asking
    results = [
        "https://bank.example/?t=sk-Ab12%2F34%3Dx",
        *(f"result {n} for sk-Ab12/34=x" for n in range(3)),
    ]
    await asyncio.gather(
        *(client.report(resume.interrupt_id, index, Outcome.done(said)) for index, said in enumerate(results))
    )

    async def all_are_told():
        said, _ = await in_thread(dana, ", done")
        return all(f"result {n} for ••••" in words(said["blocks"]) for n in range(3))

    await eventually(all_are_told)
    assert "Ab12" not in str(await dana.slack.messages("C0APPROVALS"))


# --- Runs that do not go on -------------------------------------------------------------------------------------------

ASKED = an_interrupt(context=Context())


async def approved(client, dana):
    """Ask about one action, which is approved."""
    interrupt_id = await client.publish(ASKED)
    await dana.press(await dana.card("billing: send_email"), "approve:0")
    await client.wait(interrupt_id)
    return interrupt_id


@pytest.mark.usefixtures("known_agent")
async def test_card_and_api_say_that_an_agent_took_the_answer_and_died(bot, dana, client, redis_url):
    """Who approved is called; when another process goes on, the card says that, and the call is edited, not repeated."""
    interrupt_id = await approved(client, dana)
    await dana.card("waiting for the agent")
    # A process that is killed right after it has taken the answer.
    await client._records.take(interrupt_id, client._records.new_owner(), 1_000)

    card = await dana.card("the agent did not finish")

    assert "The call may have run" in words(card["blocks"])
    called, _ = await in_thread(dana, "<@U0DANA> ⚠️ Outcome unknown: send_email")
    async with speaking(bot.http.port, await a_key(redis_url)) as caller, an_agent(redis_url) as other:
        state = await caller.read(interrupt_id)
        assert (state["status"], state["resumed_at"]) == ("decided", None)
        assert state["claim_lapsed_at"] is not None
        async with other.resuming(interrupt_id, interrupt=ASKED):
            await dana.card("waiting for the agent")
            assert (await caller.read(interrupt_id))["claim_lapsed_at"] is None
        await dana.card("the agent has resumed")
        await other.report(interrupt_id, 0, Outcome.done("sent"))
        assert (await in_thread(dana, ", done"))[0]["ts"] == called["ts"]


async def test_a_card_says_that_nobody_has_taken_the_answer(start_bot, dana, client, monkeypatch):
    """The process that asked is gone."""
    monkeypatch.setattr(deadlines, "STALLED_AFTER", timedelta(seconds=1))
    await start_bot(sweep_seconds=0.2)
    await approved(client, dana)

    assert title_of(await dana.card("Not started")).startswith("⚠️")
