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


async def test_the_card_says_that_a_call_failed_and_why(start_bot, dana, client):
    """Given an approved call that failed, then the error stands on the card in a block of its own, word by word."""
    await start_bot()
    calling = await asked(client, 5_000)
    await dana.press(await dana.card("amount"), "approve:0")
    with pytest.raises(ValueError, match="insufficient funds"):
        await calling

    card = await dana.card("insufficient funds for *EUR*")

    assert title_of(card).startswith("Failed: pay (approved by ")
    error = next(block for block in card["blocks"] if block["block_id"] == "ran:0:text")
    assert words([error]) == "ValueError: the bank said: insufficient funds for *EUR*"


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
    card = await dana.card("5 tools")
    for index in range(5):
        await dana.press(card, f"approve:{index}")
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
    card = await dana.card("2 tools")
    for index in range(2):
        await dana.press(card, f"approve:{index}")
    resume = await asking
    await client.report(resume.interrupt_id, 0, Outcome.failed("no access with sk-Ab12/34=x"))
    await client.report(resume.interrupt_id, 1, Outcome.done("https://bank.example/?t=sk-Ab12%2F34%3Dx"))

    await dana.card("What became of the calls, 1 failed, 1 done")

    for message in await dana.slack.messages("C0APPROVALS"):
        assert "Ab12" not in str(message)
