"""Pauses in a program's own form: any JSON value is shown as it is, and only the program knows what an answer does."""

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
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.expected import expect

ACTION = "interrupt"
"""The name under which such a pause is shown."""

# SpoonAI's pauses have the keys of LangChain's.
_KNOWN_BY_KEYS = (
    langchain,
    langchain_per_call,
    camel_case.PLAIN,
    human_interrupt.OBJECT,
    human_interrupt.LIST,
)


@dataclass(frozen=True)
class Generic:
    """Any pause, answered in one of the ways that programs read."""

    answer: Callable[[Decision], Any]
    allowed: tuple[str, ...]
    LOOKED_FOR: str = "any value, where the caller names the dialect"
    KEYS: frozenset[str] = frozenset()

    def recognises(self, payload: Any) -> bool:
        """Whether this may be a pause in a program's own form: its keys are not those of another dialect."""
        return not any(dialect.recognises(payload) for dialect in _KNOWN_BY_KEYS)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause: one action, whose only argument is the value."""
        check_json(payload, where="pause")
        config = ReviewConfig(action_name=ACTION, allowed_decisions=self.allowed, effects=("words_only",))
        request = HITLRequest(
            action_requests=(ActionRequest(name=ACTION, args={"value": payload}),), review_configs=(config,)
        )
        check_request(request)
        return request

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause."""
        (decision,) = check_answers(decisions, self.to_request(payload))
        return self.answer(decision)


def custom(
    write: Callable[[Decision], Any], *, allowed_decisions: Sequence[str] = ("approve", "reject")
) -> Generic:
    """Make the dialect of a program that reads answers in its own form.

        dialect = custom(lambda decision: {"ok": decision.type == "approve"})

    Args:
        write: Gets the decision, and returns the answer: any JSON value except null. Silence is a decision of type `reject`.
        allowed_decisions: The decisions that the reviewer can choose from: some of `approve`, `reject` and `respond`.
            Without `reject`, silence is an error, and nothing is resumed.

    Raises:
        InvalidRequestError: when `allowed_decisions` is empty or has other decisions, or `write` is not callable.
    """
    if not callable(write):
        raise InvalidRequestError(f"write: {write!r} is not callable; pass a function of the decision")
    cure = f"pass some of {', '.join(_OFFERED)}"
    expect(allowed_decisions, list | tuple, where="allowed_decisions", cure=cure)
    allowed = tuple(allowed_decisions)
    if not allowed or not set(allowed) <= set(_OFFERED):
        raise InvalidRequestError(f"allowed_decisions: {cure}, not {allowed}")

    def answer(decision: Decision) -> Any:
        try:
            written = write(decision)
            check_json(written, where="the answer")
        except InvalidRequestError as error:
            raise DecisionNotAllowedError(f"{error}; nothing was resumed") from error
        except Exception as error:
            raise DecisionNotAllowedError(
                f"the answer to {decision.type} could not be written: the callable raised {error!r}; nothing was resumed"
            ) from error
        if written is None:
            raise DecisionNotAllowedError(
                f"the answer to {decision.type} is null, and a paused graph cannot read null; nothing was resumed"
            )
        return written

    return Generic(answer, allowed=allowed)


_OFFERED = ("approve", "reject", "respond")


def _text(decision: Decision) -> str:
    if isinstance(decision, RespondDecision):
        return decision.message
    raise DecisionNotAllowedError("a program that reads text can only be answered with typed words")


def _object(decision: Decision) -> dict[str, Any]:
    if isinstance(decision, ApproveDecision):
        return {"type": "accept"}
    reason = getattr(decision, "message", None)
    return {"type": "reject", "args": reason} if reason else {"type": "reject"}


BOOLEAN = Generic(lambda decision: isinstance(decision, ApproveDecision), allowed=("approve", "reject"))
# Only the word, so that a program can compare it. The reason is in the record.
APPROVE_REJECT = Generic(
    lambda decision: "approve" if isinstance(decision, ApproveDecision) else "reject",
    allowed=("approve", "reject"),
)
TEXT = Generic(_text, allowed=("respond",))
ACCEPT_REJECT = Generic(_object, allowed=("approve", "reject"))
