"""What LangGraph's checkpointer has stored of a thread, also where no state lists it, and what it could not store.

LangGraph keeps the answers of a task in one list, and names each pause by the number of answers that the task had at that
moment. So an answer that a crashed run has stored for an earlier pause differs from one to the pause that is open now.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS
from langgraph.pregel import Pregel
from langgraph.types import Interrupt as Pause
from langgraph.types import PregelTask, Send, StateSnapshot

from agent_adapter.errors import CutOffError

# What a called task gives back, and which task gets an answer that is still free.
_RETURN, _NO_TASK = "__return__", "00000000-0000-0000-0000-000000000000"
# A graph stores under such a name that an edge leads to a node.
_EDGE = "branch:to:"
_IDS = re.compile(r":([^|]+)")
# LangChain's node that asks: it ends like a call, and does nothing.
_REVIEW = f"{HumanInTheLoopMiddleware.__name__}.after_model"


@dataclass(frozen=True)
class StoredThread:
    """Reads one thread."""

    saver: BaseCheckpointSaver[Any] | None
    """None of a thread on a server."""
    thread_id: Any

    @classmethod
    def of(cls, graph: object, config: RunnableConfig) -> "StoredThread":
        """Find where a graph stores a thread."""
        saver = graph.checkpointer if isinstance(graph, Pregel) else None
        known = saver if isinstance(saver, BaseCheckpointSaver) else None
        return cls(known, config["configurable"]["thread_id"])

    async def read(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read what a state was made of."""
        return await self.saver.aget_tuple(config) if self.saver else None

    def config_of(self, namespace: str) -> RunnableConfig:
        """Say where a graph stores that a task has run, such as a subagent of a tool."""
        return {"configurable": {"thread_id": self.thread_id, "checkpoint_ns": namespace}}

    async def at(self, namespace: str) -> CheckpointTuple | None:
        """Read what such a graph has stored."""
        return await self.read(self.config_of(namespace))

    async def runs_inside(self, place: str) -> AsyncIterator[tuple[str, CheckpointTuple]]:
        """Give what each graph has stored that a task has run, one after the other."""
        for number in count():
            namespace = numbered(place, number)
            if (stored := await self.at(namespace)) is None:
                return
            yield namespace, stored

    async def may_have_answered(self, asked: AbstractSet[str], state: StateSnapshot) -> bool:
        """Whether an answer to one of these pauses is stored, or may be stored without the thread showing it.

        Nothing that is stored names a task of the functional API, so one that waits always counts.
        """
        stored = await self.read(state.config)
        places = {task.id: namespace_of(state, task) for task in state.tasks}
        for task in state.tasks:
            place = places[task.id]
            if not asked.isdisjoint(_pause_ids(place, len(answers_to(stored, task.id)))):
                return True
            if isinstance(task.state, StateSnapshot):
                if await self.may_have_answered(asked, task.state):
                    return True
            elif task.interrupts and await self._may_hold_answers(place):
                return True
        return any(id not in places for id in waiting_in(stored))

    async def _may_hold_answers(self, place: str) -> bool:
        """Whether a graph that a task has run, which no state lists, may have stored an answer; also one inside of it."""
        async for namespace, stored in self.runs_inside(place):
            for id, pauses in waiting_in(stored).items():
                around = [f"{namespace}|{node}:{id}" for node in _nodes(stored)]
                if answers_to(stored, id):
                    return True
                if not pauses.isdisjoint(pause for each in around for pause in _pause_ids(each, 1)):
                    # It asks by itself, and waits for its first answer.
                    continue
                held = [await self._may_hold_answers(each) for each in around if await self.at(each)]
                if any(held) or not held:
                    return True
        return False

    async def take_back(self, answers: Mapping[str, Any], state: StateSnapshot) -> bool:
        """Remove stored answers on which a node has failed, if the new answer differs; return whether one was removed.

        Otherwise LangGraph would give the stored answer to the node again and again.
        """
        taken = False
        stored = await self.read(state.config)
        for task in state.tasks:
            if isinstance(task.state, StateSnapshot):
                taken |= await self.take_back(answers, task.state)
            given = answers_to(stored, task.id)
            ids = _pause_ids(namespace_of(state, task), len(given))
            wrong = [
                number
                for number, (id, answer) in enumerate(zip(ids, given, strict=True))
                if id in answers and repr(answers[id]) != repr(answer)
            ]
            if wrong and stored and self.saver:
                await self.saver.aput_writes(stored.config, [(RESUME, given[: wrong[0]])], task.id)
                taken = True
        return taken


def namespace_of(state: StateSnapshot, task: PregelTask) -> str:
    """Return the checkpoint namespace of a graph that runs inside a task."""
    around = state.config["configurable"].get("checkpoint_ns")
    return "|".join(filter(None, (around, f"{task.name}:{task.id}")))


def numbered(place: str, number: int) -> str:
    """Name the place of a graph, or of a pause, of which a task has had so many before."""
    return f"{place}|{number}" if number else place


def answers_to(stored: CheckpointTuple | None, task_id: str) -> list[Any]:
    """Give the answers that are stored for a task."""
    for id, channel, value in (stored and stored.pending_writes) or ():
        if id == task_id and channel == RESUME:
            return value if isinstance(value, list) else [value]
    return []


def waiting_in(stored: CheckpointTuple | None) -> dict[str, set[str]]:
    """Give the pauses of each task that has not ended and has asked, or has an answer."""
    writes = (stored and stored.pending_writes) or ()
    ended = {id for id, channel, _ in writes if channel == _RETURN}
    found: dict[str, set[str]] = {}
    for id, channel, value in writes:
        if channel in (INTERRUPT, RESUME) and id not in ended and id != _NO_TASK:
            found.setdefault(id, set()).update(pause.id for pause in (value if channel == INTERRUPT else ()))
    return found


def sent_by(stored: CheckpointTuple | None) -> list[Send]:
    """Give what a step sent to its tasks, in the order that the paths of the tasks count."""
    sends = stored.checkpoint["channel_values"].get(TASKS) if stored else None
    return sends if isinstance(sends, list) else []


def _nodes(stored: CheckpointTuple) -> set[str]:
    """Name the nodes that a graph could run next."""
    channels = stored.checkpoint["channel_versions"]
    sent = {send.node for send in sent_by(stored) if isinstance(send, Send)}
    return {channel.removeprefix(_EDGE) for channel in channels if channel.startswith(_EDGE)} | sent


def _pause_ids(place: str, count: int) -> list[str]:
    """Name the first pauses of a task."""
    return [Pause.from_ns(None, numbered(place, number)).id for number in range(count)]


@dataclass(frozen=True)
class Left:
    """Approved calls that have run, and whose results could not be stored: the process that runs the thread next must not
    run them again.
    """

    tools: Sequence[str]
    """The names of the calls that have run."""
    tasks: Sequence[str]
    """The namespaces of their tasks."""
    reviews: Sequence[str]
    """The namespaces of the reviews that let them run."""
    pauses: Sequence[str]
    """The questions that the thread was resumed with."""

    @classmethod
    def by(cls, calls: Sequence[tuple[str, str]], pauses: Sequence[str]) -> "Left":
        names = dict.fromkeys(name for name, _ in calls if name != _REVIEW)
        tasks, reviews = (
            [task for name, task in calls if (name == _REVIEW) == is_review] for is_review in (False, True)
        )
        return cls([*names], tasks, reviews, pauses)

    def error(self) -> CutOffError:
        return CutOffError(
            f"{', '.join(self.tools)} has run, and LangGraph could not save the result, so the thread would run it again: "
            "look at what it did, and write its result into the thread with update_state(…), or start a new thread"
        )

    async def is_unsaved(self, graph: object, config: RunnableConfig, state: StateSnapshot) -> bool:
        """Whether one of these calls would run again."""
        stored = await StoredThread.of(graph, config).read(state.config)
        writes = (stored and stored.pending_writes) or ()
        saved = {id for id, channel, _ in writes if channel not in (ERROR, INTERRUPT, RESUME)}
        due, open = {task.id for task in state.tasks}, {pause.id for pause in state.interrupts}
        # The ids of the tasks around each call, the outermost first.
        around, before = ([_IDS.findall(place) for place in places] for places in (self.tasks, self.reviews))
        is_behind = not open.isdisjoint(self.pauses) or any(ids[0] in due for ids in (*around, *before))
        return is_behind and any(map(saved.isdisjoint, around))
