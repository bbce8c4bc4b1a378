"""`confirm: true`: whoever approves is asked once more, by Slack or by a box in the form."""

import pytest

from tests.support.builders import an_action, review

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: payments
    match: {tool: pay}
    confirm: true
"""


@pytest.fixture(autouse=True)
async def bot(start_bot, policy):
    return await start_bot(policy=str(policy), approvers="", channel=None)


def questions(card):
    """Give what Slack asks before each button."""
    return {
        element["action_id"]: element["confirm"]["title"]["text"]
        for block in card["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if "confirm" in element
    }


async def test_slack_asks_before_a_call_is_approved_and_before_no_other(client, dana):
    """One batch has a call under the rule, and one that is not."""
    reviewing = review(client, an_action("pay", {"amount": 5}), an_action("mail"))
    card = await dana.showing("review:0")

    assert questions(await dana.opened(card, "review:0")) == {"approve:0": "Run pay?"}
    await dana.close()
    await dana.press_one(card, "approve:0")
    await dana.press(await dana.showing("approve:1"), "approve:1")
    assert [decision.type for decision in (await reviewing).decisions] == ["approve", "approve"]


async def test_a_form_approves_only_with_its_box_ticked(client, slack, dana):
    """Slack insists on the box, and so does the bot."""
    reviewing = review(client, an_action("pay", {"amount": 5}, allow_always=True))
    form = await dana.opened(await dana.showing("for_run:0"), "for_run:0")

    answer = await slack.submit("U0DANA", form["id"], {})
    assert (answer["result"], list(answer["errors"])) == ("invalid", ["confirm"])
    assert not reviewing.done()
    await slack.submit("U0DANA", form["id"], {"confirm": ["yes"]})

    assert (await reviewing).decisions[0].type == "approve"
