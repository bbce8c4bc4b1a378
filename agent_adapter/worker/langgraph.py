"""LangGraph runs that any process can resume, by the id of their thread."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version as version_of
from typing import Any, Unpack

from agent_adapter.extras import needs

try:
    from langchain_core.runnables import RunnableConfig
except ImportError as error:
    raise ImportError(needs("LangGraph support", "langgraph", error)) from error

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import check_json, decode, encode
from agent_adapter.contract.interrupt import Continuation, needs_of
from agent_adapter.dialects.naming import Named
from agent_adapter.edit_check import RefusedAnswerError
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations._graph import Config, Graph, Tools
from agent_adapter.integrations._langgraph_calls import Keys, passing_keys
from agent_adapter.integrations._thread import Thread
from agent_adapter.integrations.langgraph import run
from agent_adapter.worker.loop import Finished, Notify, Paused, Turn

FRAMEWORK = "langgraph"


class ResumableGraph:
    """A graph that workers can resume, because its checkpointer outlives the process.

    Args:
        name: The name of the graph; the same in the process that asks and in the worker.
        graph: Compiled with a durable checkpointer that uses the same database in both.
        version: The version of the agent's definition, as you count it. A run is resumed with the version it started with.
        tools: As in `integrations.langgraph.run`.
        dialect: As in `integrations.langgraph.run`.
        options: As in `integrations.langgraph.run`. By default, checkpoints are saved before the graph goes on
            (`durability="sync"`).
        over: Called when a run is over.
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
        over: Notify | None = None,
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
            input: As for `ainvoke`; `None` asks about the current pause of the thread.
            approvals: A connected client.
            config: `{"configurable": {"thread_id": …}}`. Other values in `configurable` are stored too, so they must be JSON.
            asking: Where, for whom and how long to ask, now and at later pauses: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

        Returns:
            `Paused` with the id of the question, or `Finished` with the state of the graph.

        Raises:
            InvalidRequestError: before the graph runs, when it could not be resumed; later, when a pause cannot be reviewed.
            ClaimedError: when another process runs this thread.
            AgentAdapterError: as in `ApprovalClient.publish`. The thread stays paused.
        """
        thread = self._thread(approvals, config, asking)
        approvals.check_open(keeps_state=True)
        async with thread.beginning(input) as begins:
            if begins:
                await self.graph.ainvoke(input, thread.config, **self._options)
        interrupt_id = await thread.ask()
        return Paused(interrupt_id) if interrupt_id else await self._finished(thread)

    async def run(
        self, input: Any, *, approvals: ApprovalClient, config: Config, **asking: Unpack[Asking]
    ) -> Any:
        """Run the graph to its end, as `integrations.langgraph.run` does. If this process dies, a worker resumes the run."""
        self._thread(approvals, config, asking)
        approvals.check_open(keeps_state=True)
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
        """Return what a worker needs to resume the run: the thread and the other values of `configurable`.

        Raises:
            InvalidRequestError: when a value is not JSON.
        """
        own = {
            key: value
            for key, value in config.get("configurable", {}).items()
            # LangGraph's own values, which belong to this process.
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
        """The continuations that it can resume."""
        return (needs_of(FRAMEWORK, self.name, self.version),)

    async def go_on(self, turn: Turn) -> Paused | Finished | None:
        """Answer the pause if it is still open, continue from where a crash stopped the run, and ask the next question."""
        config: RunnableConfig = decode(turn.continuation.state)
        thread = self._thread(turn.approvals, config, turn.asking)
        at = "a pause"
        # Of an answer that cannot be used, people are asked again.
        with suppress(RefusedAnswerError):
            async with thread.running():
                at = await self._resumed(turn, thread, config)
        return await self._ask(thread) if at == "a pause" else await self._finished(thread)

    async def _resumed(self, turn: Turn, thread: Thread, config: RunnableConfig) -> str:
        """Resume the run, and return where it stopped: at a pause, a breakpoint or the end."""
        asked = set(turn.interrupt.pauses)
        if "began" not in turn.journal:
            await thread.check_open(asked)
        if questions := [question for question in await thread.questions() if question.id in asked]:
            resume = await turn.answer_to(await thread.interrupt_of(questions))
            keys = await turn.journal.keep("began", encode(thread.keys_for(resume, questions)))
            async with (
                _set_aside_on_failure(turn, decode(keys)),
                thread.command_for(resume, questions) as command,
            ):
                await self.graph.ainvoke(command, config, **self._options)
        elif "arrived" not in turn.journal and await thread.came_to() == "a breakpoint":
            # Tools that run again get the same keys as before.
            async with _set_aside_on_failure(turn, decode(turn.journal["began"])):
                await self.graph.ainvoke(None, config, **self._options)
        return await turn.journal.keep("arrived", await thread.came_to())

    async def _ask(self, thread: Thread) -> Paused | None:
        # From this pause on, the run belongs to the next question. It may have been resumed by now.
        with suppress(ConsumedError):
            if interrupt_id := await thread.ask():
                return Paused(interrupt_id)
        return None

    async def _finished(self, thread: Thread) -> Finished:
        await thread.check_ended()
        return Finished((await self.graph.aget_state(thread.config)).values)

    def _thread(self, approvals: ApprovalClient, config: Config, asking: Asking) -> Thread:
        with_continuation: Asking = {**asking, "continuation": self.continuation(config)}
        return Thread.of(
            self.graph, config, approvals, self._tools, self._dialect, self._options, with_continuation
        )


@asynccontextmanager
async def _set_aside_on_failure(turn: Turn, keys: Keys) -> AsyncIterator[None]:
    """Give tools their keys. If a tool would run again after a failure, set the run aside: no worker resumes it by itself."""
    report = partial(turn.approvals.report_later, claim=turn.resume.claim)
    with passing_keys(keys, report) as begun:
        try:
            yield
        except Exception as error:
            if tools := begun.in_doubt(error):
                raise await turn.set_aside(error, tools) from error
            raise
