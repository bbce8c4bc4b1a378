"""LangGraph runs that any process can go on with, by the id of their thread."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version as version_of
from typing import Any, Unpack

from agent_adapter.extras import needs

try:
    from langchain_core.runnables import RunnableConfig
except ImportError as error:
    raise ImportError(needs("LangGraph support", "langgraph", error)) from error

from agent_adapter.calls.langgraph import Keys, telling_tools
from agent_adapter.claims import patiently
from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.arguments import check_json, decode, encode
from agent_adapter.contract.interrupt import Continuation, needs_of
from agent_adapter.contract.record import in_order, matching_actions
from agent_adapter.dialects.naming import Named
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations._graph import Config, Graph, Tools
from agent_adapter.integrations.langgraph import Thread, run
from agent_adapter.resumables import Finished, GoneOn, Paused, Tell, Turn
from agent_adapter.runs import failed_with

FRAMEWORK = "langgraph"


class ResumableGraph:
    """A graph whose checkpointer outlives the process, under the name that workers know it by.

    Args:
        name: The same in the process that asks and in the worker.
        graph: Compiled with a durable checkpointer, the same database in both.
        version: Of the agent's definition, as you count: runs go on with the version that they started with.
        tools: As for `integrations.langgraph.run`.
        dialect: Likewise.
        options: Likewise. Checkpoints are saved before the graph goes on (`durability="sync"`) unless told otherwise.
        over: Told when a run is over.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        *,
        version: str,
        tools: Tools = (),
        dialect: Named = None,
        options: Mapping[str, Any] | None = None,
        over: Tell | None = None,
    ) -> None:
        self.name = name
        self.graph = graph
        self.version = version
        self.over = over
        self._tools = tools
        self._dialect = dialect
        self._options = {"durability": "sync", **(options or {})}

    async def start(
        self, input: Any, *, approvals: ApprovalClient, config: Config, **asking: Unpack[Asking]
    ) -> Paused | Finished:
        """Run the graph until it pauses, ask, and leave the rest to a worker.

        Args:
            input: As for `ainvoke`; `None` asks about the pause that the thread stands at.
            approvals: Whom to ask.
            config: With `{"configurable": {"thread_id": …}}`; what else is in `configurable` travels, so it must be JSON.
            asking: Where, for whom and how long to ask, now and at later pauses.

        Raises:
            InvalidRequestError: before the graph runs when it could not be resumed, or when a pause cannot be reviewed.
            ClaimedError: when another process runs this thread.
            AgentAdapterError: as in `ApprovalClient.publish`. The thread stays paused.
        """
        thread = self._thread(approvals, config, asking)
        async with thread.beginning(input) as begins:
            if begins:
                await self.graph.ainvoke(input, thread.config, **self._options)
        interrupt_id = await thread.ask()
        return Paused(interrupt_id) if interrupt_id else await self._finished(thread)

    async def run(
        self, input: Any, *, approvals: ApprovalClient, config: Config, **asking: Unpack[Asking]
    ) -> Any:
        """Run the graph to its end, as `integrations.langgraph.run`; a worker goes on when this process dies while it waits."""
        self._thread(approvals, config, asking)
        asking["continuation"] = self.continuation(config)
        return await run(
            self.graph,
            input,
            approvals=approvals,
            config=config,
            tools=self._tools,
            dialect=self._dialect,
            options=self._options,
            **asking,
        )

    def continuation(self, config: Config) -> Continuation:
        """Write what a worker needs: the thread and the other values of `configurable`.

        Raises:
            InvalidRequestError: when a value is no JSON.
        """
        own = {
            key: value
            for key, value in config.get("configurable", {}).items()
            # LangGraph's own, of this process.
            if not key.startswith("__")
        }
        check_json(own, where="config.configurable")
        return Continuation(
            framework=FRAMEWORK,
            name=self.name,
            version=self.version,
            sdk=f"langgraph {version_of('langgraph')}",
            state=encode({"configurable": own}),
        )

    @property
    def needs(self) -> tuple[str]:
        """What it takes."""
        return (needs_of(FRAMEWORK, self.name, self.version),)

    async def go_on(self, turn: Turn) -> Paused | Finished | GoneOn:
        """Answer the pause if it is still open, go on from where a crash left the run, and ask what comes next."""
        config: RunnableConfig = decode(turn.continuation.state)
        thread = self._thread(turn.approvals, config, turn.asking)
        async with thread.running():
            at = await self._resumed(turn, thread, config)
        return await self._ask(thread) if at == "a pause" else await self._finished(thread)

    async def _resumed(self, turn: Turn, thread: Thread, config: RunnableConfig) -> str:
        """Tell where the run has come to.

        Raises:
            ConsumedError: when somebody else took the thread further before any worker had begun.
        """
        asked = set(turn.interrupt.pauses)
        if "began" not in turn.journal:
            await thread.check_open(asked)
        if questions := [question for question in await thread.questions() if question.id in asked]:
            indices = matching_actions(turn.interrupt, await thread.interrupt_of(questions))
            resume = in_order(turn.resume, indices)
            keys = await turn.journal.keep("began", encode(await thread.keys_for(resume, questions)))
            async with (
                _set_aside_on_failure(turn, decode(keys)),
                thread.command_for(resume, questions) as command,
            ):
                await self.graph.ainvoke(command, config, **self._options)
        elif "arrived" not in turn.journal and await self._was_cut_off(config):
            # Tools that run again do so under the keys that they had.
            async with _set_aside_on_failure(turn, decode(turn.journal["began"])):
                await self.graph.ainvoke(None, config, **self._options)
        return await turn.journal.keep("arrived", await thread.came_to())

    async def _ask(self, thread: Thread) -> Paused | GoneOn:
        try:
            interrupt_id = await thread.ask()
        except ConsumedError:
            interrupt_id = None
        # From the pause on, the run belongs to the next question, which may have been resumed by now.
        return Paused(interrupt_id) if interrupt_id else GoneOn()

    async def _finished(self, thread: Thread) -> Finished:
        await thread.check_ended()
        return Finished((await self.graph.aget_state(thread.config)).values)

    async def _was_cut_off(self, config: RunnableConfig) -> bool:
        """Whether the run took the answer and then came neither to its end nor to a pause."""
        state = await self.graph.aget_state(config)
        return bool(state.next) and not state.interrupts

    def _thread(self, approvals: ApprovalClient, config: Config, asking: Asking) -> Thread:
        with_continuation: Asking = {**asking, "continuation": self.continuation(config)}
        return Thread.of(
            self.graph, config, approvals, self._tools, self._dialect, self._options, with_continuation
        )


@asynccontextmanager
async def _set_aside_on_failure(turn: Turn, keys: Keys) -> AsyncIterator[None]:
    """Let tools know their keys, and no worker go on by itself when the run fails with one of them.

    Raises:
        CutOffError: in place of the error with which the run failed.
    """
    with telling_tools(keys) as begun:
        try:
            yield
        except Exception as error:
            if tools := begun.in_doubt():
                raise await patiently(partial(turn.journal.set_aside, failed_with(error), tools)) from error
            raise
