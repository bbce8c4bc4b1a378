"""One turn of the model: its gated calls, and the decision about each."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from spoon_ai.middleware.base import ToolCallRequest

from agent_adapter.contract.arguments import decode_arguments, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
)
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import Outcome
from agent_adapter.errors import InvalidRequestError
from agent_adapter.gating import Review


@dataclass(frozen=True)
class Refused:
    """In place of a decision, when there is none. The call does not run."""

    why: str

    def __str__(self) -> str:
        return self.why


Verdict: TypeAlias = Decision | Refused | None
"""`None` for a call that needs no decision, because the policy's `when` let it run."""


Report: TypeAlias = Callable[[int, Outcome], None]
"""Takes the position of a call that was asked about, and what became of it."""
Running: TypeAlias = Callable[[int], AbstractContextManager[None]]
"""Takes the position of a call that was asked about; in the body, the tool has the key and the receipt of the call."""
End: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


async def _nothing() -> None:
    """For a decision that nobody holds."""


@dataclass(frozen=True)
class Verdicts:
    """What was decided about the calls of a turn, in the order of the actions."""

    decisions: Sequence[Decision | Refused]
    report: Report = lambda _position, _outcome: None
    running: Running = lambda _position: nullcontext()
    end: End = _nothing
    """To be called when the last of these calls has ended. Calling it again does nothing."""


@dataclass
class Call:
    """One call of a gated tool."""

    action: ActionRequest | None
    """What the card shows; `None` if the call cannot be shown."""
    verdict: Verdict = Refused("it was not decided")
    report: Callable[[Outcome], None] = lambda _outcome: None
    running: Callable[[], AbstractContextManager[None]] = nullcontext

    @classmethod
    def of(cls, tool: str, call: Any, *, times: int) -> "Call":
        """Read a call of the model's reply.

        Args:
            tool: The name of the tool that would run.
            call: SpoonAI's `ToolCall`.
            times: How many calls of this turn have its id.
        """
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
    end: End = _nothing
    """Uses the answer up. Calling it again does nothing."""
    _to_run: set[str] = field(default_factory=set)
    """The ids of the calls that run as they were decided, and have not ended."""

    def ask(self, shown: Sequence[ActionRequest], review: Review | None) -> None:
        """Store the question about these calls. A call without a question may run."""
        self.asked = review.request if review else None
        for index, action in enumerate(shown):
            if review is None or index not in review.indices:
                self.calls[str(action.id)].verdict = None

    def decide(self, given: Verdicts) -> None:
        """Store the decisions."""
        asked = self.asked.action_requests if self.asked else ()
        for position, (action, decision) in enumerate(zip(asked, given.decisions, strict=True)):
            call = self.calls[str(action.id)]
            call.verdict = decision
            call.report, call.running = partial(given.report, position), partial(given.running, position)
            if isinstance(decision, ApproveDecision | EditDecision):
                self._to_run.add(str(action.id))
        self.end = given.end
        self.is_decided = True

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
