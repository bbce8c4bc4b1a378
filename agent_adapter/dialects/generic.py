"""Pauses of a program's own: any JSON value is asked about as it is, and the program alone knows what an answer does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import check_json
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    HITLRequest,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.wire import check_request
from agent_adapter.dialects import camel_case, human_interrupt, langchain, langchain_per_call
from agent_adapter.dialects.answers import check_answers

ACTION = "interrupt"
"""The name under which such a pause is shown."""

# SpoonAI's pauses have the keys of LangChain's.
_TOLD_BY_KEYS = (langchain, langchain_per_call, camel_case, human_interrupt.OBJECT, human_interrupt.LIST)


@dataclass(frozen=True)
class Generic:
    """Any pause, answered in one of the ways that programs read."""

    answer: Callable[[Decision], Any]
    allowed: tuple[str, ...]
    LOOKED_FOR: str = "any value, where the caller names the dialect"

    def recognises(self, payload: Any) -> bool:
        """Tell whether this may be a pause of a program's own: none that its keys tell is."""
        return not any(dialect.recognises(payload) for dialect in _TOLD_BY_KEYS)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause: one action, whose only argument is the value.

        Raises:
            InvalidRequestError: when it is not JSON, or over a limit.
        """
        check_json(payload, where="pause")
        config = ReviewConfig(action_name=ACTION, allowed_decisions=self.allowed, effects=("words_only",))
        request = HITLRequest(
            action_requests=(ActionRequest(name=ACTION, args={"value": payload}),), review_configs=(config,)
        )
        check_request(request)
        return request

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause.

        Args:
            decisions: The one decision.
            payload: The pause's value.

        Raises:
            DecisionNotAllowedError: when it does not fit.
        """
        (decision,) = check_answers(decisions, self.to_request(payload))
        return self.answer(decision)


def _text(decision: Decision) -> str:
    """Answer in words, never with `{}` or null, which LangGraph does not hand on."""
    match decision:
        case ApproveDecision():
            return "approve"
        case RespondDecision():
            return decision.message
        case _:
            # A rejection must not read as an approval, whatever its reason says.
            reason = (getattr(decision, "message", None) or "").strip()
            return f"reject: {reason}" if reason else "reject"


def _object(decision: Decision) -> dict[str, Any]:
    match decision:
        case ApproveDecision():
            return {"type": "accept"}
        case RespondDecision():
            return {"type": "response", "args": decision.message}
        case _:
            reason = getattr(decision, "message", None)
            return {"type": "reject", "args": reason} if reason else {"type": "reject"}


TEXT = Generic(_text, allowed=("approve", "reject", "respond"))
ACCEPT_REJECT = Generic(_object, allowed=("approve", "reject"))
ACCEPT_REJECT_RESPONSE = Generic(_object, allowed=("approve", "reject", "respond"))
