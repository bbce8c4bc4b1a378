"""Agents of the OpenAI Agents SDK: runs that pause on tools with `needs_approval`."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self, Unpack

from agent_adapter.asking import Asking, check_asking, spelled_out
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.errors import AgentAdapterError
from agent_adapter.expected import expect
from agent_adapter.extras import needs
from agent_adapter.integrations._answered import answered

try:
    from agents import (
        Agent,
        Runner,
        RunResult,
        RunResultStreaming,
        RunState,
        StreamEvent,
        TResponseInputItem,
    )
except ImportError as error:
    raise ImportError(needs("OpenAI Agents support", "openai-agents", error)) from error

from agent_adapter.integrations.openai_agents.calls import to_request, to_resume
from agent_adapter.integrations.openai_agents.paused import PausedRun, check_run
from agent_adapter.integrations.openai_agents.servers import check_servers
from agent_adapter.integrations.openai_agents.tools import EditableMCPAgent, editable

__all__ = [
    "EditableMCPAgent",
    "PausedRun",
    "RunStream",
    "editable",
    "run",
    "stream",
    "to_request",
    "to_resume",
]


@spelled_out
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
    settings = await _checked(agent, input, approvals, options, allow_always, asking)
    paused: PausedRun | None
    if isinstance(input, PausedRun):
        paused = input
    else:
        result = await Runner.run(agent, input, **settings)
        paused = PausedRun.of(agent, result, allow_always=allow_always)
    while paused:
        async with _decided(paused, approvals, asking, is_lonely=not isinstance(input, PausedRun)) as state:
            with paused.going_on(approvals):
                result = await Runner.run(agent, state, **settings)
        paused = paused.then(result)
    return result


@spelled_out
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
    return RunStream(agent, input, approvals, options, allow_always, asking)


class RunStream:
    """The events of a run. Iterate over it once; afterwards it has the result.

    If you may leave the iteration early, use `contextlib.aclosing`: then the run stops, and another process can resume it at
    once.
    """

    def __init__(self, *given: Any) -> None:
        self._result: RunResultStreaming | None = None
        self._events = self._all_events(*given)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

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

    async def _all_events(
        self,
        agent: Agent[Any],
        input: str | list[TResponseInputItem] | PausedRun,
        approvals: ApprovalClient,
        options: Mapping[str, Any] | None,
        allow_always: Collection[str],
        asking: Asking,
    ) -> AsyncGenerator[StreamEvent]:
        settings = await _checked(agent, input, approvals, options, allow_always, asking)
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
            async with _decided(
                paused, approvals, asking, is_lonely=not isinstance(input, PausedRun)
            ) as state:
                with paused.going_on(approvals):
                    result = Runner.run_streamed(agent, state, **settings)
                async with aclosing(_events(result)) as events:
                    async for event in events:
                        yield event
            paused = paused.then(result)
        self._result = result


async def _events(result: RunResultStreaming) -> AsyncGenerator[StreamEvent]:
    try:
        async for event in result.stream_events():
            yield event
    finally:
        if not result.is_complete:
            result.cancel()


async def _checked(
    agent: Any,
    input: Any,
    approvals: Any,
    options: Any,
    allow_always: Collection[str],
    asking: Asking,
) -> dict[str, Any]:
    """Check the arguments before the model is called, and return those of `Runner.run`."""
    expect_client(approvals)
    check_asking(asking, beside=("options", "allow_always"))
    approvals.check_open()
    check_run(agent, input, allow_always)
    expect(
        options, Mapping | None, where="options", cure="pass a dictionary, as in options={'max_turns': 20}"
    )
    await check_servers(agent)
    return dict(options or {})


@asynccontextmanager
async def _decided(
    paused: PausedRun, approvals: ApprovalClient, asking: Asking, *, is_lonely: bool
) -> AsyncIterator[RunState[Any]]:
    """Ask about a pause, and yield the state with the decisions.

    Once the body runs the state, the answer is used up, even if the run fails: its tools may have run, and the SDK would
    run them again. Only a cancelled body gives the answer back, as a killed process does.
    """
    items = paused.state.get_interruptions()[:MAX_ACTIONS]
    interrupt = paused.interrupt(approvals, interruptions=items, **asking)
    reason = "The run that asked has ended." if is_lonely else None
    failure: Exception | None = None
    async with answered(
        approvals, interrupt, lambda resume: paused.decided(resume, items), if_cancelled=reason
    ) as (resume, state):
        try:
            yield state
        except Exception as error:  # noqa: BLE001  # raised again below, after the claim is finished
            failure = error
            await approvals.note_failure(resume, error)
    if failure:
        raise failure
