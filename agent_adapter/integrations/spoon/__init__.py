# ruff: noqa: SLF001  # SpoonAI has no public name for the pipeline that an agent was made with
"""SpoonAI agents: a `HumanInTheLoopMiddleware` that holds the calls of the stock `ToolCallAgent` until they are decided.

SpoonAI keeps no checkpoint of a paused run, so a run waits in its process and ends with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Unpack

from agent_adapter.client import ApprovalClient, Asking, expect_client
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.interrupt import Resume
from agent_adapter.dialects import spoon as dialect
from agent_adapter.errors import InvalidRequestError
from agent_adapter.extras import needs
from agent_adapter.policy import InterruptOn

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
    """Gather the paused calls into one batch, in the order the reviewer will see.

    Args:
        pause: `HITLInterrupt.interrupt_info`, or that as a dict.
        tools: Where the argument schemas are found, which a pause does not carry.

    Raises:
        InvalidRequestError: naming the place.
    """
    request, schemas = dialect.to_request(value_of(pause)), {tool.name: tool.parameters for tool in tools}
    configs = (
        config.model_copy(update={"args_schema": schemas.get(config.action_name)})
        for config in request.review_configs
    )
    return request.model_copy(update={"review_configs": tuple(configs)})


def to_resume(resume: Resume, pause: Pause, *, tools: Iterable[BaseTool] = ()) -> Command:
    """Hand each decision back in SpoonAI's words.

    Args:
        resume: Its decisions are in the order of the pause's actions.
        pause: The same that `to_request` was given.
        tools: Edited arguments are checked against the schemas of these.

    Returns:
        What `HumanInTheLoopMiddleware.set_resume_data` takes; its `resume` is `{"decisions": […]}`.

    Raises:
        DecisionNotAllowedError: when a decision does not fit its action.
    """
    decisions = fitting(resume.decisions, to_request(pause, tools=tools))
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
    """Run the agent, asking for approval of each turn's gated calls, until it finishes.

    Args:
        agent: Made with a `HumanInTheLoopMiddleware` or without: for this run, ours takes its place.
        message: As for the agent's own `run`.
        approvals: Whom to ask.
        interrupt_on: Which tools wait for a person; that of the agent's own `HumanInTheLoopMiddleware` unless told.
        options: Handed to the agent's `run`: `thinking`, `reasoning_effort`.
        asking: Where, for whom and how long to ask.

    Returns:
        What the agent's `run` gives.

    Raises:
        InvalidRequestError: before the agent runs when it could not be gated; later when a call cannot be shown.
        AgentAdapterError: as in `ApprovalClient.reviewing`. Nothing of that turn has run.
    """
    expect_client(approvals)
    with _gated(agent, interrupt_on, approvals, asking):
        return str(await agent.run(message, **(options or {})))


class _GatedPipeline(MiddlewarePipeline):  # type: ignore[misc]  # SpoonAI ships no types
    """What `run` puts in the place of the agent's pipeline."""


@contextmanager
def _gated(
    agent: ToolCallAgent, interrupt_on: InterruptOn | None, approvals: ApprovalClient, asking: Asking
) -> Iterator[None]:
    """Let our middleware stand last in the agent's pipeline, in the place of any other of its kind."""
    if not isinstance(agent, ToolCallAgent):
        raise InvalidRequestError(
            f"agent: {type(agent).__name__} is no ToolCallAgent, so its tools could not be held"
        )
    pipeline = agent._middleware_pipeline
    if agent.state != AgentState.IDLE or isinstance(pipeline, _GatedPipeline):
        raise InvalidRequestError(f"agent {agent.name!r} is running; make an agent for each run")
    own = pipeline.middleware if pipeline else []
    given = _policy_of(own) if interrupt_on is None else interrupt_on
    # What SpoonAI has taken already is read as SpoonAI reads it.
    gate = HumanInTheLoopMiddleware(given, strict=interrupt_on is not None, approvals=approvals, **asking)
    others = [one for one in own if not isinstance(one, hitl.HumanInTheLoopMiddleware)]
    agent._middleware_pipeline = _GatedPipeline([*others, gate])
    try:
        yield
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
