# ruff: noqa: SLF001  # SpoonAI has no public names for an agent's step limit and pipeline
"""The middleware: it asks about all gated calls of a turn together, and runs each as it was decided."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias, Unpack, cast

from pydantic import TypeAdapter
from spoon_ai.agents import Command
from spoon_ai.middleware.base import (
    AgentRuntime,
    ModelRequest,
    ToolCallRequest,
    ToolCallResult,
)
from spoon_ai.tools import hitl
from spoon_ai.tools.base import BaseTool

from agent_adapter.asking import Asking, check_asking
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    KNOWN_DECISIONS,
    ApproveDecision,
    EditDecision,
    HITLRequest,
    RejectDecision,
    RespondDecision,
)
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError
from agent_adapter.gating import Gate, InterruptOn, check_tools
from agent_adapter.integrations.spoon.reviewers import ApprovalCallback, ask_callback, ask_people
from agent_adapter.integrations.spoon.turn import Call, Turn
from agent_adapter.integrations.spoon.words import (
    DECISIONS,
    in_our_words,
    in_spoons_words,
    read_decisions,
    write_pause,
)

MARGIN = timedelta(minutes=5)
"""Extra time for a step, on top of its usual limit and `expires_in`: an answer is late when Redis or the bot restarts."""

Handler: TypeAlias = Callable[[Any], Any]


def create_hitl_middleware(
    *tool_names: str,
    allowed_decisions: Sequence[str] | None = None,
    approval_callback: ApprovalCallback | None = None,
    strict: bool = True,
    approvals: ApprovalClient | None = None,
    **asking: Unpack[Asking],
) -> "HumanInTheLoopMiddleware":
    """Make a `HumanInTheLoopMiddleware` that reviews all these tools in the same way."""
    how: Any = True if allowed_decisions is None else {"allowed_decisions": allowed_decisions}
    return HumanInTheLoopMiddleware(
        dict.fromkeys(tool_names, how), approval_callback, strict, approvals=approvals, **asking
    )


class InvalidInterruptOnError(InvalidRequestError, ValueError):
    """`interrupt_on` is not valid. It is also a ValueError, because SpoonAI raises one here."""


class HumanInTheLoopMiddleware(hitl.HumanInTheLoopMiddleware):  # type: ignore[misc]  # SpoonAI ships no types
    """A `HumanInTheLoopMiddleware` for SpoonAI that lets no gated call run without a decision about exactly that call.

    It asks about all gated calls of a turn together. Who decides:

    - people in Slack, if `approvals` is given;
    - `approval_callback`, plain or asynchronous, one call after the other;
    - without both, the caller of the agent: `run` raises `HITLInterrupt`. Pass the decisions to `set_resume_data`, and call
      `run()` again: it continues with exactly the calls that were shown.

    Put it last in `middleware=[…]`: a middleware after it could change a call after its approval. Agents with the same tools
    may share one.

    Args:
        interrupt_on: By tool name: `True`, `False` or a config with `allowed_decisions`, `description`, `args_schema`, `when`.
        approval_callback: Decides instead of people in Slack.
        strict: Whether an unknown decision in `allowed_decisions` is an error. Otherwise it is ignored with a warning; if no
            decision is left, all decisions are allowed, as in SpoonAI.
        approvals: A connected client.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`; a callback has `expires_in` for all calls of a turn.

    Raises:
        InvalidRequestError: when `interrupt_on` or an option is not valid; for `interrupt_on` it is also a ValueError. When
            `interrupt_on` names a tool that the agent does not have, it is raised at the first call of the model.
    """

    system_prompt = None  # SpoonAI's prompt describes commands that the model never sees

    def __init__(
        self,
        interrupt_on: InterruptOn,
        approval_callback: ApprovalCallback | None = None,
        strict: bool = True,  # noqa: FBT001, FBT002  # at the place where SpoonAI has it
        *,
        approvals: ApprovalClient | None = None,
        **asking: Unpack[Asking],
    ) -> None:
        _check_options(approvals, approval_callback, asking)
        possible = KNOWN_DECISIONS if approvals else DECISIONS
        try:
            own = in_our_words(interrupt_on, possible, strict=strict)
            self._gate = Gate(own, decisions=possible)
        except InvalidRequestError as error:
            raise InvalidInterruptOnError(str(error)) from error
        super().__init__(in_spoons_words(own, possible), approval_callback)
        self.interrupt_on = own
        self._approvals, self._asking, self._callback = approvals, asking, approval_callback
        self._wait = _duration(asking.get("expires_in"))
        self._longer = (self._wait + MARGIN).total_seconds() if approvals or approval_callback else 0.0
        # By the id of the agent. A turn keeps its agent alive, so that no other agent gets its id.
        self._usual_limits: dict[int, float] = {}
        self._turns: dict[int, Turn] = {}
        self._paused: dict[int, Turn] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def get_interrupt_config(self, tool_name: str) -> dict[str, Any] | None:
        """Return `{"allowed_decisions": […]}` for a gated tool; `None` for one that is not gated."""
        allowed = self._gate.allowed_decisions(tool_name)
        return None if allowed is None else {"allowed_decisions": list(allowed)}

    def set_resume_data(self, resume: Command | Mapping[str, Any]) -> None:
        """Take the decisions about the calls that `HITLInterrupt` showed. Then call `run()`, which continues with them.

        Args:
            resume: `{"decisions": […]}` with one decision for each action that was shown, or a `Command` with that value.

        Raises:
            InvalidRequestError: when it is not clear which run this answers.
            DecisionNotAllowedError: when a decision is missing or does not fit; the run stays paused.
        """
        paused = [turn for turn in self._paused.values() if not turn.is_decided]
        if len(paused) != 1:
            raise InvalidRequestError(
                f"{len(paused)} runs wait for an answer here, so it is not clear which one this is for: give it once, after "
                "HITLInterrupt was raised, and give each agent a middleware of its own"
            )
        (turn,) = paused
        given = resume.resume if isinstance(resume, Command) else resume
        values = given.get("decisions") if isinstance(given, Mapping) else None
        if not isinstance(values, list | tuple) or turn.asked is None:
            raise InvalidRequestError('resume: it has no decisions; pass {"decisions": […]}')
        turn.decide(read_decisions(values, turn.asked))

    def before_agent(self, state: dict[str, Any], runtime: AgentRuntime) -> None:  # noqa: ARG002  # SpoonAI's hook
        """Raise the time limit of each step to the time that people have. SpoonAI's own limit is 30 seconds."""
        agent = _agent_of(runtime)
        self._usual_limits[id(agent)] = agent._default_timeout
        agent._default_timeout += self._longer

    def after_agent(self, state: dict[str, Any], runtime: AgentRuntime) -> None:  # noqa: ARG002  # SpoonAI's hook
        """Restore the usual time limit of the steps."""
        agent = _agent_of(runtime)
        agent._default_timeout = self._usual_limits.pop(id(agent))
        if turn := self._turns.pop(id(agent), None):
            # Approved calls are left where the run failed, or a step took too long.
            ending = in_background(turn.end(), name="end of a turn")
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Wait until the answers of runs that have ended are used up."""
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def awrap_model_call(self, request: ModelRequest, handler: Handler) -> Any:
        """Ask about the gated calls of the model's reply, and return the reply once they are decided."""
        agent = _agent_of(request.runtime)
        _check_subagents(agent)
        offered = {
            tool.name if isinstance(tool, BaseTool) else tool["function"]["name"]
            for tool in request.tools or ()
        }
        own = getattr(getattr(agent, "available_tools", None), "tool_map", {})
        check_tools(self.interrupt_on, {*own, *offered, *(_tool_of(agent, name) for name in offered)})
        if before := self._turns.pop(id(agent), None):
            await before.end()
        turn = self._paused.pop(id(agent), None)
        if turn is None or not turn.is_decided:
            turn = self._read(await handler(request), request)
            if turn.asked:
                await self._ask(turn, turn.asked)
        self._turns[id(agent)] = turn
        return turn.reply

    async def _ask(self, turn: Turn, asked: HITLRequest) -> None:
        if self._approvals:
            turn.decide(*await ask_people(self._approvals, self._asking, asked, turn.agent))
        elif self._callback:
            turn.decide(await ask_callback(self._callback, self._wait, asked))
        else:
            self._paused[id(turn.agent)] = turn
            raise hitl.HITLInterrupt(write_pause(asked))
        await turn.note_end()

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolCallResult:
        """Run a call as it was decided. A gated call that nobody decided does not run."""
        agent = _agent_of(request.runtime)
        tool = _tool_of(agent, request.tool_name)
        if not self._gates(tool):
            return await handler(request)
        turn = self._turns.get(id(agent))
        if turn is None:
            return ToolCallResult.from_error("This call did not run: nobody was asked about it")
        try:
            return await self._as_decided(turn, turn.take(tool, request), tool, request, handler)
        finally:
            await turn.note_end(request.tool_call_id)

    async def _as_decided(
        self, turn: Turn, call: Call, tool: str, request: ToolCallRequest, handler: Handler
    ) -> ToolCallResult:
        match call.verdict:
            case None:
                return await handler(request)
            case ApproveDecision():
                return await turn.run(call, tool, handler(request))
            case EditDecision(edited_action=edited):
                note = f"A reviewer changed this call. What ran: {tool}({encode(edited.args)})."
                result = await turn.run(call, tool, handler(replace(request, arguments=edited.args)))
                return replace(result, output=f"{note}\n\n{result.output}")
            case RespondDecision(message=answer):
                return ToolCallResult.from_string(answer)
            case RejectDecision(message=reason):
                because = f": {reason}" if reason else "."
                return ToolCallResult.from_error(f"This call was rejected and did not run{because}")
            case _:
                return ToolCallResult.from_error(f"This call did not run: {call.verdict}")

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Run a call that is not gated. This synchronous hook cannot wait for people, so a gated call does not run."""
        tool = _tool_of(_agent_of(request.runtime), request.tool_name)
        if self._gates(tool):
            return ToolCallResult.from_error(
                "This call did not run: nobody can be asked in a call that does not wait"
            )
        return handler(request)

    def _gates(self, tool: str) -> bool:
        return self.interrupt_on.get(tool, False) is not False

    def _read(self, reply: Any, request: ModelRequest) -> Turn:
        """Find the calls of gated tools in a reply, and the question about them."""
        agent = _agent_of(request.runtime)
        named = [(_tool_of(agent, call.function.name), call) for call in reply.tool_calls or ()]
        gated = [(tool, call) for tool, call in named if self._gates(tool)]
        times = Counter(call.id for _, call in gated)
        turn = Turn(
            agent, reply, {call.id: Call.of(tool, call, times=times[call.id]) for tool, call in gated}
        )
        shown = [call.action for call in turn.calls.values() if call.action]
        functions = [
            (tool.to_param() if isinstance(tool, BaseTool) else tool)["function"] for tool in request.tools
        ]
        schemas = {each["name"]: each["parameters"] for each in functions if each.get("parameters")}
        # A `description` callable of SpoonAI takes the call, the agent's state and the runtime.
        state = request.runtime.state if request.runtime else {}
        described_from = [
            ({"name": action.name, "args": deepcopy(action.args), "id": action.id}, state, request.runtime)
            for action in shown
        ]
        turn.ask(shown, self._gate.review(shown, schemas=schemas, described_from=described_from))
        return turn


def _check_options(
    approvals: ApprovalClient | None, callback: ApprovalCallback | None, asking: Mapping[str, Any]
) -> None:
    if approvals is not None:
        expect_client(approvals)
    if approvals and callback:
        raise InvalidRequestError(
            "approvals and approval_callback: people decide, or the callback does; pass one"
        )
    known = Asking.__annotations__ if approvals else ("expires_in",) if callback else ()
    if unknown := ", ".join(name for name in asking if name not in known):
        meant = (
            f"the options are {', '.join(known)}" if known else "nobody is asked; pass approvals=… with it"
        )
        raise InvalidRequestError(f"{unknown}: no such option here; {meant}")
    check_asking(asking)


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


def _duration(expires_in: Any) -> timedelta:
    """Read `expires_in`: a duration or a number of seconds."""
    if expires_in is None:
        return cast("timedelta", Interrupt.model_fields["expires_in"].default)
    return to_model(TypeAdapter(timedelta).validate_python, expires_in, where="expires_in")
