# ruff: noqa: SLF001  # SpoonAI has no public name for the pipeline that an agent was made with
"""SpoonAI agents: a `HumanInTheLoopMiddleware` that holds back the calls of SpoonAI's `ToolCallAgent` until they are decided.

SpoonAI has no checkpoint of a paused run, so a run waits in its process and ends with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Unpack

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.interrupt import Resume
from agent_adapter.dialects import spoon as dialect
from agent_adapter.dialects.answers import share_out
from agent_adapter.errors import InvalidRequestError
from agent_adapter.extras import needs
from agent_adapter.gating import InterruptOn

try:
    from spoon_ai.agents import Command, ToolCallAgent
    from spoon_ai.middleware.base import MiddlewarePipeline
    from spoon_ai.schema import AgentState
    from spoon_ai.tools import hitl
    from spoon_ai.tools.base import BaseTool

    from agent_adapter.integrations.spoon.middleware import HumanInTheLoopMiddleware, create_hitl_middleware

    format_tool_call_description = hitl.format_tool_call_description
    HITLMiddleware = HumanInTheLoopMiddleware
    from agent_adapter.integrations.spoon.words import Pause, fitting, value_of
except ImportError as error:
    raise ImportError(needs("SpoonAI support (on Python 3.12 or newer)", "spoon", error)) from error

__all__ = [
    "HITLMiddleware",
    "HumanInTheLoopMiddleware",
    "create_hitl_middleware",
    "format_tool_call_description",
    "run",
    "to_request",
    "to_resume",
]


def to_request(pause: Pause, *, tools: Iterable[BaseTool] = ()) -> HITLRequest:
    """Collect the paused calls into one batch, in the order that the reviewer will see.

    Args:
        pause: `HITLInterrupt.interrupt_info`, also as a dict.
        tools: Tools whose argument schemas are used, because a pause has none.

    Returns:
        The batch, with one action for each call.

    Raises:
        InvalidRequestError: when the pause cannot be reviewed; the message names the place.
    """
    request, schemas = dialect.to_request(value_of(pause)), {tool.name: tool.parameters for tool in tools}
    configs = (
        config.model_copy(update={"args_schema": schemas.get(config.action_name)})
        for config in request.review_configs
    )
    return request.model_copy(update={"review_configs": tuple(configs)})


def to_resume(resume: Resume, pause: Pause, *, tools: Iterable[BaseTool] = ()) -> Command:
    """Turn the decisions into SpoonAI's form.

    Args:
        resume: The answer; its decisions are in the order of the pause's actions.
        pause: The same as for `to_request`.
        tools: Tools whose schemas edited arguments are checked against.

    Returns:
        A `Command` for `HumanInTheLoopMiddleware.set_resume_data`; its `resume` is `{"decisions": […]}`.

    Raises:
        DecisionNotAllowedError: when a decision does not fit its action.
    """
    request = to_request(pause, tools=tools)
    (given,) = share_out(resume, [request])
    decisions = fitting(given, request)
    return Command(resume=dialect.to_resume(decisions, value_of(pause)))


async def run(
    agent: ToolCallAgent,
    message: str | None = None,
    *,
    approvals: ApprovalClient,
    interrupt_on: InterruptOn | None = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> str:
    """Run the agent until it finishes, and ask for approval of the gated calls of each turn.

    Args:
        agent: The agent. If it has a `HumanInTheLoopMiddleware`, ours replaces it during this run.
        message: As for the agent's own `run`.
        approvals: A connected client.
        interrupt_on: Which tools wait for a person; by default the `interrupt_on` of the agent's own
            `HumanInTheLoopMiddleware`.
        options: Passed to the agent's `run`: `thinking`, `reasoning_effort`.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of the agent's `run`.

    Raises:
        InvalidRequestError: before the agent runs, when its tools could not be gated; later, when a call cannot be shown.
        AgentAdapterError: as in `ApprovalClient.reviewing`. No call of that turn has run.
    """
    expect_client(approvals)
    with _gated(agent, interrupt_on, approvals, asking) as gate:
        try:
            return str(await agent.run(message, **(options or {})))
        finally:
            await gate.close()


class _GatedPipeline(MiddlewarePipeline):  # type: ignore[misc]  # SpoonAI ships no types
    """The pipeline that `run` gives the agent instead of its own."""


@contextmanager
def _gated(
    agent: ToolCallAgent, interrupt_on: InterruptOn | None, approvals: ApprovalClient, asking: Asking
) -> Iterator[HumanInTheLoopMiddleware]:
    """Put our middleware last in the agent's pipeline, instead of any other `HumanInTheLoopMiddleware`."""
    if not isinstance(agent, ToolCallAgent):
        raise InvalidRequestError(
            f"agent: {type(agent).__name__} is not a ToolCallAgent, so its tool calls could not be held back"
        )
    pipeline = agent._middleware_pipeline
    if agent.state != AgentState.IDLE or isinstance(pipeline, _GatedPipeline):
        raise InvalidRequestError(f"agent {agent.name!r} is running; make an agent for each run")
    own = pipeline.middleware if pipeline else []
    given = _policy_of(own) if interrupt_on is None else interrupt_on
    # A policy that SpoonAI has already accepted is read as SpoonAI reads it.
    gate = HumanInTheLoopMiddleware(given, strict=interrupt_on is not None, approvals=approvals, **asking)
    others = [one for one in own if not isinstance(one, hitl.HumanInTheLoopMiddleware)]
    agent._middleware_pipeline = _GatedPipeline([*others, gate])
    try:
        yield gate
    finally:
        agent._middleware_pipeline = pipeline


def _policy_of(middleware: Iterable[Any]) -> InterruptOn:
    policies: list[InterruptOn] = [
        one.interrupt_on for one in middleware if isinstance(one, hitl.HumanInTheLoopMiddleware)
    ]
    if len(policies) != 1:
        raise InvalidRequestError(
            'interrupt_on: say which tools wait for a person, such as {"delete_file": True}; '
            f"the agent has {len(policies)} HumanInTheLoopMiddleware that would say it"
        )
    return policies[0]
