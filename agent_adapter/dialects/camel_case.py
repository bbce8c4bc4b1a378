"""LangChain's batched review as JavaScript writes it (LangChain JS, XpertAI): the same batch in camel case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from agent_adapter.contract.arguments import KEY_SHOWN
from agent_adapter.contract.hitl import EditDecision, HITLRequest, WireModel
from agent_adapter.contract.numbers import MAX_SAFE_INTEGER, Number, is_exact
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import check_request, to_model
from agent_adapter.dialects.answers import check_answers, without_respond
from agent_adapter.dialects.langchain import without_template
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
        """Whether this looks like a batched pause in camel case, well formed or not."""
        return isinstance(payload, dict) and not payload.keys().isdisjoint(self.KEYS)

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause's value."""
        value = to_model(Pause.model_validate, payload, where="pause").model_dump()
        drops = self.reject_drops_batch and len(value["action_requests"]) > 1
        for index, config in enumerate(value["review_configs"]):
            where = f"pause.reviewConfigs[{index}].allowedDecisions"
            config["allowed_decisions"] = without_respond(config["allowed_decisions"], where=where)
            config["effects"] = ("reject_drops_batch",) if drops else ()
            config["integers"] = (-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
        request = to_model(HITLRequest.model_validate, value, where="pause")
        check_request(request)
        for index, action in enumerate(request.action_requests):
            if problem := _inexact(action.args, f"pause.actionRequests[{index}].args"):
                raise InvalidRequestError(problem)
        actions = tuple(without_template(action) for action in request.action_requests)
        return request.model_copy(update={"action_requests": actions})

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> dict[str, Any]:
        """Write the answer to a pause."""
        answers = []
        for index, decision in enumerate(check_answers(decisions, self.to_request(payload))):
            answer = dump_decision(decision)
            if isinstance(decision, EditDecision):
                edited = answer["editedAction"] = answer.pop("edited_action")
                where = f"decision {index + 1} ({edited['name']}): editedAction.args"
                if problem := _inexact(edited["args"], where):
                    raise DecisionNotAllowedError(problem)
            answers.append(answer)
        return {"decisions": answers}


PLAIN = CamelCase()
LANGCHAIN_JS = CamelCase(reject_drops_batch=True)


def _inexact(value: Any, where: str) -> str:
    """Say which number JavaScript would change; empty when there is none."""
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return f"{where}: JavaScript is not exact for integers beyond 2^53-1; send it as a string"
    if isinstance(value, Number) and not is_exact(value):
        return f"{where}: JavaScript does not keep all digits of {value.text[:40]}; send it as a string"
    children: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        children = ((f"{where}.{key[:KEY_SHOWN]}", child) for key, child in value.items())
    elif isinstance(value, list):
        children = ((f"{where}[{index}]", child) for index, child in enumerate(value))
    return next(filter(None, (_inexact(child, path) for path, child in children)), "")
