"""One thread of a graph and its stored state: what it waits for, and how it is resumed once."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.interrupt import DecidedResume, Interrupt, Resume
from agent_adapter.dialects.naming import Named, Naming
from agent_adapter.errors import (
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InvalidRequestError,
    WrongArgumentError,
)
from agent_adapter.expected import expect, kind_of
from agent_adapter.gating import check_tools
from agent_adapter.integrations._graph import (
    Config,
    Graph,
    Tools,
    breakpoints,
    check_call_ids,
    own_tools,
    reviewed_names,
    reviews_turn,
    tools_by_name,
)
from agent_adapter.integrations._langgraph_calls import keys_of, passing_keys
from agent_adapter.integrations._places import places, saver_of
from agent_adapter.integrations._questions import (
    Question,
    batch,
    check_calls,
    check_edits,
    command_for,
    request_of,
    with_askers,
)
from agent_adapter.redis.claims import patiently
from agent_adapter.redis.runs import failed_with


@dataclass(frozen=True)
class Thread:
    """One thread of a graph, and how to ask at its pauses. `run`, `stream` and workers share it."""

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
        """Check the arguments of a run."""
        expect_client(approvals)
        check_asking(asking, beside=("tools", "dialect", "options"))
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
            raise InvalidRequestError(f"config does not say which thread to resume: {cure}")
        if "checkpoint_id" in configurable:
            raise InvalidRequestError(
                "config names a checkpoint_id, but approvals belong to the newest state of a thread: leave it out, "
                "or fork the thread with update_state first"
            )
        cure = "pass a dictionary, as in options={'durability': 'sync'}"
        expect(options, Mapping, where="options", cure=cure)
        for kind, nodes in breakpoints(graph, options):
            raise InvalidRequestError(
                f"the graph has a breakpoint ({kind}: {nodes}), where it would stop as if it had finished, with nobody "
                "asked: leave it out, and ask with interrupt() or LangChain's HumanInTheLoopMiddleware"
            )
        naming, given = Naming.of(dialect), tools_by_name(tools)
        own = own_tools(graph)
        known = {name: tool for name, tool in {**own, **given}.items() if tool}
        if own:
            cure = "; pass a tool in tools=[…] that the graph adds while it runs, or that it had when a thread paused"
            check_tools(reviewed_names(graph), {*own, *given}, cure=cure)
        if not hasattr(graph, "ainvoke"):
            cure = "pass the graph that .compile(checkpointer=…) gives, and after it its input"
            raise WrongArgumentError(f"graph: this is {kind_of(graph)}: {cure}")
        id = str(configurable["thread_id"])
        own_config = cast("RunnableConfig", config)
        return cls(graph, own_config, id, approvals, list(known.values()), naming, options, asking)

    @asynccontextmanager
    async def beginning(self, input: Any) -> AsyncIterator[bool]:
        """Say whether the body has to run the graph before the first question, and keep others from running it meanwhile."""
        if not await self._begins(input):
            yield False
            return
        async with self.running():
            # The process that ran the thread until now may have come to a pause.
            yield await self._begins(input)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep others from running this thread while the body runs its graph."""
        place = self.config.get("configurable", {}).get("checkpoint_ns") or ""
        return self.approvals.running(self.id, place=place)

    @asynccontextmanager
    async def resuming(self, questions: Sequence[Question]) -> AsyncIterator[None]:
        """Keep others from running this thread while the body resumes it with the answer to these questions."""
        pauses = [question.id for question in questions]
        await self.check_open(pauses)
        async with self.running():
            await self.check_open(pauses)
            yield

    async def check_open(self, pauses: Collection[str]) -> None:
        """Check that the thread still waits at these pauses."""
        open = {pause.id for pause in (await self._state()).interrupts}
        if not open.issuperset(pauses):
            raise ConsumedError(
                f"the thread {self.id!r} went on without this answer, and does not wait for it any more: "
                "nothing was resumed"
            )

    async def _begins(self, input: Any) -> bool:
        """Whether to run the graph first: not if the thread already waits for an answer."""
        if input is not None:
            return True
        state = await self._state()
        if not (state.created_at or state.values or state.next):
            raise InvalidRequestError(
                f"the input is None, but the thread {self.id!r} has never run: pass its first input; to go on after a "
                "restart, pass the same thread_id, and use a checkpointer that keeps threads"
            )
        if not isinstance(self.graph, Pregel) and not any(task.error for task in state.tasks):
            _check_ended(state)
        return not state.interrupts

    async def questions(self) -> Sequence[Question]:
        """Read the questions that the thread waits for, in the order of its tasks, which is the order of the model's calls.

        `__interrupt__` is not used: its order changes from run to run, and some stream modes do not have it.
        """
        state = await self._state(subgraphs=True)
        found = await places(self.graph, state)
        # The state lists a pause twice if it comes from a task that a node of an inner graph has called.
        open = {pause.id: pause for pause in state.interrupts}
        if any(repr(pause.value) != repr(open[pause.id].value) for pause in state.interrupts):
            raise InvalidRequestError(
                "nobody was asked: two questions of the thread have the same id, and LangGraph would give both the same "
                "answer. Ask them in different nodes, or one after the other"
            )
        return [Question.of(pause, self.naming, found[pause.id]) for pause in open.values()]

    async def came_to(self) -> Literal["a pause", "a breakpoint", "the end"]:
        """Return where the graph stopped after it ran."""
        state = await self._state()
        if state.interrupts:
            return "a pause"
        return "a breakpoint" if state.next else "the end"

    async def check_ended(self) -> None:
        """Refuse a run that stopped at a breakpoint, where nobody is asked."""
        _check_ended(await self._state())

    async def _state(self, *, subgraphs: bool = False) -> StateSnapshot:
        return await self.graph.aget_state(self.config, subgraphs=subgraphs)

    @asynccontextmanager
    async def answered(self, questions: Sequence[Question]) -> AsyncIterator[Command[Any] | None]:
        """Ask these questions, or as many as fit into one record, and yield the command that answers them."""
        failure: BaseException | None = None
        questions = batch(questions)
        async with AsyncExitStack() as stack:
            try:
                resume = await stack.enter_async_context(await self._reviewing(questions))
            except ConflictError:
                questions = await self._apart(questions)
                resume = await stack.enter_async_context(await self._reviewing(questions))
            await stack.enter_async_context(self.resuming(questions))
            begun = stack.enter_context(passing_keys({}))
            try:
                async with self.command_for(resume, questions) as command:
                    yield command
            except BaseException as error:
                tools = begun.in_doubt(error) if isinstance(error, Exception) else []
                if tools:
                    error.add_note(f"{', '.join(tools)} may have run: look before you go on with the thread")
                if await self._waits_for(questions):
                    if tools and self.asking.get("continuation"):
                        # No worker resumes this run by itself: the caller got the error, and may resume the thread.
                        journal = await patiently(partial(self.approvals.runs.journal, resume.interrupt_id))
                        await patiently(partial(journal.set_aside, failed_with(error), tools))
                    raise
                # The graph took the answer and failed later: the question is answered, so its claim is finished first.
                failure = error
                if isinstance(error, Exception):
                    await self.approvals.note_failure(resume, error)
        if failure:
            raise failure

    @asynccontextmanager
    async def command_for(
        self, resume: DecidedResume, questions: Sequence[Question]
    ) -> AsyncIterator[Command[Any] | None]:
        """Yield the command that hands these decisions back. In the body, tools have the keys of their calls."""
        found = await places(self.graph, await self._state(subgraphs=True))
        try:
            for question in questions:
                check_calls(question, found.get(question.id, question.place))
            check_edits(resume, questions, self.tools)
        except DecisionNotAllowedError as error:
            raise await self.approvals.refuse_answer(resume, str(error)) from error
        command = command_for(resume, questions)
        saver = saver_of(self.graph)
        try:
            (saver.serde if saver else JsonPlusSerializer()).dumps_typed(command.resume)
        except Exception as error:
            # On the card stands no text of others: it may quote what is hidden there.
            why = f"LangGraph cannot save it: {type(error).__name__}"
            raise await self.approvals.refuse_answer(resume, why) from error
        report = partial(self.approvals.report_later, claim=resume.claim)
        with passing_keys(self.keys_for(resume, questions), report):
            yield await self._unless_saved(resume, command)

    def keys_for(self, resume: Resume, questions: Sequence[Question]) -> dict[str, str]:
        """Return the keys of the calls that these decisions let run, for `passing_keys`."""
        return keys_of(resume, [(question.place, question.request.action_requests) for question in questions])

    async def ask(self) -> str | None:
        """Publish the question that the thread is paused on, and return the id of its record; `None` without a pause."""
        if not (questions := batch(await self.questions())):
            return None
        try:
            return await self.approvals.publish(await self.interrupt_of(questions))
        except ConflictError:
            return await self.approvals.publish(await self.interrupt_of(await self._apart(questions)))

    async def _unless_saved(self, resume: DecidedResume, command: Command[Any]) -> Command[Any] | None:
        """Return the command without the answers that a crashed run may have saved in the checkpoint.

        LangGraph lists the pauses of such answers until their node has ended. If an answer came a second time, LangGraph
        would give it to the node's next pause, which nobody has decided. So the nodes first run on with the saved answers.
        """
        if not resume.is_repeated:
            return command
        await self.graph.ainvoke(None, self.config, **self.options)
        still = {pause.id for pause in (await self._state()).interrupts}
        answers = cast("dict[str, Any]", command.resume)
        left = {id: answer for id, answer in answers.items() if id in still}
        return Command(resume=left) if left else None

    async def _apart(self, questions: Sequence[Question]) -> Sequence[Question]:
        """Return the first question, with the others of its record: after a crash, old and new pauses may be open together."""
        records = [
            await self.approvals.publish(await self.interrupt_of([question])) for question in questions
        ]
        return [question for question, record in zip(questions, records, strict=True) if record == records[0]]

    async def _reviewing(self, questions: Sequence[Question]) -> AbstractAsyncContextManager[DecidedResume]:
        return self.approvals.reviewing(await self.interrupt_of(questions))

    async def interrupt_of(self, questions: Sequence[Question]) -> Interrupt:
        """Make one interrupt for these questions."""
        for question in questions:
            if reviews_turn(question.pause):
                check_call_ids(question.place.calls)
        asked = [question for question in questions for _ in question.request.action_requests]
        ids = [question.id for question in asked]
        request = request_of(questions, self.tools)
        request, asking = with_askers(request, [question.place.agent for question in asked], self.asking)
        return self.approvals.interrupt(request, run=self.id, pauses=ids, **asking)

    async def _waits_for(self, questions: Sequence[Question]) -> bool:
        try:
            waiting = {pause.id for pause in (await self._state()).interrupts}
        except Exception:  # noqa: BLE001  # where nobody can look, the answer is kept for another try
            return True
        return not waiting.isdisjoint(question.id for question in questions)


def _check_ended(state: StateSnapshot) -> None:
    if state.next and not state.interrupts:
        raise InvalidRequestError(
            f"the graph stopped before {', '.join(map(repr, state.next))} and nobody was asked: it has a breakpoint "
            "(interrupt_before or interrupt_after). Leave it out, and ask with interrupt() or LangChain's "
            "HumanInTheLoopMiddleware"
        )
