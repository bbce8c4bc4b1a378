"""What a compiled graph tells about itself: its nodes, its tools, and the calls that its model has made."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
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
from agent_adapter.signatures import check_arguments_kept

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
    """Give tools by their name, made from the functions among them.

    Raises:
        WrongArgumentError: when something else is among them.
    """
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
    """Refuse edited arguments that the tool would not take, or that it would turn into other ones.

    Raises:
        DecisionNotAllowedError: naming the argument.
    """
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
    """Give the model that a tool reads its arguments with, where what LangChain injects may be left out."""
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
    for id, count in Counter(call["id"] for call in open_calls(values)).items():
        if count > 1:
            raise InvalidRequestError(
                f"the model gave {count} calls of one turn the id {id!r}, and LangChain would mix up the decisions about "
                'them: review them with interrupt_mode="per_call", or have the model give each call an id of its own'
            )


def tool_node_of(graph: object, name: str) -> ToolNode | None:
    """Find LangGraph's own node for tools under this name."""
    node = graph.nodes.get(name) if isinstance(graph, Pregel) else None
    return next(_tool_nodes(node), None) if node else None


def runs_tool_node(graph: object, name: str) -> bool:
    """Tell whether the function that is the node of this name is seen to run LangGraph's own node for tools."""
    node = graph.nodes.get(name) if isinstance(graph, Pregel) else None
    seen: list[object] = []
    for part in _parts_of(node.bound) if node else ():
        _reach(part, seen)
    return any(isinstance(value, ToolNode) for value in seen)


def graph_of_node(graph: object, name: str) -> object:
    """Find the graph that is the node of this name."""
    return dict(graph.get_subgraphs()).get(name) if isinstance(graph, Pregel) else None


def graphs_of(tool: BaseTool | None) -> Iterator[Graph]:
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


def task_names(graph: object) -> set[str]:
    """Name the tasks of LangGraph's functional API that the nodes and tools of a graph are seen to call."""
    seen: list[object] = []
    for inner in graphs_in(graph):
        for node in inner.nodes.values():
            for part in _parts_of(node.bound):
                _reach(part, seen)
        for tool in _tools_of(inner):
            _reach(tool, seen)
    return {getattr(task.func, "__name__", "") for task in seen if isinstance(task, _TaskFunction)}


def newest_calls(values: Any, key: str = "messages") -> list[dict[str, Any]]:
    """Give all calls of the model's last turn."""
    return [call for call, _ in _calls_of_turn(values, key)]


def open_calls(values: Any) -> list[dict[str, Any]]:
    """Give the calls of the model's last turn that nothing has answered."""
    return [call for call, answered in _calls_of_turn(values) if not answered]


def _graphs_in(graph: object, seen: set[int]) -> Iterator[Pregel[Any, Any, Any, Any]]:
    if not isinstance(graph, Pregel) or id(graph) in seen:
        return
    seen.add(id(graph))
    yield graph
    for tool in _tools_of(graph):
        for inner in graphs_of(tool):
            yield from _graphs_in(inner, seen)
    for _, inner in graph.get_subgraphs():
        yield from _graphs_in(inner, seen)


def _tools_of(graph: Pregel[Any, Any, Any, Any]) -> Iterator[BaseTool]:
    for node in graph.nodes.values():
        for found in _tool_nodes(node):
            yield from found.tools_by_name.values()


def _tool_nodes(node: PregelNode) -> Iterator[ToolNode]:
    for part in _parts_of(node.bound):
        if isinstance(part, ToolNode):
            yield part


def _parts_of(runnable: object) -> Iterator[object]:
    """Give what a runnable consists of, without what only configures it."""
    runnable = _unbound(runnable)
    yield runnable
    for step in getattr(runnable, "steps", ()):
        yield from _parts_of(step)


def _reach(value: object, seen: list[object], depth: int = 4) -> None:
    """Add what a function names, and the functions that these name."""
    if not depth or any(value is other for other in seen):
        return
    seen.append(value)
    for function in (value, *(getattr(value, name, None) for name in ("func", "afunc", "coroutine"))):
        for named in _named_in(function):
            if isinstance(named, FunctionType | MethodType | _TaskFunction | ToolNode):
                _reach(named, seen, depth - 1)


def _named_in(function: object) -> Iterator[object]:
    """Give what a function's names stand for, also those in its comprehensions, and what the object of a method has."""
    if isinstance(function, MethodType):
        yield from map(_unbound, getattr(function.__self__, "__dict__", {}).values())
        function = function.__func__
    if not isinstance(function, FunctionType):
        return
    outer = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in (*code.co_names, *code.co_freevars):
            if name in outer:
                with suppress(ValueError):  # The name is not bound yet.
                    yield _unbound(outer[name].cell_contents)
            elif name in function.__globals__:
                yield _unbound(function.__globals__[name])


def _unbound(runnable: object) -> object:
    return _unbound(runnable.bound) if isinstance(runnable, RunnableBindingBase) else runnable


def _calls_of_turn(values: Any, key: str = "messages") -> list[tuple[dict[str, Any], bool]]:
    """Give the calls of the model's last turn, and whether each is answered. A server sends its messages as JSON."""
    messages = values.get(key) if isinstance(values, dict) else values
    answered = []
    # Ids are told apart within one turn only: models use the same ones in the next.
    for message in reversed(messages if isinstance(messages, list) else []):
        if _field(message, "type") == "ai":
            calls = _field(message, "tool_calls") or ()
            return [(call, call["id"] in answered) for call in calls]
        answered.append(_field(message, "tool_call_id"))
    return []


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
