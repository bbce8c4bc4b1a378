"""A rule lets silence approve. It does so only where people could see the card and be heard: else the call is rejected."""

import asyncio

import pytest

from agent_adapter import HITLRequest
from tests.support.builders import an_action

RULES = """\
default: {{channel: C0APPROVALS, approvers: [U0DANA, S0OPS]}}
rules:
  - {{match: {{tool: note_*}}, risk: low, on_timeout: approve, time_limit: {limit}}}
"""
NOT_RECORDED = "it could not be recorded"


@pytest.fixture
def start(start_bot, slack, tmp_path):
    """Start a bot by such a rule, with a group of which Erik is all."""

    async def started(limit):
        policy = tmp_path / "policy.yaml"
        policy.write_text(RULES.format(limit=limit))
        await slack.group("S0OPS", users=["U0ERIK"])
        return await start_bot(policy=str(policy))

    return started


def asked(client, tool):
    action, config = an_action(tool)
    request = HITLRequest(action_requests=(action,), review_configs=(config,))
    return asyncio.create_task(client.review(request))


async def outcome(waiting) -> tuple[str, str]:
    """Wait for what the deadline decides; give it with its reason."""
    resume = await waiting
    assert resume.records[0].decided_by == "expired"
    return resume.decisions[0].type, getattr(resume.decisions[0], "message", None) or ""


async def test_silence_approves_what_people_saw_and_nobody_tried_to_reject(start, slack, client, dana):
    """Dana presses Reject on one of two cards and is told to press again. She was not silent, though Slack works again."""
    await start("8s")
    objected, silent = asked(client, "note_one"), asked(client, "note_two")
    card = await dana.card("note_one")
    await dana.card("note_two")
    await slack.fault("users.info", "error", error="internal_error", times=None)
    await dana.press(card, "reject:0")
    await dana.notice("Please press again")
    await slack.clear_faults()

    decided, why = await outcome(objected)
    assert (decided, NOT_RECORDED in why) == ("reject", True)
    await dana.card(NOT_RECORDED)
    assert await outcome(silent) == ("approve", "")


async def test_a_deleted_card_that_nobody_can_look_for_is_not_there(start, slack, client, dana):
    """Somebody deletes it while the channel cannot be read: the bot does not know, and takes that for no yes."""
    await start("4s")
    waiting = asked(client, "note_one")
    card = await dana.card("*approved*")
    await slack.fault("conversations.history", "error", error="internal_error", times=None)
    await slack.delete("U0NOOR", "C0APPROVALS", card["ts"])

    decided, why = await outcome(waiting)
    assert (decided, "Slack did not say whether people could still object" in why) == ("reject", True)


async def test_silence_approves_nothing_when_all_approvers_are_gone(start, slack, client, dana):
    """Their accounts are deactivated, also that of whoever is in the group: nobody was left who could press."""
    await start("4s")
    waiting = asked(client, "note_one")
    await dana.card("*approved*")
    for user in ("U0DANA", "U0ERIK"):
        await slack.person(user, deleted=True)

    decided, why = await outcome(waiting)
    assert (decided, "nobody was left at the deadline" in why) == ("reject", True)
