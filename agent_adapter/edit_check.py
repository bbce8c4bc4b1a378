"""Edits of calls whose schema was too large to be sent: the agent checks them with its own copy."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.wire import trimmed


def misfit(decisions: Sequence[Any], interrupt: Interrupt) -> str:
    """Say which edit does not fit a schema that was too large for people's forms; empty when all fit."""
    if not any(isinstance(decision, EditDecision) for decision in decisions):
        return ""
    sent = trimmed(interrupt).request.review_configs
    for decision, own, shown in zip(decisions, interrupt.request.review_configs, sent, strict=True):
        is_unchecked = isinstance(decision, EditDecision) and own.args_schema != shown.args_schema
        if is_unchecked and (problem := schema_problem(decision.edited_action.args, own.args_schema or {})):
            return f"the edited `{own.action_name}` {problem}"
    return ""


def asked_again(interrupt: Interrupt, why: str) -> Interrupt:
    """Return the interrupt that says on its card why it is asked again, if there is a reason."""
    context = interrupt.context.model_copy(update={"again": why or None})
    return interrupt.model_copy(update={"context": context})


def schema_problem(args: Any, schema: Mapping[str, Any]) -> str:
    """Say why arguments do not fit a schema, or why nobody can tell; empty when they fit."""
    try:
        import jsonschema  # noqa: PLC0415  # it comes with some frameworks only
        import referencing  # noqa: PLC0415  # it comes with jsonschema
    except ImportError:
        return "cannot be checked where the agent runs: pip install jsonschema"
    try:
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        validator.check_schema(schema)
        # With an empty registry, references to other places are not fetched.
        errors = validator(schema, registry=referencing.Registry()).iter_errors(as_floats(args))
        first = jsonschema.exceptions.best_match(errors)
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, RecursionError, re.error) as error:
        return f"cannot be checked by the schema of its tool: {type(error).__name__}"
    if first is None:
        return ""
    # Other messages quote the value, which may be hidden on the card.
    said = first.message if first.validator in {"required", "additionalProperties"} else first.validator
    return f"does not fit its tool: {first.json_path}: {said}"
