"""Runs that outlive their process: asked by one, resumed by another."""

import asyncio
import sys
from datetime import timedelta
from functools import partial

import pytest
from agents import Agent, RunHooks
from agents.testing import ModelStep, ScriptedModel, assistant_message
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import (
    ApproveDecision,
    EditDecision,
    EditedAction,
    RejectDecision,
    RespondDecision,
)
from agent_adapter.errors import ConsumedError, InvalidRequestError, UnknownInterruptError
from agent_adapter.redis.pool import end_task
from agent_adapter.worker import ResumeWorker
from agent_adapter.worker.__main__ import main
from agent_adapter.worker.langgraph import ResumableGraph
from agent_adapter.worker.listing import allow_again, lines
from agent_adapter.worker.loop import Finished, Paused
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.agent_adapter.integrations.office import gated
from tests.agent_adapter.integrations.test_openai_agents_kinds import SHELL, shell
from tests.conftest import until
from tests.support.builders import a_key
from tests.support.deciding import admit, is_waited_for, record
from tests.support.faults import eventually
from tests.support.scripted_model import says
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
    threads_in,
    working,
)

LONG = timedelta(minutes=1)
WENT_ON = "the thread 't' went on without this answer, and does not wait for it any more: nothing was resumed"


@pytest.fixture
async def approvals(redis_url):
    async with a_client(redis_url) as client:
        yield client


@pytest.fixture
def notes():
    return Notes()


async def listed(redis_url):
    return [line.split("\t") async for line in lines(redis_url, "assent")]


async def next_question(store, *, after):
    async def found():
        return next((id for id in reversed(await ids(store)) if id not in after), None)

    return await eventually(found)


async def is_over(notes, store):
    """Wait until the owner was told and nothing is owed any more."""

    async def said():
        return notes.over and await owed(store) == 0

    await eventually(said)
    return notes.over[-1]


@pytest.mark.cell(
    "Worker",
    "Approve: runs",
    "Edit: runs edited",
    "Reject: told",
    "Batch: one card",
    "Process ended: found again",
)
@pytest.mark.parametrize("mode", ["batched", "per_call", "openai"])
async def test_another_process_resumes_a_run(redis_url, store, notes, threads_database, mode):
    """One asks and ends; a worker goes on with its edit and its rejection, through the next question to the end."""
    kind = "openai" if mode == "openai" else "graph"
    given = {"mode": mode} if kind == "graph" else {}
    async with threads_in(threads_database) as saver, a_client(redis_url) as client:
        asked = await started(one_of(kind, notes, saver, **given), client)
    assert isinstance(asked, Paused)
    edited = EditDecision(edited_action=EditedAction(name="send_email", args={"to": "cy"}))
    await decide(store, asked.interrupt_id, edited, RejectDecision(message="keep it"))

    async with (
        threads_in(threads_database) as saver,
        a_client(redis_url) as client,
        working(client, one_of(kind, notes, saver, **given)),
    ):
        second = await next_question(store, after=[asked.interrupt_id])
        await decide(store, second)
        over = await is_over(notes, store)

    assert notes.keys == [("send_email cy", f"{asked.interrupt_id}:0"), ("send_email bo", f"{second}:0")]
    result = over.result if kind == "openai" else over.result["messages"][-1].content
    assert (over.status, result) == ("finished", "done")
    assert [await resumed(store, id) for id in (asked.interrupt_id, second)] == [True, True]
    assert await owed(store) == 0


async def eventually_all_left(redis_url, count):
    """Wait until that many runs are left to others, and list them."""

    async def left():
        found = [line for line in await listed(redis_url) if line[3].startswith("left:")]
        return found if len(found) == count else None

    return await eventually(left)


def one_of(kind, notes, saver, **given):
    return a_graph(notes, saver, **given) if kind == "graph" else an_openai_agent(notes, **given)


def started(agent, client, id="t", **asking):
    if isinstance(agent, ResumableGraph):
        return agent.start(GO, approvals=client, config=thread(id), **asking)
    return agent.start("go", approvals=client, **asking)


async def decided(agent, client, store, *decisions):
    """Start a run, decide what it asks, and give the id of its question."""
    asked = await started(agent, client)
    await decide(store, asked.interrupt_id, *decisions)
    return asked.interrupt_id


@pytest.mark.cell("Worker", "Resumed twice: refused")
@pytest.mark.parametrize("kind", ["graph", "openai"])
async def test_two_workers_resume_a_run_once(redis_url, store, notes, kind):
    """Both look for work all the time; each tool runs once."""
    saver = InMemorySaver()
    async with a_client(redis_url, lease=LONG) as one, a_client(redis_url, lease=LONG) as other:
        agents = [one_of(kind, notes, saver) for _ in range(2)]
        asked = await started(agents[0], one)
        async with working(one, agents[0], lease=LONG), working(other, agents[1], lease=LONG):
            await decide(store, asked.interrupt_id)
            await decide(store, await next_question(store, after=[asked.interrupt_id]))
            await is_over(notes, store)

    assert sorted(notes.calls) == RAN
    assert len(notes.over) == 1


@pytest.mark.parametrize("slowness", [0.0, 1.0], ids=["quick", "longer than its head start"])
async def test_worker_leaves_the_run_to_the_process_that_waits_for_it(
    redis_url, approvals, store, notes, slowness
):
    """The process that asked is there, so it resumes; the worker finds nothing to do, however long that takes."""
    saver, watched = InMemorySaver(), Notes()
    notes.inside = partial(asyncio.sleep, slowness)
    async with a_client(redis_url) as other, working(other, a_graph(watched, saver)):
        run = asyncio.create_task(
            a_graph(notes, saver).run(
                GO, approvals=approvals, config=thread("t"), expires_in=timedelta(hours=2)
            )
        )
        first = await next_question(store, after=[])
        await decide(store, first)
        await decide(store, await next_question(store, after=[first]))
        result = await run

    assert result["messages"][-1].content == "done"
    assert sorted(notes.calls) == RAN
    assert (watched.calls, watched.over) == ([], [])
    assert await owed(store) == 0


async def test_worker_takes_the_run_when_the_waiting_process_does_not(redis_url, store, notes):
    """A process that still counts as alive dies while people decide: a head start later the run is the worker's."""
    saver = InMemorySaver()
    async with a_client(redis_url) as doomed, a_client(redis_url) as client:
        run = asyncio.create_task(a_graph(Notes(), saver).run(GO, approvals=doomed, config=thread("t")))
        first = await next_question(store, after=[])
        await eventually(lambda: is_waited_for(store, first))
        await end_task(run)
        async with working(client, a_graph(notes, saver)):
            await decide(store, first)
            assert notes.calls == []
            await decide(store, await next_question(store, after=[first]))
            await is_over(notes, store)

    assert sorted(notes.calls) == RAN


async def test_decided_run_waits_for_a_worker_however_long(approvals, store, notes):
    """No key of it expires until it was resumed; then its retention begins."""
    agent = a_graph(notes, InMemorySaver())
    asked = await decided(agent, approvals, store)
    before = await lifetimes(store)
    async with working(approvals, agent):
        await next_question(store, after=[asked])
        await eventually(lambda: resumed(store, asked))

    assert set(before.values()) == {-1}
    after = await lifetimes(store)
    retired = {key for key, left in after.items() if left > 0}
    assert {key.split(":")[1] for key in retired if asked in key} == {"req", "card"}
    assert all(6 < after[key] / 86_400 <= 7 for key in retired)


async def test_list_says_that_a_worker_died_with_a_run(redis_url, approvals, store, notes):
    """In place of a run that nobody takes: what was approved may have run."""
    asked = await decided(a_graph(notes, InMemorySaver()), approvals, store)
    await approvals._records.take(asked, approvals._records.new_owner(), 2_000)
    assert (await listed(redis_url))[0][3].endswith("is resuming it")

    async def lapsed():
        return "did not finish" in (await listed(redis_url))[0][3]

    await eventually(lapsed)
    assert "so what was approved may have run" in (await listed(redis_url))[0][3]


async def lifetimes(store):
    await store.take_inbox("billing")
    keys = [key async for key in store._redis.scan_iter("{assent}:*:billing.*")]
    return {
        key: await store._redis.ttl(key) for key in keys if key.split(":")[1] not in {"replies", "thread"}
    }


async def test_run_waits_for_a_worker_of_its_version(redis_url, approvals, store, notes, caplog):
    """One that has another version says once what is missing, and leaves it; an operator sees it meanwhile."""
    saver, wrong = InMemorySaver(), Notes()
    asked = await decided(a_graph(notes, saver, version="2"), approvals, store)
    async with a_client(redis_url) as other, working(other, a_graph(wrong, saver, version="3")):
        await until(lambda: "billing: langgraph/office@2" in caplog.text)
        assert await listed(redis_url) == [
            [asked, "0 min", "billing: langgraph/office@2", "no worker takes it"]
        ]
        async with working(approvals, a_graph(notes, saver, version="2")):
            await next_question(store, after=[asked])

    assert sorted(notes.calls) == RAN[:2]
    assert wrong.calls == []
    assert len([r for r in caplog.records if "no agent in this worker's registry" in r.getMessage()]) == 1


async def test_runs_that_nobody_takes_hold_up_no_other(redis_url, approvals, store, notes):
    """However many stand before it."""
    gone = {f"billing.{number}": number for number in range(1_100)}
    await asyncio.gather(
        *(store._redis.hset(store.keys.req(id), "needs", "billing: langgraph/gone@1") for id in gone)
    )
    await store._redis.zadd(store.keys.unresumed, gone)
    asked = await a_graph(notes, InMemorySaver()).start(GO, approvals=approvals, config=thread("t"))
    nothing = await approvals.runs.lease(["billing: langgraph/office@1"], limit=5, lease=50)
    assert nothing == ([], {"billing: langgraph/gone@1"})
    await decide(store, asked.interrupt_id)

    taken, _ = await approvals.runs.lease(["billing: langgraph/office@1"], limit=5, lease=50)

    assert [run.interrupt_id for run in taken] == [asked.interrupt_id]


async def test_worker_that_was_overtaken_notes_nothing(approvals, store, notes):
    """It slept while another went on to the end: what it would write down is refused, so nothing is left behind."""
    agent = a_graph(notes, InMemorySaver())
    asked = await decided(agent, approvals, store)
    journal = await approvals.runs.journal(asked)
    async with working(approvals, agent):
        await eventually(lambda: resumed(store, asked))

    with pytest.raises(ConsumedError, match="resumed by another process meanwhile"):
        await journal.keep("began", "{}")
    with pytest.raises(ConsumedError, match="its run has gone on"):
        _ = (await approvals.runs.journal(asked)).continuation
    assert not await store._redis.exists(store.keys.run(asked))


async def test_run_of_another_agent_is_left_alone(redis_url, store, notes, caplog):
    """Two agents of one name in two teams share a Redis, and neither touches nor talks about the other's runs."""
    saver = InMemorySaver()
    async with a_client(redis_url, agent="support") as support, a_client(redis_url) as billing:
        await decided(a_graph(notes, saver), support, store)
        mine = await a_graph(notes, saver, version="2").start(GO, approvals=billing, config=thread("u"))
        await decide(store, mine.interrupt_id)
        async with working(billing, a_graph(notes, saver)):
            await until(lambda: "billing: langgraph/office@2" in caplog.text)

    assert notes.calls == []
    assert "support" not in caplog.text


@pytest.mark.parametrize("kind", ["graph", "openai"])
async def test_state_is_encrypted_where_a_key_is_given(redis_url, store, notes, kind, caplog):
    """Nobody reads it in Redis, and an older key still opens it. A worker without the key leaves it at once to one that has it."""
    old, new = (a_key() for _ in range(2))
    agent = one_of(kind, notes, InMemorySaver())
    async with a_client(redis_url, keys=[old]) as approvals:
        asked = await started(agent, approvals, "thread-of-dana")
    await decide(store, asked.interrupt_id)
    stored = await store._redis.hget(store.keys.run(asked.interrupt_id), "continuation")
    async with a_client(redis_url, keys=[new]) as other, working(other, agent, lease=LONG):
        await until(lambda: "is left to others" in caplog.text)
        left = await listed(redis_url)
        async with a_client(redis_url, keys=[new, old]) as both, working(both, agent, lease=LONG):
            await next_question(store, after=[asked.interrupt_id])

    assert "thread-of-dana" not in stored
    assert "report.txt" not in stored
    assert "continuation was encrypted with a key that is not in ASSENT_STATE_KEY" in left[0][3]
    assert sorted(notes.calls) == RAN[:2]


@pytest.mark.parametrize("kind", ["graph", "openai"])
async def test_a_run_does_not_begin_where_its_state_could_not_be_kept(redis_url, notes, kind):
    """Questions are encrypted and states would not be: that is said before the model is asked anything."""
    agent = one_of(kind, notes, InMemorySaver())
    keys = {"record_cipher": Cipher([a_key()]), "state_cipher": Cipher([])}
    async with ApprovalClient.from_url(redis_url, agent="billing", **keys) as approvals:
        with pytest.raises(InvalidRequestError, match="set ASSENT_STATE_KEY too"):
            await started(agent, approvals)

    if kind == "graph":
        assert not (await agent.graph.aget_state(thread("t"))).values


async def gives_it_another_title(store, ids):
    name = store.keys.req(ids[0])
    body = await store._redis.hget(name, "body")
    await store._redis.hset(name, "body", encode(decode(body) | {"context": {"title": "A dry run"}}))


async def swaps_two_states(store, ids):
    runs = [store.keys.run(id) for id in ids]
    states = [await store._redis.hget(run, "continuation") for run in runs]
    for run, state in zip(runs, reversed(states), strict=True):
        await store._redis.hset(run, "continuation", state)


async def writes_it_without_a_key(store, ids):
    """The client that asked has none."""


@pytest.mark.cell("Worker", "Changed: refused")
@pytest.mark.parametrize("kind", ["graph", "openai"])
@pytest.mark.parametrize(
    ("tampers", "why"),
    [
        (gives_it_another_title, "somebody changed what is stored"),
        (swaps_two_states, "or for another place"),
        (writes_it_without_a_key, "not encrypted, but this worker has a key"),
    ],
)
async def test_state_that_was_not_written_for_its_run_is_refused_where_there_is_a_key(
    redis_url, store, notes, kind, tampers, why
):
    """Somebody who can write to Redis resumes nothing. A worker without a key takes what was stored without one."""
    agent, key = one_of(kind, notes, InMemorySaver()), a_key()
    is_open = tampers is writes_it_without_a_key
    async with (
        a_client(redis_url, keys=[] if is_open else [key]) as asking,
        a_client(redis_url, keys=[key]) as strict,
    ):
        threads = ("one", "two") if tampers is swaps_two_states else ("one",)
        asked = [(await started(agent, asking, id)).interrupt_id for id in threads]
        await tampers(store, asked)
        for id in asked:
            await decide(store, id)
        async with working(strict, agent):
            left = await eventually_all_left(redis_url, len(asked))
        assert all(why in line[3] for line in left)
        assert notes.calls == []
        if is_open:
            async with working(asking, agent):
                await next_question(store, after=asked)
            assert sorted(notes.calls) == RAN[:2]


@pytest.mark.cell("Worker", "Withdrawn: error")
@pytest.mark.parametrize(
    ("kind", "status"),
    [("graph", "withdrawn"), ("graph", "refused"), ("graph", "expired"), ("openai", "withdrawn")],
)
async def test_question_that_ended_without_an_answer_resumes_nothing(
    approvals, store, notes, caplog, kind, status
):
    """The owner is told, the run is owed no more and stays paused, and its record is kept for thirty days."""
    agent = one_of(kind, notes, InMemorySaver())
    life = timedelta(seconds=1) if status == "expired" else timedelta(hours=1)
    asked = await started(agent, approvals, expires_in=life, on_expiry="raise")

    async def settled():
        return await store.settle(asked.interrupt_id, status, reason="not needed") == "settled"

    await eventually(settled)
    async with working(approvals, agent):
        over = await is_over(notes, store)

    assert notes.calls == []
    assert (over.status, over.reason, over.interrupt.id) == (status, "not needed", asked.interrupt_id)
    assert f"{asked.interrupt_id} was {status}, so its run stays paused" in caplog.text

    async def seconds_left():
        await store.take_inbox("billing")
        return max(0, await store._redis.ttl(store.keys.run(asked.interrupt_id)))

    assert 29 < await eventually(seconds_left) / 86_400 <= 30


async def test_failed_resume_is_logged_and_tried_again_later(redis_url, approvals, store, notes, caplog):
    """The tool ran, the model's server was away: the run goes on from there once it is back, and the tool does not run again."""
    away = []

    class Away(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            if away:
                raise ConnectionError("the model's server is away")
            return await handler(request)

    agent = a_graph(notes, InMemorySaver(), more=[Away()])
    asked = await agent.start(GO, approvals=approvals, config=thread("t"))
    away.append(True)
    await decide(store, asked.interrupt_id)
    async with working(approvals, agent, retry_at_most=timedelta(milliseconds=300)):
        await eventually(lambda: said_why(redis_url, "failed 2 times"))
        away.clear()
        await next_question(store, after=[asked.interrupt_id])

    assert sorted(notes.calls) == RAN[:2]
    assert "run.failed" in caplog.text


@pytest.mark.parametrize("kind", ["batched", "per_call", "openai"])
async def test_tool_that_raised_after_its_approval_does_not_run_again_by_itself(
    redis_url, approvals, store, notes, kind
):
    """The worker leaves the run to an operator: `--list` and the card say why, and each `--again` runs it once."""
    agent = one_that_raises(kind, notes)
    asked = await decided(agent, approvals, store, RejectDecision())
    async with working(approvals, agent, retry_at_most=timedelta(milliseconds=100)):
        (line,) = await eventually_all_left(redis_url, 1)
        await settled_down(redis_url, store)
        assert notes.calls == ["delete_file report.txt"]
        assert "the run failed with RuntimeError when delete_file may have run" in line[3]
        assert "RuntimeError when delete_file" in (await store.load(asked)).stalled

        assert await allow_again(redis_url, "assent", asked)
        await until(lambda: len(notes.calls) == 2)
        await eventually_all_left(redis_url, 1)
        await settled_down(redis_url, store)
        assert len(notes.calls) == 2

        notes.inside = Notes().inside
        assert await allow_again(redis_url, "assent", asked)
        await eventually(lambda: resumed(store, asked))
    assert notes.keys == 3 * [("delete_file report.txt", f"{asked}:1")]


async def test_a_run_that_was_set_aside_is_let_go_on_once(redis_url, approvals, store, notes, again):
    """Of two operators who see it, the second is told that nothing was done."""
    agent = one_that_raises("per_call", notes)
    asked = await decided(agent, approvals, store, RejectDecision())
    async with working(approvals, agent):
        (line,) = await eventually_all_left(redis_url, 1)
    assert line[3].endswith(f"--again {asked}")
    assert await again(asked) == (0, f"{asked}: the run will go on")
    code, said = await again(asked)
    assert (code, "is not set aside" in said) == (1, True)


@pytest.fixture
def again(redis_url, monkeypatch, capsys):
    """Run the command as an operator does: gives its exit code and what it says."""

    async def command(which):
        monkeypatch.setattr(sys, "argv", ["agent_adapter.worker", "--again", which])
        try:
            await asyncio.to_thread(main)
        except SystemExit as ended:
            return 1, str(ended)
        return 0, capsys.readouterr().out.strip()

    monkeypatch.setenv("REDIS_URL", redis_url)
    return command


async def test_a_command_that_cannot_do_anything_says_what_to_write(again, monkeypatch):
    assert await again("billing.unknown") == (
        1, "billing.unknown: no such run waits in namespace 'assent'",
    )  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["agent_adapter.worker", "nowhere:registry", "--agent", "billing"])
    with pytest.raises(SystemExit, match="'nowhere:registry' is not a registry: write module:name"):
        await asyncio.to_thread(main)


@pytest.mark.parametrize("arguments", ["--list", "--again billing.x", "nowhere:registry --agent billing"])
@pytest.mark.parametrize("url", ["", "localhost:6390"])
def test_what_is_not_the_address_of_a_redis_ends_the_command_with_one_sentence(monkeypatch, url, arguments):
    monkeypatch.setenv("REDIS_URL", url)
    monkeypatch.setattr(sys, "argv", ["agent_adapter.worker", *arguments.split()])
    with pytest.raises(SystemExit, match=r"^REDIS_URL is not the address of a Redis: write redis://host"):
        main()


async def test_worker_leaves_alone_a_tool_that_raised_in_the_process_that_asked(
    redis_url, approvals, store, notes
):
    """That process has the error; its thread stays paused, and no worker runs the tool a second time."""
    agent = one_that_raises("per_call", notes)
    async with a_client(redis_url) as client, working(client, agent):
        run = asyncio.create_task(agent.run(GO, approvals=approvals, config=thread("t")))
        await decide(store, await next_question(store, after=[]), RejectDecision())
        with pytest.raises(RuntimeError, match="the disk is full"):
            await run
        await eventually_all_left(redis_url, 1)
        await settled_down(redis_url, store)

    assert notes.calls == ["delete_file report.txt"]


class Rewording(AgentMiddleware):
    """Tells of an error in its own words."""

    async def awrap_tool_call(self, request, handler):
        try:
            return await handler(request)
        except RuntimeError as error:
            words = str(error)
        raise ValueError(words)


def an_agent(name, tools, *calls, reviewed=(), middleware=(), dialect=None):
    """An agent whose model makes these calls in one turn."""
    turns, held = (says(*calls), says(text="done")), dict.fromkeys(reviewed, True)
    graph = gated(tools, *turns, interrupt_on=held, middleware=middleware)
    return ResumableGraph(name, graph, version="1", dialect=dialect)


def failing(calls):
    """Tools that have their effect and raise: `pay` and `book` at once, `ask_and_pay` after its own question."""

    async def pay(to: str) -> str:
        """Pay."""
        calls.append("pay")
        raise RuntimeError("pay failed")

    async def book(to: str) -> str:
        """Book."""
        calls.append("book")
        raise RuntimeError("book failed")

    async def ask_and_pay(to: str) -> str:
        """Ask, and pay."""
        if interrupt({"question": f"pay {to}?"}):
            calls.append("ask_and_pay")
            raise RuntimeError("pay failed")
        return "not paid"

    return [pay, book, ask_and_pay]


def a_node(ran):
    """A node without tools that asks by itself and raises."""

    def book(state):
        interrupt({"question": "book?"})
        ran.append("book")
        raise RuntimeError("book failed")

    graph = StateGraph(MessagesState).add_node("book", book).add_edge(START, "book")
    return ResumableGraph(
        "office", graph.compile(checkpointer=InMemorySaver()), version="1", dialect="boolean"
    )


PAY, BOOK, ASK_AND_PAY = ((name, {"to": "al"}) for name in ("pay", "book", "ask_and_pay"))


@pytest.mark.parametrize(
    ("calls", "given", "may_have_run"),
    [
        pytest.param([ASK_AND_PAY], {"dialect": "boolean"}, "ask_and_pay", id="asked-itself"),
        pytest.param([PAY, BOOK], {"reviewed": ["pay"]}, "pay", id="another-raised-first"),
        pytest.param([PAY, BOOK], {"reviewed": ["pay", "book"]}, "pay, book", id="two-raised"),
        pytest.param([PAY], {"reviewed": ["pay"], "middleware": [Rewording()]}, "pay", id="reworded"),
        pytest.param([BOOK], None, "book", id="a-node"),
    ],
)  # fmt: skip
async def test_worker_does_not_run_a_call_again_that_raised_however_the_graph_shows_it(
    redis_url, approvals, store, calls, given, may_have_run
):
    """An operator reads of every approved call that may have had its effect, and no worker runs one a second time."""
    ran = []
    agent = a_node(ran) if given is None else an_agent("office", failing(ran), *calls, **given)
    await decided(agent, approvals, store)
    async with working(approvals, agent, retry_at_most=timedelta(milliseconds=100)):
        (line,) = await eventually_all_left(redis_url, 1)
        await settled_down(redis_url, store)

    assert f"when {may_have_run} may have run" in line[3]
    assert sorted(ran) == sorted(name for name, _ in calls)


async def test_error_that_the_graph_passed_to_its_model_sets_nothing_aside(redis_url, approvals, store):
    """The model was told that the tool failed; that its server is away afterwards is tried again."""
    ran, away = [], [True, True]

    class Away(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            if ran and away:
                away.pop()
                raise ConnectionError("the model's server is away")
            return await handler(request)

    handled = ToolRetryMiddleware(max_retries=0, on_failure="continue")
    agent = an_agent("office", failing(ran), PAY, reviewed=["pay"], middleware=[handled, Away()])
    asked = await decided(agent, approvals, store)
    async with working(approvals, agent, retry_at_most=timedelta(milliseconds=100)):
        await eventually(lambda: resumed(store, asked))

    assert (ran, away) == (["pay"], [])


@pytest.mark.cell("Worker", "Respond: told", "Partly decided: waits", "Nobody decides: told")
async def test_worker_gives_the_model_what_people_said_and_that_nobody_decided_the_rest(
    approvals, store, notes
):
    """At the deadline, and not before."""
    agent = a_graph(notes, InMemorySaver())
    asked = (await started(agent, approvals, expires_in=timedelta(seconds=1))).interrupt_id
    await admit(store, asked)
    await record(store, asked, {0: RespondDecision(message="I sent it.")})
    assert await owed(store) == 0

    async def settled():
        return await store.settle(asked, "expired") == "settled"

    await eventually(settled)
    async with working(approvals, agent):
        await next_question(store, after=[asked])

    messages = (await agent.graph.aget_state(thread("t"))).values["messages"]
    said = [message.content for message in messages if message.type == "tool"]
    assert (said[0], "Nobody decided" in said[1], notes.calls) == ("I sent it.", True, [])


def one_that_raises(kind, notes):
    async def fail():
        raise RuntimeError("the disk is full")

    notes.inside = fail
    if kind == "openai":
        return an_openai_agent(notes)
    return a_graph(notes, InMemorySaver(), mode=kind)


async def settled_down(redis_url, store):
    """Wait until a worker has looked at the only run once more."""
    first = await store._redis.zrange(store.keys.unresumed, 0, -1, withscores=True)

    async def looked_at():
        return await store._redis.zrange(store.keys.unresumed, 0, -1, withscores=True) != first

    await eventually(looked_at)
    await eventually_all_left(redis_url, 1)


async def said_why(redis_url, words):
    return any(
        words in line[3] and "the model's server is away" in line[3] for line in await listed(redis_url)
    )


@pytest.mark.parametrize(("mode", "answered"), [("batched", False), ("per_call", False), ("per_call", True)])
async def test_run_that_somebody_else_took_further_is_left_to_them(
    redis_url, approvals, store, notes, caplog, mode, answered
):
    """The thread does not wait for this answer any more, or not for all of it: nothing is resumed, and the record says so."""
    agent = a_graph(notes, InMemorySaver(), mode=mode)
    asked = await agent.start(GO, approvals=approvals, config=thread("t"))
    first, *_ = (await agent.graph.aget_state(thread("t"))).interrupts
    by_hand = (
        Command(resume={first.id: {"type": "reject"}}) if answered else {"messages": [("user", "never mind")]}
    )
    await agent.graph.ainvoke(by_hand, thread("t"))
    await decide(store, asked.interrupt_id)
    async with working(approvals, agent):
        await eventually(lambda: nothing_is_owed(store))

    state = await store.load(asked.interrupt_id)
    assert notes.calls == notes.over == []
    assert (state.resumed_at, state.stalled) == (None, WENT_ON)
    assert "went on without this answer" in caplog.text
    assert await listed(redis_url) == []


async def nothing_is_owed(store):
    return await owed(store) == 0


async def test_question_asked_without_a_worker_in_mind_can_be_handed_over(redis_url, store, notes):
    """A run that waited in its process is left to workers later, also when it is decided by then."""
    saver = InMemorySaver()
    async with a_client(redis_url) as doomed, a_client(redis_url) as client:
        agent = a_graph(notes, saver)
        await agent.graph.ainvoke(GO, thread("t"))
        plain = a_graph(notes, saver)._thread(doomed, thread("t"), {})
        del plain.asking["continuation"]
        first = await plain.ask()
        await decide(store, first)
        assert await owed(store) == 0
        assert await agent.start(None, approvals=client, config=thread("t")) == Paused(first)
        assert set((await lifetimes(store)).values()) == {-1}
        async with working(client, agent):
            await next_question(store, after=[first])

    assert sorted(notes.calls) == RAN[:2]


async def test_run_without_a_pause_needs_no_worker(approvals, store, notes):
    """It has finished, and its result is given."""
    talk = {"messages": [("user", "go"), ("ai", "first"), ("ai", "second")]}
    plain = Agent(name="plain", model=ScriptedModel([[assistant_message("done")]]))

    graph = await a_graph(notes, InMemorySaver()).start(talk, approvals=approvals, config=thread("t"))
    agent = await ResumableAgent("plain", plain, version="1").start("go", approvals=approvals)

    assert isinstance(graph, Finished)
    assert graph.result["messages"][-1].content == agent.result == "done"
    assert await ids(store) == []


async def test_state_that_is_too_large_to_travel_is_refused(approvals, store, notes):
    """Before anybody is asked, with what to do instead."""
    with pytest.raises(InvalidRequestError, match="the history of this run is too long to travel"):
        await an_openai_agent(notes).start("x" * 300_000, approvals=approvals)

    assert await ids(store) == []


async def killed_after_the_run(redis_url, agent):
    """Let a worker take the run, and die once its agent has run, before anybody knows."""
    came, run = asyncio.Event(), agent._run

    async def die(turn):
        await run(turn)
        came.set()
        await asyncio.Event().wait()

    agent._run = die
    async with a_client(redis_url) as client, working(client, agent):
        await came.wait()


async def test_model_hears_what_calls_gave_before_the_worker_died(redis_url, approvals, store, notes):
    """The next worker gives it what was noted, the word about an edit included, and runs neither call again."""
    edited = EditDecision(edited_action=EditedAction(name="send_email", args={"to": "cy"}))
    asked = await decided(an_openai_agent(notes), approvals, store, edited)
    heir = an_openai_agent(notes)
    await killed_after_the_run(redis_url, an_openai_agent(notes))
    async with working(approvals, heir):
        await next_question(store, after=[asked])

    assert sorted(notes.calls) == ["delete_file report.txt", "send_email cy"]
    heard = {i["call_id"]: i["output"] for i in heir.agent.model.calls[0].input if "output" in i}
    assert heard["call_1"].startswith("[A person changed the arguments of this call before it ran.")
    assert heard["call_1"].endswith("sent to cy")
    assert heard["call_2"] == "deleted report.txt"


async def test_worker_asks_again_about_an_edit_that_does_not_fit_a_schema_that_was_left_out(
    approvals, store, notes
):
    """People's form did not have the schema; the worker has it, runs nothing, and the second question says what was wrong."""
    agent = an_openai_agent(notes)
    agent.agent.tools[0].params_json_schema["properties"]["to"]["enum"] = [f"al{n:050}" for n in range(1000)]
    edited = EditDecision(edited_action=EditedAction(name="send_email", args={"to": "cy"}))
    asked = await decided(agent, approvals, store, edited)
    async with working(approvals, agent):
        second = await next_question(store, after=[asked])

    why = "the edited `send_email` does not fit its tool: $.to: enum"
    assert (await store.load(second)).interrupt.context.again == why
    assert notes.calls == []


async def test_approval_for_the_rest_of_a_run_holds_after_a_death(redis_url, approvals, store, notes):
    """The call that was decided does not run again, and the later one is not asked about."""
    asked = await decided(
        an_openai_agent(notes, allow_always=["send_email"]), approvals, store, ApproveDecision(always=True)
    )
    doomed, heir = (an_openai_agent(notes, allow_always=["send_email"]) for _ in range(2))
    await killed_after_the_run(redis_url, doomed)
    async with working(approvals, heir):
        over = await is_over(notes, store)

    assert over.result == "done"
    assert await ids(store) == [asked]
    # What nobody was asked about is not noted.
    assert sorted(notes.calls) == [*RAN, "send_email bo"]


async def test_hooks_of_an_agents_owner_are_called_too(approvals, store, notes):
    """Those about tools, and the others."""
    heard = []

    class Own(RunHooks):
        async def on_agent_start(self, context, agent):
            heard.append(f"start {agent.name}")

        async def on_tool_end(self, context, agent, tool, result):
            heard.append(f"{tool.name}: {result}")

    agent = an_openai_agent(notes, options={"hooks": Own()})
    asked = await decided(agent, approvals, store, RejectDecision())
    heard.clear()
    async with working(approvals, agent):
        await next_question(store, after=[asked])

    assert "delete_file: deleted report.txt" in heard
    assert "start office" in heard


async def test_cut_off_shell_command_is_left_to_an_operator(redis_url, approvals, store, caplog):
    """What a shell did is not noted anywhere, so it does not run twice by itself: somebody looks, and lets it run again."""
    ran = []
    agent = a_shell_agent(ran)
    asked = await decided(agent, approvals, store)
    doomed = a_shell_agent(ran)
    await killed_after_the_run(redis_url, doomed)
    async with working(approvals, agent):
        await until(lambda: "a worker died when shell may have run" in caplog.text)
        assert ran == SHELL.action.commands
        assert "--again" in (await listed(redis_url))[0][3]
        assert await allow_again(redis_url, "assent", asked)
        await eventually(lambda: resumed(store, asked))

    assert ran == 2 * SHELL.action.commands
    with pytest.raises(UnknownInterruptError, match="no such run"):
        await allow_again(redis_url, "assent", "billing.unknown")


def a_shell_agent(ran):
    def answer(asked):
        items = asked.input if isinstance(asked.input, list) else []
        return [assistant_message("done")] if any("output" in item for item in items) else [SHELL]

    model = ScriptedModel([ModelStep.respond(answer) for _ in range(5)])
    return ResumableAgent("cleaner", Agent(name="cleaner", model=model, **shell(ran)), version="1")


def test_empty_registry_is_refused(notes):
    """A worker that could take nothing would be running for nothing."""
    with pytest.raises(InvalidRequestError, match="the registry is empty"):
        ResumeWorker(a_client("redis://localhost"), [])
