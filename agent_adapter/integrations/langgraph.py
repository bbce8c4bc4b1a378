"""LangChain agents and LangGraph graphs: any compiled graph whose pauses ask for approval."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, Unpack, cast

from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.hitl import ActionRequest, HITLRequest
from agent_adapter.contract.interrupt import Context, Interrupt, Resume
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.dialects import Dialect, by_name, choose, langchain_per_call
from agent_adapter.dialects.answers import share_out
from agent_adapter.errors import (
    ConflictError,
    InvalidRequestError,
    UnknownDialectError,
)

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
    from langgraph.checkpoint.serde.types import RESUME
    from langgraph.pregel import Pregel
    from langgraph.types import Command, PregelTask, StateSnapshot, StreamMode
    from langgraph.types import Interrupt as Pause

    from agent_adapter.calls.langgraph import keys_of, telling_tools
    from agent_adapter.integrations._graph import (
        Graph,
        Tools,
        askers,
        check_call_ids,
        check_edit,
        own_tools,
        reviews_turn,
        tools_by_name,
        with_schema,
    )
except ImportError as error:
    raise ImportError('LangGraph support needs: pip install "assent[langgraph]"') from error

# LangGraph reads a resume as a map only if every key looks like this; anything else it hands to the node as it is.
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")


def to_request(pauses: Sequence[Pause], *, tools: Tools = (), dialect: str | None = None) -> HITLRequest:
    """Gather the pauses into one batch, in the order the reviewer will see.

    A pause of no known dialect is asked about as it is, and answered with words.

    Args:
        pauses: `result["__interrupt__"]`, or the `interrupts` of a state.
        tools: Where the argument schemas are found that the pauses do not carry.
        dialect: Of the pauses whose keys do not tell it, by its name in `agent_adapter.dialects.DIALECTS`.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed as it is, or there is no such dialect.
    """
    _check_ids(pauses)
    known = tools_by_name(tools)
    requests = [_request_of(pause, dialect) for pause in pauses]
    return HITLRequest(
        action_requests=tuple(action for request in requests for action in request.action_requests),
        review_configs=tuple(
            with_schema(config, known) for request in requests for config in request.review_configs
        ),
    )


def to_resume(
    resume: Resume, pauses: Sequence[Pause], *, tools: Tools = (), dialect: str | None = None
) -> Command[Any]:
    """Hand each decision back to the pause that it answers.

    Args:
        resume: Its decisions are in the order of these pauses.
        pauses: The same that `to_request` was given.
        tools: Edited arguments are checked against the schemas of these.
        dialect: The same that `to_request` was given.

    Raises:
        DecisionNotAllowedError: when a decision does not fit: nothing was resumed, the pauses can still be answered.
    """
    _check_ids(pauses)
    requests = [_request_of(pause, dialect) for pause in pauses]
    known, answers = tools_by_name(tools), {}
    for pause, request, own in zip(pauses, requests, share_out(resume, requests), strict=True):
        payload = _payload(pause)
        answers[pause.id] = _dialect_of(payload, dialect).to_resume(own, payload)
        for action, decision in zip(request.action_requests, own, strict=True):
            check_edit(action, decision, known)
    return Command(resume=answers)


async def run(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: RunnableConfig,
    tools: Tools = (),
    dialect: str | None = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> Any:
    """Run the graph, asking for approval at every pause, until it finishes.

    Args:
        graph: Compiled with a checkpointer.
        input: As for `ainvoke`. `None` goes on with a thread; a question that it is paused on is found, not asked anew.
        approvals: Whom to ask.
        config: With `{"configurable": {"thread_id": …}}`.
        tools: Tools that are not in a tool node of the graph, for the schemas of their arguments.
        dialect: Of the pauses whose keys do not tell it, by its name in `agent_adapter.dialects.DIALECTS`.
        options: Handed to every call of the graph: `context`, `durability`, `version`, …
        asking: Where, for whom and how long to ask.

    Returns:
        What `ainvoke` gives.

    Raises:
        InvalidRequestError: before the graph runs when it could not be resumed, or when a pause cannot be reviewed.
        AgentAdapterError: as in `ApprovalClient.reviewing`. The thread stays paused.
    """
    settings = dict(options or {})
    thread = Thread.of(graph, config, approvals, tools, dialect, settings, asking)
    result = None
    if input is not None or not await thread.pauses():
        result = await graph.ainvoke(input, config, **settings)
    while pauses := await thread.pauses():
        async with thread.answered(pauses) as command:
            result = await graph.ainvoke(command, config, **settings)
    return result


async def stream(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: RunnableConfig,
    stream_mode: StreamMode | list[StreamMode] | None = None,
    version: Literal["v1", "v2"] = "v1",
    tools: Tools = (),
    dialect: str | None = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> AsyncGenerator[Any]:
    """Give the graph's own chunks, through all pauses, until it finishes.

    Those that announce a pause are among them. Arguments and errors are as in `run`; `stream_mode` and `version` are
    the graph's own. Leave the iteration early through `contextlib.aclosing`, so that the question is free again at once.
    """
    thread = Thread.of(graph, config, approvals, tools, dialect, options or {}, asking)
    settings = {"stream_mode": stream_mode, "version": version, **(options or {})}

    def chunks_of(given: Any) -> AbstractAsyncContextManager[AsyncGenerator[Any]]:
        # Every graph's `astream` is a generator; its protocol only says iterator.
        return aclosing(cast("AsyncGenerator[Any]", graph.astream(given, config, **settings)))

    if input is not None or not await thread.pauses():
        async with chunks_of(input) as chunks:
            async for chunk in chunks:
                yield chunk
    while pauses := await thread.pauses():
        async with thread.answered(pauses) as command, chunks_of(command) as chunks:
            async for chunk in chunks:
                yield chunk


@dataclass(frozen=True)
class Thread:
    """One conversation of a graph, and whom to ask at its pauses: what `run`, `stream` and workers share."""

    graph: Graph
    config: RunnableConfig
    id: str
    approvals: ApprovalClient
    tools: Tools
    dialect: str | None
    options: Mapping[str, Any]
    asking: Asking

    @classmethod
    def of(
        cls,
        graph: Graph,
        config: RunnableConfig,
        approvals: ApprovalClient,
        tools: Tools,
        dialect: str | None,
        options: Mapping[str, Any],
        asking: Asking,
    ) -> "Thread":
        """Refuse, before anything runs, what could not be resumed after its first pause."""
        configurable = config.get("configurable", {})
        checkpointer = getattr(graph, "checkpointer", True)
        if checkpointer is None or checkpointer is False:
            raise InvalidRequestError(
                "the graph has no checkpointer, so it could not be resumed after a pause: "
                "give one to create_agent(checkpointer=…) or compile(checkpointer=…)"
            )
        if not configurable.get("thread_id"):
            raise InvalidRequestError(
                'config names no thread to resume: pass config={"configurable": {"thread_id": …}}'
            )
        if "checkpoint_id" in configurable:
            raise InvalidRequestError(
                "config names a checkpoint_id, but approvals belong to the newest state of a thread: leave it out, "
                "or fork the thread with update_state first"
            )
        if dialect is not None:
            by_name(dialect)
        known = {**own_tools(graph), **tools_by_name(tools)}
        id = str(configurable["thread_id"])
        return cls(graph, config, id, approvals, list(known.values()), dialect, options, asking)

    async def pauses(self) -> Sequence[Pause]:
        """Read what the thread waits for, in the order of its tasks, which is that of the model's calls.

        The order of `__interrupt__` is another in every run, and some stream modes do not carry it.
        """
        return (await self.graph.aget_state(self.config)).interrupts

    @asynccontextmanager
    async def answered(self, pauses: Sequence[Pause]) -> AsyncIterator[Command[Any] | None]:
        """Ask about these pauses and give the command that answers them, or as many as one record holds."""
        failure: BaseException | None = None
        pauses = _batch(pauses, self.dialect)
        async with AsyncExitStack() as stack:
            try:
                resume = await stack.enter_async_context(await self._reviewing(pauses))
            except ConflictError:
                pauses = await self._apart(pauses)
                resume = await stack.enter_async_context(await self._reviewing(pauses))
            try:
                async with self.command_for(resume, pauses) as command:
                    yield command
            except BaseException as error:
                if await self._waits_for(pauses):
                    raise
                # The graph took the answer and ended further on: the question is settled, only the run is not.
                failure = error
        if failure:
            raise failure

    @asynccontextmanager
    async def command_for(
        self, resume: Resume, pauses: Sequence[Pause]
    ) -> AsyncIterator[Command[Any] | None]:
        """Give the command that hands these decisions back; in the body, tools know for which call they run."""
        command = to_resume(resume, pauses, tools=self.tools, dialect=self.dialect)
        with telling_tools(await self.keys_for(resume, pauses)):
            yield await self._unless_saved(command)

    async def keys_for(self, resume: Resume, pauses: Sequence[Pause]) -> dict[str, str]:
        """Name the calls that these decisions let run, for `telling_tools`."""
        state = await self.graph.aget_state(self.config, subgraphs=True)
        asked = [(pause.id, _request_of(pause, self.dialect).action_requests) for pause in pauses]
        return await keys_of(resume, asked, state, self._stored_inside)

    async def ask(self) -> str | None:
        """Publish the question that the thread is paused on, and give the id of its record; `None` without a pause."""
        if not (pauses := await self.pauses()):
            return None
        pauses = _batch(pauses, self.dialect)
        try:
            return await self.approvals.publish(await self.interrupt_of(pauses))
        except ConflictError:
            return await self.approvals.publish(await self.interrupt_of(await self._apart(pauses)))

    async def _unless_saved(self, command: Command[Any]) -> Command[Any] | None:
        """Leave out answers that a crashed run has already saved in the checkpoint.

        LangGraph lists their pauses until the node has ended, and would give an answer that comes again to the node's
        next pause, which nobody has decided. So first let the nodes go on with what they have.
        """
        if not await self._has_saved_answers(await self.graph.aget_state(self.config, subgraphs=True)):
            return command
        await self.graph.ainvoke(None, self.config, **self.options)
        still = {pause.id for pause in await self.pauses()}
        answers = {id: answer for id, answer in cast("dict[str, Any]", command.resume).items() if id in still}
        return Command(resume=answers) if answers else None

    async def _has_saved_answers(self, state: StateSnapshot) -> bool:
        paused = [task for task in state.tasks if task.interrupts]
        if not _answered(await self._stored(state.config)).isdisjoint(task.id for task in paused):
            return True
        for task in paused:
            if isinstance(task.state, StateSnapshot):
                if await self._has_saved_answers(task.state):
                    return True
            elif _answered(await self._stored_inside(state, task)):
                return True
        return False

    async def _stored(self, config: RunnableConfig) -> CheckpointTuple | None:
        if not isinstance(self.graph, Pregel) or not isinstance(self.graph.checkpointer, BaseCheckpointSaver):
            return None
        return await self.graph.checkpointer.aget_tuple(config)

    async def _stored_inside(self, state: StateSnapshot, task: PregelTask) -> CheckpointTuple | None:
        """Read what a graph has stored that runs inside this task, such as a subagent of a tool: no state lists it."""
        around = state.config["configurable"]
        namespace = "|".join(filter(None, (around.get("checkpoint_ns"), f"{task.name}:{task.id}")))
        return await self._stored(
            {"configurable": {"thread_id": around["thread_id"], "checkpoint_ns": namespace}}
        )

    async def _apart(self, pauses: Sequence[Pause]) -> Sequence[Pause]:
        """Give the first pause with those of its record.

        A crash can leave some pauses of an earlier question open beside new ones: these are two records.
        """
        records = [await self.approvals.publish(await self.interrupt_of([pause])) for pause in pauses]
        return [pause for pause, record in zip(pauses, records, strict=True) if record == records[0]]

    async def _reviewing(self, pauses: Sequence[Pause]) -> AbstractAsyncContextManager[Resume]:
        return self.approvals.reviewing(await self.interrupt_of(pauses))

    async def interrupt_of(self, pauses: Sequence[Pause]) -> Interrupt:
        state = await self.graph.aget_state(self.config, subgraphs=True)
        await self._check_call_ids(state)
        names = askers(state)
        ids = [pause.id for pause in pauses for _ in _request_of(pause, self.dialect).action_requests]
        request = to_request(pauses, tools=self.tools, dialect=self.dialect)
        request, asking = _with_askers(request, [names.get(id) for id in ids], self.asking)
        return self.approvals.interrupt(request, run=self.id, pauses=ids, **asking)

    async def _check_call_ids(self, state: StateSnapshot) -> None:
        for task in state.tasks:
            if isinstance(task.state, StateSnapshot):
                await self._check_call_ids(task.state)
            elif any(map(reviews_turn, task.interrupts)):
                inside = await self._stored_inside(state, task)
                if inside:
                    check_call_ids(inside.checkpoint["channel_values"])
                elif task.name != "tools":
                    check_call_ids(state.values)

    async def _waits_for(self, pauses: Sequence[Pause]) -> bool:
        return not {pause.id for pause in pauses}.isdisjoint(pause.id for pause in await self.pauses())


def _check_ids(pauses: Sequence[Pause]) -> None:
    if not pauses:
        raise InvalidRequestError("no pauses: this run does not wait for anything")
    for id, count in Counter(pause.id for pause in pauses).items():
        if count > 1:
            raise InvalidRequestError(f"pause {id} stands {count} times in the list; pass each once")
        if not _PAUSE_ID.fullmatch(id):
            raise InvalidRequestError(
                f"{id!r} is no id of a LangGraph pause: pass the interrupts that the graph gave"
            )


def _answered(stored: CheckpointTuple | None) -> set[str]:
    """Name the tasks for which an answer is stored."""
    return {id for id, channel, _ in (stored and stored.pending_writes) or () if channel == RESUME}


def _with_askers(
    request: HITLRequest, names: Sequence[str | None], asking: Asking
) -> tuple[HITLRequest, Asking]:
    """Say which agent inside the graph asks: for the whole card where it is one, otherwise beside each action."""
    (name, *others) = set(names)
    if not others:
        context = asking.get("context") or Context()
        named = context.model_copy(update={"subagent": context.subagent or name})
        return request, {**asking, "context": named}
    actions = tuple(map(_asked_by, request.action_requests, names))
    return request.model_copy(update={"action_requests": actions}), asking


def _asked_by(action: ActionRequest, name: str | None) -> ActionRequest:
    if name is None:
        return action
    told = filter(None, (f"Asked by the subagent {name}.", action.description))
    return action.model_copy(update={"description": "\n\n".join(told)})


def _batch(pauses: Sequence[Pause], dialect: str | None) -> Sequence[Pause]:
    """Give the first pauses, as many as one interrupt may ask about."""
    totals = accumulate(len(_request_of(pause, dialect).action_requests) for pause in pauses)
    return [pause for pause, total in zip(pauses, totals, strict=True) if total <= MAX_ACTIONS] or pauses


def _request_of(pause: Pause, dialect: str | None) -> HITLRequest:
    payload = _payload(pause)
    try:
        return _dialect_of(payload, dialect).to_request(payload)
    except InvalidRequestError as error:
        raise type(error)(f"pause {pause.id}: {error}") from error


def _dialect_of(payload: Any, named: str | None) -> Dialect:
    """Give the dialect of a pause. What is of none is a question of the graph's own, answered with words."""
    try:
        return by_name(choose(payload, named))
    except UnknownDialectError:
        return by_name("generic")


def _payload(pause: Pause) -> Any:
    if langchain_per_call.recognises(pause.value):
        return {**pause.value, "response_schema": pause.response_schema}
    return pause.value
