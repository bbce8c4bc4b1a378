"""LangChain's batched review: one pause for all calls of a turn (also deepagents)."""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import ActionRequest, HITLRequest
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import check_request, to_model
from agent_adapter.dialects.answers import check_answers
from agent_adapter.errors import InvalidRequestError

LOOKED_FOR = "'action_requests' with 'review_configs'"
KEYS = frozenset({"action_requests", "review_configs"})


def recognises(payload: Any) -> bool:
    """Whether this looks like a batched pause, well formed or not."""
    return isinstance(payload, dict) and not payload.keys().isdisjoint({"action_requests", "review_configs"})


def to_request(payload: Any) -> HITLRequest:
    """Read a pause's value."""
    request = to_model(HITLRequest.model_validate, payload, where="pause")
    check_request(request)
    actions = tuple(without_template(action) for action in request.action_requests)
    return request.model_copy(update={"action_requests": actions})


def to_resume(decisions: Sequence[Any], payload: Any) -> dict[str, Any]:
    """Write the answer to a pause."""
    return {
        "decisions": [dump_decision(decision) for decision in check_answers(decisions, to_request(payload))]
    }


def without_template(action: ActionRequest) -> ActionRequest:
    """Drop a description that only repeats the call: LangChain's template around name and arguments, in Python or in JSON."""
    _, _, rest = (action.description or "").partition("\n\n")
    head, _, args = rest.partition("\nArgs: ")
    repeats = head == f"Tool: {action.name}" and (args == str(action.args) or _is_json_of(action.args, args))
    if action.description and not repeats:
        return action
    return action.model_copy(update={"description": None})


def _is_json_of(value: Any, text: str) -> bool:
    try:
        return encode(decode(text)) == encode(value)
    except InvalidRequestError:
        return False
