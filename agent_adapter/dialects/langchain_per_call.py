"""LangChain's review per call: one pause for each tool call, with a JSON Schema of its answers.

The payload is the pause's value, with the pause's `response_schema` added as a key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig, WireModel
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import check_request, to_model
from agent_adapter.dialects.answers import check_answers
from agent_adapter.dialects.langchain import without_template
from agent_adapter.errors import InvalidRequestError

LOOKED_FOR = "'type' that is 'tool_approval', with the pause's 'response_schema'"
KEYS = frozenset({"type", "tool_call_id", "name", "args", "description", "response_schema"})

Schema = Mapping[str, Any]


class _Pause(WireModel):
    type: Literal["tool_approval"]
    tool_call_id: str
    name: str
    args: dict[str, Any]
    description: str = ""
    response_schema: dict[str, Any]


def recognises(payload: Any) -> bool:
    """Whether this looks like the pause of one call, well formed or not."""
    return isinstance(payload, dict) and payload.get("type") == "tool_approval"


def to_request(payload: Any) -> HITLRequest:
    """Read a pause: the allowed decisions and the argument schema are in its `response_schema`."""
    pause = to_model(_Pause.model_validate, payload, where="pause")
    branches = _branches(pause.response_schema)
    action = ActionRequest(
        name=pause.name, args=pause.args, description=pause.description or None, id=pause.tool_call_id
    )
    config = ReviewConfig.model_validate(
        {
            "action_name": pause.name,
            "allowed_decisions": tuple(branches),
            "args_schema": _args_schema(branches.get("edit", {}), pause.response_schema),
        }
    )
    request = HITLRequest(action_requests=(action,), review_configs=(config,))
    check_request(request)
    return request.model_copy(update={"action_requests": (without_template(action),)})


def to_resume(decisions: Sequence[Any], payload: Any) -> dict[str, Any]:
    """Write the answer to a pause: the decision itself."""
    (decision,) = check_answers(decisions, to_request(payload))
    return dump_decision(decision)


def _branches(schema: Schema) -> dict[str, Schema]:
    """Return the schema of each decision, by its kind. A single allowed decision has no `oneOf`."""
    choices = _list(schema.get("oneOf")) or _list(schema.get("anyOf")) or [schema]
    branches: dict[str, Schema] = {}
    for branch in (_resolve(choice, schema) for choice in choices):
        kind = _property(branch, "type", schema)
        named = [kind["const"]] if "const" in kind else _list(kind.get("enum"))
        branches |= {value: branch for value in named if isinstance(value, str)}
    if not branches:
        raise InvalidRequestError(
            "pause.response_schema: no decision found: each branch needs a property `type` with a `const`"
        )
    return branches


def _args_schema(edit: Schema, root: Schema) -> dict[str, Any] | None:
    """Return the schema of the arguments, with the definitions that it may refer to."""
    schema = _property(_property(edit, "edited_action", root), "args", root)
    if not schema.keys() - {"type", "title", "description"}:
        # Any object is allowed: the framework does not know the tool.
        return None
    definitions = _definitions(root)
    return {**schema, "$defs": definitions} if definitions else dict(schema)


def _property(schema: Schema, name: str, root: Schema) -> Schema:
    properties = schema.get("properties")
    return _resolve(properties.get(name), root) if isinstance(properties, dict) else {}


def _resolve(schema: Any, root: Schema) -> Schema:
    """Follow a reference into the definitions, and keep the keys next to it."""
    beside: dict[str, Any] = {}
    seen: set[str] = set()
    while isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
        if reference in seen:
            return {}
        seen.add(reference)
        beside = {**{key: value for key, value in schema.items() if key != "$ref"}, **beside}
        schema = _definitions(root).get(reference.removeprefix("#/$defs/"))
    return {**schema, **beside} if isinstance(schema, dict) else {}


def _definitions(schema: Schema) -> Schema:
    found = schema.get("$defs")
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
