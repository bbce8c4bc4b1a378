"""Whoever approved a call learns what became of it: it is done, it failed, or nobody has gone on with it."""

import asyncio

import pytest

from agent_adapter import Outcome
from agent_adapter.integrations import functions
from agent_adapter.redis import reports
from tests.support.builders import an_action, review
from tests.support.people import Someone, words


@pytest.fixture
def dana(slack):
    return Someone(slack, "U0DANA")


async def pay(amount: int) -> str:
    """Pay."""
    if amount > 1_000:
        raise ValueError("the bank said: insufficient funds for *EUR*")
    return f"paid {amount} as tr_1"


async def asked(client, amount):
    return asyncio.create_task(functions.run(pay, {"amount": amount}, approvals=client))


def title_of(card):
    return card["blocks"][0]["text"]["text"]


async def replies(dana, card):
    """Give the bot's messages in the thread of a card."""
    found = await dana.slack.messages(card["channel"], as_user=dana.user)
    return [m for m in found if m.get("thread_ts") == card["ts"] != m["ts"]]


async def reply(dana, saying):
    """Wait for what the bot says in the thread of the only card, and give it with the card as it is then."""
    said = await dana.slack.wait_for_message(
        lambda m: m.get("thread_ts") not in {None, m["ts"]} and saying in m["text"]
    )
    (card,) = [m for m in await dana.slack.messages("C0APPROVALS") if m["ts"] == said["thread_ts"]]
    assert [m["ts"] for m in await replies(dana, card)] == [said["ts"]]
    return said, card


async def test_who_approved_a_call_that_failed_is_called_and_reads_why(start_bot, dana, client):
    """On the card and in one reply, which a second bot does not repeat, the error stands in a block of its own, word by word."""
    await start_bot()
    calling = await asked(client, 5_000)
    await dana.press(await dana.card("amount"), "approve:0")
    with pytest.raises(ValueError, match="insufficient funds"):
        await calling

    said, card = await reply(dana, "Failed: pay 5000")

    assert title_of(card).startswith("❌ Failed: pay 5000 (approved by ")
    for message, name in ((card, "ran:0:text"), (said, "ran:error")):
        error = next(block for block in message["blocks"] if block["block_id"] == name)
        assert words([error]) == "ValueError: the bank said: insufficient funds for *EUR*"
    assert words(said["blocks"]).startswith("<@U0DANA>, what you approved *failed*.\npay 5000")
    await start_bot()
    await client.report(card["metadata"]["event_payload"]["id"], 0, Outcome.done("late"))
    assert (await reply(dana, "Failed: pay 5000"))[0]["ts"] == said["ts"]


async def test_a_run_does_not_wait_for_its_report(start_bot, dana, client, monkeypatch, caplog):
    """Given a report that Redis does not take, then the function's result is returned all the same."""
    await start_bot()
    monkeypatch.setattr(reports, "WITHIN", 0.1)

    async def never(*_args, **_more):
        await asyncio.sleep(60)

    monkeypatch.setattr(client._reports, "_report", never)
    calling = await asked(client, 5)
    await dana.press(await dana.card("amount"), "approve:0")

    assert await asyncio.wait_for(calling, 60) == "paid 5 as tr_1"
    card = await dana.card("the agent has resumed")
    assert not title_of(card).endswith("done")


async def test_two_bots_and_many_reports_at_once_make_one_message(start_bot, dana, client):
    """Given two bots and five calls that end in the same moment, then one message in the thread names all of them."""
    for _ in range(2):
        await start_bot()
    asking = review(client, *(an_action(f"tool_{number}", {"n": number}) for number in range(5)))
    card = await dana.card("tool_4 n 4")
    await dana.press(card, "approve_all:0")
    resume = await asking
    reports = [
        client.report(resume.interrupt_id, index, Outcome.done(f"result {index}")) for index in range(5)
    ]
    await asyncio.gather(*reports)

    said = await dana.card("result 4")
    while not all(f"result {index}" in words(said["blocks"]) for index in range(5)):
        await asyncio.sleep(0.1)
        said = await dana.card("result 4")

    (thread,) = await replies(dana, card)
    assert thread["ts"] == said["ts"]


async def test_what_a_tool_answers_shows_no_masked_value_of_another_call(start_bot, dana, client, tmp_path):
    """Given a rule that masks, then neither card nor thread nor notification has the value, however it is spelled."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], mask: [token]}\n", encoding="utf-8"
    )
    await start_bot(policy=str(policy), approvers="", channel=None)
    asking = review(client, an_action("login", {"token": "sk-Ab12/34=x"}), an_action("pay", {"amount": 5}))
    card = await dana.card("login")
    await dana.press(card, "approve_all:0")
    resume = await asking
    await client.report(resume.interrupt_id, 0, Outcome.failed("no access with sk-Ab12/34=x"))
    await client.report(resume.interrupt_id, 1, Outcome.done("https://bank.example/?t=sk-Ab12%2F34%3Dx"))

    await reply(dana, "1 of 2 failed")

    for message in await dana.slack.messages("C0APPROVALS"):
        assert "Ab12" not in str(message)
