"""Which agent, task and tool call of a graph a pause comes from, as far as the thread shows it without doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT, TASKS
from langgraph.pregel import Pregel
from langgraph.types import PregelTask, Send, StateSnapshot

from agent_adapter.errors import InvalidRequestError
from agent_adapter.integrations._graph import (
    graph_of_node,
    newest_calls,
    open_calls,
    runs_tool_node,
    tool_node_of,
)

Call: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a pause comes from."""

    name: str = ""
    """The tool that its task runs, or else the node. Where a graph asks that no state lists: the tool or node around it."""
    agent: str | None = None
    """The agent inside the graph that asks: a node that is a graph, or the subagent that deepagents' `task` runs."""
    namespace: str = ""
    """The checkpoint namespace of the graph that asks."""
    calls: Sequence[Call] = ()
    """The calls that its task runs, or else the newest calls of the model there."""
    task: str = ""
    """The namespace of its task, as the state lists it; empty if it is not known."""
    is_inside: bool = False
    """Whether a graph that runs inside this task asks, which no state lists."""


def saver_of(graph: object) -> BaseCheckpointSaver[Any] | None:
    """Return where a graph stores its threads; `None` of a graph on a server."""
    saver = graph.checkpointer if isinstance(graph, Pregel) else None
    return saver if isinstance(saver, BaseCheckpointSaver) else None


async def places(graph: object, state: StateSnapshot) -> dict[str, Place]:
    """Find where each pause of a thread comes from, by its id."""
    return await _Thread(saver_of(graph), state.config["configurable"]["thread_id"]).places(graph, state)


@dataclass(frozen=True)
class _Thread:
    saver: BaseCheckpointSaver[Any] | None
    id: Any

    async def places(self, graph: object, state: StateSnapshot) -> dict[str, Place]:
        sends, found = _sent_by(await self._stored(state.config)), dict[str, Place]()
        for task in state.tasks:
            if not task.interrupts:
                continue
            calls = _calls_of(graph, state, task, sends)
            inside = await self._inside(graph, state, task)
            own = Place(
                namespace=str(state.config["configurable"].get("checkpoint_ns", "")),
                calls=calls or newest_calls(state.values),
                task=_namespace_of(state, task),
            )
            agent, name = _agent(task, calls), _name(task, calls)
            for pause in task.interrupts:
                place = inside.get(pause.id, own)
                found[pause.id] = replace(place, agent=agent, name=place.name or name)
        return found

    async def _inside(self, graph: object, state: StateSnapshot, task: PregelTask) -> dict[str, Place]:
        """Find the places of the pauses that come from a graph inside a task. No state lists the graphs of tools."""
        if isinstance(task.state, StateSnapshot):
            return await self.places(graph_of_node(graph, task.name), task.state)
        around, found = _namespace_of(state, task), dict[str, Place]()
        for number in count():
            namespace = f"{around}|{number}" if number else around
            stored = await self._stored({"configurable": {"thread_id": self.id, "checkpoint_ns": namespace}})
            if stored is None:
                return found
            calls = newest_calls(stored.checkpoint["channel_values"])
            inner = Place(namespace=namespace, calls=calls, task=around, is_inside=True)
            found |= dict.fromkeys(_asked_in(stored), inner)
        return found

    async def _stored(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.saver.aget_tuple(config) if self.saver else None


def _calls_of(graph: object, state: StateSnapshot, task: PregelTask, sends: Sequence[Send]) -> Sequence[Call]:
    """Return the call that the task of a tool node, or of a function that runs one, runs; several calls, if a server does not show which of them."""
    node = tool_node_of(graph, task.name)
    key = getattr(node, "_messages_key", "messages")
    runs, of_turn = (node, newest_calls) if node else (runs_tool_node(graph, task.name), open_calls)
    calls: Sequence[Call]
    match task.path:
        case (_, int(number), *_) if runs and number < len(sends):
            calls, together = _sent(sends[number]) or of_turn(sends[number].arg, key), True
        case (_, str(), *_) if runs:
            calls, together = of_turn(state.values, key), True
        case () if task.name == "tools":
            # A server shows neither what was sent to a task nor whether each call has a task of its own.
            calls = newest_calls(state.values)
            if len({call["id"] for call in calls}) == len(calls):
                calls = open_calls(state.values)
            together = len(calls) > sum(other.name == task.name for other in state.tasks)
        case _:
            return ()
    if together and len(calls) > 1:
        raise InvalidRequestError(
            f"nobody was asked: the node {task.name!r} runs {len(calls)} calls of one turn together "
            f"({', '.join(call['name'] for call in calls)}), and LangGraph hands an answer to whichever asks first. Send "
            f"each call by itself, as create_agent does (Send({task.name!r}, [call])), or let the model make one call at "
            "a time (parallel_tool_calls=False)"
        )
    return calls


def _agent(task: PregelTask, calls: Sequence[Call]) -> str | None:
    """Return the agent that asks in a task, for all its calls."""
    if task.state is not None:
        return task.name
    agents = {call["args"].get("subagent_type") if call["name"] == "task" else None for call in calls}
    return agents.pop() or None if len(agents) == 1 else None


def _name(task: PregelTask, calls: Sequence[Call]) -> str:
    """Return the tool that runs in a task, or the task's node."""
    names = {call["name"] for call in calls}
    return names.pop() if len(names) == 1 else task.name


def _namespace_of(state: StateSnapshot, task: PregelTask) -> str:
    """Return the checkpoint namespace of a graph that runs inside a task."""
    around = state.config["configurable"].get("checkpoint_ns")
    return "|".join(filter(None, (around, f"{task.name}:{task.id}")))


def _sent_by(stored: CheckpointTuple | None) -> list[Send]:
    """Give what a step sent to its tasks, in the order that the paths of the tasks count."""
    sends = stored.checkpoint["channel_values"].get(TASKS) if stored else None
    return sends if isinstance(sends, list) else []


def _sent(send: Send) -> list[Call]:
    """Return the calls that were sent to a task, alone or together with the state."""
    sent = send.arg
    if isinstance(sent, dict) and sent.get("__type") == "tool_call_with_context":
        sent = [sent["tool_call"]]
    if not isinstance(sent, list):
        return []
    return [call for call in sent if isinstance(call, dict) and call.get("type") == "tool_call"]


def _asked_in(stored: CheckpointTuple) -> set[str]:
    """Return the ids of the pauses that a run has stored, including those of graphs inside it."""
    writes = stored.pending_writes or ()
    return {pause.id for _, channel, pauses in writes if channel == INTERRUPT for pause in pauses}
