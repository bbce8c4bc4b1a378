"""HumanInterrupt, the schema before LangChain's: one flag per decision (Agent Inbox, langchain-dev-utils).

A pause is one request or a list of requests; the answer has the same form. There are two shapes of an edit, and a pause
without `allow_ignore` may expect either. So Edit is offered for it only if the caller names the dialect.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field, StrictBool, TypeAdapter

from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
    RespondDecision,
    ReviewConfig,
    WireModel,
)
from agent_adapter.contract.wire import check_request, to_model
from agent_adapter.dialects.answers import check_answers, rejection
from agent_adapter.dialects.langchain import without_template
from agent_adapter.errors import InvalidRequestError


class _Action(WireModel):
    action: str
    args: dict[str, Any]


class _Config(WireModel):
    allow_accept: StrictBool = False
    allow_edit: StrictBool = False
    allow_ignore: StrictBool = False
    allow_respond: StrictBool = False


class _Pause(WireModel):
    action_request: _Action
    config: _Config
    description: str | None = None


_Pauses = TypeAdapter(Annotated[tuple[_Pause, ...], Field(min_length=1)])


@dataclass(frozen=True, kw_only=True)
class HumanInterrupt:
    """One form of the schema."""

    LOOKED_FOR: str = "'action_request' with 'config'"
    KEYS: frozenset[str] = frozenset({"action_request", "config", "description"})
    listed: bool = False
    """Whether a pause is a list of requests, answered by a list of responses."""
    edits_args: bool = False
    """Whether an edit has the new arguments alone, and not a whole ActionRequest."""
    takes_ignore: bool = True
    """Whether `ignore` works where it is allowed."""

    def recognises(self, payload: Any) -> bool:
        """Whether this looks like a pause of this form, well formed or not."""
        if self.listed:
            return isinstance(payload, list) and any(map(_asks, payload))
        return _asks(payload)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause."""
        pauses = self._read(payload)
        request = HITLRequest(
            action_requests=tuple(_action(pause) for pause in pauses),
            review_configs=tuple(self._review(pause) for pause in pauses),
        )
        check_request(request)
        actions = tuple(without_template(action) for action in request.action_requests)
        return request.model_copy(update={"action_requests": actions})

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause: one response, or a list of them."""
        checked = check_answers(decisions, self.to_request(payload))
        pauses = self._read(payload)
        responses = [self._response(decision, pause) for decision, pause in zip(checked, pauses, strict=True)]
        return responses if self.listed else responses[0]

    def _read(self, payload: Any) -> tuple[_Pause, ...]:
        if self.listed:
            return to_model(_Pauses.validate_python, payload, where="pause")
        return (to_model(_Pause.model_validate, payload, where="pause"),)

    def _review(self, pause: _Pause) -> ReviewConfig:
        config = pause.config
        ignore = config.allow_ignore and self.takes_ignore
        possible = {
            "approve": config.allow_accept,
            "edit": config.allow_edit and self._knows_edit(pause),
            "reject": ignore or config.allow_respond,
            "respond": config.allow_respond,
        }
        allowed = tuple(kind for kind, is_possible in possible.items() if is_possible)
        if not allowed:
            raise InvalidRequestError(
                f"pause.config: nothing that could be decided about {pause.action_request.action!r} is allowed"
                + ("; name the dialect to have Edit offered" if config.allow_edit else "")
            )
        return ReviewConfig(
            action_name=pause.action_request.action,
            allowed_decisions=allowed,
            effects=("reject_as_answer",) if config.allow_respond and not ignore else (),
        )

    def _knows_edit(self, pause: _Pause) -> bool:
        # The list form has one shape that both generations read; langchain-dev-utils' object has no `allow_ignore`.
        return self.edits_args or self.listed or "allow_ignore" in pause.config.model_fields_set

    def _response(self, decision: Decision, pause: _Pause) -> dict[str, Any]:
        name = pause.action_request.action
        match decision:
            case ApproveDecision():
                return {"type": "accept", "args": None}
            case EditDecision():
                args = decision.edited_action.args
                return {"type": "edit", "args": args if self.edits_args else {"action": name, "args": args}}
            case RespondDecision():
                return {"type": "response", "args": decision.message}
            case _ if pause.config.allow_ignore and self.takes_ignore:
                return {"type": "ignore", "args": None}
            case _:
                return {"type": "response", "args": rejection(name, getattr(decision, "message", None))}


OBJECT = HumanInterrupt()
LIST = HumanInterrupt(LOOKED_FOR="a list of objects with 'action_request'", listed=True)
DEV_UTILS = HumanInterrupt(edits_args=True, takes_ignore=False)
# Its handler allows `ignore` in what it asks and raises on it in what it is answered.
DEV_UTILS_0_1 = replace(LIST, takes_ignore=False)


def _asks(value: Any) -> bool:
    return isinstance(value, dict) and "action_request" in value


def _action(pause: _Pause) -> ActionRequest:
    asked = pause.action_request
    # langchain-dev-utils' own words name the tool, which the card does anyway.
    says_nothing = pause.description == f"Please review tool call: {asked.action}"
    description = None if says_nothing else pause.description
    return ActionRequest(name=asked.action, args=asked.args, description=description)
