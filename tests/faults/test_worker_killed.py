"""A worker dies between any two of its steps: another goes on, the run is resumed once, and each tool runs once."""

import asyncio
from collections import Counter
from functools import partial

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.errors import ServerUnreachableError
from tests.support.faults import eventually, rounds
from tests.support.workers import (
    GO,
    RAN,
    Notes,
    a_client,
    a_graph,
    an_openai_agent,
    decide,
    ids,
    owed,
    resumed,
    thread,
    working,
)


class Death:
    """The end of one process: whoever reaches it does nothing any more, and cleans nothing up either."""

    def __init__(self, approvals):
        self.came = asyncio.Event()
        self._scripts = approvals._records._scripts
        for part in (approvals._records, approvals.runs, approvals._replies):
            part._scripts = self

    async def __call__(self, *given, **named):
        if self.came.is_set():
            raise ServerUnreachableError("the dead write nothing")
        return await self._scripts(*given, **named)

    def __getattr__(self, name):
        return getattr(self._scripts, name)

    async def die(self, *_args, **_kwargs):
        self.came.set()
        await asyncio.Event().wait()

    def after(self, step):
        async def last_step(*args, **kwargs):
            await step(*args, **kwargs)
            await self.die()

        return last_step


def after_claim(agent, approvals, death):
    agent.go_on = death.die


def in_the_middle_of_the_graph(agent, approvals, death):
    invoke = agent.graph.ainvoke

    async def cut_off(*args, **kwargs):
        await invoke(*args, **{**kwargs, "interrupt_before": ["model"]})
        await death.die()

    agent.graph.ainvoke = cut_off


def before_asking(agent, approvals, death):
    agent._ask = death.die


def after_asking(agent, approvals, death):
    agent._ask = death.after(agent._ask)


def after_finish(agent, approvals, death):
    approvals._claims._finish = death.after(approvals._claims._finish)


BOUNDARIES = [after_claim, before_asking, after_asking, after_finish]
CASES = [
    *((kind, boundary) for kind in ("graph", "openai") for boundary in BOUNDARIES),
    ("graph", in_the_middle_of_the_graph),
]


@pytest.fixture
async def make(redis_url):
    """The same agent for each process: its threads are in a database that all of them share."""
    saver = InMemorySaver()

    def make(kind, notes):
        return a_graph(notes, saver) if kind == "graph" else an_openai_agent(notes)

    return make


@pytest.mark.parametrize(("kind", "boundary"), CASES, ids=lambda each: getattr(each, "__name__", each))
@pytest.mark.timeout(600)
async def test_worker_that_dies_leaves_a_run_that_is_resumed_once(redis_url, store, make, kind, boundary):
    """Wherever it dies, the next worker brings the run to its end: the same tools, each once, and nothing stays owed."""
    async with a_client(redis_url) as approvals:
        for number in range(rounds(1, 50)):
            async with asyncio.timeout(120):
                notes = Notes()
                first = await ask(make(kind, notes), approvals, kind, f"{boundary.__name__}-{number}")
                await decide(store, first)
                await die_at(boundary, make(kind, notes), redis_url, store, first)
                async with working(approvals, make(kind, notes)):
                    second = await eventually(partial(following, store, first))
                    await decide(store, second)
                    await eventually(lambda: nothing_owed(store))

                assert sorted(notes.calls) == RAN
                assert notes.over[-1].status == "finished"
                assert await resumed(store, first)
                assert await resumed(store, second)
                assert await following(store, first, second) is None


@pytest.mark.parametrize("kind", ["graph", "openai"])
@pytest.mark.timeout(600)
async def test_tool_that_was_cut_off_runs_again_under_its_key(redis_url, store, make, kind):
    """Nobody can tell whether it had its effect. What had ended beside it does not run again."""
    async with a_client(redis_url) as approvals:
        for number in range(rounds(1, 50)):
            async with asyncio.timeout(120):
                notes = Notes()
                first = await ask(make(kind, notes), approvals, kind, f"inside-{number}")
                await decide(store, first)
                await die_at(inside_a_tool(notes), make(kind, notes), redis_url, store, first)
                async with working(approvals, make(kind, notes)):
                    await eventually(partial(following, store, first))

                assert Counter(notes.keys) == {
                    ("send_email al", f"{first}:0"): 1,
                    ("delete_file report.txt", f"{first}:1"): 2,
                }


def inside_a_tool(notes):
    def boundary(agent, approvals, death):
        async def inside():
            if not death.came.is_set():
                # Let the other tool end.
                await asyncio.sleep(0.1)
                notes.inside = Notes().inside
                await death.die()

        notes.inside = inside

    return boundary


async def ask(agent, approvals, kind, name):
    given = {"config": thread(name)} if kind == "graph" else {}
    asked = await agent.start(GO if kind == "graph" else "go", approvals=approvals, **given)
    return asked.interrupt_id


async def die_at(boundary, agent, redis_url, store, interrupt_id):
    async with a_client(redis_url) as doomed:
        death = Death(doomed)
        boundary(agent, doomed, death)
        async with working(doomed, agent):
            await death.came.wait()


async def following(store, *known):
    """Give the question of the same run that is none of these."""
    run = (await store.load(known[0])).interrupt.run
    states = [await store.load(id) for id in await ids(store)]
    return next((s.id for s in states if s.interrupt.run == run and s.id not in known), None)


async def nothing_owed(store):
    return await owed(store) == 0
