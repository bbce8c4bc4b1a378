"""Users of Redis: with the user of an agent, Redis itself refuses to forge, whatever the agent sends."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.outcome import Outcome
from agent_adapter.errors import UnreadableRecordError
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.store.records import ApprovalStore
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit
from tests.support.lanes import require
from tests.support.redis_users import as_user, has_users
from tests.support.workers import decide


@pytest.fixture(autouse=True)
def server(redis_url: str) -> None:
    require("Redis with users", has_users(redis_url), "this server is older than 7.0", possible=False)


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[ApprovalStore]:
    """What a bot does, with a bot's user."""
    async with open_redis(as_user(redis_url, "bot")) as redis:
        yield ApprovalStore(redis, await freeze_meta(redis, "assent"))


@pytest.fixture
async def agent(redis_url: str, store: ApprovalStore) -> AsyncIterator[Redis]:
    """The connection of somebody who has the password of the agent `billing`."""
    async with Redis.from_url(as_user(redis_url, "agent", "billing"), decode_responses=True) as redis:
        yield redis


@pytest.fixture
async def client(redis_url: str, store: ApprovalStore) -> AsyncIterator[ApprovalClient]:
    async with an_agent(as_user(redis_url, "agent", "billing")) as client:
        yield client


KEYS = Keys("assent")
FORGES = {
    "a decision": ("HSET", KEYS.card("billing.1"), "d:0", "{}"),
    "a card of another agent": ("HSET", KEYS.card("payroll.1"), "status", "decided"),
    "another's question": ("HSET", KEYS.req("payroll.1"), "body", "{}"),
    "a look at another's question": ("HGETALL", KEYS.req("payroll.1")),
    "a look at another's card": ("HGETALL", KEYS.card("payroll.1")),
    "a name that only begins like its own": ("HSET", KEYS.req("billing-2.1"), "body", "{}"),
    "work to draw": ("ZADD", KEYS.undrawn, "0", "billing.1"),
    "a deadline": ("ZADD", KEYS.due, "0", "billing.1"),
    "a run for workers": ("ZADD", KEYS.unresumed, "0", "billing.1"),
    "a look at the runs of others": ("ZRANGE", KEYS.unresumed, "0", "-1"),
    "a line of the audit trail": ("XADD", KEYS.audit, "*", "event", "decided"),
    "an answer to another agent": ("XADD", KEYS.replies("payroll.p"), "*", "id", "payroll.1"),
    "a note of another agent": ("XADD", KEYS.inbox("payroll"), "*", "event", "published"),
    "a bot that lives": ("ZADD", KEYS.bots, "1", "bot"),
    "a clock that was set": ("SET", KEYS.clock, "1"),
    "a standing approval": ("ZADD", KEYS.standing, "1", "billing.1:0"),
    "the number of the schema": ("HSET", "{assent}:meta", "schema", "1"),
    "a key of the HTTP API": ("HSET", "{assent}:keys", "id", "{}"),
    "a look at the keys of the HTTP API": ("HGETALL", "{assent}:keys"),
    "a turn with Slack": ("ZADD", "{assent}:pace:chat.update", "1", "x"),
    "another namespace": ("HSET", "other:{00}:req:billing.1", "body", "{}"),
    "all keys": ("KEYS", "*"),
    "all keys, some at a time": ("SCAN", "0"),
    "nothing left": ("FLUSHALL",),
    "another configuration": ("CONFIG", "SET", "appendonly", "no"),
    "another user": ("ACL", "SETUSER", "default", "on"),
    "a wake-up of bots": ("PUBLISH", KEYS.channel("wake"), "billing.1"),
    "what is said to others": ("SUBSCRIBE", KEYS.channel("inbox")),
    "a script that decides": (
        "EVAL", "return redis.call('HSET', KEYS[1], 'status', 'decided')", "1", KEYS.card("billing.1"),
    ),
    "a script that hides its key": (
        "EVAL", f"return redis.call('HSET', '{KEYS.card('billing.1')}', 'status', 'decided')", "0",
    ),
}  # fmt: skip
"""What somebody with the agent's password could try."""


@pytest.mark.parametrize("forge", FORGES, ids=str)
async def test_redis_refuses_what_is_not_the_agents(agent: Redis, redis_url: str, forge: str):
    """Nothing is written: neither a decision, nor work, nor a line of the trail, nor anything of others."""
    async with Redis.from_url(redis_url) as admin:
        before = sorted([key async for key in admin.scan_iter()])
        with pytest.raises((NoPermissionError, ResponseError), match=r"no permissions|can't (access|run)"):
            await agent.execute_command(*FORGES[forge])

        assert sorted([key async for key in admin.scan_iter()]) == before


async def test_a_client_does_all_it_does_under_its_own_user(client, store):
    """From the question to the outcome: asked, taken, decided, claimed, reported, resumed."""
    interrupt_id = await client.publish(an_interrupt())
    waiting = asyncio.create_task(client.wait(interrupt_id))
    assert (await store.take_inbox("billing")).refused == 0
    assert [work.interrupt_id for work in await store.lease_work("undrawn", limit=1, lease=1)] == [
        interrupt_id
    ]
    await decide(store, interrupt_id, ApproveDecision())
    assert (await asyncio.wait_for(waiting, 60)).status == "decided"

    async with client.running("run"), client.resuming(interrupt_id) as resume:
        assert resume.decisions[0].type == "approve"
        await client.report(interrupt_id, 0, Outcome.done())

    assert await store.take_inbox("billing") != (0, 0)
    state = await store.load(interrupt_id)
    assert state
    assert (bool(state.resumed_at), list(state.outcomes)) == (True, [0])


async def test_a_question_that_its_agent_changes_after_it_was_asked_is_not_read(agent, client, store):
    """Its own half of the record is the agent's to write. People would decide about what they were not shown."""
    interrupt_id = await client.publish(an_interrupt(an_action("pay", {"amount": 5})))
    await admit(store, interrupt_id)
    body = str(await agent.hget(KEYS.req(interrupt_id), "body"))

    await agent.hset(KEYS.req(interrupt_id), "body", body.replace('"amount":5', '"amount":5000'))

    with pytest.raises(UnreadableRecordError, match="what is asked has been changed since people were asked"):
        await store.load(interrupt_id)
    await agent.hset(KEYS.req(interrupt_id), "body", body)
    assert await store.load(interrupt_id)


async def test_an_operator_reads_everything_and_decides_nothing(redis_url: str, store, client):
    """The keys of the HTTP API are an operator's."""
    interrupt_id = await client.publish(an_interrupt())
    async with Redis.from_url(as_user(redis_url, "operator"), decode_responses=True) as operator:
        assert await operator.hgetall(KEYS.req(interrupt_id))
        assert await operator.xrange(KEYS.audit) == []
        await operator.hset("{assent}:keys", "id", "{}")
        refused: list[tuple[Any, ...]] = [
            ("HSET", KEYS.card(interrupt_id), "d:0", "{}"),
            ("HSET", KEYS.req(interrupt_id), "body", "{}"),
            ("XADD", KEYS.audit, "*", "event", "decided"),
            ("DEL", KEYS.audit),
        ]
        for command in refused:
            with pytest.raises(NoPermissionError):
                await operator.execute_command(*command)
