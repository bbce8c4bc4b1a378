"""The same runs with the real client: a real Redis, and a person behind the bot's own scripts."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.contract.record import dump_recorded
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.langgraph import run, to_request
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.testing import ScriptedReviewer, approve, respond
from bot.domain.admission import Place
from bot.store.records import ApprovalStore
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office
from tests.conftest import an_agent
from tests.support.builders import an_admission

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@asynccontextmanager
async def person(redis_url, reviewer):
    """Decide whatever is asked, as the bot would store it."""
    redis = open_redis(redis_url)
    keys = await freeze_meta(redis, "assent")
    store = ApprovalStore(redis, keys)

    async def decide_all(interrupt_id):
        state = await store.load(interrupt_id)
        if state.status != "new":
            return
        place = Place(channel="C1", actions=tuple(range(len(state.fingerprints))))
        await store.admit(state, an_admission(policy_version="t", approvers=("U1",), places=(place,)))
        state = await store.admitted(interrupt_id)
        texts = {
            action.index: dump_recorded(
                reviewer(action.request, action.config), fingerprint=action.fingerprint, decided_by="U1"
            )
            for action in state.actions
        }
        await store.record_decision(interrupt_id, texts, token="t", person="U1", deadline=5)

    async def work():
        while not over.is_set():
            await store.take_inbox("billing")
            for owed in await store.lease_work("undrawn", limit=10, lease=60_000):
                await decide_all(owed.interrupt_id)
            await asyncio.sleep(0.01)

    over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        yield
        over.set()
    await redis.aclose()


@MODES
async def test_run_of_another_process_takes_the_answer_of_the_first(mode, client, redis_url):
    """The first process ends once it has asked; the record is found again, and consumed once."""
    office, saver = Office(), InMemorySaver()
    reviewer = ScriptedReviewer(
        {"send_email": [approve()], "delete_file": [approve()], "ask_user": [respond("x")]}
    )
    first = office.agent(TURN, DONE, mode=mode, checkpointer=saver)
    await first.ainvoke(GO, CONFIG)
    pauses = (await first.aget_state(CONFIG)).interrupts
    interrupt = client.interrupt(
        to_request(pauses, tools=office.tools),
        run="thread-1",
        pauses=[p.id for p in pauses for _ in p.value.get("action_requests", [None])],
    )
    await client.publish(interrupt)

    async with an_agent(redis_url) as successor, person(redis_url, reviewer):
        again = office.agent(TURN, DONE, mode=mode, checkpointer=saver)
        await run(again, None, approvals=successor, config=CONFIG)

        assert office.names() == ["delete_file", "read_file", "send_email"]
        with pytest.raises(ConsumedError):
            await successor.publish(interrupt)
