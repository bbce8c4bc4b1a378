"""LangChain agents and LangGraph graphs: any compiled graph whose pauses ask for approval."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Literal, Unpack, cast

from agent_adapter.claims import patiently
from agent_adapter.client import ApprovalClient, Asking, check_asking, expect_client
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest
from agent_adapter.contract.interrupt import Context, Interrupt, Resume
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.dialects import Dialect, langchain_per_call
from agent_adapter.dialects.answers import share_out
from agent_adapter.dialects.naming import Named, Naming
from agent_adapter.errors import ConflictError, ConsumedError, InvalidRequestError
from agent_adapter.expected import expect
from agent_adapter.extras import needs
from agent_adapter.policy import check_tools
from agent_adapter.runs import failed_with

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple
    from langgraph.pregel import Pregel
    from langgraph.types import Command, PregelTask, StateSnapshot, StreamMode
    from langgraph.types import Interrupt as Pause

    from agent_adapter.calls.langgraph import keys_of, namespace_of, telling_tools
    from agent_adapter.integrations._graph import (
        Config,
        Graph,
        Tools,
        breakpoints,
        check_call_ids,
        check_edit,
        node_names,
        own_tools,
        reviewed_names,
        reviews_turn,
        tool_names,
        tools_by_name,
        with_schema,
    )
    from agent_adapter.integrations._places import Place, places
    from agent_adapter.integrations._saved import Saved
except ImportError as error:
    raise ImportError(needs("LangGraph support", "langgraph", error)) from error

# LangGraph reads a resume as a map only if every key looks like this; anything else it hands to the node as it is.
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Question:
    """A pause, what it asks, and the dialect in which it is answered."""

    pause: Pause
    dialect: Dialect
    request: HITLRequest
    agent: str | None
    """The agent inside the graph that asks, where the thread tells it."""

    @classmethod
    def of(cls, pause: Pause, naming: Naming, place: Place | None = None) -> "Question":
        """Read a pause, or refuse it before anybody is asked.

        Raises:
            InvalidRequestError: when it cannot be reviewed as it is.
        """
        payload, place = _payload(pause), place or Place()
        try:
            dialect = naming.dialect(payload, place.names, doubtful=place.doubtful)
            return cls(pause, dialect, dialect.to_request(payload), place.agent)
        except InvalidRequestError as error:
            # Without the same sentence once more above it; what a callable raised stays.
            raise type(error)(f"pause {pause.id}: {error}") from error.__cause__

    @property
    def id(self) -> str:
        return self.pause.id

    def answer(self, decisions: Sequence[Decision | None]) -> Any:
        """Write the answer. Raises DecisionNotAllowedError as the dialect does."""
        return self.dialect.to_resume(decisions, _payload(self.pause))


def to_request(pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None) -> HITLRequest:
    """Gather the pauses into one batch, in the order the reviewer will see.

    Args:
        pauses: `result["__interrupt__"]`, or the `interrupts` of a state.
        tools: Where the argument schemas are found that the pauses do not carry.
        dialect: Of the pauses whose keys do not tell it: a name in `agent_adapter.dialects.DIALECTS`, what `custom`
            gives, or a function of the payload.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed as it is, or nobody has said how its answer is read.
    """
    return _request_of(_questions(pauses, dialect), tools)


def to_resume(
    resume: Resume, pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None
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
    return _command_for(resume, _questions(pauses, dialect), tools)


async def run(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: Config,
    tools: Tools = (),
    dialect: Named = None,
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
        dialect: How the answers to the graph's own questions are read: a name (`boolean`, `approve_reject`, `text`, …),
            names by tool or node, or a function of the payload. What nobody names is refused, and nobody is asked.
        options: Handed to every call of the graph: `context`, `durability`, `version`, …
        asking: Where, for whom and how long to ask.

    Returns:
        What `ainvoke` gives.

    Raises:
        InvalidRequestError: before the graph runs when it could not be resumed, or when a pause cannot be reviewed.
        ClaimedError: when another process runs this thread.
        ConsumedError: when the thread went on while people were asked, and does not wait for their answer any more.
        AgentAdapterError: as in `ApprovalClient.reviewing`. The thread stays paused.
    """
    settings = dict(options or {})
    thread = Thread.of(graph, config, approvals, tools, dialect, settings, asking)
    result = None
    async with thread.beginning(input) as begins:
        if begins:
            result = await graph.ainvoke(input, thread.config, **settings)
    while questions := await thread.questions():
        async with thread.answered(questions) as command:
            result = await graph.ainvoke(command, thread.config, **settings)
    await thread.check_ended()
    return result


async def stream(
    graph: Graph,
    input: Any,
    *,
    approvals: ApprovalClient,
    config: Config,
    stream_mode: StreamMode | list[StreamMode] | None = None,
    version: Literal["v1", "v2"] = "v1",
    tools: Tools = (),
    dialect: Named = None,
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
        return aclosing(cast("AsyncGenerator[Any]", graph.astream(given, thread.config, **settings)))

    async with thread.beginning(input) as begins:
        if begins:
            async with chunks_of(input) as chunks:
                async for chunk in chunks:
                    yield chunk
    while questions := await thread.questions():
        async with thread.answered(questions) as command, chunks_of(command) as chunks:
            async for chunk in chunks:
                yield chunk
    await thread.check_ended()


@dataclass(frozen=True)
class Thread:
    """One conversation of a graph, and whom to ask at its pauses: what `run`, `stream` and workers share."""

    graph: Graph
    config: RunnableConfig
    id: str
    approvals: ApprovalClient
    tools: Tools
    naming: Naming
    options: Mapping[str, Any]
    asking: Asking

    @classmethod
    def of(
        cls,
        graph: Graph,
        config: Config,
        approvals: ApprovalClient,
        tools: Tools,
        dialect: Named,
        options: Mapping[str, Any],
        asking: Asking,
    ) -> "Thread":
        """Refuse, before anything runs, what could not be resumed after its first pause."""
        expect_client(approvals)
        check_asking(asking)
        cure = 'pass config={"configurable": {"thread_id": …}}'
        expect(config, Mapping, where="config", cure=cure)
        configurable = config.get("configurable", {})
        expect(configurable, Mapping, where='config["configurable"]', cure=cure)
        checkpointer = getattr(graph, "checkpointer", True)
        if checkpointer is None or checkpointer is False:
            raise InvalidRequestError(
                "the graph has no checkpointer, so it could not be resumed after a pause: "
                "give one to create_agent(checkpointer=…) or compile(checkpointer=…)"
            )
        if not configurable.get("thread_id"):
            raise InvalidRequestError(f"config names no thread to resume: {cure}")
        if "checkpoint_id" in configurable:
            raise InvalidRequestError(
                "config names a checkpoint_id, but approvals belong to the newest state of a thread: leave it out, "
                "or fork the thread with update_state first"
            )
        for kind, nodes in breakpoints(graph, options):
            raise InvalidRequestError(
                f"the graph has a breakpoint ({kind}: {nodes}), where it would stop as if it had finished, with nobody "
                "asked: leave it out, and ask with interrupt() or LangChain's HumanInTheLoopMiddleware"
            )
        naming, given = Naming.of(dialect), tools_by_name(tools)
        known = {**own_tools(graph), **given}
        own = tool_names(graph)
        if own:
            cure = "; pass a tool in tools=[…] that the graph adds while it runs, or that it had when a thread paused"
            check_tools(reviewed_names(graph), {*own, *given}, cure=cure)
        if inside := node_names(graph):
            naming.check_places([*inside, *own, *given])
        id = str(configurable["thread_id"])
        own_config = cast("RunnableConfig", config)
        return cls(graph, own_config, id, approvals, list(known.values()), naming, options, asking)

    @asynccontextmanager
    async def beginning(self, input: Any) -> AsyncIterator[bool]:
        """Tell whether to run the graph before anybody is asked, which nobody else does while the body runs it.

        Raises:
            ClaimedError: when another process runs this thread.
            InvalidRequestError: when to go on would pass a breakpoint of a graph on a server.
        """
        if not await self._begins(input):
            yield False
            return
        async with self.running():
            # Whoever ran the thread until now may have come to a pause.
            yield await self._begins(input)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep others from running this thread while the body runs its graph.

        Raises:
            ClaimedError: when another process runs it.
        """
        place = self.config.get("configurable", {}).get("checkpoint_ns") or ""
        return self.approvals.running(self.id, place=place)

    @asynccontextmanager
    async def resuming(self, questions: Sequence[Question]) -> AsyncIterator[None]:
        """Keep others from running this thread while the body resumes it with the answer to these questions.

        Raises:
            ConsumedError: when the thread does not wait for them any more.
            ClaimedError: when another process runs it.
        """
        pauses = [question.id for question in questions]
        await self.check_open(pauses)
        async with self.running():
            await self.check_open(pauses)
            yield

    async def check_open(self, pauses: Collection[str]) -> None:
        """Refuse to answer pauses that the thread does not wait at any more.

        Raises:
            ConsumedError: when one of them is gone.
        """
        open = {pause.id for pause in (await self._state()).interrupts}
        if not open.issuperset(pauses):
            raise ConsumedError(
                f"the thread {self.id!r} went on without this answer, and does not wait for it any more: "
                "nothing was resumed"
            )

    async def _begins(self, input: Any) -> bool:
        """Not when the thread waits for an answer already."""
        if input is not None:
            return True
        state = await self._state()
        if not isinstance(self.graph, Pregel) and not any(task.error for task in state.tasks):
            _check_ended(state)
        return not state.interrupts

    async def questions(self) -> Sequence[Question]:
        """Read what the thread waits for, in the order of its tasks, which is that of the model's calls.

        The order of `__interrupt__` is another in every run, and some stream modes do not carry it.

        Raises:
            InvalidRequestError: when one of the pauses cannot be reviewed.
        """
        state = await self._state(subgraphs=True)
        found = await places(self.graph, state)
        # A pause of a task that a node of a graph inside has called is listed twice.
        open = {pause.id: pause for pause in state.interrupts}
        if any(repr(pause.value) != repr(open[pause.id].value) for pause in state.interrupts):
            raise InvalidRequestError(
                "nobody was asked: two questions of the thread have one id, and LangGraph would give both the same "
                "answer. Ask them in nodes of their own, or after each other"
            )
        return [Question.of(pause, self.naming, found[pause.id]) for pause in open.values()]

    async def came_to(self) -> Literal["a pause", "a breakpoint", "the end"]:
        """Tell where a graph that has just run has come to."""
        state = await self._state()
        if state.interrupts:
            return "a pause"
        return "a breakpoint" if state.next else "the end"

    async def check_ended(self) -> None:
        """Refuse a run that has stopped with nobody asked.

        Raises:
            InvalidRequestError: naming the place.
        """
        _check_ended(await self._state())

    async def _state(self, *, subgraphs: bool = False) -> StateSnapshot:
        return await self.graph.aget_state(self.config, subgraphs=subgraphs)

    @asynccontextmanager
    async def answered(self, questions: Sequence[Question]) -> AsyncIterator[Command[Any] | None]:
        """Ask these questions and give the command that answers them, or as many as one record holds."""
        failure: BaseException | None = None
        questions = _batch(questions)
        async with AsyncExitStack() as stack:
            try:
                resume = await stack.enter_async_context(await self._reviewing(questions))
            except ConflictError:
                questions = await self._apart(questions)
                resume = await stack.enter_async_context(await self._reviewing(questions))
            await stack.enter_async_context(self.resuming(questions))
            try:
                with telling_tools({}) as begun:
                    async with self.command_for(resume, questions) as command:
                        yield command
            except BaseException as error:
                if await self._waits_for(questions):
                    if isinstance(error, Exception) and (tools := begun.in_doubt()):
                        await self._set_aside(resume.interrupt_id, tools, error)
                    raise
                # The graph took the answer and ended further on: the question is settled, only the run is not.
                failure = error
        if failure:
            raise failure

    @asynccontextmanager
    async def command_for(
        self, resume: Resume, questions: Sequence[Question]
    ) -> AsyncIterator[Command[Any] | None]:
        """Give the command that hands these decisions back; in the body, tools know for which call they run."""
        command = _command_for(resume, questions, self.tools)
        with telling_tools(await self.keys_for(resume, questions)):
            yield await self._unless_saved(command)

    async def keys_for(self, resume: Resume, questions: Sequence[Question]) -> dict[str, str]:
        """Name the calls that these decisions let run, for `telling_tools`."""
        asked = [(question.id, question.request.action_requests) for question in questions]
        return await keys_of(resume, asked, await self._state(subgraphs=True), self._stored_inside)

    async def ask(self) -> str | None:
        """Publish the question that the thread is paused on, and give the id of its record; `None` without a pause."""
        if not (questions := _batch(await self.questions())):
            return None
        try:
            return await self.approvals.publish(await self.interrupt_of(questions))
        except ConflictError:
            return await self.approvals.publish(await self.interrupt_of(await self._apart(questions)))

    async def _unless_saved(self, command: Command[Any]) -> Command[Any] | None:
        """Leave out answers that a crashed run has already saved in the checkpoint.

        LangGraph lists their pauses until the node has ended, and would give an answer that comes again to the node's
        next pause, which nobody has decided. So first let the nodes go on with what they have.
        """
        answers = cast("dict[str, Any]", command.resume)
        saved = Saved.of(self.graph, self.config)
        if not await saved.answers_any(answers.keys(), await self._state(subgraphs=True)):
            return command
        try:
            await self.graph.ainvoke(None, self.config, **self.options)
        except Exception:
            if not await saved.takes_back(answers, await self._state(subgraphs=True)):
                raise
        still = {pause.id for pause in (await self._state()).interrupts}
        left = {id: answer for id, answer in answers.items() if id in still}
        return Command(resume=left) if left else None

    async def _stored_inside(self, state: StateSnapshot, task: PregelTask) -> CheckpointTuple | None:
        return await Saved.of(self.graph, self.config).at(namespace_of(state, task))

    async def _apart(self, questions: Sequence[Question]) -> Sequence[Question]:
        """Give the first question with those of its record.

        A crash can leave some pauses of an earlier question open beside new ones: these are two records.
        """
        records = [
            await self.approvals.publish(await self.interrupt_of([question])) for question in questions
        ]
        return [question for question, record in zip(questions, records, strict=True) if record == records[0]]

    async def _reviewing(self, questions: Sequence[Question]) -> AbstractAsyncContextManager[Resume]:
        return self.approvals.reviewing(await self.interrupt_of(questions))

    async def interrupt_of(self, questions: Sequence[Question]) -> Interrupt:
        """Make the interrupt that asks these questions."""
        state = await self._state(subgraphs=True)
        await self._check_call_ids(state)
        asked = [question for question in questions for _ in question.request.action_requests]
        ids = [question.id for question in asked]
        request = _request_of(questions, self.tools)
        request, asking = _with_askers(request, [question.agent for question in asked], self.asking)
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

    async def _set_aside(self, interrupt_id: str, tools: Collection[str], error: Exception) -> None:
        """Let no worker go on by itself: its caller has the error, and may go on with the thread."""
        if self.asking.get("continuation"):
            journal = await patiently(partial(self.approvals.runs.journal, interrupt_id))
            await patiently(partial(journal.set_aside, failed_with(error), tools))

    async def _waits_for(self, questions: Sequence[Question]) -> bool:
        waiting = {pause.id for pause in (await self._state()).interrupts}
        return not waiting.isdisjoint(question.id for question in questions)


def _questions(pauses: Sequence[Pause], dialect: Named) -> Sequence[Question]:
    _check_ids(pauses)
    naming = Naming.of(dialect)
    if naming.by_place:
        raise InvalidRequestError(
            "dialect: a pause does not say which tool asks, so only `run` and `stream` take names by tool: "
            "pass a function of the payload"
        )
    return [Question.of(pause, naming) for pause in pauses]


def _request_of(questions: Sequence[Question], tools: Tools) -> HITLRequest:
    known = tools_by_name(tools)
    requests = [question.request for question in questions]
    return HITLRequest(
        action_requests=tuple(action for request in requests for action in request.action_requests),
        review_configs=tuple(
            with_schema(config, known) for request in requests for config in request.review_configs
        ),
    )


def _command_for(resume: Resume, questions: Sequence[Question], tools: Tools) -> Command[Any]:
    requests = [question.request for question in questions]
    known, answers = tools_by_name(tools), {}
    for question, own in zip(questions, share_out(resume, requests), strict=True):
        answers[question.id] = question.answer(own)
        for action, decision in zip(question.request.action_requests, own, strict=True):
            check_edit(action, decision, known)
    return Command(resume=answers)


def _check_ended(state: StateSnapshot) -> None:
    if state.next and not state.interrupts:
        raise InvalidRequestError(
            f"the graph stopped before {', '.join(map(repr, state.next))} and nobody was asked: it has a breakpoint "
            "(interrupt_before or interrupt_after). Leave it out, and ask with interrupt() or LangChain's "
            "HumanInTheLoopMiddleware"
        )


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


def _batch(questions: Sequence[Question]) -> Sequence[Question]:
    """Give the first questions, as many as one interrupt may ask."""
    totals = accumulate(len(question.request.action_requests) for question in questions)
    fitting = [q for q, total in zip(questions, totals, strict=True) if total <= MAX_ACTIONS]
    return fitting or questions


def _payload(pause: Pause) -> Any:
    if langchain_per_call.recognises(pause.value):
        return {**pause.value, "response_schema": pause.response_schema}
    return pause.value
