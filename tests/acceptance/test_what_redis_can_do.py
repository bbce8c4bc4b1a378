"""What is left to somebody who can write to Redis and has no key of the bots: older genuine facts, and silence about others."""

import asyncio

import pytest

from agent_adapter import Context
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.errors import InvalidRequestError
from tests.acceptance.test_sealed import Stored, asked, ruled, stored
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt
from tests.support.people import buttons
from tests.support.topologies import KEYS

__all__ = ["ruled", "stored"]

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {match: {tool: two}, quorum: 2}
  - {match: {tool: often}, standing: {scope: agent, lasts: 1h, uses: 1}}
  - {match: {tool: quiet}, risk: low, on_timeout: approve, time_limit: 4s}
"""


@pytest.fixture
async def bot(start_bot, ruled):
    return await start_bot(**ruled)


def put_back(stored: Stored, interrupt_id: str, card: dict[str, str]) -> None:
    """Make the bot's side of a record what it was before."""
    name = KEYS.card(interrupt_id)
    stored.redis.delete(name)
    stored.redis.hset(name, mapping=card)


async def test_redis_can_put_an_older_genuine_vote_back(bot, client, stored, slack, dana, erik):
    """Dana agrees, and rejects it before Slack shows more. Redis forgets the rejection, and Erik makes it final that two agreed."""
    interrupt_id = await client.publish(asked("two"))
    await dana.press(await dana.card("two"), "approve:0")
    card = await dana.card("1 of 2")
    voted = stored.card(interrupt_id)
    # A card that shows the rejection would tell the bot that Redis went back.
    await slack.fault("chat.update", "error", error="internal_error", times=3)
    view = await dana.opened(card, "reject:0")
    await dana.submit(view)

    put_back(stored, interrupt_id, voted)
    bot.store.forget_remembered()
    await erik.press(await erik.showing("approve:0"), "approve:0")

    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"


@pytest.mark.parametrize("ended", ["revoked", "used up"])
async def test_redis_can_undo_the_end_of_a_standing_approval(bot, client, stored, slack, dana, erik, ended):
    """Until its message in Slack shows that it ended. It covers the same call as before, and no other."""
    given = await client.publish(asked("often"))
    form = await dana.opened(await dana.card("often"), "sticky:0")
    await dana.fill(form, Where="agent")
    message = await erik.showing("revoke:0.0")
    lane, before = KEYS, stored.card(given)
    until_when = stored.redis.zscore(lane.standing, f"{given}:0")
    await slack.fault("chat.update", "error", error="internal_error", times=None)
    if ended == "revoked":
        await erik.press(message, "revoke:0.0")
    else:
        await client.wait(await client.publish(asked("often", run="once")))
    assert "sticky_ended:0" in stored.card(given)

    put_back(stored, given, before)
    stored.redis.zadd(lane.standing, {f"{given}:0": until_when})
    bot.store.forget_remembered()

    resume = await client.wait(await client.publish(asked("often", run="again")))
    assert (resume.decisions[0].type, resume.records[0].sticky) == ("approve", f"{given}:0")
    await client.publish(asked("often", run="other", amount=901))
    assert "approve:0" in buttons(await dana.card("901"))


async def test_redis_cannot_end_a_batch_of_which_something_is_decided(bot, client, stored, dana):
    """What was approved does not run beside a rejection that nobody gave: people have their time for the rest."""
    calls = an_action("pay", {"amount": 900}), an_action("tell", {"whom": "al"})
    interrupt_id = await client.publish(an_interrupt(*calls, context=Context(requested_by="U0NOOR")))
    card = await dana.card("pay")
    await dana.press(card, "approve:0")
    assert "d:0" in stored.card(interrupt_id)

    stored.change(interrupt_id, status="expired")
    waiting = asyncio.create_task(client.wait(interrupt_id))
    await asyncio.wait([waiting], timeout=3)
    assert not waiting.done()
    waiting.cancel()


async def test_redis_cannot_say_how_a_run_goes_on(redis_url, monkeypatch):
    """A state says what was approved before. Where decisions are signed, an agent without a key for states stores none."""
    monkeypatch.delenv("ASSENT_STATE_KEY")
    state = Continuation(framework="langgraph", name="support", version="1", state="{}")
    async with an_agent(redis_url) as client:
        with pytest.raises(InvalidRequestError, match=r"there is a ring.+set ASSENT_STATE_KEY too"):
            await client.publish(an_interrupt(an_action("pay"), continuation=state))


async def test_a_deadline_of_thousands_of_digits_is_not_the_one_that_was_signed(bot, client, stored, dana):
    """The agent reads the record by the signed deadline, and not with an error of Python."""
    calls = an_action("pay", {"amount": 900}), an_action("tell", {"whom": "al"})
    interrupt_id = await client.publish(an_interrupt(*calls, context=Context(requested_by="U0NOOR")))
    await dana.press(await dana.card("pay"), "approve:0")
    before = (await client.record(interrupt_id)).deadline

    stored.change(interrupt_id, deadline="9" * 5_000)
    assert (await client.record(interrupt_id)).deadline == before
