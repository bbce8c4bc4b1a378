"""What a thread's checkpointer has stored: answers above all, which a crashed run has saved before its node had ended.

LangGraph keeps the answers of a task in one list, and names each of its pauses by how many answers it had then. So an
answer that is kept for an earlier pause is told from one to the pause that is open now.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
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

from agent_adapter.integrations._places import namespace_of

# A graph stores under such a name that an edge leads to a node.
_EDGE = "branch:to:"


@dataclass(frozen=True)
class Saved:
    """What is stored of one thread."""

    saver: BaseCheckpointSaver[Any] | None
    """None of a thread on a server."""
    thread_id: Any

    @classmethod
    def of(cls, graph: object, config: RunnableConfig) -> "Saved":
        """Find where a graph stores a thread."""
        saver = graph.checkpointer if isinstance(graph, Pregel) else None
        known = saver if isinstance(saver, BaseCheckpointSaver) else None
        return cls(known, config["configurable"]["thread_id"])

    async def at(self, namespace: str) -> CheckpointTuple | None:
        """Read what a graph has stored that a task has run, such as a subagent of a tool: no state lists it."""
        return await self._stored({"configurable": {"thread_id": self.thread_id, "checkpoint_ns": namespace}})

    async def answers_any(self, asked: AbstractSet[str], state: StateSnapshot) -> bool:
        """Tell whether an answer to one of these pauses is stored.

        Args:
            asked: The ids of the pauses.
            state: Of the thread, with its subgraphs.
        """
        stored = await self._stored(state.config)
        for task in state.tasks:
            place = namespace_of(state, task)
            if not asked.isdisjoint(_pause_ids(place, len(_answers(stored, task.id)))):
                return True
            if isinstance(task.state, StateSnapshot):
                if await self.answers_any(asked, task.state):
                    return True
            elif task.interrupts and await self._answers_any_inside(asked, place):
                return True
        return False

    async def _answers_any_inside(self, asked: AbstractSet[str], place: str) -> bool:
        """Likewise for the graphs that a task has run."""
        async for namespace, stored in self._runs_inside(place):
            for task_id, pauses in _pauses(stored):
                open = asked & pauses
                if open and await self._answers_any_of(open, stored, namespace, task_id):
                    return True
        return False

    async def _runs_inside(self, place: str) -> AsyncIterator[tuple[str, CheckpointTuple]]:
        for number in count():
            namespace = _numbered(place, number)
            if (stored := await self.at(namespace)) is None:
                return
            yield namespace, stored

    async def _answers_any_of(
        self, open: AbstractSet[str], stored: CheckpointTuple, namespace: str, task_id: str
    ) -> bool:
        """Likewise for a task of which only the id is stored: its node is one of those that the graph could run."""
        answers = len(_answers(stored, task_id))
        places = [f"{namespace}|{node}:{task_id}" for node in _nodes(stored)]
        if any(not open.isdisjoint(_pause_ids(place, answers)) for place in places):
            return True
        further = open - {_pause_id(place, answers) for place in places}
        if not further:
            return False
        inside = [place for place in places if await self.at(place)]
        if not inside:
            # No node is known that could ask this, so an answer may be the one to it.
            return answers > 0
        return any([await self._answers_any_inside(further, place) for place in inside])

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


def _pauses(stored: CheckpointTuple) -> Iterator[tuple[str, set[str]]]:
    """Give the id of each task that has paused, and the ids of its pauses."""
    for task_id, channel, value in stored.pending_writes or ():
        if channel == INTERRUPT:
            yield task_id, {pause.id for pause in value}


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
