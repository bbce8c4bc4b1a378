"""The words that go with a decision: reasons to reject that the policy offers, and text of one's own."""

import json

import pytest

from tests.conftest import until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: mails
    match: {tool: send_email}
    reject_reasons: [wrong recipient, needs more detail]
  - name: texts
    match: {tool: send_text}
    reject_reasons: [needs more detail]
"""


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"Reason": "wrong recipient"}, "wrong recipient"),
        ({"More": "She left in May."}, "She left in May."),
        (
            {"Reason": "wrong recipient", "More": "She left in May."},
            "wrong recipient\nShe left in May.",
        ),
        ({}, None),
    ],
)
@pytest.mark.usefixtures("bot")
async def test_a_person_chooses_a_reason_or_writes_one_or_both(client, dana, typed, message):
    """The agent gets just these words, and the card shows them."""
    reviewing = review(client)
    card = await dana.card()

    await dana.fill(await dana.opened(card, "reject:0"), **typed)

    assert (await reviewing).decisions[0].message == message
    assert (message or "Rejected") in words((await dana.card("Rejected"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_reject_all_offers_the_reasons_that_all_of_its_calls_have(client, dana):
    """A reason that the policy offers for one call only would be wrong for the other."""
    reviewing = review(client, an_action("send_email"), an_action("send_text"))
    view = await dana.opened(await dana.card(), "reject_all:0")
    assert "wrong recipient" not in json.dumps(view)

    await dana.fill(view, Reason="needs more detail")

    assert [each.message for each in (await reviewing).decisions] == ["needs more detail"] * 2


@pytest.mark.usefixtures("bot")
async def test_a_tool_without_reasons_asks_for_words_alone(client, dana):
    """As before."""
    reviewing = review(client, an_action("pay"))

    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Not this month.")

    assert (await reviewing).decisions[0].message == "Not this month."


async def test_reasons_are_those_of_the_time_when_it_was_asked(bot, client, dana, policy):
    """An open card keeps its rules."""
    await client.publish(an_interrupt())
    card, version = await dana.card(), bot.policies.policy.version
    policy.write_text(RULES.replace("wrong recipient", "too late"))
    bot.policies.look_now()
    await until(lambda: bot.policies.policy.version != version)

    view = json.dumps(await dana.opened(card, "reject:0"))

    assert "wrong recipient" in view
    assert "too late" not in view
