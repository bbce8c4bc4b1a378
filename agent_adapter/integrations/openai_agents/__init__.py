"""Agents of the OpenAI Agents SDK: runs that pause on tools with `needs_approval`."""

from collections.abc import Collection, Mapping
from typing import Any, Unpack

from agent_adapter.calls import finding
from agent_adapter.client import ApprovalClient, Asking
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
from agent_adapter.integrations.openai_agents.checks import check_agent, settings_of
from agent_adapter.integrations.openai_agents.paused import PausedRun, check_input
from agent_adapter.integrations.openai_agents.servers import check_servers
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
    """Run the agent, asking for approval at every pause, until it finishes.

    Args:
        agent: Tools that `editable` made may also be edited.
        input: As for `Runner.run`; or a paused run, which goes on, and whose question is found, not asked anew.
        approvals: Whom to ask.
        session: As for `Runner.run`.
        options: Handed to every call of `Runner.run`, besides the session: `context`, `max_turns`, `run_config`, `hooks`, …
        allow_always: Names of tools for which a reviewer may decide once for the rest of the run. A paused run has its own.
        partial: Ask about each call by itself, and run what is decided while other calls of the turn still wait. Each
            question is then claimed and consumed by itself. A decision for the rest of the run holds from the moment when
            no other call of that tool is still open: those keep their own question.
        asking: Where, for whom and how long to ask.

    Returns:
        What `Runner.run` gives.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed; and before the model is called, for what was passed in the
            wrong place, and for a tool in `allow_always` or in `require_approval` of a local MCP server that is not there.
        AgentAdapterError: as in `ApprovalClient.reviewing`. Nothing that was asked about has run.
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
            with editing(paused.edits), finding(paused.key):
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
    """Give the SDK's own events, through all pauses, until the run finishes. Arguments and errors are as in `run`.

    Returns:
        The events, to iterate over once. Afterwards it has the `result` and its `final_output`.
    """
    asker = Asker(approvals, asking, partial=partial, is_found_again=isinstance(input, PausedRun))
    check_agent(agent, allow_always)
    check_input(input)
    return RunStream(agent, input, asker, settings_of(options, session), allow_always)


async def resume_state(
    agent: Agent[Any],
    text: str,
    resume: Resume,
    *,
    session: Session | None = None,
    options: Mapping[str, Any] | None = None,
    **restoring: Any,
) -> tuple[RunResult, PausedRun | None]:
    """Resume a stored run with what was decided, until its next pause or its end.

    Call it within `ApprovalClient.resuming`, which lets one process in. An error of our family means that nothing has
    run; any other comes from the run itself, whose tools may have run: do not resume the same text again.

    Args:
        agent: The agent that the run began with.
        text: What `PausedRun.dump` wrote.
        resume: One decision for each call that the run waits for.
        session: The session of the run.
        options: As for `run`.
        restoring: As for `PausedRun.load`.

    Returns:
        The result, and the run at its next pause when it has one.

    Raises:
        InvalidRequestError: when the text cannot be resumed here.
        DecisionNotAllowedError: when a decision does not fit.
    """
    paused = await PausedRun.load(agent, text, **restoring)
    return await paused.resumed(resume, session=session, options=options)
