"""One turn of the model: its gated calls, and what was decided about each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from spoon_ai.middleware.base import ToolCallRequest

from agent_adapter.contract.arguments import decode_arguments, encode
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest
from agent_adapter.contract.numbers import as_floats
from agent_adapter.errors import InvalidRequestError
from agent_adapter.policy import Review


@dataclass(frozen=True)
class Refused:
    """Stands for a decision where nobody decided. The call does not run."""

    why: str

    def __str__(self) -> str:
        return self.why


Verdict: TypeAlias = Decision | Refused | None
"""`None` for a call that needs no decision, as the policy's `when` says."""


@dataclass
class Call:
    """One call of a gated tool."""

    action: ActionRequest | None
    """What is shown; `None` where the call cannot be shown."""
    verdict: Verdict = Refused("it was not decided")

    @classmethod
    def of(cls, tool: str, call: Any, *, times: int) -> "Call":
        """Read a call of the model's reply.

        Args:
            tool: What the call would run.
            call: SpoonAI's `ToolCall`.
            times: How many calls of this turn have its id.
        """
        if times > 1:
            return cls(
                None, Refused(f"{times} calls of this turn have the id {call.id!r}; each needs its own")
            )
        try:
            # SpoonAI runs a tool without arguments when it cannot read them. It runs what it has read itself: floats.
            args = as_floats(decode_arguments(call.function.arguments.strip() or "{}"))
        except InvalidRequestError as error:
            return cls(None, Refused(str(error)))
        return cls(ActionRequest(name=tool, args=args, id=call.id))

    def is_about(self, tool: str, arguments: Any) -> bool:
        """Tell whether this is what was shown, to the byte."""
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

    def ask(self, shown: Sequence[ActionRequest], review: Review | None) -> None:
        """Keep what is asked about these calls. Those about which nothing is asked may run."""
        self.asked = review.request if review else None
        for index, action in enumerate(shown):
            if review is None or index not in review.indices:
                self.calls[str(action.id)].verdict = None

    def decide(self, decisions: Sequence[Decision | Refused]) -> None:
        """Keep the decisions, in the order of what was asked."""
        for action, decision in zip(self.asked.action_requests if self.asked else (), decisions, strict=True):
            self.calls[str(action.id)].verdict = decision
        self.is_decided = True

    def take(self, tool: str, request: ToolCallRequest) -> Verdict:
        """Give what was decided about this call, once."""
        call = self.calls.pop(request.tool_call_id, None)
        if call is None:
            return Refused("nobody was asked about it, or it has run before")
        if not call.is_about(tool, request.arguments):
            return Refused("it was changed after it was shown")
        return call.verdict
