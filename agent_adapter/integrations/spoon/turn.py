"""One turn of the model: its gated calls, the decision about each, and what became of them.

SpoonAI writes an error of a tool into a text like any other answer. So the agent's tool manager is watched: it knows what the
tool really answered.
"""

from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias

from spoon_ai.middleware.base import ToolCallRequest, ToolCallResult

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode_arguments, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
)
from agent_adapter.contract.interrupt import DecidedResume
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import Outcome
from agent_adapter.errors import InvalidRequestError
from agent_adapter.gating import Review
from agent_adapter.idempotency import running

_WATCHED = "_assent_watched"
_answers: ContextVar[list[tuple[Any, str, Any]] | None] = ContextVar("assent_answers", default=None)
"""What tools answered: the manager, the name of the tool, the answer."""


@dataclass(frozen=True)
class Refused:
    """In place of a decision, when there is none. The call does not run."""

    why: str

    def __str__(self) -> str:
        return self.why


Verdict: TypeAlias = Decision | Refused | None
"""`None` for a call that needs no decision, because the policy's `when` let it run."""


@dataclass(frozen=True)
class Held:
    """The answer of people, whose claim is held until the calls have run: that of a process which dies in one of them lapses."""

    approvals: ApprovalClient
    resume: DecidedResume
    claim: AsyncExitStack

    def report(self, position: int, outcome: Outcome) -> None:
        self.approvals.report_later(self.resume.key(position), outcome, claim=self.resume.claim)


@dataclass
class Call:
    """One call of a gated tool."""

    action: ActionRequest | None
    """What the card shows; `None` if the call cannot be shown."""
    verdict: Verdict = Refused("it was not decided")
    position: int = 0
    """Its place among the calls that were asked about."""

    @classmethod
    def of(cls, tool: str, call: Any, *, times: int) -> "Call":
        """Read a call of the model's reply."""
        if times > 1:
            return cls(
                None, Refused(f"{times} calls of this turn have the id {call.id!r}; each needs its own")
            )
        try:
            # If SpoonAI cannot read the arguments, it runs the tool without any. It reads numbers as floats.
            args = as_floats(decode_arguments(call.function.arguments.strip() or "{}"))
        except InvalidRequestError as error:
            return cls(None, Refused(str(error)))
        return cls(ActionRequest(name=tool, args=args, id=call.id))

    def is_about(self, tool: str, arguments: Any) -> bool:
        """Whether this call is the one that was shown, byte for byte."""
        if self.action is None:
            return True
        try:
            return (tool, encode(arguments)) == (self.action.name, encode(self.action.args))
        except (TypeError, ValueError):
            return False


@dataclass
class Turn:
    """One reply of the model and the calls of gated tools in it, by their ids."""

    agent: Any
    reply: Any
    calls: dict[str, Call]
    asked: HITLRequest | None = None
    is_decided: bool = False
    held: Held | None = None
    _to_run: set[str] = field(default_factory=set)
    """The ids of the calls that run as they were decided, and have not ended."""

    def ask(self, shown: Sequence[ActionRequest], review: Review | None) -> None:
        """Store the question about these calls. A call without a question may run."""
        self.asked = review.request if review else None
        for index, action in enumerate(shown):
            if review is None or index not in review.indices:
                self.calls[str(action.id)].verdict = None

    def decide(self, decisions: Sequence[Decision | Refused], held: Held | None = None) -> None:
        """Store the decisions, in the order of the actions."""
        asked = self.asked.action_requests if self.asked else ()
        for position, (action, decision) in enumerate(zip(asked, decisions, strict=True)):
            call = self.calls[str(action.id)]
            call.verdict, call.position = decision, position
            if isinstance(decision, ApproveDecision | EditDecision):
                self._to_run.add(str(action.id))
        self.held, self.is_decided = held, True

    async def end(self) -> None:
        """Use the answer up. Calling it again does nothing."""
        if self.held:
            await self.held.claim.aclose()

    async def note_end(self, call_id: str = "") -> None:
        """Note that a call has ended; after the last one, use the answer up."""
        self._to_run.discard(call_id)
        if not self._to_run:
            await self.end()

    def take(self, tool: str, request: ToolCallRequest) -> Call:
        """Return this call with its decision; it can be taken once."""
        call = self.calls.pop(request.tool_call_id, None)
        if call is None:
            return Call(None, Refused("nobody was asked about it, or it has run before"))
        if not call.is_about(tool, request.arguments):
            return Call(None, Refused("it was changed after it was shown"))
        return call

    async def run(self, call: Call, tool: str, runs: Awaitable[ToolCallResult]) -> ToolCallResult:
        """Run a decided call with its key and its receipt, and report what becomes of it."""
        manager = getattr(self.agent, "available_tools", None)
        _watch(manager)
        held, position, answers = self.held, call.position, list[tuple[Any, str, Any]]()
        token = _answers.set(answers)
        try:
            with running(held.resume.key(position), held.resume.receipt(position)) if held else nullcontext():
                result = await runs
        except BaseException as error:
            if held:
                held.report(position, Outcome.failed(error))
            raise
        finally:
            _answers.reset(token)
        # A tool may run a subagent, whose tools answer before it does.
        own = [answer for by, name, answer in answers if by is manager and name == tool]
        # Without an answer and an error it ran at an MCP server, and the text may be a result or an error.
        if held and (own or result.error):
            held.report(position, _outcome_of(own[-1]) if own else Outcome.failed(result.error))
        return result


def _outcome_of(answer: Any) -> Outcome:
    error = str(answer) if isinstance(answer, Exception) else getattr(answer, "error", None)
    return Outcome.failed(error) if error else Outcome.done(getattr(answer, "output", answer))


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
