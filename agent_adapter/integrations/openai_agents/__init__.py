"""Agents of the OpenAI Agents SDK: runs that pause on tools with `needs_approval`."""

from collections.abc import Collection, Mapping
from typing import Any, Unpack

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.interrupt import Resume
from agent_adapter.extras import needs

try:
    from agents import (
        Agent,
        Runner,
        RunResult,
        Session,
        TResponseInputItem,
    )
except ImportError as error:
    raise ImportError(needs("OpenAI Agents support", "openai-agents", error)) from error

from agent_adapter.integrations.openai_agents.asking import Asker
from agent_adapter.integrations.openai_agents.calls import to_request, to_resume
from agent_adapter.integrations.openai_agents.checks import check_agent, check_servers, settings_of
from agent_adapter.integrations.openai_agents.paused import PausedRun, check_input
from agent_adapter.integrations.openai_agents.reporting import going_on
from agent_adapter.integrations.openai_agents.streaming import RunStream
from agent_adapter.integrations.openai_agents.tools import EditableMCPAgent, editable, editing

__all__ = [
    "EditableMCPAgent",
    "PausedRun",
    "RunStream",
    "editable",
    "editing",
    "resume_state",
    "run",
    "stream",
    "to_request",
    "to_resume",
]


async def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | PausedRun,
    *,
    approvals: ApprovalClient,
    session: Session | None = None,
    options: Mapping[str, Any] | None = None,
    allow_always: Collection[str] = (),
    partial: bool = False,
    **asking: Unpack[Asking],
) -> RunResult:
    """Run the agent until it finishes, and ask for approval at every pause.

    Args:
        agent: The agent. Reviewers can edit the calls of tools that were made with `editable`.
        input: As for `Runner.run`. Or a `PausedRun`, which is resumed; its question is used again if it was asked before.
        approvals: A connected client.
        session: As for `Runner.run`.
        options: Passed to every call of `Runner.run`: `context`, `max_turns`, `run_config`, `hooks`, …
        allow_always: Names of tools for which a reviewer may decide once for the rest of the run. A `PausedRun` keeps the
            names that it started with.
        partial: Ask about each call on a card of its own, and run decided calls while other calls of the turn still wait.
            Each question is then answered and used separately. A decision for the rest of the run takes effect when no
            other call of that tool is open.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `Runner.run`, when the agent has finished.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed. Before the model is called: when an argument is wrong, or
            when `allow_always` or the `require_approval` of a local MCP server names a tool that does not exist.
        AgentAdapterError: as in `ApprovalClient.reviewing`. No call that was asked about has run.
    """
    asker = Asker(approvals, asking, partial=partial, is_found_again=isinstance(input, PausedRun))
    check_agent(agent, allow_always)
    check_input(input)
    settings = settings_of(options, session)
    await check_servers(agent)
    paused: PausedRun | None
    if isinstance(input, PausedRun):
        paused = input
    else:
        result = await Runner.run(agent, input, **settings)
        paused = PausedRun.of(agent, result, allow_always=allow_always)
    while paused:
        async with asker.answered(paused) as state:
            with going_on(paused, approvals):
                result = await Runner.run(agent, state, **settings)
        paused = paused.then(result)
    return result


def stream(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | PausedRun,
    *,
    approvals: ApprovalClient,
    session: Session | None = None,
    options: Mapping[str, Any] | None = None,
    allow_always: Collection[str] = (),
    partial: bool = False,
    **asking: Unpack[Asking],
) -> RunStream:
    """Run the agent until it finishes, ask at every pause, and yield the SDK's own events.

    Arguments and errors are as in `run`.

    Returns:
        The events; iterate over them once. Afterwards, the object has the `result` and the `final_output` of the run.
    """
    asker = Asker(approvals, asking, partial=partial, is_found_again=isinstance(input, PausedRun))
    check_agent(agent, allow_always)
    check_input(input)
    return RunStream(agent, input, asker, approvals, settings_of(options, session), allow_always)


async def resume_state(
    agent: Agent[Any],
    text: str,
    resume: Resume,
    *,
    session: Session | None = None,
    options: Mapping[str, Any] | None = None,
    **restoring: Any,
) -> tuple[RunResult, PausedRun | None]:
    """Resume a stored run with its decisions, until its next pause or its end.

    Call it inside `ApprovalClient.resuming`, which admits one process only. After an `AgentAdapterError`, nothing has run.
    Any other error comes from the run itself, and tools may have run: do not resume the same text again.

    Args:
        agent: The agent that the run started with.
        text: The text that `PausedRun.dump` returned.
        resume: One decision for each call that the run waits for.
        session: The session of the run.
        options: As in `run`.
        restoring: As in `PausedRun.load`.

    Returns:
        The result of `Runner.run`, and the run at its next pause, or `None` when it has finished.

    Raises:
        InvalidRequestError: when the text cannot be resumed here.
        DecisionNotAllowedError: when a decision does not fit.
    """
    paused = await PausedRun.load(agent, text, **restoring)
    return await paused.resumed(resume, session=session, options=options)
