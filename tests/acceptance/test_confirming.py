"""`confirm: true`: whoever approves is asked once more, by Slack or by a box in the form."""

import pytest

from tests.support.builders import an_action, review
from tests.support.people import buttons

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: payments
    match: {tool: pay}
    confirm: true
"""
LONG = {"note": "line\\n" * 3_000}


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
    card = await dana.card("mail")

    assert {name: title for name, title in questions(card).items() if "_all" not in name} == {
        "approve:0": "Run pay?"
    }
    await dana.press(card, "approve:0")
    await dana.press(card, "approve:1")
    assert [decision.type for decision in (await reviewing).decisions] == ["approve", "approve"]


@pytest.mark.parametrize(
    ("args", "button"), [({"amount": 5}, "for_run:0"), (LONG, "read:0")], ids=["menu", "reading"]
)
async def test_a_form_approves_only_with_its_box_ticked(client, slack, dana, args, button):
    """Slack insists on the box, and so does the bot."""
    reviewing = review(client, an_action("pay", args, allow_always=True))
    card = await dana.showing(button)
    form = await dana.opened(card, button)
    while not form.get("submit"):
        turn = buttons(form)[-1]
        await slack.click_view("U0DANA", form["id"], turn)
        last = form["hash"]
        form = await slack.wait_for_view("U0DANA", lambda view, last=last: view["hash"] != last)

    answer = await slack.submit("U0DANA", form["id"], {})
    assert (answer["result"], list(answer["errors"])) == ("invalid", ["confirm"])
    assert not reviewing.done()
    await slack.submit("U0DANA", form["id"], {"confirm": ["yes"]})

    assert (await reviewing).decisions[0].type == "approve"
