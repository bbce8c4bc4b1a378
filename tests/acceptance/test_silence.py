"""A rule lets silence approve. It does so only where people could see the card and be heard: else the call is rejected."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient, HITLRequest
from tests.support.builders import an_action
from tests.support.redis_users import address_for

CHANNEL = "C0APPROVALS"
RULES = """\
default: {{channel: C0APPROVALS, approvers: {approvers}}}
rules:
  - {{match: {{tool: note}}, risk: low, on_timeout: approve, time_limit: {limit}}}
"""
NOT_RECORDED = "it could not be recorded"
NOT_LOOKED = "Slack did not say whether people could still object"
NOBODY_LEFT = "nobody was left at the deadline"


@pytest.fixture
def ask(start_bot, redis_url, tmp_path, dana):
    """Start a bot with such a rule and ask: `async with ask() as (card, waiting)`; the agent waits long after the deadline."""

    @asynccontextmanager
    async def asking(*, limit="4s", approvers="[U0DANA, U0ERIK]"):
        policy = tmp_path / "policy.yaml"
        policy.write_text(RULES.format(limit=limit, approvers=approvers))
        await start_bot(policy=str(policy), approvers="", channel=None)
        async with ApprovalClient.from_url(
            address_for(redis_url, "agent", "billing"),
            agent="billing",
            grace=timedelta(seconds=30),
            reconcile_every=timedelta(seconds=1),
        ) as client:
            action, config = an_action("note")
            request = HITLRequest(action_requests=(action,), review_configs=(config,))
            waiting = asyncio.create_task(client.review(request))
            yield await dana.card("*approved*"), waiting
            waiting.cancel()

    return asking


async def outcome(waiting) -> tuple[str, str]:
    """Wait for what the deadline decides; give it with its reason."""
    resume = await waiting
    assert resume.records[0].decided_by == "expired"
    return resume.decisions[0].type, getattr(resume.decisions[0], "message", None) or ""


@pytest.mark.parametrize("approvers", ["[U0DANA, U0ERIK]", "[channel]", "[S0OPS]"])
async def test_silence_approves_what_people_saw_and_could_have_rejected(ask, slack, approvers):
    """Nobody objects, and everything worked all the time."""
    await slack.group("S0OPS", users=["U0DANA"])
    async with ask(limit="8s", approvers=approvers) as (_, waiting):
        assert await outcome(waiting) == ("approve", "")


@pytest.mark.parametrize("how", ["removed", "error", "ratelimited"])
async def test_a_deleted_card_that_nobody_can_look_for_is_not_there(ask, slack, how):
    """Somebody deletes it while the channel cannot be read: the bot does not know, and takes that for no yes."""
    async with ask() as (card, waiting):
        if how == "removed":
            await slack.channel(CHANNEL, members=["U0DANA", "U0ERIK"])
        elif how == "error":
            await slack.fault("conversations.history", "error", error="internal_error", times=None)
        else:
            await slack.fault("conversations.history", "ratelimited", seconds=60, times=None)
        await slack.delete("U0NOOR", CHANNEL, card["ts"])

        decided, why = await outcome(waiting)
        assert (decided, NOT_LOOKED in why) == ("reject", True)


@pytest.mark.parametrize("method", ["users.info", "views.open"])
async def test_who_tried_to_reject_and_could_not_was_not_silent(ask, slack, dana, method):
    """Dana presses Reject and is told to press again. Also where Slack works again later, silence approves nothing."""
    async with ask() as (card, waiting):
        await slack.fault(method, "error", error="internal_error", times=None)
        await dana.press(card, "reject:0")
        await dana.notice("Please press again")
        await slack.clear_faults()

        decided, why = await outcome(waiting)
        assert decided == "reject"
        assert NOT_RECORDED in why
        await dana.card(NOT_RECORDED)


@pytest.mark.parametrize("approvers", ["[U0DANA, U0ERIK]", "[S0OPS]"])
async def test_silence_approves_nothing_when_all_approvers_are_gone(ask, slack, approvers):
    """Their accounts are deactivated: nobody was left who could press."""
    await slack.group("S0OPS", users=["U0DANA", "U0ERIK"])
    async with ask(approvers=approvers) as (_, waiting):
        for user in ("U0DANA", "U0ERIK"):
            await slack.person(user, deleted=True)

        decided, why = await outcome(waiting)
        assert (decided, NOBODY_LEFT in why) == ("reject", True)


@pytest.mark.parametrize("how", ["revoked", "503"])
async def test_silence_approves_nothing_while_slack_refuses_the_bot(ask, slack, how):
    """No button did anything from soon after the card came until the deadline."""
    async with ask() as (_, waiting):
        if how == "revoked":
            await slack.revoke_token()
        else:
            await slack.fault("*", "status", status=503, times=None)
        decided, why = await outcome(waiting)
        assert (decided, NOT_LOOKED in why) == ("reject", True)
