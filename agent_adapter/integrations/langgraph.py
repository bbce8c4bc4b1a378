"""LangChain agents and LangGraph graphs: any compiled graph whose pauses ask for approval."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, TypeAlias, Unpack, cast

from pydantic import BaseModel, ValidationError

from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.hitl import ActionRequest, Decision, EditDecision, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.dialects import DIALECTS, detect
from agent_adapter.errors import ConflictError, DecisionNotAllowedError, InvalidRequestError

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langchain_core.tools import tool as make_tool
    from langchain_core.utils.pydantic import model_json_schema
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.checkpoint.serde.types import RESUME
    from langgraph.prebuilt import ToolNode
    from langgraph.pregel import Pregel
    from langgraph.pregel.protocol import PregelProtocol
    from langgraph.types import Command, StateSnapshot, StreamMode
    from langgraph.types import Interrupt as Pause
except ImportError as error:
    raise ImportError('LangGraph support needs: pip install "assent[langgraph]"') from error

Graph: TypeAlias = PregelProtocol[Any, Any, Any, Any]
Tools: TypeAlias = Sequence[BaseTool | Callable[..., Any]]

# LangGraph reads a resume as a map only if every key looks like this; anything else it hands to the node as it is.
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")


def to_request(pauses: Sequence[Pause], *, tools: Tools = ()) -> HITLRequest:
    """Gather the pauses into one batch, in the order the reviewer will see.

    Args:
        pauses: `result["__interrupt__"]`, or the `interrupts` of a state.
        tools: Where the argument schemas are found that the pauses do not carry.

    Raises:
        UnknownDialectError: when a pause is no request for approval.
        InvalidRequestError: when one cannot be reviewed as it is.
    """
    _check_ids(pauses)
    known = _by_name(tools)
    requests = [_request_of(pause) for pause in pauses]
    return HITLRequest(
        action_requests=tuple(action for request in requests for action in request.action_requests),
        review_configs=tuple(
            _with_schema(config, known) for request in requests for config in request.review_configs
        ),
    )


def to_resume(resume: Resume, pauses: Sequence[Pause], *, tools: Tools = ()) -> Command[Any]:
    """Hand each decision back to the pause that it answers.

    Args:
        resume: Its decisions are in the order of these pauses.
        pauses: The same that `to_request` was given.
        tools: Edited arguments are checked against the schemas of these.

    Raises:
        DecisionNotAllowedError: when a decision does not fit: nothing was resumed, the pauses can still be answered.
    """
    _check_ids(pauses)
    if resume.status not in {"decided", "expired"}:
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id} was {resume.status}: there is nothing to resume with"
        )
    requests = [_request_of(pause) for pause in pauses]
    asked = sum(len(request.action_requests) for request in requests)
    if len(resume.decisions) != asked:
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id}: {len(resume.decisions)} decisions for {asked} actions; nothing was resumed"
        )
    known, decisions, answers = _by_name(tools), iter(resume.decisions), {}
    for pause, request in zip(pauses, requests, strict=True):
        own = [next(decisions) for _ in request.action_requests]
        payload = _payload(pause)
        answers[pause.id] = DIALECTS[detect(payload)].to_resume(own, payload)
        for action, decision in zip(request.action_requests, own, strict=True):
            _check_edit(action, decision, known)
    return Command(resume=answers)


async def run(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: RunnableConfig,
    tools: Tools = (),
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
        options: Handed to every call of the graph: `context`, `durability`, `version`, …
        asking: Where, for whom and how long to ask.

    Returns:
        What `ainvoke` gives.

    Raises:
        InvalidRequestError: before the graph runs when it could not be resumed, or when a pause cannot be reviewed.
        AgentAdapterError: as in `ApprovalClient.reviewing`. The thread stays paused.
    """
    settings = dict(options or {})
    thread = _Thread.of(graph, config, approvals, tools, settings, asking)
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
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> AsyncGenerator[Any]:
    """Give the graph's own chunks, through all pauses, until it finishes.

    Those that announce a pause are among them. Arguments and errors are as in `run`; `stream_mode` and `version` are
    the graph's own. Leave the iteration early through `contextlib.aclosing`, so that the question is free again at once.
    """
    thread = _Thread.of(graph, config, approvals, tools, options or {}, asking)
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
class _Thread:
    """One conversation of a graph, and whom to ask at its pauses."""

    graph: Graph
    config: RunnableConfig
    id: str
    approvals: ApprovalClient
    tools: Tools
    options: Mapping[str, Any]
    asking: Asking

    @classmethod
    def of(
        cls,
        graph: Graph,
        config: RunnableConfig,
        approvals: ApprovalClient,
        tools: Tools,
        options: Mapping[str, Any],
        asking: Asking,
    ) -> "_Thread":
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
        known = {**_own_tools(graph), **_by_name(tools)}
        id = str(configurable["thread_id"])
        return cls(graph, config, id, approvals, list(known.values()), options, asking)

    async def pauses(self) -> Sequence[Pause]:
        """Read what the thread waits for, in the order of its tasks, which is that of the model's calls.

        The order of `__interrupt__` is another in every run, and some stream modes do not carry it.
        """
        return (await self.graph.aget_state(self.config)).interrupts

    @asynccontextmanager
    async def answered(self, pauses: Sequence[Pause]) -> AsyncIterator[Command[Any] | None]:
        """Ask about these pauses and give the command that answers them, or as many as one record holds."""
        failure: BaseException | None = None
        pauses = _batch(pauses)
        async with AsyncExitStack() as stack:
            try:
                resume = await stack.enter_async_context(self._reviewing(pauses))
            except ConflictError:
                pauses = await self._apart(pauses)
                resume = await stack.enter_async_context(self._reviewing(pauses))
            command = to_resume(resume, pauses, tools=self.tools)
            try:
                yield await self._unless_saved(command)
            except BaseException as error:
                if await self._waits_for(pauses):
                    raise
                # The graph took the answer and ended further on: the question is settled, only the run is not.
                failure = error
        if failure:
            raise failure

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
        if not isinstance(self.graph, Pregel) or not isinstance(self.graph.checkpointer, BaseCheckpointSaver):
            return False
        paused = [task for task in state.tasks if task.interrupts]
        stored = await self.graph.checkpointer.aget_tuple(state.config)
        answered = {id for id, channel, _ in (stored and stored.pending_writes) or () if channel == RESUME}
        if not answered.isdisjoint(task.id for task in paused):
            return True
        inner = [task.state for task in paused if isinstance(task.state, StateSnapshot)]
        return any([await self._has_saved_answers(state) for state in inner])

    async def _apart(self, pauses: Sequence[Pause]) -> Sequence[Pause]:
        """Give the first pause with those of its record.

        A crash can leave some pauses of an earlier question open beside new ones: these are two records.
        """
        records = [await self.approvals.publish(self._interrupt([pause])) for pause in pauses]
        return [pause for pause, record in zip(pauses, records, strict=True) if record == records[0]]

    def _reviewing(self, pauses: Sequence[Pause]) -> AbstractAsyncContextManager[Resume]:
        return self.approvals.reviewing(self._interrupt(pauses))

    def _interrupt(self, pauses: Sequence[Pause]) -> Interrupt:
        ids = [pause.id for pause in pauses for _ in _request_of(pause).action_requests]
        request = to_request(pauses, tools=self.tools)
        return self.approvals.interrupt(request, run=self.id, pauses=ids, **self.asking)

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


def _batch(pauses: Sequence[Pause]) -> Sequence[Pause]:
    """Give the first pauses, as many as one interrupt may ask about."""
    totals = accumulate(len(_request_of(pause).action_requests) for pause in pauses)
    return [pause for pause, total in zip(pauses, totals, strict=True) if total <= MAX_ACTIONS] or pauses


def _request_of(pause: Pause) -> HITLRequest:
    payload = _payload(pause)
    try:
        return DIALECTS[detect(payload)].to_request(payload)
    except InvalidRequestError as error:
        raise type(error)(f"pause {pause.id}: {error}") from error


def _payload(pause: Pause) -> Any:
    if isinstance(pause.value, dict) and pause.response_schema is not None:
        return {**pause.value, "response_schema": pause.response_schema}
    return pause.value


def _own_tools(graph: Graph) -> dict[str, BaseTool]:
    """Find the graph's tools by name. Two of one name with different arguments are left out: it is not known which is meant."""
    found: dict[str, BaseTool] = {}
    doubtful = set()
    for tool in _tools_in(graph):
        if tool.name in found and _json_schema(tool) != _json_schema(found[tool.name]):
            doubtful.add(tool.name)
        found[tool.name] = tool
    return {name: tool for name, tool in found.items() if name not in doubtful}


def _tools_in(graph: Graph) -> Iterator[BaseTool]:
    if not isinstance(graph, Pregel):
        return
    for node in graph.nodes.values():
        for part in (node.bound, *getattr(node.bound, "steps", ())):
            if isinstance(part, ToolNode):
                yield from part.tools_by_name.values()
    for _, inner in graph.get_subgraphs():
        yield from _tools_in(inner)


def _by_name(tools: Tools) -> dict[str, BaseTool]:
    made = (tool if isinstance(tool, BaseTool) else make_tool(tool) for tool in tools)
    return {tool.name: tool for tool in made}


def _with_schema(config: ReviewConfig, known: Mapping[str, BaseTool]) -> ReviewConfig:
    tool = known.get(config.action_name)
    if config.args_schema is not None or tool is None:
        return config
    return config.model_copy(update={"args_schema": _json_schema(tool)})


def _json_schema(tool: BaseTool) -> dict[str, Any]:
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else model_json_schema(schema)


def _check_edit(action: ActionRequest, decision: Decision | None, known: Mapping[str, BaseTool]) -> None:
    tool = known.get(action.name)
    if tool is None or not isinstance(decision, EditDecision):
        return
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return
    try:
        schema.model_validate(decision.edited_action.args)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(["args", *map(str, first["loc"])])
        raise DecisionNotAllowedError(
            f"the edited {action.name} does not fit its tool: {place}: {first['msg']}; nothing was resumed"
        ) from error
