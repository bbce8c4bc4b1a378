"""langchain-dev-utils: tools that ask before they run, and handlers for their decorators that offer every decision."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from pydantic_core import PydanticSerializationError, to_jsonable_python

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import (
    KNOWN_DECISIONS,
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.interrupt import Resume
from agent_adapter.dialects import by_name
from agent_adapter.dialects.answers import check_answers, rejection
from agent_adapter.dialects.naming import Named, Naming
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.extras import needs
from agent_adapter.integrations import langgraph
from agent_adapter.integrations._graph import Config, Graph, Tools, json_schema

try:
    from langchain_dev_utils.tool_calling import InterruptParams
    from langgraph.types import Command, interrupt
    from langgraph.types import Interrupt as Pause
except ImportError as error:
    raise ImportError(needs("langchain-dev-utils support", "langchain-dev-utils", error)) from error

_OWN = by_name("dev_utils")


def _of_its_page(payload: Any) -> str | None:
    """Name the dialect of the decorators' own handlers, and of the custom handler in the package's documentation."""
    if isinstance(payload, str):
        return "accept_reject"
    if not isinstance(payload, dict) or not payload.keys() <= _OWN.KEYS:
        return None
    config = payload.get("config")
    # A pause with `allow_ignore` is a graph's own, and its edits have another form.
    return "dev_utils" if isinstance(config, dict) and "allow_ignore" not in config else None


def to_request(pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None) -> HITLRequest:
    """Collect the pauses into one batch. Arguments, result and errors are as in `langgraph.to_request`."""
    return langgraph.to_request(pauses, tools=tools, dialect=_named(dialect))


def to_resume(
    resume: Resume, pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None
) -> Command[Any]:
    """Turn the decisions into the command that resumes the graph. All is as in `langgraph.to_resume`."""
    return langgraph.to_resume(resume, pauses, tools=tools, dialect=_named(dialect))


def _named(dialect: Named) -> Naming:
    return Naming.of(dialect, otherwise=_of_its_page)


async def run(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: Config,
    tools: Tools = (),
    dialect: Named = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> Any:
    """Run the graph until it finishes, and ask for approval at every pause.

    Args:
        graph: As in `langgraph.run`.
        input: As in `langgraph.run`.
        approvals: A connected client.
        config: As in `langgraph.run`.
        tools: As in `langgraph.run`.
        dialect: How your own handler reads its answer. It is not needed for the decorators' own handlers, for `handler` and
            `handler_async` of this module, and for a handler that pauses with a sentence and reads `{"type": "accept"}` or
            `{"type": "reject"}`, as in the documentation of langchain-dev-utils.
        options: As in `langgraph.run`.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `ainvoke`, when the graph has finished.

    Raises:
        InvalidRequestError, AgentAdapterError: as in `langgraph.run`.
    """
    return await langgraph.run(
        graph,
        input,
        approvals=approvals,
        config=config,
        tools=tools,
        dialect=_named(dialect),
        options=options,
        **asking,
    )


def handler(params: InterruptParams) -> Any:
    """Ask before a tool runs: `@human_in_the_loop(handler=handler)`.

    Unlike the decorator's own handler, it lets people reject: the model then reads a sentence that says so.

    Returns:
        The result of the tool, or the sentence that the model reads instead.
    """
    if getattr(params["tool"], "func", handler) is None:
        raise InvalidRequestError(
            f"{params['tool_call_name']} is asynchronous, so this could not run it: decorate it with "
            "@human_in_the_loop_async(handler=handler_async)"
        )
    args, answer = _outcome(params)
    return answer if args is None else params["tool"].invoke(args)


async def handler_async(params: InterruptParams) -> Any:
    """Ask before a tool runs: `@human_in_the_loop_async(handler=handler_async)`. See `handler`."""
    args, answer = _outcome(params)
    return answer if args is None else await params["tool"].ainvoke(args)


def _outcome(params: InterruptParams) -> tuple[dict[str, Any] | None, str]:
    """Return the arguments to run with; or `None` and the text that the model reads instead of a result."""
    match _decision(params):
        case ApproveDecision():
            return params["tool_call_args"], ""
        case EditDecision(edited_action=edited):
            shown = params["tool"].args
            injected = {name: arg for name, arg in params["tool_call_args"].items() if name not in shown}
            return {**edited.args, **injected}, ""
        case RespondDecision(message=message):
            return None, message
        case other:
            return None, rejection(params["tool_call_name"], getattr(other, "message", None))


def _decision(params: InterruptParams) -> Decision:
    request = _request_of(params)
    # LangChain's form includes the allowed decisions.
    answer = interrupt(request.model_dump(mode="json", exclude_none=True))
    decisions = answer.get("decisions") if isinstance(answer, dict) else None
    if not isinstance(decisions, list):
        raise DecisionNotAllowedError('an answer is {"decisions": […]}, with one decision')
    (decision,) = check_answers(decisions, request)
    return decision


def _request_of(params: InterruptParams) -> HITLRequest:
    name, tool = params["tool_call_name"], params["tool"]
    shown = {key: arg for key, arg in params["tool_call_args"].items() if key in tool.args}
    try:
        args = to_jsonable_python(shown)
    except PydanticSerializationError as error:
        raise InvalidRequestError(f"{name}: its arguments cannot be shown as JSON: {error}") from error
    config = ReviewConfig(
        action_name=name,
        allowed_decisions=KNOWN_DECISIONS,
        args_schema=json_schema(tool),
        effects=("reject_as_answer",),
    )
    return HITLRequest(action_requests=(ActionRequest(name=name, args=args),), review_configs=(config,))
