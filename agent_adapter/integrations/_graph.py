"""What a compiled graph tells about itself: its tools, and which of its agents a pause comes from."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from langchain_core.utils.pydantic import model_json_schema
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import Interrupt as Pause
from langgraph.types import StateSnapshot
from pydantic import BaseModel, ValidationError

from agent_adapter.contract.hitl import ActionRequest, Decision, EditDecision, ReviewConfig
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError

Graph: TypeAlias = PregelProtocol[Any, Any, Any, Any]
Tools: TypeAlias = Sequence[BaseTool | Callable[..., Any]]
Config: TypeAlias = RunnableConfig | Mapping[str, Any]
"""LangGraph's own type, or a mapping as people write it: a type checker does not see that one is the other."""


def tool_names(graph: Graph) -> set[str]:
    """Name the graph's tools, also those of the agents inside it."""
    return {tool.name for inner in graphs_in(graph) for tool in _tools_of(inner)}


def own_tools(graph: Graph) -> dict[str, BaseTool]:
    """Find the graph's tools by name, also those of the agents inside it.

    Two of one name with different arguments are left out: it is not known which is meant.
    """
    found: dict[str, BaseTool] = {}
    doubtful = set()
    for tool in (tool for inner in graphs_in(graph) for tool in _tools_of(inner)):
        if tool.name in found and json_schema(tool) != json_schema(found[tool.name]):
            doubtful.add(tool.name)
        found[tool.name] = tool
    return {name: tool for name, tool in found.items() if name not in doubtful}


def tools_by_name(tools: Tools) -> dict[str, BaseTool]:
    """Give tools by their name, made from the functions among them."""
    made = (tool if isinstance(tool, BaseTool) else make_tool(tool) for tool in tools)
    return {tool.name: tool for tool in made}


def with_schema(config: ReviewConfig, known: Mapping[str, BaseTool]) -> ReviewConfig:
    """Fill in the schema of the arguments where the pause carries none and the tool is known."""
    tool = known.get(config.action_name)
    if config.args_schema is not None or tool is None:
        return config
    return config.model_copy(update={"args_schema": json_schema(tool)})


def json_schema(tool: BaseTool) -> dict[str, Any]:
    """Give the JSON Schema of the arguments that a model may pass."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else model_json_schema(schema)


def check_edit(action: ActionRequest, decision: Decision | None, known: Mapping[str, BaseTool]) -> None:
    """Refuse edited arguments that the tool would not take.

    Raises:
        DecisionNotAllowedError: naming the argument.
    """
    tool = known.get(action.name)
    if tool is None or not isinstance(decision, EditDecision):
        return
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return
    try:
        schema.model_validate(decision.edited_action.args)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(["args", *map(str, first["loc"])])
        raise DecisionNotAllowedError(
            f"the edited {action.name} does not fit its tool: {place}: {first['msg']}; nothing was resumed"
        ) from error


def askers(state: StateSnapshot) -> dict[str, str]:
    """Name the agent inside the graph that asks, by the id of its pause, where the state tells it.

    A graph that is a node has the node's name. A subagent that runs inside a tool is named by its call.
    """
    paused = [task for task in state.tasks if task.interrupts]
    in_tools = [task for task in paused if task.state is None and task.name == "tools"]
    calls = _open_calls(state.values)
    names = {task.id: task.name for task in paused if task.state is not None}
    if len(calls) == len(in_tools):
        # Both are in the order of the model's calls, and what has finished is in neither.
        names |= {task.id: _subagent(call) for task, call in zip(in_tools, calls, strict=True)}
    return {pause.id: names[task.id] for task in paused for pause in task.interrupts if names.get(task.id)}


def places(state: StateSnapshot) -> dict[str, list[str]]:
    """Name the tool and the nodes that ask, by the id of the pause; the innermost comes first."""
    named: dict[str, list[str]] = {}
    calls = _open_calls(state.values)
    paused = [task for task in state.tasks if task.interrupts]
    in_tools = [task for task in paused if task.state is None and task.name == "tools"]
    # As in `askers`: both are in the order of the model's calls.
    tools = (
        dict(zip((task.id for task in in_tools), calls, strict=True)) if len(calls) == len(in_tools) else {}
    )
    for task in paused:
        inside = places(task.state) if isinstance(task.state, StateSnapshot) else {}
        tool = [tools[task.id]["name"]] if task.id in tools else []
        for pause in task.interrupts:
            named[pause.id] = [*inside.get(pause.id, []), *tool, task.name]
    return named


def reviewed_names(graph: Graph) -> list[str]:
    """Name the tools that LangChain's reviews in a graph, or in one inside it, are to hold."""
    found = []
    for inner in graphs_in(graph):
        for node in inner.nodes.values():
            middleware = getattr(getattr(node.bound, "func", None), "__self__", None)
            if isinstance(middleware, HumanInTheLoopMiddleware):
                found += list(middleware.interrupt_on)
    return list(dict.fromkeys(found))


def node_names(graph: Graph) -> set[str]:
    """Name the nodes of a graph and of those inside it; empty for one on a server, which does not tell."""
    return {name for inner in graphs_in(graph) for name in inner.nodes}


def breakpoints(graph: Graph, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give where a graph, one inside it, or a call with these options would stop without a question."""
    for kind in ("interrupt_before", "interrupt_after"):
        if options.get(kind):
            yield kind, repr(options[kind])
        for inner in graphs_in(graph):
            if nodes := getattr(inner, f"{kind}_nodes"):
                yield kind, repr(nodes)


def graphs_in(graph: object) -> Iterator[Pregel[Any, Any, Any, Any]]:
    """Give a graph and all that it runs: as nodes, in its nodes, and in its tools."""
    return _graphs_in(graph, set())


def reviews_turn(pause: Pause) -> bool:
    """Tell whether this is LangChain's review of all calls of a turn."""
    return isinstance(pause.value, dict) and "action_requests" in pause.value


def check_call_ids(values: Any) -> None:
    """Refuse a review of a turn in which two calls share their id.

    LangChain puts each decision of such a review back by the id of its call: an edit of one would run in place of the
    other, and an approved one would not run beside a rejected one. A review per call is not affected.

    Args:
        values: The state of the agent that asks.

    Raises:
        InvalidRequestError: naming the id and the cure.
    """
    for id, count in Counter(call["id"] for call in _open_calls(values)).items():
        if count > 1:
            raise InvalidRequestError(
                f"the model gave {count} calls of one turn the id {id!r}, and LangChain would mix up the decisions about "
                'them: review them with interrupt_mode="per_call", or have the model give each call an id of its own'
            )


def _graphs_in(graph: object, seen: set[int]) -> Iterator[Pregel[Any, Any, Any, Any]]:
    if not isinstance(graph, Pregel) or id(graph) in seen:
        return
    seen.add(id(graph))
    yield graph
    for tool in _tools_of(graph):
        for inner in _graphs_of(tool):
            yield from _graphs_in(inner, seen)
    for _, inner in graph.get_subgraphs():
        yield from _graphs_in(inner, seen)


def _tools_of(graph: Pregel[Any, Any, Any, Any]) -> Iterator[BaseTool]:
    for node in graph.nodes.values():
        for part in (node.bound, *getattr(node.bound, "steps", ())):
            if isinstance(part, ToolNode):
                yield from part.tools_by_name.values()


def _graphs_of(tool: BaseTool) -> Iterator[Graph]:
    """Find the graphs that a tool's function runs, by itself or chosen from a mapping as deepagents' `task` does."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if not inspect.isfunction(function):
        return
    try:
        reached = inspect.getclosurevars(function)
    except ValueError:
        # One of the names is not bound yet.
        return
    for value in (*reached.nonlocals.values(), *reached.globals.values()):
        for runnable in value.values() if isinstance(value, dict) else (value,):
            if isinstance(graph := _unbound(runnable), Pregel):
                yield graph


def _unbound(runnable: object) -> object:
    return _unbound(runnable.bound) if isinstance(runnable, RunnableBindingBase) else runnable


def _open_calls(values: Any) -> list[dict[str, Any]]:
    """Give the calls of the model's last turn that nothing has answered. A server sends its messages as JSON."""
    messages = values.get("messages") if isinstance(values, dict) else None
    answered = []
    # Ids are told apart within one turn only: models use the same ones in the next.
    for message in reversed(messages if isinstance(messages, list) else []):
        if _field(message, "type") == "ai":
            return [call for call in _field(message, "tool_calls") or () if call["id"] not in answered]
        answered.append(_field(message, "tool_call_id"))
    return []


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def _subagent(call: dict[str, Any]) -> str:
    """Read whom deepagents' `task` was told to run."""
    return str(call["args"].get("subagent_type") or "") if call["name"] == "task" else ""
