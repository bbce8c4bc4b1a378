"""Approved calls that have run, and whose results LangGraph could not save: it would run them again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.types import StateSnapshot

from agent_adapter.errors import CutOffError
from agent_adapter.integrations._stored import StoredThread

_IDS = re.compile(r":([^|]+)")
# LangChain's node that asks: it ends like a call, and does nothing.
_REVIEW = f"{HumanInTheLoopMiddleware.__name__}.after_model"


@dataclass(frozen=True)
class Left:
    """What a failed resume leaves for the process that runs the thread next."""

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
