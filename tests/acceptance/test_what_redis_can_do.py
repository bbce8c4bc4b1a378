"""What is left to somebody who can write to Redis and has no key of the bots: older genuine facts, and silence about others."""

import asyncio

import pytest

from agent_adapter import Context
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.errors import InvalidRequestError
from tests.acceptance.test_sealed import ruled, stored
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt

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


async def test_redis_cannot_end_a_batch_of_which_something_is_decided(bot, client, stored, dana):
    """What was approved does not run beside a rejection that nobody gave: people have their time for the rest."""
    calls = an_action("pay", {"amount": 900}), an_action("tell", {"whom": "al"})
    interrupt_id = await client.publish(an_interrupt(*calls, context=Context(requested_by="U0NOOR")))
    card = await dana.card("pay")
    await dana.press_one(card, "approve:0")
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
    await dana.press_one(await dana.card("pay"), "approve:0")
    before = (await client.record(interrupt_id)).deadline

    stored.change(interrupt_id, deadline="9" * 5_000)
    assert (await client.record(interrupt_id)).deadline == before
