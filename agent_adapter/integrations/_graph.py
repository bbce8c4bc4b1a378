"""What can be read from a compiled graph: its nodes, its tools, and the calls that its model has made."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from langchain_core.utils.pydantic import model_json_schema
from langgraph.func import _TaskFunction
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.pregel._read import PregelNode
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import Interrupt as Pause
from pydantic import BaseModel, create_model

from agent_adapter.contract.hitl import ActionRequest, Decision, EditDecision, ReviewConfig
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect, kind_of
from agent_adapter.function_schema import check_arguments_kept

Graph: TypeAlias = PregelProtocol[Any, Any, Any, Any]
Tools: TypeAlias = Sequence[BaseTool | Callable[..., Any]]
Config: TypeAlias = RunnableConfig | Mapping[str, Any]
"""LangGraph's own type, or a plain mapping: a type checker does not accept one for the other."""


def own_tools(graph: Graph) -> dict[str, BaseTool | None]:
    """Return the graph's tools by name, including those of the agents inside it.

    Of two tools with one name and different arguments, it is not known which is meant: `None`.
    """
    found: dict[str, BaseTool | None] = {}
    for tool in (tool for inner in graphs_in(graph) for tool in _tools_of(inner)):
        other = found.get(tool.name, tool)
        found[tool.name] = tool if other and json_schema(tool) == json_schema(other) else None
    return found


def tools_by_name(tools: Tools) -> dict[str, BaseTool]:
    """Return the tools by name; a function is made into a tool."""
    cure = "pass a list of tools or functions, as in tools=[pay]"
    if isinstance(tools, str | Mapping):
        raise WrongArgumentError(f"tools: this is {kind_of(tools)}: {cure}")
    expect(tools, Iterable, where="tools", cure=cure)
    made: dict[str, BaseTool] = {}
    for index, given in enumerate(tools):
        expect(given, BaseTool | Callable, where=f"tools[{index}]", cure=cure)
        tool = given if isinstance(given, BaseTool) else make_tool(given)
        made[tool.name] = tool
    return made


def with_schema(config: ReviewConfig, known: Mapping[str, BaseTool]) -> ReviewConfig:
    """Add the schema of the arguments, if the pause has none and the tool is known."""
    tool = known.get(config.action_name)
    if config.args_schema is not None or tool is None:
        return config
    return config.model_copy(update={"args_schema": json_schema(tool)})


def json_schema(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON Schema of the arguments that a model may pass."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else model_json_schema(schema)


def has_arguments_of(tool: BaseTool, value: Any) -> bool:
    """Whether this has what a call of the tool must have, and nothing that it cannot have."""
    schema = json_schema(tool)
    allowed, needed = schema.get("properties", {}).keys(), schema.get("required", ())
    return isinstance(value, dict) and value.keys() <= allowed and value.keys() >= set(needed)


def check_edit(action: ActionRequest, decision: Decision | None, known: Mapping[str, BaseTool]) -> None:
    """Refuse edited arguments that the tool would not accept, or would change into other values."""
    tool = known.get(action.name)
    if tool is None or not isinstance(decision, EditDecision) or not (model := _model_of(tool)):
        return
    try:
        check_arguments_kept(model, decision.edited_action.args, action.args)
    except InvalidRequestError as error:
        raise DecisionNotAllowedError(
            f"the edited {action.name} does not fit its tool: {error}; nothing was resumed"
        ) from error


def _model_of(tool: BaseTool) -> type[BaseModel] | None:
    """Return the pydantic model of a tool's arguments; arguments that LangChain injects are optional in it."""
    shown = tool.tool_call_schema
    if not (isinstance(shown, type) and issubclass(shown, BaseModel)):
        return None
    whole = tool.get_input_schema()
    if not issubclass(whole, BaseModel):
        return None
    injected: dict[str, Any] = dict.fromkeys(
        whole.model_fields.keys() - shown.model_fields.keys(), (Any, None)
    )
    return create_model(tool.name, __base__=whole, **injected) if injected else whole


def reviewed_names(graph: Graph) -> list[str]:
    """Name the tools in the `interrupt_on` of LangChain's review middleware, in a graph and the graphs inside it."""
    found = []
    for inner in graphs_in(graph):
        for node in inner.nodes.values():
            middleware = getattr(getattr(node.bound, "func", None), "__self__", None)
            if isinstance(middleware, HumanInTheLoopMiddleware):
                found += list(middleware.interrupt_on)
    return list(dict.fromkeys(found))


def breakpoints(graph: Graph, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the breakpoints of a graph, of the graphs inside it, and of these options: there it stops without a question."""
    for kind in ("interrupt_before", "interrupt_after"):
        if options.get(kind):
            yield kind, repr(options[kind])
        for inner in graphs_in(graph):
            if nodes := getattr(inner, f"{kind}_nodes"):
                yield kind, repr(nodes)


def graphs_in(graph: object, seen: set[int] | None = None) -> Iterator[Pregel[Any, Any, Any, Any]]:
    """Yield a graph and all graphs that it runs: as nodes, in its nodes, and in its tools."""
    seen = set() if seen is None else seen
    if not isinstance(graph, Pregel) or id(graph) in seen:
        return
    seen.add(id(graph))
    yield graph
    inside = [inner for tool in _tools_of(graph) for inner in graphs_of(tool)]
    for inner in (*inside, *dict(graph.get_subgraphs()).values()):
        yield from graphs_in(inner, seen)


def reviews_turn(pause: Pause) -> bool:
    """Whether this pause is LangChain's review of all calls of a turn."""
    return isinstance(pause.value, dict) and "action_requests" in pause.value


def check_call_ids(calls: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a review of a turn in which two calls have the same id, by which LangChain finds the call of each decision."""
    for id, count in Counter(call["id"] for call in calls).items():
        if count > 1:
            raise InvalidRequestError(
                f"the model gave {count} calls of one turn the id {id!r}, and LangChain would mix up the decisions about "
                'them: review them with interrupt_mode="per_call", or have the model give each call an id of its own'
            )


def tool_node_of(graph: object, name: str) -> ToolNode | None:
    """Return LangGraph's own `ToolNode` of this name."""
    node = graph.nodes.get(name) if isinstance(graph, Pregel) else None
    return next(_tool_nodes(node), None) if node else None


def runs_tool_node(graph: object, name: str) -> bool:
    """Whether the node of this name is a function that names a `ToolNode`, also by way of other functions."""
    node = graph.nodes.get(name) if isinstance(graph, Pregel) else None
    reached = list(_parts_of(node.bound)) if node else []
    for _ in range(5):
        reached = list({id(named): named for value in reached for named in _named_in(value)}.values())
        if any(isinstance(value, ToolNode) for value in reached):
            return True
    return False


def graph_of_node(graph: object, name: str) -> object:
    """Return the graph that is the node of this name."""
    return dict(graph.get_subgraphs()).get(name) if isinstance(graph, Pregel) else None


def graphs_of(tool: BaseTool | None) -> Iterator[Graph]:
    """Yield the graphs that a tool's function names, also in a mapping, as in deepagents' `task`."""
    for value in _named_in(getattr(tool, "func", None) or getattr(tool, "coroutine", None)):
        for runnable in value.values() if isinstance(value, dict) else (value,):
            if isinstance(graph := _unbound(runnable), Pregel):
                yield graph


def newest_calls(values: Any, key: str = "messages") -> list[dict[str, Any]]:
    """Return all calls of the model's last turn."""
    return [call for call, _ in _calls_of_turn(values, key)]


def open_calls(values: Any, key: str = "messages") -> list[dict[str, Any]]:
    """Return the calls of the model's last turn that have no answer yet."""
    return [call for call, answered in _calls_of_turn(values, key) if not answered]


def _tools_of(graph: Pregel[Any, Any, Any, Any]) -> Iterator[BaseTool]:
    for node in graph.nodes.values():
        for found in _tool_nodes(node):
            yield from found.tools_by_name.values()


def _tool_nodes(node: PregelNode) -> Iterator[ToolNode]:
    for part in _parts_of(node.bound):
        if isinstance(part, ToolNode):
            yield part


def _parts_of(runnable: object) -> Iterator[object]:
    """Yield the parts of a runnable, without the wrappers that only configure it."""
    runnable = _unbound(runnable)
    yield runnable
    for step in getattr(runnable, "steps", ()):
        yield from _parts_of(step)


def _named_in(value: object) -> Iterator[object]:
    """Yield the functions of a runnable, or the values of a function's names, also in its inner functions and of its object."""
    if isinstance(value, Runnable | _TaskFunction):
        yield from (getattr(value, name, None) for name in ("func", "afunc", "coroutine"))
    if isinstance(value, MethodType):
        yield from map(_unbound, getattr(value.__self__, "__dict__", {}).values())
        value = value.__func__
    if not isinstance(value, FunctionType):
        return
    codes = [value.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        yield from (_unbound(value.__globals__.get(name)) for name in code.co_names)
    for cell in value.__closure__ or ():
        with suppress(ValueError):  # The name has no value yet.
            yield _unbound(cell.cell_contents)


def _unbound(runnable: object) -> object:
    return _unbound(runnable.bound) if isinstance(runnable, RunnableBindingBase) else runnable


def _calls_of_turn(values: Any, key: str = "messages") -> list[tuple[dict[str, Any], bool]]:
    """Return the calls of the model's last turn, and whether each has an answer. A server sends its messages as JSON."""
    messages = values.get(key) if isinstance(values, dict) else values
    answered = []
    # Only the last turn is read, because models use the same call ids again in later turns.
    for message in reversed(messages if isinstance(messages, list) else []):
        if _field(message, "type") == "ai":
            calls = _field(message, "tool_calls") or ()
            return [(call, call["id"] in answered) for call in calls]
        answered.append(_field(message, "tool_call_id"))
    return []


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
