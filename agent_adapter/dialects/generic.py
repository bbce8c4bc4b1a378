"""Pauses in a program's own form: any JSON value is shown as it is, and only the program knows what an answer does."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

from agent_adapter.contract.arguments import check_json, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.wire import check_request
from agent_adapter.dialects import camel_case, human_interrupt, langchain, langchain_per_call
from agent_adapter.dialects.answers import check_answers
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.expected import expect

UNNAMED = "question"
"""The name under which a pause is shown if nobody knows which node or tool asks."""

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
    tool: str = ""
    """The name that the card shows, and that rules of a policy match; empty if the caller gave none."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the arguments."""
    LOOKED_FOR: str = "any value, where the caller names the dialect"
    KEYS: frozenset[str] = frozenset()

    def recognises(self, payload: Any) -> bool:
        """Whether this may be a pause in a program's own form: its keys are not those of another dialect."""
        return not any(dialect.recognises(payload) for dialect in _KNOWN_BY_KEYS)

    def asked_by(self, name: str) -> "Generic":
        """Return the same dialect for a pause of this node or tool. A name that the caller gave stays."""
        return replace(self, tool=self.tool or name)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause: one action. Its arguments are the keys of an object, or else `value`."""
        check_json(payload, where="pause")
        name = self.tool or UNNAMED
        config = ReviewConfig(
            action_name=name,
            allowed_decisions=self.allowed,
            args_schema=None if self.schema is None else dict(self.schema),
            effects=("words_only",),
        )
        args = payload if isinstance(payload, dict) and payload else {"value": payload}
        request = HITLRequest(
            action_requests=(ActionRequest(name=name, args=args),), review_configs=(config,)
        )
        check_request(request)
        return request

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause."""
        (decision,) = check_answers(decisions, self.to_request(payload))
        answer = self.answer(decision)
        if decision.type in {"edit", "reject"} and "approve" in self.allowed:
            self._check_differs(decision.type, answer)
        return answer

    def _check_differs(self, kind: str, answer: Any) -> None:
        """Refuse an answer that the program cannot tell from an approval: it would run what it had asked."""
        if encode(answer) == encode(self.answer(ApproveDecision())):
            raise DecisionNotAllowedError(
                f"the answer to {kind} is the same as to approve, so the program would run what it asked: "
                "have the callables give another one; nothing was resumed"
            )


def custom(
    write: Callable[[Decision], Any],
    *,
    allowed_decisions: Sequence[str] = ("approve", "reject"),
    edit: Callable[[dict[str, Any]], Any] | None = None,
    tool: str = "",
    schema: Mapping[str, Any] | None = None,
) -> Generic:
    """Make the dialect of a program that reads answers in its own form.

        dialect = custom(lambda decision: {"ok": decision.type == "approve"})

    Args:
        write: Gets the decision, and returns the answer: any JSON value except null. Silence is a decision of type `reject`.
        allowed_decisions: The decisions that the reviewer can choose from: some of `approve`, `reject` and `respond`.
            Without `reject`, silence is an error, and nothing is resumed.
        edit: Gets the changed arguments, all of them, and returns the answer. Without it, Edit is not offered.
        tool: The name on the card, which rules of a policy match. By default the tool or the node that asks.
        schema: JSON Schema of the arguments, for the form of an edit. By default that of the tool, if the pause has the
            arguments of its call; otherwise the form has the types of the values.

    Raises:
        InvalidRequestError: when `allowed_decisions` is empty or has other decisions, or an argument is of the wrong kind.
    """
    if not callable(write):
        raise InvalidRequestError(f"write: {write!r} is not callable; pass a function of the decision")
    expect(edit, NoneType | Callable, where="edit", cure="pass a function of the changed arguments")
    expect(tool, str, where="tool", cure="pass a name, as in tool='pay'")
    expect(schema, NoneType | Mapping, where="schema", cure="pass a JSON Schema, as a dictionary")
    cure = f"pass some of {', '.join(_OFFERED)}"
    expect(allowed_decisions, list | tuple, where="allowed_decisions", cure=cure)
    allowed = tuple(allowed_decisions)
    if not allowed or not set(allowed) <= set(_OFFERED):
        raise InvalidRequestError(f"allowed_decisions: {cure}, and edit=… for edits, not {allowed}")

    def answer(decision: Decision) -> Any:
        try:
            if edit and isinstance(decision, EditDecision):
                # A function that changes what it gets must not change what was decided.
                written = edit(deepcopy(decision.edited_action.args))
            else:
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

    return Generic(answer, (*allowed, "edit") if edit else allowed, tool, schema)


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
