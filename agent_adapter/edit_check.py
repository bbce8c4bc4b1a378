"""Edits of calls whose schema was too large to be sent: the agent checks them with its own copy."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.wire import LEFT_OUT
from agent_adapter.errors import DecisionNotAllowedError


class RefusedAnswerError(DecisionNotAllowedError):
    """An answer cannot be used, and nothing ran. Its question has ended, and can be asked again."""

    def __init__(self, message: str, *, interrupt_id: str) -> None:
        super().__init__(message)
        self.interrupt_id = interrupt_id


async def why_refused(resume: Resume, own: Interrupt, record: Interrupt) -> str:
    """Say which edit does not fit a schema of ours that its record has not, because it was too large; empty when all fit."""
    for index, decision, config in zip(
        resume.indices, resume.decisions, own.request.review_configs, strict=True
    ):
        is_unchecked = record.request.review_configs[index].args_schema == LEFT_OUT
        if is_unchecked and isinstance(decision, EditDecision) and config.args_schema:
            problem = await asyncio.to_thread(schema_problem, decision.edited_action.args, config.args_schema)
            if problem:
                return f"the edited `{config.action_name}` {problem}"
    return ""


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
