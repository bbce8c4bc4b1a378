"""Somebody who can write to Redis changes what was asked, before or after people see it. Nothing runs because of it."""

from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient, ConflictError, Context
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.receipts.ring import Ring
from bot.api.agents import SealedQuestions
from bot.domain.seal import Seal
from tests.support.builders import an_action, an_interrupt
from tests.support.http_api import a_key, speaking
from tests.support.redis_users import address_for
from tests.support.topologies import KEYS

# Whoever changes a question reads it first.
pytestmark = pytest.mark.unencrypted

NOOR = Context(requested_by="U0NOOR")


def a_payment(amount=100):
    return an_interrupt(an_action("pay", {"to": "al", "amount": amount}), context=NOOR)


async def rewrite(redis, interrupt_id, text=None, **changed):
    """Change fields of a stored question. Returns the text that was there."""
    before = await redis.hget(KEYS.req(interrupt_id), "body")
    await redis.hset(KEYS.req(interrupt_id), "body", text or encode(decode(before) | changed))
    return before


@pytest.fixture
async def asked_over_http(redis_url, signing):
    """Ask as the HTTP API does, while no bot draws a card yet."""
    ring, seal = Ring.load(signing.ring_path), Seal.parse(signing.seal_path.read_text(), namespace="assent")
    marks = SealedQuestions(seal, ring, "assent")
    url = address_for(redis_url, "bot")
    async with ApprovalClient.from_url(url, agent="billing", ring=ring, marks=marks) as client:
        yield await client.publish(a_payment(90_000))


async def test_over_http_no_answer_is_given_to_a_question_that_was_changed_before_its_card(
    start_bot, redis, redis_url, signing, dana, asked_over_http
):
    """People decide about what they see, and the agent gets no answer to it, whichever address it asks."""
    other = a_payment(9).request.model_dump(mode="json", exclude_defaults=True)
    await rewrite(redis, asked_over_http, request=other)
    bot = await start_bot()
    await dana.press(await dana.card("pay"), "approve:0")
    await dana.card("Approved")

    key = await a_key(redis_url, seal_key=signing.seal_path.read_text())
    async with speaking(bot.http.port, key) as caller:
        for method, path in (("GET", ""), ("POST", "/resumed"), ("DELETE", "")):
            status, state = await caller.send(method, f"/interrupts/{asked_over_http}{path}")
            assert (status, state["error"]["code"]) == (409, "conflict")
        async with caller.session.get(f"/v1/interrupts/{asked_over_http}/events") as answer:
            assert answer.status == 409


async def test_an_agent_takes_no_answer_to_its_question_in_other_words(
    start_bot, redis, redis_url, signing, dana
):
    """Dana asks her agent to pay, and may not approve that. Somebody writes that Noor asks."""
    call = an_action("pay", {"to": "dana", "amount": 900})
    mine = an_interrupt(call, context=Context(requested_by="U0DANA", title="Dana's bonus"))
    second = timedelta(seconds=1)
    times = {"grace": second, "claim_lease": second, "reconcile_every": second}
    address = address_for(redis_url, "agent", "billing")
    async with ApprovalClient.from_url(address, agent="billing", ring=signing.ring_path, **times) as agent:
        interrupt_id = await agent.publish(mine)
        await rewrite(redis, interrupt_id, context={"requested_by": "U0NOOR", "title": "Dana's bonus"})
        await start_bot()
        await dana.press(await dana.card("pay"), "approve:0")
        await dana.card("Approved")

        for answered in (agent.reviewing(mine), agent.resuming(interrupt_id, interrupt=mine)):
            with pytest.raises(ConflictError, match="another"):
                async with answered:
                    pytest.fail("it ran")
