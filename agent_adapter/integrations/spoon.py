# ruff: noqa: SLF001  # SpoonAI has no public names for an agent's pipeline and the time limit of its steps
"""SpoonAI agents: a `HumanInTheLoopMiddleware` that holds back the calls of SpoonAI's `ToolCallAgent` until they are decided.

SpoonAI has no checkpoint of a paused run, so a run waits in its process and ends with it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import wraps
from typing import Any, TypeAlias, Unpack

from agent_adapter.asking import Asking, check_asking
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, answered, expect_client
from agent_adapter.contract.arguments import decode_arguments, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
    RespondDecision,
)
from agent_adapter.contract.interrupt import Context, DecidedResume, Interrupt, Resume
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import Outcome
from agent_adapter.dialects import spoon as dialect
from agent_adapter.dialects.answers import check_answers, share_out
from agent_adapter.edit_check import schema_problem
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.extras import needs
from agent_adapter.gating import Gate, InterruptOn, check_tools
from agent_adapter.idempotency import running

try:
    from spoon_ai.agents import Command, ToolCallAgent
    from spoon_ai.middleware.base import (
        AgentMiddleware,
        AgentRuntime,
        MiddlewarePipeline,
        ModelRequest,
        ToolCallRequest,
        ToolCallResult,
    )
    from spoon_ai.schema import AgentState
    from spoon_ai.tools import hitl
    from spoon_ai.tools.base import BaseTool
except ImportError as error:
    raise ImportError(needs("SpoonAI support (on Python 3.12 or newer)", "spoon", error)) from error

__all__ = ["HumanInTheLoopMiddleware", "run", "to_request", "to_resume"]

MARGIN = timedelta(minutes=5)
"""Extra time for a step, on top of its usual limit and `expires_in`: an answer is late when Redis or the bot restarts."""

Pause: TypeAlias = hitl.InterruptInfo | Mapping[str, Any]
Handler: TypeAlias = Callable[[Any], Any]

_WATCHED = "_assent_watched"
_answers: ContextVar[list[tuple[Any, str, Any]] | None] = ContextVar("assent_answers", default=None)
"""What tools answered: the manager, the name of the tool, the answer."""


def to_request(pause: Pause, *, tools: Iterable[BaseTool] = ()) -> HITLRequest:
    """Collect the paused calls into one batch, in the order that the reviewer will see.

    Args:
        pause: `HITLInterrupt.interrupt_info`, also as a dict.
        tools: Tools whose argument schemas are used, because a pause has none.

    Returns:
        The batch, with one action for each call.

    Raises:
        InvalidRequestError: when the pause cannot be reviewed; the message names the place.
    """
    request, schemas = dialect.to_request(_value_of(pause)), {tool.name: tool.parameters for tool in tools}
    configs = (
        config.model_copy(update={"args_schema": schemas.get(config.action_name)})
        for config in request.review_configs
    )
    return request.model_copy(update={"review_configs": tuple(configs)})


def to_resume(resume: Resume, pause: Pause, *, tools: Iterable[BaseTool] = ()) -> Command:
    """Turn the decisions into SpoonAI's form.

    Args:
        resume: The answer; its decisions are in the order of the pause's actions.
        pause: The same as for `to_request`.
        tools: Tools whose schemas edited arguments are checked against.

    Returns:
        A `Command` for SpoonAI's `set_resume_data`; its `resume` is `{"decisions": […]}`.

    Raises:
        DecisionNotAllowedError: when a decision does not fit its action.
    """
    decisions = _fitting(resume, to_request(pause, tools=tools))
    return Command(resume=dialect.to_resume(decisions, _value_of(pause)))


async def run(
    agent: ToolCallAgent,
    message: str | None = None,
    *,
    approvals: ApprovalClient,
    interrupt_on: InterruptOn | None = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> str:
    """Run the agent until it finishes, and ask for approval of the gated calls of each turn.

    Args:
        agent: The agent. If it has a `HumanInTheLoopMiddleware`, ours replaces it during this run.
        message: As for the agent's own `run`.
        approvals: A connected client.
        interrupt_on: Which tools wait for a person; by default the `interrupt_on` of the agent's own
            `HumanInTheLoopMiddleware`.
        options: Passed to the agent's `run`: `thinking`, `reasoning_effort`.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of the agent's `run`.

    Raises:
        InvalidRequestError: before the agent runs, when its tools could not be gated; later, when a call cannot be shown.
        AgentAdapterError: as in `ApprovalClient.reviewing`. No call of that turn has run.
    """
    with _gated(agent, interrupt_on, approvals, asking) as gate:
        try:
            return str(await agent.run(message, **(options or {})))
        finally:
            await gate.close()


class HumanInTheLoopMiddleware(AgentMiddleware):  # type: ignore[misc]  # SpoonAI ships no types
    """A middleware for SpoonAI that lets no gated call run without a decision about exactly that call.

    It asks about all gated calls of a turn together. Put it last in `middleware=[…]`: a middleware after it could change a
    call after its approval. Agents with the same tools may share one.

    Args:
        interrupt_on: By tool name: `True`, `False` or a config with `allowed_decisions`, `description`, `args_schema`, `when`.
        approvals: A connected client.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Raises:
        InvalidRequestError: when `interrupt_on` or an option is not valid. When `interrupt_on` names a tool that the agent
            does not have, it is raised at the first call of the model.
    """

    def __init__(
        self, interrupt_on: InterruptOn, *, approvals: ApprovalClient, **asking: Unpack[Asking]
    ) -> None:
        expect_client(approvals)
        check_asking(asking, beside=("interrupt_on", "options"))
        super().__init__()
        self._gate = Gate(interrupt_on)
        self.interrupt_on = dict(interrupt_on)
        self._approvals, self._asking = approvals, asking
        wait = asking.get("expires_in") or Interrupt.model_fields["expires_in"].default
        self._longer = MARGIN.total_seconds() + (
            wait.total_seconds() if isinstance(wait, timedelta) else wait
        )
        # By the id of the agent. A turn keeps its agent alive, so that no other agent gets its id.
        self._usual_limits: dict[int, float] = {}
        self._turns: dict[int, _Turn] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def before_agent(self, state: dict[str, Any], runtime: AgentRuntime) -> None:  # noqa: ARG002  # SpoonAI's hook
        """Raise the time limit of each step to the time that people have. SpoonAI's own limit is 30 seconds."""
        agent = _agent_of(runtime)
        self._usual_limits[id(agent)] = agent._default_timeout
        agent._default_timeout += self._longer

    def after_agent(self, state: dict[str, Any], runtime: AgentRuntime) -> None:  # noqa: ARG002  # SpoonAI's hook
        """Restore the usual time limit of the steps, and end a turn in which the run failed or took too long."""
        agent = _agent_of(runtime)
        agent._default_timeout = self._usual_limits.pop(id(agent))
        if turn := self._turns.pop(id(agent), None):
            in_background(turn.end(), name="end of a turn", among=self._ending)

    async def close(self) -> None:
        """Wait until the answers of runs that have ended are used up."""
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def awrap_model_call(self, request: ModelRequest, handler: Handler) -> Any:
        """Ask about the gated calls of the model's reply, and return the reply once they are decided."""
        agent = _agent_of(request.runtime)
        _check_subagents(agent)
        functions = [
            (tool.to_param() if isinstance(tool, BaseTool) else tool)["function"]
            for tool in request.tools or ()
        ]
        offered = {each["name"] for each in functions}
        own = getattr(getattr(agent, "available_tools", None), "tool_map", {})
        check_tools(self.interrupt_on, {*own, *offered, *(_tool_of(agent, name) for name in offered)})
        if before := self._turns.pop(id(agent), None):
            await before.end()
        reply = await handler(request)
        turn = self._turns[id(agent)] = _Turn(agent, self._approvals, self._calls_of(agent, reply))
        shown = [call.shown for call in turn.calls.values() if call.shown]
        # A `description` callable of SpoonAI takes the call, the agent's state and the runtime.
        calls = [{"name": each.name, "args": deepcopy(each.args), "id": each.id} for each in shown]
        state = request.runtime.state if request.runtime else {}
        review = self._gate.review(
            shown,
            schemas={each["name"]: each["parameters"] for each in functions if each.get("parameters")},
            described_from=[(call, state, request.runtime) for call in calls],
        )
        for index, action in enumerate(shown):
            if review is None or index not in review.indices:
                # The policy's `when` lets it run.
                turn.calls[str(action.id)].refused = ""
        if review:
            await turn.ask(review.request, self._asking)
        return reply

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolCallResult:
        """Run a call as it was decided. A gated call that nobody decided does not run."""
        agent = _agent_of(request.runtime)
        tool = _tool_of(agent, request.tool_name)
        if not self._gates(tool):
            return await handler(request)
        turn = self._turns.get(id(agent))
        if turn is None:
            return _refused("nobody was asked about it")
        try:
            return await turn.carry_out(tool, request, handler)
        finally:
            await turn.note_end(request.tool_call_id)

    def _gates(self, tool: str) -> bool:
        return self.interrupt_on.get(tool, False) is not False

    def _calls_of(self, agent: Any, reply: Any) -> "dict[str, _Call]":
        """Read the calls of gated tools in a reply of the model, by their ids."""
        named = [(_tool_of(agent, call.function.name), call) for call in reply.tool_calls or ()]
        gated = [(tool, call) for tool, call in named if self._gates(tool)]
        times = Counter(call.id for _, call in gated)
        return {call.id: _Call.of(tool, call, times=times[call.id]) for tool, call in gated}


@dataclass
class _Call:
    """One call of a gated tool."""

    shown: ActionRequest | None
    """What the card shows; `None` if the call cannot be shown."""
    refused: str = "it was not decided"
    """Why it does not run; empty if it may run."""
    decision: Decision | None = None
    position: int = 0
    """Its place among the calls that were asked about."""

    @classmethod
    def of(cls, tool: str, call: Any, *, times: int) -> "_Call":
        """Read a call of the model's reply."""
        if times > 1:
            return cls(None, f"{times} calls of this turn have the id {call.id!r}; each needs its own")
        try:
            # If SpoonAI cannot read the arguments, it runs the tool without any. It reads numbers as floats.
            args = as_floats(decode_arguments(call.function.arguments.strip() or "{}"))
        except InvalidRequestError as error:
            return cls(None, str(error))
        return cls(ActionRequest(name=tool, args=args, id=call.id))

    def is_about(self, tool: str, arguments: Any) -> bool:
        """Whether this call is the one that was shown, byte for byte."""
        if self.shown is None:
            return True
        try:
            return (tool, encode(arguments)) == (self.shown.name, encode(self.shown.args))
        except (TypeError, ValueError):
            return False


@dataclass
class _Turn:
    """One reply of the model: its gated calls, the decision about each, and what became of them.

    The claim on the answer is held until the calls have run: that of a process which dies in one of them lapses.
    """

    agent: Any
    approvals: ApprovalClient
    calls: dict[str, _Call]
    resume: DecidedResume | None = None
    _claim: AsyncExitStack = field(default_factory=AsyncExitStack)
    _to_run: set[str] = field(default_factory=set)
    """The ids of the calls that run as they were decided, and have not ended."""

    async def ask(self, request: HITLRequest, asking: Asking) -> None:
        """Ask about all calls on one card, and wait."""
        context = asking.get("context", Context())
        # SpoonAI names a subagent `<agent>/<subagent>`.
        _, _, subagent = str(getattr(self.agent, "name", "")).partition("/")
        named = context.model_copy(update={"subagent": context.subagent or subagent or None})
        with_name: Asking = {**asking, "context": named}
        # No other process could resume this run.
        asked = answered(
            self.approvals,
            self.approvals.interrupt(request, **with_name),
            lambda resume: _fitting(resume, request),
            if_cancelled="the agent's run has ended",
        )
        self.resume, decisions = await self._claim.enter_async_context(asked)
        for position, (action, decision) in enumerate(zip(request.action_requests, decisions, strict=True)):
            call = self.calls[str(action.id)]
            call.refused, call.decision, call.position = "", decision, position
            if isinstance(decision, ApproveDecision | EditDecision):
                self._to_run.add(str(action.id))
        await self.note_end()

    async def end(self) -> None:
        """Use the answer up. Calling it again does nothing."""
        await self._claim.aclose()

    async def note_end(self, call_id: str = "") -> None:
        """Note that a call has ended; after the last one, use the answer up."""
        self._to_run.discard(call_id)
        if not self._to_run:
            await self.end()

    async def carry_out(self, tool: str, request: ToolCallRequest, handler: Handler) -> ToolCallResult:
        """Do what was decided about a call, once."""
        call = self.calls.pop(request.tool_call_id, None)
        if call is None:
            return _refused("nobody was asked about it, or it has run before")
        if not call.is_about(tool, request.arguments):
            return _refused("it was changed after it was shown")
        if call.refused:
            return _refused(call.refused)
        match call.decision:
            case None:
                return await handler(request)
            case ApproveDecision():
                return await self._run(call, tool, handler(request))
            case EditDecision(edited_action=edited):
                note = f"A reviewer changed this call. What ran: {tool}({encode(edited.args)})."
                result = await self._run(call, tool, handler(replace(request, arguments=edited.args)))
                return replace(result, output=f"{note}\n\n{result.output}")
            case RespondDecision(message=answer):
                return ToolCallResult.from_string(answer)
            case rejection:
                reason = getattr(rejection, "message", None)
                because = f": {reason}" if reason else "."
                return ToolCallResult.from_error(f"This call was rejected and did not run{because}")

    async def _run(self, call: _Call, tool: str, runs: Awaitable[ToolCallResult]) -> ToolCallResult:
        """Run a decided call with its key and its receipt, and report what becomes of it.

        SpoonAI writes an error of a tool into a text like any other answer. So the agent's tool manager is watched.
        """
        assert self.resume, "it was decided"
        manager = getattr(self.agent, "available_tools", None)
        _watch(manager)
        key, receipt = self.resume.key(call.position), self.resume.receipt(call.position)
        answers = list[tuple[Any, str, Any]]()
        token = _answers.set(answers)
        try:
            with running(key, receipt):
                result = await runs
        except BaseException as error:
            self._report(key, Outcome.failed(error))
            raise
        finally:
            _answers.reset(token)
        # A tool may run a subagent, whose tools answer before it does.
        own = [answer for by, name, answer in answers if by is manager and name == tool]
        # Without an answer and an error it ran at an MCP server, and the text may be a result or an error.
        if own or result.error:
            self._report(key, _outcome_of(own[-1]) if own else Outcome.failed(result.error))
        return result

    def _report(self, key: str, outcome: Outcome) -> None:
        assert self.resume, "it was decided"
        self.approvals.report_later(key, outcome, claim=self.resume.claim)


def _outcome_of(answer: Any) -> Outcome:
    error = str(answer) if isinstance(answer, Exception) else getattr(answer, "error", None)
    return Outcome.failed(error) if error else Outcome.done(getattr(answer, "output", answer))


def _refused(why: str) -> ToolCallResult:
    return ToolCallResult.from_error(f"This call did not run: {why}")


def _watch(manager: Any) -> None:
    """Have a tool manager note what its tools answer. Outside of a decided call, it does what it did before."""
    execute = getattr(manager, "execute", None)
    if execute is None or hasattr(execute, _WATCHED):
        return

    @wraps(execute)
    async def noted(*, name: str, tool_input: Any = None) -> Any:
        answer = await execute(name=name, tool_input=tool_input)
        if (answers := _answers.get()) is not None:
            answers.append((manager, name, answer))
        return answer

    setattr(noted, _WATCHED, True)
    manager.execute = noted


class _GatedPipeline(MiddlewarePipeline):  # type: ignore[misc]  # SpoonAI ships no types
    """The pipeline that `run` gives the agent instead of its own."""


@contextmanager
def _gated(
    agent: ToolCallAgent, interrupt_on: InterruptOn | None, approvals: ApprovalClient, asking: Asking
) -> Iterator[HumanInTheLoopMiddleware]:
    """Put our middleware last in the agent's pipeline, instead of any other `HumanInTheLoopMiddleware`."""
    expect_client(approvals)
    if not isinstance(agent, ToolCallAgent):
        raise InvalidRequestError(
            f"agent: {type(agent).__name__} is not a ToolCallAgent, so its tool calls could not be held back"
        )
    pipeline = agent._middleware_pipeline
    if agent.state != AgentState.IDLE or isinstance(pipeline, _GatedPipeline):
        raise InvalidRequestError(f"agent {agent.name!r} is running; make an agent for each run")
    own = pipeline.middleware if pipeline else []
    holding = [
        one for one in own if isinstance(one, HumanInTheLoopMiddleware | hitl.HumanInTheLoopMiddleware)
    ]
    if interrupt_on is None and len(holding) != 1:
        raise InvalidRequestError(
            'interrupt_on: say which tools wait for a person, such as {"delete_file": True}; '
            f"the agent has {len(holding)} HumanInTheLoopMiddleware that would say it"
        )
    given = holding[0].interrupt_on if interrupt_on is None else interrupt_on
    gate = HumanInTheLoopMiddleware(given, approvals=approvals, **asking)
    agent._middleware_pipeline = _GatedPipeline([*(one for one in own if one not in holding), gate])
    try:
        yield gate
    finally:
        agent._middleware_pipeline = pipeline


def _check_subagents(agent: Any) -> None:
    """Refuse an `interrupt_on` of a subagent: SpoonAI's own middleware would handle it, and that holds back no call."""
    pipeline = getattr(agent, "_middleware_pipeline", None)
    for one in (*(pipeline.middleware if pipeline else ()), getattr(agent, "_subagent_manager", None)):
        specs = getattr(one, "subagent_specs", ())
        policies = [getattr(one, "default_interrupt_on", None)]
        policies += [
            getattr(spec, "interrupt_on", None)
            for spec in (specs.values() if isinstance(specs, dict) else specs)
        ]
        if any(policies):
            raise InvalidRequestError(
                "interrupt_on of a subagent: SpoonAI would not hold back those calls; instead, give the subagent "
                "middleware=[HumanInTheLoopMiddleware(…)] from agent_adapter.integrations.spoon"
            )


def _agent_of(runtime: AgentRuntime | None) -> Any:
    return getattr(runtime, "_agent_instance", None)


def _tool_of(agent: Any, name: str) -> str:
    """Return the name of the tool that runs: some agents run a call of `proxy_<tool>` as `<tool>`."""
    known = getattr(getattr(agent, "available_tools", None), "tool_map", {})
    mapped = getattr(agent, "_map_mcp_tool_name", None)
    return name if name in known or mapped is None else str(mapped(name) or name)


def _value_of(pause: Pause) -> Any:
    """Return the value that SpoonAI's dialect reads, from any form of a pause."""
    given = pause.to_dict() if isinstance(pause, hitl.InterruptInfo) else pause
    return given.get("value", given) if isinstance(given, Mapping) else given


def _fitting(resume: Resume, asked: HITLRequest) -> Sequence[Decision]:
    """Return the decisions, after checking that each fits the action at its index."""
    (given,) = share_out(resume, [asked])
    checked = check_answers(given, asked)
    for decision, config in zip(checked, asked.review_configs, strict=True):
        if isinstance(decision, EditDecision) and config.args_schema is not None:
            edited = decision.edited_action
            if problem := schema_problem(edited.args, config.args_schema):
                raise DecisionNotAllowedError(f"the edited {edited.name} {problem}; nothing was run")
    return checked
