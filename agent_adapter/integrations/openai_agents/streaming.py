"""A streamed run through all its pauses: the SDK's own events, then its result."""

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from typing import Any, Self

from agents import Agent, Runner, RunResultStreaming, StreamEvent, TResponseInputItem

from agent_adapter.client import ApprovalClient
from agent_adapter.errors import AgentAdapterError
from agent_adapter.integrations.openai_agents.asking import Asker
from agent_adapter.integrations.openai_agents.checks import check_servers
from agent_adapter.integrations.openai_agents.paused import PausedRun
from agent_adapter.integrations.openai_agents.reporting import going_on


class RunStream:
    """The events of a run. Iterate over it once; afterwards it has the result.

    If you may leave the iteration early, use `contextlib.aclosing`: then the run stops, and another process can resume it at
    once.
    """

    def __init__(
        self,
        agent: Agent[Any],
        input: str | list[TResponseInputItem] | PausedRun,
        asker: Asker,
        approvals: ApprovalClient,
        settings: Mapping[str, Any],
        allow_always: Collection[str],
    ) -> None:
        self._agent = agent
        self._asker = asker
        self._approvals = approvals
        self._settings = settings
        self._allow_always = allow_always
        self._result: RunResultStreaming | None = None
        self._events = self._all_events(input)

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

    @property
    def final_output(self) -> Any:
        """The final output of the run. Raises as `result`."""
        return self.result.final_output

    async def _all_events(
        self, input: str | list[TResponseInputItem] | PausedRun
    ) -> AsyncGenerator[StreamEvent]:
        await check_servers(self._agent)
        paused: PausedRun | None
        if isinstance(input, PausedRun):
            paused = input
        else:
            result = Runner.run_streamed(self._agent, input, **self._settings)
            async with aclosing(_events(result)) as events:
                async for event in events:
                    yield event
            paused = PausedRun.of(self._agent, result, allow_always=self._allow_always)
        while paused:
            async with self._asker.answered(paused) as state:
                with going_on(paused, self._approvals):
                    result = Runner.run_streamed(self._agent, state, **self._settings)
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
