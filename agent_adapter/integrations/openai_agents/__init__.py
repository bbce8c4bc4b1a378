"""Agents of the OpenAI Agents SDK: runs that pause on tools with `needs_approval`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any, Unpack

from agent_adapter.calls import finding
from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.errors import AgentAdapterError, InvalidRequestError

try:
    from agents import (
        Agent,
        Runner,
        RunResult,
        RunResultStreaming,
        RunState,
        Session,
        StreamEvent,
        ToolApprovalItem,
        TResponseInputItem,
    )
except ImportError as error:
    raise ImportError('OpenAI Agents support needs: pip install "assent[openai-agents]"') from error

from agent_adapter.integrations.openai_agents.calls import to_request, to_resume
from agent_adapter.integrations.openai_agents.paused import PausedRun, refuse_bare_state
from agent_adapter.integrations.openai_agents.tools import editable, editing

__all__ = [
    "PausedRun",
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
        options: Handed to every call of `Runner.run`: `context`, `max_turns`, `run_config`, `hooks`, …
        allow_always: Names of tools for which a reviewer may decide once for the rest of the run. A paused run has its own.
        partial: Ask about each call by itself, and run what is decided while other calls of the turn still wait. Each
            question is then claimed and consumed by itself.
        asking: Where, for whom and how long to ask.

    Returns:
        What `Runner.run` gives.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed.
        AgentAdapterError: as in `ApprovalClient.reviewing`. Nothing that was asked about has run.
    """
    refuse_bare_state(input)
    asker = _Asker(approvals, asking, partial=partial)
    asker.check(input.allow_always if isinstance(input, PausedRun) else allow_always)
    settings = {**(options or {}), "session": session}
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


async def stream(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | PausedRun,
    *,
    approvals: ApprovalClient,
    session: Session | None = None,
    options: Mapping[str, Any] | None = None,
    allow_always: Collection[str] = (),
    partial: bool = False,
    **asking: Unpack[Asking],
) -> AsyncGenerator[StreamEvent]:
    """Give the SDK's own events, through all pauses, until the run finishes.

    Arguments and errors are as in `run`. Leave the iteration early through `contextlib.aclosing`, so that the run stops
    and the question is free again at once.
    """
    refuse_bare_state(input)
    asker = _Asker(approvals, asking, partial=partial)
    asker.check(input.allow_always if isinstance(input, PausedRun) else allow_always)
    settings = {**(options or {}), "session": session}
    paused: PausedRun | None
    if isinstance(input, PausedRun):
        paused = input
    else:
        result = Runner.run_streamed(agent, input, **settings)
        async with aclosing(_events(result)) as events:
            async for event in events:
                yield event
        paused = PausedRun.of(agent, result, allow_always=allow_always)
    while paused:
        async with asker.answered(paused) as state:
            with editing(paused.edits), finding(paused.key):
                result = Runner.run_streamed(agent, state, **settings)
            async with aclosing(_events(result)) as events:
                async for event in events:
                    yield event
        paused = paused.then(result)


async def _events(result: RunResultStreaming) -> AsyncGenerator[StreamEvent]:
    try:
        async for event in result.stream_events():
            yield event
    finally:
        if not result.is_complete:
            result.cancel()


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


class _Asker:
    """Whom to ask, and how."""

    def __init__(self, approvals: ApprovalClient, asking: Asking, *, partial: bool) -> None:
        self._approvals = approvals
        self._asking = asking
        self._partial = partial
        self._open: list[str] = []
        """Records that still wait while the run goes on with others."""

    def check(self, allow_always: Collection[str]) -> None:
        """Refuse, before anything runs, to decide a call through the question about another."""
        if self._partial and allow_always:
            raise InvalidRequestError(
                "partial=True and allow_always exclude each other: a decision for the rest of the run would also decide "
                "calls whose own question is still open"
            )

    @asynccontextmanager
    async def answered(self, paused: PausedRun) -> AsyncIterator[RunState[Any]]:
        """Ask about a pause, and give the state with what was decided.

        Once the body runs it, the answer is taken, whatever becomes of the run: its tools may have run, and the SDK
        would run them again. Only a cancelled body gives the answer back, as a killed process does.
        """
        failure: Exception | None = None
        async with AsyncExitStack() as stack:
            reviewing = [
                (self._approvals.reviewing(self._interrupt(paused, group)), group)
                for group in await self._settled(paused)
            ]
            resumes = [(await stack.enter_async_context(entered), group) for entered, group in reviewing]
            state = paused.decided(*resumes)
            try:
                yield state
            except Exception as error:  # noqa: BLE001  # raised again below, after the claim is finished
                failure = error
        if failure:
            for record in self._open:
                with suppress(AgentAdapterError):
                    await self._approvals.withdraw(record, "The run that asked has failed.")
            raise failure

    async def _settled(self, paused: PausedRun) -> list[list[ToolApprovalItem]]:
        """Give the calls that are asked together; where each is asked by itself, those that are decided first."""
        items = paused.state.get_interruptions()
        if not self._partial:
            return [items[:MAX_ACTIONS]]
        records: dict[str, list[ToolApprovalItem]] = {}
        for item in items:
            # A run that asked about all of them at once before finds that record here.
            record = await self._approvals.publish(self._interrupt(paused, [item]))
            records.setdefault(record, []).append(item)
        waits = {asyncio.create_task(self._approvals.wait(id)): group for id, group in records.items()}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            self._open = [id for id, wait in zip(records, waits, strict=True) if wait not in done]
            return [group for wait, group in waits.items() if wait in done]
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _interrupt(self, paused: PausedRun, group: Sequence[ToolApprovalItem]) -> Interrupt:
        return paused.interrupt(self._approvals, interruptions=group, **self._asking)
