"""LangChain's batched review as JavaScript writes it (LangChain JS, XpertAI): the same batch in camel case."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from agent_adapter.contract.arguments import KEY_SHOWN, decode, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    Decision,
    EditDecision,
    HITLRequest,
    ReviewConfig,
    WireModel,
)
from agent_adapter.contract.numbers import MAX_SAFE_INTEGER, Number, is_exact
from agent_adapter.contract.wire import check_request, dump_decision, to_model
from agent_adapter.dialects.answers import check_answers, without_respond
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError


class _CamelModel(WireModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Action(_CamelModel):
    name: str
    args: dict[str, Any]
    description: str | None = None
    id: str | None = None


class _Review(_CamelModel):
    action_name: str
    allowed_decisions: tuple[str, ...]
    args_schema: dict[str, Any] | None = None


class Pause(_CamelModel):
    """The fields of a batched pause."""

    action_requests: tuple[_Action, ...]
    review_configs: tuple[_Review, ...]


@dataclass(frozen=True)
class CamelCase:
    """One framework that writes camel case."""

    reject_drops_batch: bool = False
    """Whether one rejection keeps the approved calls of the batch from running."""
    LOOKED_FOR: str = "'actionRequests' with 'reviewConfigs'"
    KEYS: frozenset[str] = frozenset({"actionRequests", "reviewConfigs"})

    def recognises(self, payload: Any) -> bool:
        """Whether this looks like a batched pause, well formed or not."""
        return recognises(payload)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause's value.

        Raises:
            InvalidRequestError: naming the place.
        """
        pause = to_model(Pause.model_validate, payload, where="pause")
        drops = self.reject_drops_batch and len(pause.action_requests) > 1
        effects = ("reject_drops_batch",) if drops else ()
        request = to_model(
            HITLRequest.model_validate,
            {
                "action_requests": [_action(action) for action in pause.action_requests],
                "review_configs": [
                    _review(index, c, effects) for index, c in enumerate(pause.review_configs)
                ],
            },
            where="pause",
        )
        check_request(request)
        for index, action in enumerate(request.action_requests):
            if problem := _inexact(action.args, f"pause.actionRequests[{index}].args"):
                raise InvalidRequestError(problem)
        actions = tuple(_without_template(action) for action in request.action_requests)
        return request.model_copy(update={"action_requests": actions})

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> dict[str, Any]:
        """Write the answer to a pause.

        Args:
            decisions: One per action, in action order.
            payload: The pause's value.

        Raises:
            DecisionNotAllowedError: when one does not fit its action.
        """
        checked = check_answers(decisions, self.to_request(payload))
        return {"decisions": [_answer(index, decision) for index, decision in enumerate(checked)]}


PLAIN = CamelCase()
LANGCHAIN_JS = CamelCase(reject_drops_batch=True)


def recognises(payload: Any) -> bool:
    """Whether this looks like a batched pause in camel case, well formed or not."""
    return isinstance(payload, dict) and not payload.keys().isdisjoint({"actionRequests", "reviewConfigs"})


def _action(action: _Action) -> ActionRequest:
    return ActionRequest(name=action.name, args=action.args, description=action.description, id=action.id)


def _review(index: int, config: _Review, effects: tuple[str, ...]) -> ReviewConfig:
    where = f"pause.reviewConfigs[{index}].allowedDecisions"
    return ReviewConfig.model_validate(
        {
            "action_name": config.action_name,
            "allowed_decisions": without_respond(config.allowed_decisions, where=where),
            "args_schema": config.args_schema,
            "effects": effects,
            "integers": (-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
        }
    )


def _without_template(action: ActionRequest) -> ActionRequest:
    """Drop a description that only repeats the call: the framework's own template around name and arguments."""
    _, _, rest = (action.description or "").partition("\n\n")
    template = f"Tool: {action.name}\nArgs: "
    repeats = rest.startswith(template) and _is_json_of(action.args, rest.removeprefix(template))
    if action.description and not repeats:
        return action
    return action.model_copy(update={"description": None})


def _is_json_of(value: Any, text: str) -> bool:
    try:
        return encode(decode(text)) == encode(value)
    except InvalidRequestError:
        return False


def _answer(index: int, decision: Decision) -> dict[str, Any]:
    value = dump_decision(decision)
    if isinstance(decision, EditDecision):
        edited = value["editedAction"] = value.pop("edited_action")
        if problem := _inexact(edited["args"], f"decision {index + 1} ({edited['name']}): editedAction.args"):
            raise DecisionNotAllowedError(problem)
    return value


def _inexact(value: Any, where: str) -> str:
    """Say which number JavaScript would change; empty when there is none."""
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return f"{where}: JavaScript is not exact for integers beyond 2^53-1; send it as a string"
    if isinstance(value, Number) and not is_exact(value):
        return f"{where}: JavaScript does not keep all digits of {value.text[:40]}; send it as a string"
    return next(filter(None, (_inexact(child, path) for path, child in _children(value, where))), "")


def _children(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((f"{where}.{key[:KEY_SHOWN]}", child) for key, child in value.items())
    if isinstance(value, list):
        return ((f"{where}[{index}]", child) for index, child in enumerate(value))
    return iter(())
