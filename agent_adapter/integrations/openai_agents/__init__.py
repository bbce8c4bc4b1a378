"""Agents of the OpenAI Agents SDK: runs that pause on tools with `needs_approval`."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Unpack

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, expect_client, used_up
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.errors import AgentAdapterError
from agent_adapter.expected import expect
from agent_adapter.extras import needs

try:
    from agents import (
        Agent,
        Runner,
        RunResult,
        RunResultStreaming,
        StreamEvent,
        TResponseInputItem,
    )
except ImportError as error:
    raise ImportError(needs("OpenAI Agents support", "openai-agents", error)) from error

from agent_adapter.integrations.openai_agents.calls import to_request as to_request, to_resume as to_resume
from agent_adapter.integrations.openai_agents.paused import PausedRun as PausedRun, Result, check_run
from agent_adapter.integrations.openai_agents.servers import check_servers
from agent_adapter.integrations.openai_agents.tools import (
    EditableMCPAgent as EditableMCPAgent,
    editable as editable,
)


async def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | PausedRun,
    *,
    approvals: ApprovalClient,
    options: Mapping[str, Any] | None = None,
    allow_always: Collection[str] = (),
    **asking: Unpack[Asking],
) -> RunResult:
    """Run the agent until it finishes, and ask for approval at every pause.

    Args:
        agent: The agent. Reviewers can edit the calls of tools that were made with `editable`.
        input: As for `Runner.run`. Or a `PausedRun`, which is resumed; its question is used again if it was asked before.
        approvals: A connected client.
        options: Passed to every call of `Runner.run`: `session`, `context`, `max_turns`, `run_config`, `hooks`, …
        allow_always: Names of tools for which a reviewer may decide once for the rest of the run. A `PausedRun` keeps the
            names that it started with.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `Runner.run`, when the agent has finished.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed. Before the model is called: when an argument is wrong, or
            when the `require_approval` of a local MCP server names a tool that does not exist.
        AgentAdapterError: as in `ApprovalClient.reviewing`. No call that was asked about has run.
    """
    asked = _Run(agent, input, approvals, options, allow_always, asking)
    await asked.check()
    paused = input if isinstance(input, PausedRun) else None
    while True:
        async with asked.decided(paused) as (start, going_on):
            with going_on:
                result = await Runner.run(agent, start, **asked.settings)
        paused = asked.then(paused, result)
        if paused is None:
            return result


def stream(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | PausedRun,
    *,
    approvals: ApprovalClient,
    options: Mapping[str, Any] | None = None,
    allow_always: Collection[str] = (),
    **asking: Unpack[Asking],
) -> "RunStream":
    """Run the agent until it finishes, ask at every pause, and yield the SDK's own events.

    Arguments and errors are as in `run`.

    Returns:
        The events; iterate over them once. Afterwards, the object has the `result` of the run.
    """
    return RunStream(_Run(agent, input, approvals, options, allow_always, asking))


class RunStream:
    """The events of a run. Iterate over it once; afterwards it has the result.

    If you may leave the iteration early, use `contextlib.aclosing`: then the run stops, and another process can resume it at
    once.
    """

    def __init__(self, asked: "_Run") -> None:
        self._result: RunResultStreaming | None = None
        self._events = self._all_events(asked)

    def __aiter__(self) -> AsyncGenerator[StreamEvent]:
        return self._events

    async def aclose(self) -> None:
        """Stop the run. Its question can be asked again."""
        await self._events.aclose()

    @property
    def result(self) -> RunResultStreaming:
        """The result of `Runner.run_streamed` after the last pause.

        Raises:
            AgentAdapterError: before the iteration has ended.
        """
        if self._result is None:
            raise AgentAdapterError("this run has not finished: iterate over its events to the end first")
        return self._result

    async def _all_events(self, asked: "_Run") -> AsyncGenerator[StreamEvent]:
        await asked.check()
        paused = asked.input if isinstance(asked.input, PausedRun) else None
        while self._result is None:
            async with asked.decided(paused) as (start, going_on):
                # The events are read outside of the block: what the reader does with them does not belong to this run.
                with going_on:
                    result = Runner.run_streamed(asked.agent, start, **asked.settings)
                async with aclosing(_events(result)) as events:
                    async for event in events:
                        yield event
            paused = asked.then(paused, result)
            if paused is None:
                self._result = result


async def _events(result: RunResultStreaming) -> AsyncGenerator[StreamEvent]:
    try:
        async for event in result.stream_events():
            yield event
    finally:
        if not result.is_complete:
            result.cancel()


@dataclass(frozen=True)
class _Run:
    """One run, and how its pauses are asked about."""

    agent: Agent[Any]
    input: Any
    approvals: ApprovalClient
    options: Mapping[str, Any] | None
    allow_always: Collection[str]
    asking: Asking

    async def check(self) -> None:
        """Check the arguments before the model is called."""
        expect_client(self.approvals)
        check_asking(self.asking, beside=("options", "allow_always"))
        self.approvals.check_open()
        check_run(self.agent, self.input, self.allow_always)
        cure = "pass a dictionary, as in options={'max_turns': 20}"
        expect(self.options, Mapping | None, where="options", cure=cure)
        await check_servers(self.agent)

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.options or {})

    def then(self, paused: PausedRun | None, result: Result) -> PausedRun | None:
        """Return the run at its next pause; `None` when it has finished."""
        return (
            paused.then(result)
            if paused
            else PausedRun.of(self.agent, result, allow_always=self.allow_always)
        )

    @asynccontextmanager
    async def decided(
        self, paused: PausedRun | None
    ) -> AsyncIterator[tuple[Any, AbstractContextManager[None]]]:
        """Ask about a pause, if there is one. Yield what the run goes on with, and the context in which it does."""
        if paused is None:
            yield self.input, nullcontext()
            return
        items = paused.state.get_interruptions()[:MAX_ACTIONS]
        interrupt = paused.interrupt(self.approvals, interruptions=items, **self.asking.copy())
        reason = None if isinstance(self.input, PausedRun) else "The run that asked has ended."
        async with used_up(
            self.approvals, interrupt, lambda resume: paused.decided(resume, items), if_cancelled=reason
        ) as (_, state):
            yield state, paused.going_on(self.approvals)
