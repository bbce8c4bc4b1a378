"""What a thread's checkpointer has stored: answers above all, which a crashed run has saved before its node had ended.

LangGraph keeps the answers of a task in one list, and names each of its pauses by how many answers it had then. So an
answer that is kept for an earlier pause is told from one to the pause that is open now.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME, TASKS
from langgraph.pregel import Pregel
from langgraph.types import Interrupt as Pause
from langgraph.types import Send, StateSnapshot

from agent_adapter.calls.langgraph import namespace_of
from agent_adapter.integrations._graph import task_names

# A graph stores under such a name that an edge leads to a node.
_EDGE = "branch:to:"
# What a task gives back that was called, and whose an answer is that no task has taken yet.
_RETURN, _NO_TASK = "__return__", "00000000-0000-0000-0000-000000000000"
# Tasks that call tasks are looked for so far down.
_DEPTH = 3


@dataclass(frozen=True)
class Saved:
    """What is stored of one thread."""

    saver: BaseCheckpointSaver[Any] | None
    """None of a thread on a server."""
    thread_id: Any
    graph: object

    @classmethod
    def of(cls, graph: object, config: RunnableConfig) -> "Saved":
        """Find where a graph stores a thread."""
        saver = graph.checkpointer if isinstance(graph, Pregel) else None
        known = saver if isinstance(saver, BaseCheckpointSaver) else None
        return cls(known, config["configurable"]["thread_id"], graph)

    async def at(self, namespace: str) -> CheckpointTuple | None:
        """Read what a graph has stored that a task has run, such as a subagent of a tool: no state lists it."""
        return await self._stored({"configurable": {"thread_id": self.thread_id, "checkpoint_ns": namespace}})

    async def answers_any(self, asked: AbstractSet[str], state: StateSnapshot) -> bool:
        """Tell whether an answer to one of these pauses is stored, or could be as far as the thread tells.

        Args:
            asked: The ids of the pauses.
            state: Of the thread, with its subgraphs.
        """
        stored = await self._stored(state.config)
        places = {task.id: namespace_of(state, task) for task in state.tasks}
        for task in state.tasks:
            place = places[task.id]
            if not asked.isdisjoint(_pause_ids(place, len(_answers(stored, task.id)))):
                return True
            if isinstance(task.state, StateSnapshot):
                if await self.answers_any(asked, task.state):
                    return True
            elif task.interrupts and await self._answers_any_inside(asked, place):
                return True
        called = {id: pauses for id, pauses in _waiting(stored).items() if id not in places}
        if not called:
            return False
        return await self._answers_any_of(asked, stored, called, self._called(called, places.values()))

    async def _answers_any_inside(self, asked: AbstractSet[str], place: str) -> bool:
        """Likewise for the graphs that a task has run."""
        async for namespace, stored in self._runs_inside(place):
            waiting = _waiting(stored)
            places = {id: [f"{namespace}|{node}:{id}" for node in _nodes(stored)] for id in waiting}
            if await self._answers_any_of(asked, stored, waiting, places):
                return True
        return False

    async def _runs_inside(self, place: str) -> AsyncIterator[tuple[str, CheckpointTuple]]:
        for number in count():
            namespace = _numbered(place, number)
            if (stored := await self.at(namespace)) is None:
                return
            yield namespace, stored

    async def _answers_any_of(
        self,
        asked: AbstractSet[str],
        stored: CheckpointTuple | None,
        waiting: Mapping[str, AbstractSet[str]],
        places: Mapping[str, Sequence[str]],
    ) -> bool:
        """Likewise for tasks that no state lists: of each only the id and the pauses are stored.

        Args:
            asked: The ids of the pauses.
            stored: Where the tasks are.
            waiting: The pauses of each task.
            places: Where each may be. What one of them calls as a task is looked for from here on.
        """
        placed, explained = set[str](), set[str]()
        for _ in range(_DEPTH):
            for id, place in ((id, place) for id, its in places.items() for place in its):
                answers = len(_answers(stored, id))
                if not asked.isdisjoint(_pause_ids(place, answers)):
                    return True
                inside = {pause async for _, ran in self._runs_inside(place) for pause in _asked_in(ran)}
                own = waiting[id] & set(_pause_ids(place, answers + 1))
                if inside and await self._answers_any_inside(asked, place):
                    return True
                if own or inside:
                    placed.add(id)
                    explained |= own | inside
            if all(
                id in placed or (pauses <= explained and not _answers(stored, id))
                for id, pauses in waiting.items()
            ):
                return False
            places = self._called(waiting, [place for its in places.values() for place in its])
        # Nothing tells where one of the tasks is, so an answer may be stored for what is asked.
        return True

    def _called(self, ids: Iterable[str], callers: Iterable[str]) -> dict[str, list[str]]:
        """Name the places that tasks may have that were called from one of these."""
        around, names = list(callers), task_names(self.graph)
        return {
            id: [f"{place}|{name}:{id}" for place in around if id not in place for name in names]
            for id in ids
        }

    async def takes_back(self, answers: Mapping[str, Any], state: StateSnapshot) -> bool:
        """Forget the answers that nodes have failed on where they are now written in another way.

        LangGraph would give the saved one to the node for ever.
        """
        taken = False
        stored = await self._stored(state.config)
        for task in state.tasks:
            if isinstance(task.state, StateSnapshot):
                taken |= await self.takes_back(answers, task.state)
            saved = _answers(stored, task.id)
            ids = _pause_ids(namespace_of(state, task), len(saved))
            wrong = [
                number
                for number, (id, answer) in enumerate(zip(ids, saved, strict=True))
                if id in answers and repr(answers[id]) != repr(answer)
            ]
            if wrong and stored and self.saver:
                await self.saver.aput_writes(stored.config, [(RESUME, saved[: wrong[0]])], task.id)
                taken = True
        return taken

    async def _stored(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.saver.aget_tuple(config) if self.saver else None


def _answers(stored: CheckpointTuple | None, task_id: str) -> list[Any]:
    """Give the answers that are stored for a task."""
    for id, channel, value in (stored and stored.pending_writes) or ():
        if id == task_id and channel == RESUME:
            return value if isinstance(value, list) else [value]
    return []


def _waiting(stored: CheckpointTuple | None) -> dict[str, set[str]]:
    """Give the pauses of each task that has not ended and has asked, or has an answer."""
    writes = (stored and stored.pending_writes) or ()
    ended = {id for id, channel, _ in writes if channel == _RETURN}
    found: dict[str, set[str]] = {}
    for id, channel, value in writes:
        if channel in (INTERRUPT, RESUME) and id not in ended and id != _NO_TASK:
            found.setdefault(id, set()).update(pause.id for pause in (value if channel == INTERRUPT else ()))
    return found


def _asked_in(stored: CheckpointTuple) -> set[str]:
    return set[str]().union(*_waiting(stored).values())


def _nodes(stored: CheckpointTuple) -> set[str]:
    """Name the nodes that a graph could run next."""
    channels = stored.checkpoint["channel_versions"]
    sends = stored.checkpoint["channel_values"].get(TASKS)
    sent = {send.node for send in sends if isinstance(send, Send)} if isinstance(sends, list) else set()
    return {channel.removeprefix(_EDGE) for channel in channels if channel.startswith(_EDGE)} | sent


def _pause_ids(place: str, answers: int) -> list[str]:
    """Name the pauses of a task that so many answers are for."""
    return [_pause_id(place, number) for number in range(answers)]


def _pause_id(place: str, answers: int) -> str:
    """Name the pause of a task that has so many answers."""
    return Pause.from_ns(None, _numbered(place, answers)).id


def _numbered(place: str, number: int) -> str:
    return f"{place}|{number}" if number else place
