"""What a compiled graph tells about itself: its tools, and which of its agents a pause comes from."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

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


def own_tools(graph: Graph) -> dict[str, BaseTool]:
    """Find the graph's tools by name, also those of the agents inside it.

    Two of one name with different arguments are left out: it is not known which is meant.
    """
    found: dict[str, BaseTool] = {}
    doubtful = set()
    for tool in _tools_in(graph, set()):
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


def _tools_in(graph: object, seen: set[int]) -> Iterator[BaseTool]:
    if not isinstance(graph, Pregel) or id(graph) in seen:
        return
    seen.add(id(graph))
    for node in graph.nodes.values():
        for part in (node.bound, *getattr(node.bound, "steps", ())):
            if isinstance(part, ToolNode):
                for tool in part.tools_by_name.values():
                    yield tool
                    for inner in _graphs_of(tool):
                        yield from _tools_in(inner, seen)
    for _, inner in graph.get_subgraphs():
        yield from _tools_in(inner, seen)


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
