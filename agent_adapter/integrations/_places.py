"""Which tool call or node of a graph a pause comes from, as far as the thread shows it without doubt."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.types import PregelTask, Send, StateSnapshot

from agent_adapter.errors import InvalidRequestError
from agent_adapter.integrations._graph import (
    graph_of_node,
    graphs_of,
    newest_calls,
    open_calls,
    runs_tool_node,
    tool_node_of,
)
from agent_adapter.integrations._stored import StoredThread, namespace_of, numbered, sent_by

Call: TypeAlias = Mapping[str, Any]

# A graph lends its checkpointer to those inside it under this key.
_CHECKPOINTER = "__pregel_checkpointer"


@dataclass(frozen=True)
class Place:
    """Where a pause comes from."""

    names: tuple[str, ...] = ()
    """The tool and the nodes that ask; the innermost comes first."""
    doubtful: frozenset[str] = frozenset()
    """The tools that may ask, if the thread does not show which of them does."""
    agent: str | None = None
    """The agent inside the graph that asks: a node that is a graph, or the subagent that deepagents' `task` runs."""
    namespace: str = ""
    """The checkpoint namespace of the graph that asks."""
    calls: Sequence[Call] = ()
    """The newest calls of the model there."""
    task: str = ""
    """The namespace of its task, as the state lists it; empty if it is not known."""
    is_inside: bool = False
    """Whether a graph that runs inside this task asks, which no state lists."""

    def within(self, outer: "Place") -> "Place":
        """Return this place as one inside another."""
        names, doubtful = (*self.names, *outer.names), self.doubtful | outer.doubtful
        return replace(self, names=names, doubtful=doubtful, agent=outer.agent)


async def places(graph: object, state: StateSnapshot) -> dict[str, Place]:
    """Find where each pause of a thread comes from, by its id."""
    return await _Thread(StoredThread.of(graph, state.config)).places(graph, state)


@dataclass(frozen=True)
class _Thread:
    stored: StoredThread

    async def places(self, graph: object, state: StateSnapshot) -> dict[str, Place]:
        sends, found = sent_by(await self.stored.read(state.config)), dict[str, Place]()
        for task in state.tasks:
            if not task.interrupts:
                continue
            calls = _calls_of(graph, state, task, sends)
            outer, inside = _place(task, calls), await self._inside(graph, state, task, calls)
            for pause in task.interrupts:
                own = Place(
                    namespace=str(state.config["configurable"].get("checkpoint_ns", "")),
                    calls=newest_calls(state.values),
                    task=namespace_of(state, task),
                )
                found[pause.id] = inside.get(pause.id, own).within(outer)
        return found

    async def _inside(
        self, graph: object, state: StateSnapshot, task: PregelTask, calls: Sequence[Call]
    ) -> dict[str, Place]:
        """Find the places of the pauses that come from a graph inside a task."""
        if isinstance(task.state, StateSnapshot):
            return await self.places(graph_of_node(graph, task.name), task.state)
        node = tool_node_of(graph, task.name)
        tools = [node.tools_by_name.get(call["name"]) for call in calls] if node else []
        graphs = [inner for tool in tools for inner in graphs_of(tool)]
        waiting = {pause.id for pause in task.interrupts}
        around = namespace_of(state, task)
        found: dict[str, Place] = {}
        async for stored, states in self._runs_inside(around, graphs):
            sent = frozenset(str(call["name"]) for send in sent_by(stored) for call in _sent(send))
            asked = dict.fromkeys(waiting & _asked_in(stored), Place(doubtful=sent))
            for inner, its_state in states:
                if waiting.intersection(pause.id for pause in its_state.interrupts):
                    asked |= await self.places(inner, its_state)
            calls = newest_calls(stored.checkpoint["channel_values"]) if stored else ()
            place = str(stored.config["configurable"].get("checkpoint_ns", "")) if stored else ""
            found |= {
                id: replace(each, namespace=place, calls=calls, task=around, is_inside=True)
                for id, each in asked.items()
            }
        return found

    async def _runs_inside(
        self, place: str, graphs: Sequence[object]
    ) -> AsyncIterator[tuple[CheckpointTuple | None, list[tuple[object, StateSnapshot]]]]:
        """Yield the stored checkpoint and the state of each graph run that a tool has started. No other state lists them."""
        for number in count():
            config = self.stored.config_of(numbered(place, number))
            stored = await self.stored.read(config)
            states = [(graph, await self._state(graph, config)) for graph in graphs]
            ran = [(graph, found) for graph, found in states if found and found.metadata]
            if not (stored or ran):
                return
            yield stored, ran

    async def _state(self, graph: Any, config: RunnableConfig) -> StateSnapshot | None:
        configurable = {**config["configurable"], _CHECKPOINTER: self.stored.saver}
        try:
            return cast(
                "StateSnapshot", await graph.aget_state({"configurable": configurable}, subgraphs=True)
            )
        except Exception:  # noqa: BLE001  # of several graphs that a tool may run, another cannot read this one's state
            return None


def _calls_of(graph: object, state: StateSnapshot, task: PregelTask, sends: Sequence[Send]) -> Sequence[Call]:
    """Return the call that a task runs; several calls, if the thread does not show which of them."""
    node = tool_node_of(graph, task.name)
    if node is None and runs_tool_node(graph, task.name):
        _check_alone(task, _calls_of_function(state, task, sends))
    calls: Sequence[Call]
    match task.path:
        case (_, int(number), *_) if number < len(sends):
            sent, key = sends[number], getattr(node, "_messages_key", "messages")
            calls, together = _sent(sent) or (newest_calls(sent.arg, key) if node else []), node is not None
        case (_, str(), *_) if node or task.name == "tools":
            calls = newest_calls(state.values, getattr(node, "_messages_key", "messages"))
            together = node is not None
        case () if task.name == "tools":
            # A server shows neither what was sent to a task nor whether each call has a task of its own.
            calls = newest_calls(state.values)
            if len({call["id"] for call in calls}) == len(calls):
                calls = open_calls(state.values)
            together = len(calls) > sum(other.name == task.name for other in state.tasks)
        case _:
            return ()
    if together:
        _check_alone(task, calls)
    return calls


def _calls_of_function(state: StateSnapshot, task: PregelTask, sends: Sequence[Send]) -> Sequence[Call]:
    """Return the open calls that a function could run: those that were sent to it, or those in the state."""
    match task.path:
        case (_, int(number), *_) if number < len(sends):
            return _sent(sends[number]) or open_calls(sends[number].arg)
        case _:
            return open_calls(state.values)


def _check_alone(task: PregelTask, calls: Sequence[Call]) -> None:
    if len(calls) > 1:
        raise InvalidRequestError(
            f"nobody was asked: the node {task.name!r} runs {len(calls)} calls of one turn together "
            f"({', '.join(call['name'] for call in calls)}), and LangGraph hands an answer to whichever asks first. Send "
            f"each call by itself, as create_agent does (Send({task.name!r}, [call])), or let the model make one call at "
            "a time (parallel_tool_calls=False)"
        )


def _place(task: PregelTask, calls: Sequence[Call]) -> Place:
    tools = {str(call["name"]) for call in calls}
    agents = {_subagent(call) for call in calls} if task.state is None else {task.name}
    agent = agents.pop() if len(agents) == 1 else None
    if len(tools) > 1:
        return Place((task.name,), frozenset(tools), agent)
    return Place((*tools, task.name), agent=agent)


def _subagent(call: Call) -> str | None:
    """Return the subagent that a call of deepagents' `task` runs."""
    return str(call["args"].get("subagent_type") or "") or None if call["name"] == "task" else None


def _sent(send: Send) -> list[Call]:
    """Return the calls that were sent to a task, alone or together with the state."""
    sent = send.arg
    if isinstance(sent, dict) and sent.get("__type") == "tool_call_with_context":
        sent = [sent["tool_call"]]
    if not isinstance(sent, list):
        return []
    return [call for call in sent if isinstance(call, dict) and call.get("type") == "tool_call"]


def _asked_in(stored: CheckpointTuple | None) -> set[str]:
    """Return the ids of the pauses that a run has stored, including those of graphs inside it."""
    writes = (stored and stored.pending_writes) or ()
    return {pause.id for _, channel, pauses in writes if channel == INTERRUPT for pause in pauses}
