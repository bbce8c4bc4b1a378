"""Another server answers than before, and may lack what was accepted last: who waits for what, and until when."""

import asyncio
from datetime import timedelta

import pytest

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import ClaimedError, ClaimLostError, ConsumedError
from agent_adapter.redis.acts import UnsureError
from bot.store.records import ApprovalStore
from tests.bot.store.test_votes import SILENT, asked, is_shown, newest, press

LEASE = timedelta(seconds=1)


@pytest.fixture
async def decided(client: ApprovalClient, store: ApprovalStore) -> str:
    """The id of a request that was decided on the server that a bot has met."""
    await store.heartbeat("bot")
    state = await asked(client, store)
    await press(store, state, "U0DANA", ApproveDecision())
    return state.id


async def replace_server(store: ApprovalStore) -> None:
    """Have this server be another one than the bots have met last."""
    await store._redis.hset(store.keys.server, "id", "another")


async def test_on_the_same_server_nobody_waits(client, store, decided):
    """Neither at the first start of a namespace, nor when a bot comes back."""
    await store.heartbeat("bot")

    await client.claim(decided, "one", LEASE)
    await client.finish(decided, "one")


@pytest.mark.parametrize("is_met", [False, True], ids=["no bot has met it yet", "a bot has met it"])
async def test_a_claim_that_may_replace_a_lost_one_waits_a_lease(client, store, redis, decided, is_met):
    """Whoever holds it renews it meanwhile, also where this server does not know it."""
    await replace_server(store)
    if is_met:
        await store.heartbeat("bot")

    with pytest.raises(UnsureError):
        await client.claim(decided, "another", LEASE)
    await client._records.claim(decided, "holder", 1_000, held=1)
    with pytest.raises(ClaimedError):
        await client.claim(decided, "another", LEASE)


async def test_after_a_lease_a_claim_is_new(client, store, decided):
    """Nobody has renewed it, so nobody holds it. A thread is waited for just so."""
    await replace_server(store)
    await store.heartbeat("bot")
    began = asyncio.get_running_loop().time()
    with pytest.raises(UnsureError):
        await client._records.claim_thread("billing.thread", "one", 1_000)

    async with client.resuming(decided) as resume:
        assert resume.decisions == (ApproveDecision(),)

    assert asyncio.get_running_loop().time() - began >= client._lease.total_seconds() - 0.1
    await client._records.claim_thread("billing.thread", "one", 1_000)


async def test_what_was_asked_since_then_is_claimed_at_once(client, store, decided):
    """It has no claim that could be lost."""
    await replace_server(store)
    await store.heartbeat("bot")
    met = await store._now()
    while await store._now() == met:
        pass  # within one millisecond nobody knows what came first
    state = await asked(client, store)
    await press(store, state, "U0DANA", ApproveDecision())

    await client.claim(state.id, "one", LEASE)


@pytest.mark.parametrize(
    ("left", "is_done"), [("nothing", True), ("an older claim", True), ("a newer claim", False)]
)
async def test_a_run_is_finished_where_nobody_else_has_claimed_it_since(
    client, store, redis, decided, left, is_done
):
    """The server lacks the claim under which it was resumed."""
    _, fence = await client._records.take(decided, "holder", 1_000)
    req = store.keys.req(decided)
    match left:
        case "nothing":
            await redis.hdel(req, "claim_by", "claim_until", "fence")
        case "an older claim":
            await redis.hset(req, mapping={"claim_by": "another", "fence": fence - 1})
        case _:
            await redis.hset(req, mapping={"claim_by": "another", "fence": fence})

    if is_done:
        await client._records.finish(decided, "holder", fence)
        with pytest.raises(ConsumedError):
            await client.claim(decided, "another", LEASE)
    else:
        with pytest.raises(ClaimLostError):
            await client._records.finish(decided, "holder", fence)


async def test_silence_does_not_approve_right_after_another_server_answers(client, store):
    """It may lack that somebody has rejected the call."""
    state = await asked(client, store, **SILENT)
    await is_shown(store, state)
    await replace_server(store)
    await store.heartbeat("bot")

    while await store.settle(state.id, "expired", why_not="") == "early":
        await asyncio.sleep(0.05)

    [recorded] = (await newest(store, state)).recorded
    assert isinstance(recorded.decision, RejectDecision)
