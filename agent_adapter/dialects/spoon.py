"""SpoonAI's batched review: LangChain's batch with the ids of the calls, and answers in its own words."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision, HITLRequest, WireModel
from agent_adapter.contract.wire import check_request, to_model
from agent_adapter.dialects.answers import check_answers, without_respond
from agent_adapter.errors import InvalidRequestError

LOOKED_FOR = "'action_requests' with 'review_configs' that have an 'action_id'"
KEYS = frozenset({"action_requests", "review_configs"})


class _Action(WireModel):
    name: str
    args: dict[str, Any]
    id: str = Field(min_length=1)


class _Review(WireModel):
    action_name: str
    action_id: str
    allowed_decisions: tuple[str, ...]
    description: str | None = None


class _Pause(WireModel):
    action_requests: tuple[_Action, ...] = Field(min_length=1)
    review_configs: tuple[_Review, ...] = Field(min_length=1)


def recognises(payload: Any) -> bool:
    """Whether this looks like a pause of SpoonAI, well formed or not."""
    configs = payload.get("review_configs") if isinstance(payload, dict) else None
    return isinstance(configs, list) and any(isinstance(c, dict) and "action_id" in c for c in configs)


def to_request(payload: Any) -> HITLRequest:
    """Read a pause's value."""
    pause = to_model(_Pause.model_validate, payload, where="pause")
    _check_pairs(pause)
    configs = [
        {
            "action_name": config.action_name,
            "allowed_decisions": without_respond(
                config.allowed_decisions, where=f"pause.review_configs[{index}].allowed_decisions"
            ),
        }
        for index, config in enumerate(pause.review_configs)
    ]
    actions = [
        {**action.model_dump(), "description": config.description}
        for action, config in zip(pause.action_requests, pause.review_configs, strict=True)
    ]
    value = {"action_requests": actions, "review_configs": configs}
    request = to_model(HITLRequest.model_validate, value, where="pause")
    check_request(request)
    return request


def to_resume(decisions: Sequence[Any], payload: Any) -> dict[str, Any]:
    """Write the answer to a pause."""
    return {"decisions": [_answer(decision) for decision in check_answers(decisions, to_request(payload))]}


def _check_pairs(pause: _Pause) -> None:
    asked, configured = len(pause.action_requests), len(pause.review_configs)
    if asked != configured:
        raise InvalidRequestError(
            f"pause: {asked} action_requests but {configured} review_configs: they pair by index"
        )
    for index, (action, config) in enumerate(zip(pause.action_requests, pause.review_configs, strict=True)):
        if action.id != config.action_id:
            raise InvalidRequestError(
                f"pause.review_configs[{index}].action_id is {config.action_id!r}, "
                f"but action_requests[{index}].id is {action.id!r}"
            )
    for id, count in Counter(action.id for action in pause.action_requests).items():
        if count > 1:
            raise InvalidRequestError(
                f"pause.action_requests: {count} calls have the id {id!r}; each needs its own"
            )


def _answer(decision: Decision) -> dict[str, Any]:
    match decision:
        case ApproveDecision():
            return {"type": "approve"}
        case EditDecision():
            # SpoonAI would ignore an `edited_action`, and run the original arguments.
            return {"type": "edit", "args": decision.edited_action.args}
        case _:
            reason = getattr(decision, "message", None)
            return {"type": "reject", "reason": reason} if reason else {"type": "reject"}
