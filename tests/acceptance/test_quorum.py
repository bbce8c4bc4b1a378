"""Decisions that take several people, and arguments that nobody is shown."""

import asyncio
import json
from contextlib import suppress

import pytest

from agent_adapter import Context
from playground.errors import ControlError
from tests.support.builders import an_action, review
from tests.support.people import words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK, U0MIRA]}
rules:
  - name: large payments
    match: {tool: pay, args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}}
    quorum: 2
  - {name: logins, match: {tool: connect}, mask: [password], quorum: 2}
"""
LARGE = {"to": "al", "amount": 5000}

pytestmark = pytest.mark.usefixtures("bot")


async def test_approving_all_leaves_out_what_a_colleague_proposes_to_decide_otherwise(client, dana, erik):
    """The button and its question say so, also where the button was drawn before. Who agrees sees what would run."""
    reviewing = review(client, *(an_action("note", {"n": n}) for n in range(2)), an_action("pay", LARGE))
    before = await dana.showing("approve_all:0")
    await dana.fill(await dana.opened(before, "edit:2"), amount="1500")
    card = await erik.card("<@U0DANA> changed this")
    [asks] = [e for b in card["blocks"] if b["block_id"] == "bulk" for e in b["elements"]][:1]
    assert asks["text"]["text"] == "Approve 1 and 2…"
    assert asks["confirm"]["text"]["text"] == (
        "Calls 1 and 2: note, 2 times, n 0 to 1.\nNot approved with them, because somebody proposes something else: 3."
    )

    # The stand-in sends what the button of an older drawing would: its name is the same.
    await erik.press(before, "approve_all:0")
    assert "Somebody proposes something else there" in await erik.notice("Not approved: call 3.")
    left = await erik.card("1 of 3 open")
    view = await erik.opened(left, "agree:2")
    assert "amount: 5000 → 1500" in words(view["blocks"])
    assert not reviewing.done()
    await erik.slack.submit("U0ERIK", view["id"], {})

    resume = await reviewing
    assert [decision.type for decision in resume.decisions] == ["approve", "approve", "edit"]
    assert resume.records[2].agreed_by == ("U0DANA", "U0ERIK")


async def test_a_masked_argument_leaves_in_no_call_to_slack(client, dana, erik, slack):
    """On cards, in modals, in private words, in the text of notifications, before and after edits; the call runs with it."""
    secret = "hunter2-s3cr3t"
    args = {"host": "db1", "password": secret, "more": {"password": secret}}
    action = an_action("connect", args, description=f"log in with {secret}")
    context = Context(title=f"uses {secret}", requested_by="U0NOOR")
    reviewing = review(client, action, context=context)
    card = await dana.card("Masked: `password`")
    for button in ("reject:0", "respond:0"):
        await dana.opened(card, button)
        await dana.close()
    await dana.fill(await dana.opened(card, "edit:0"), host="db2")
    changed = await erik.card("changed this and agrees")
    await slack.submit("U0ERIK", (await erik.opened(changed, "agree:0"))["id"], {})
    resume = await reviewing
    await dana.card("resumed")

    assert resume.decisions[0].edited_action.args == {**args, "host": "db2"}
    calls = await slack.calls()
    assert len([call for call in calls if call["method"].startswith(("chat.", "views."))]) >= 6
    assert secret not in json.dumps(calls, ensure_ascii=False)


async def test_a_vote_of_somebody_who_left_does_not_count_when_it_would_become_final(
    client, dana, erik, mira, slack
):
    """While Slack does not say whether they still may, nothing is final either, and pressing again completes it."""
    reviewing = review(client, an_action("pay", LARGE))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved*: <@U0DANA>")

    await slack.person("U0DANA", deleted=True)
    await erik.press(card, "approve:0")
    said = await erik.notice("Your approval counts: 1 of 2.")
    assert "No longer counted, because they may not decide this now: <@U0DANA>" in said
    await erik.card("*1 of 2 approved*: <@U0ERIK>")
    await mira.fill(await mira.opened(card, "edit:0"), amount="4000")
    await mira.close()
    await slack.fault("users.info", "error", error="fatal_error", times=None)
    await mira.press(card, "approve:0")
    await mira.notice(
        "did not say in time whether everybody who agreed may still decide this, so nothing is final"
    )
    assert not reviewing.done()
    await slack.clear_faults()
    while not reviewing.done():
        # A busy bot may say again that it was not told in time. The button is gone once it is final.
        with suppress(ControlError):
            await mira.press(card, "approve:0")
        await asyncio.wait([reviewing], timeout=1)

    assert (await reviewing).records[0].agreed_by == ("U0ERIK", "U0MIRA")
