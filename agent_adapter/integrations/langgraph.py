"""LangChain agents and LangGraph graphs: any compiled graph whose pauses ask for approval."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Literal, Unpack, cast

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.interrupt import Resume
from agent_adapter.dialects.naming import Named
from agent_adapter.extras import needs

try:
    from langgraph.types import Command, StreamMode
    from langgraph.types import Interrupt as Pause

    from agent_adapter.integrations._graph import Config, Graph, Tools
    from agent_adapter.integrations._questions import check_edits, command_for, questions_of, request_of
    from agent_adapter.integrations._thread import Thread
except ImportError as error:
    raise ImportError(needs("LangGraph support", "langgraph", error)) from error


def to_request(pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None) -> HITLRequest:
    """Collect the pauses into one batch, in the order that the reviewer will see.

    Args:
        pauses: `result["__interrupt__"]`, or the `interrupts` of a state.
        tools: Tools whose argument schemas are used for pauses without a schema.
        dialect: The dialect of pauses whose keys do not show it: a name in `agent_adapter.dialects.DIALECTS`, the result
            of `custom`, or a function of the payload.

    Returns:
        The batch, with one action for each tool call that a pause asks about.

    Raises:
        InvalidRequestError: when a pause cannot be reviewed as it is, or when it is not known how its answer is read.
    """
    return request_of(questions_of(pauses, dialect), tools)


def to_resume(
    resume: Resume, pauses: Sequence[Pause], *, tools: Tools = (), dialect: Named = None
) -> Command[Any]:
    """Turn the decisions into the command that resumes the graph.

    Args:
        resume: The answer; its decisions are in the order of these pauses.
        pauses: The same as for `to_request`.
        tools: Tools whose schemas edited arguments are checked against.
        dialect: The same as for `to_request`.

    Returns:
        A `Command` for `ainvoke`, with an answer for each pause.

    Raises:
        DecisionNotAllowedError: when a decision does not fit. Nothing was resumed; the pauses can still be answered.
    """
    questions = questions_of(pauses, dialect)
    check_edits(resume, questions, tools)
    return command_for(resume, questions)


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
    """Run the graph until it finishes, and ask for approval at every pause.

    Args:
        graph: Compiled with a checkpointer.
        input: As for `ainvoke`. `None` resumes a thread: if it already waits for an answer, that question is used again.
        approvals: A connected client.
        config: `{"configurable": {"thread_id": …}}`, and what else the graph needs.
        tools: Tools that are not in a tool node of the graph; their argument schemas are shown and checked.
        dialect: How the graph's own questions read their answers: a name (`boolean`, `approve_reject`, `text`, …), or a
            function of the payload. A question without a dialect is an error, and nobody is asked.
        options: Passed to every call of the graph: `context`, `durability`, `version`, …
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `ainvoke`, when the graph has finished.

    Raises:
        InvalidRequestError: before the graph runs, when it could not be resumed; later, when a pause cannot be reviewed.
        ClaimedError: when another process runs this thread.
        ConsumedError: when the thread went on while people were asked, and no longer waits for their answer.
        AgentAdapterError: as in `ApprovalClient.reviewing`. The thread stays paused.
    """
    thread = Thread.of(graph, config, approvals, tools, dialect, options or {}, asking)
    result = None
    async with thread.beginning(input) as begins:
        if begins:
            result = await graph.ainvoke(input, thread.config, **thread.options)
    while questions := await thread.questions():
        async with thread.answered(questions) as command:
            result = await graph.ainvoke(command, thread.config, **thread.options)
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
    """Run the graph until it finishes, ask at every pause, and yield the graph's own chunks.

    The chunks include those that announce a pause. Arguments and errors are as in `run`; `stream_mode` and `version` are
    the graph's own. If you may leave the iteration early, use `contextlib.aclosing`: then another process can resume the
    run at once.
    """
    thread = Thread.of(graph, config, approvals, tools, dialect, options or {}, asking)
    settings = {"stream_mode": stream_mode, "version": version, **(options or {})}

    def chunks_of(given: Any) -> AbstractAsyncContextManager[AsyncGenerator[Any]]:
        # `astream` of every graph is a generator, although its protocol says iterator.
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
