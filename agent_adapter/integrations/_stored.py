"""What LangGraph's checkpointer has stored of a thread, also where no state lists it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME, TASKS
from langgraph.pregel import Pregel
from langgraph.types import Send

# What a called task gives back, and which task gets an answer that is still free.
_RETURN, _NO_TASK = "__return__", "00000000-0000-0000-0000-000000000000"


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
