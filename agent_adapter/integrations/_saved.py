"""Answers that a crashed run has saved in a thread's checkpointer before its node had ended.

LangGraph keeps the answers of a task in one list, and names each pause by the number of answers that the task had at that
moment. So a saved answer to an earlier pause can be distinguished from an answer to the pause that is open now.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import RESUME
from langgraph.types import Interrupt as Pause
from langgraph.types import Send, StateSnapshot

from agent_adapter.integrations._graph import task_names
from agent_adapter.integrations._langgraph_calls import namespace_of
from agent_adapter.integrations._stored import (
    StoredThread,
    answers_to,
    numbered,
    sent_by,
    waiting_in,
)

# A graph stores under such a name that an edge leads to a node.
_EDGE = "branch:to:"
# Tasks that call tasks are looked for so far down.
_DEPTH = 3


@dataclass(frozen=True)
class Saved:
    """What is stored of one thread."""

    thread: StoredThread
    graph: object

    @classmethod
    def of(cls, graph: object, config: RunnableConfig) -> "Saved":
        """Find where a graph stores a thread."""
        return cls(StoredThread.of(graph, config), graph)

    async def answers_any(self, asked: AbstractSet[str], state: StateSnapshot) -> bool:
        """Whether an answer to one of these pauses is stored, or may be stored without the thread showing it.

        Args:
            asked: The ids of the pauses.
            state: Of the thread, with its subgraphs.
        """
        stored = await self.thread.read(state.config)
        places = {task.id: namespace_of(state, task) for task in state.tasks}
        for task in state.tasks:
            place = places[task.id]
            if not asked.isdisjoint(_pause_ids(place, len(answers_to(stored, task.id)))):
                return True
            if isinstance(task.state, StateSnapshot):
                if await self.answers_any(asked, task.state):
                    return True
            elif task.interrupts and await self._answers_any_inside(asked, place):
                return True
        called = {id: pauses for id, pauses in waiting_in(stored).items() if id not in places}
        if not called:
            return False
        return await self._answers_any_of(asked, stored, called, self._called(called, places.values()))

    async def _answers_any_inside(self, asked: AbstractSet[str], place: str) -> bool:
        """The same for the graphs that a task has run."""
        async for namespace, stored in self.thread.runs_inside(place):
            waiting = waiting_in(stored)
            places = {id: [f"{namespace}|{node}:{id}" for node in _nodes(stored)] for id in waiting}
            if await self._answers_any_of(asked, stored, waiting, places):
                return True
        return False

    async def _answers_any_of(
        self,
        asked: AbstractSet[str],
        stored: CheckpointTuple | None,
        waiting: Mapping[str, AbstractSet[str]],
        places: Mapping[str, Sequence[str]],
    ) -> bool:
        """The same for tasks that no state lists: only the id and the pauses of each are stored.

        Args:
            asked: The ids of the pauses.
            stored: Where the tasks are.
            waiting: The pauses of each task.
            places: Where each task may be. The search for tasks that they call starts here.
        """
        placed, explained = set[str](), set[str]()
        for _ in range(_DEPTH):
            for id, place in ((id, place) for id, its in places.items() for place in its):
                answers = len(answers_to(stored, id))
                if not asked.isdisjoint(_pause_ids(place, answers)):
                    return True
                inside = {
                    pause async for _, ran in self.thread.runs_inside(place) for pause in _asked_in(ran)
                }
                own = waiting[id] & set(_pause_ids(place, answers + 1))
                if inside and await self._answers_any_inside(asked, place):
                    return True
                if own or inside:
                    placed.add(id)
                    explained |= own | inside
            if all(
                id in placed or (pauses <= explained and not answers_to(stored, id))
                for id, pauses in waiting.items()
            ):
                return False
            places = self._called(waiting, [place for its in places.values() for place in its])
        # The place of one task is unknown, so there may be a stored answer to one of the pauses.
        return True

    def _called(self, ids: Iterable[str], callers: Iterable[str]) -> dict[str, list[str]]:
        """Return the places that tasks may have if one of these callers called them."""
        around, names = list(callers), task_names(self.graph)
        return {
            id: [f"{place}|{name}:{id}" for place in around if id not in place for name in names]
            for id in ids
        }

    async def takes_back(self, answers: Mapping[str, Any], state: StateSnapshot) -> bool:
        """Remove saved answers on which a node has failed, if the new answer differs; return whether one was removed.

        Otherwise LangGraph would give the saved answer to the node again and again.
        """
        taken = False
        stored = await self.thread.read(state.config)
        for task in state.tasks:
            if isinstance(task.state, StateSnapshot):
                taken |= await self.takes_back(answers, task.state)
            saved = answers_to(stored, task.id)
            ids = _pause_ids(namespace_of(state, task), len(saved))
            wrong = [
                number
                for number, (id, answer) in enumerate(zip(ids, saved, strict=True))
                if id in answers and repr(answers[id]) != repr(answer)
            ]
            if wrong and stored and self.thread.saver:
                await self.thread.saver.aput_writes(stored.config, [(RESUME, saved[: wrong[0]])], task.id)
                taken = True
        return taken


def _asked_in(stored: CheckpointTuple) -> set[str]:
    return set[str]().union(*waiting_in(stored).values())


def _nodes(stored: CheckpointTuple) -> set[str]:
    """Name the nodes that a graph could run next."""
    channels = stored.checkpoint["channel_versions"]
    sent = {send.node for send in sent_by(stored) if isinstance(send, Send)}
    return {channel.removeprefix(_EDGE) for channel in channels if channel.startswith(_EDGE)} | sent


def _pause_ids(place: str, answers: int) -> list[str]:
    """Name the pauses of a task that so many answers are for."""
    return [_pause_id(place, number) for number in range(answers)]


def _pause_id(place: str, answers: int) -> str:
    """Name the pause of a task that has so many answers."""
    return Pause.from_ns(None, numbered(place, answers)).id
