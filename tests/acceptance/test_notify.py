"""People who may decide and are not notified: a card names them, and mentions the others."""

import pytest

from tests.support.builders import an_action, review
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK, S0OPS]
  notify: [U0DANA]
rules:
  - name: refunds
    match: {tool: refund}
    approvers: [U0ERIK]
  - name: deletions
    match: {tool: drop}
    notify: [U0ERIK]
  - name: quick ones
    match: {tool: remind}
    reminders: [1s]
"""


@pytest.fixture
async def start(start_bot, policy):
    """Start a bot by these rules."""
    return lambda: start_bot(policy=str(policy), approvers="", channel=None)


async def test_a_card_names_whom_it_does_not_notify_and_they_decide(start, client, slack, dana, erik):
    """Only Dana's phone makes a sound; Erik presses all the same, and the outcome is his."""
    await start()
    reviewing = review(client, an_action("pay"))
    shown = words((card := await dana.card())["blocks"])
    assert "<@U0DANA>" in shown
    assert "@ops" in shown
    assert "<@U0ERIK>" not in shown + card["text"]
    assert "<!subteam" not in shown + card["text"]

    await erik.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0ERIK"


@pytest.mark.parametrize("name", ["<!channel>", "<@U0MIRA>", "<!subteam^S0OPS>", "@here"])
async def test_nobody_is_notified_by_what_a_person_calls_themselves(start, client, slack, dana, name):
    """A name is text of that person, and Slack takes nothing in it as a mention."""
    await slack.person("U0ERIK", name=name)
    await start()
    review(client, an_action("pay"))

    shown = words((await dana.card())["blocks"])

    assert name.startswith("@") or name not in shown
    assert name.replace("<", "&lt;").replace(">", "&gt;") in shown
