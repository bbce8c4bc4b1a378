"""How interrupts and continuations are written to stored text and read from it, with the limits of a publish.

What only serves comfort never stops a question: where it is too long, it is cut or left out, and people see that.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent_adapter.contract.arguments import (
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_NODES,
    check_arguments,
    check_json,
    check_text,
    decode,
    encode,
)
from agent_adapter.contract.hitl import (
    KNOWN_DECISIONS,
    ActionRequest,
    Decision,
    HITLRequest,
    ReviewConfig,
    WireModel,
    first_problem,
)
from agent_adapter.contract.interrupt import (
    CONTINUATION_FORMAT,
    SCHEMA_VERSION,
    Context,
    Continuation,
    Interrupt,
    Link,
)
from agent_adapter.contract.names import AgentName, problem_of_tool
from agent_adapter.errors import InvalidRequestError

MAX_ENVELOPE_BYTES = 256 * 1024
MAX_CONTINUATION_BYTES = 256 * 1024
KEPT_BYTES = 8 * 1024
"""A stored interrupt of up to this size is kept in memory after it was read."""
MAX_ACTIONS = 50
MAX_NAME = 128
MIN_LIFE, MAX_LIFE = timedelta(seconds=1), timedelta(days=7)
SAME_SCHEMA = "args_schema_of"
"""In place of a schema: the position of the first config that has the same one."""

STEPS = (256 * 1024, 32 * 1024, 4 * 1024, 1024, 200, 20)
"""How long a schema or a text may be, in bytes and characters. The first of these counts with which the request is small enough."""
LEFT_OUT = {"$comment": "The schema of this tool was left out, because it was too large."}
"""In place of such a schema. An edit is then checked by the agent, with its own copy."""
_LINKS, _HEADLINE = 20, 10

_decision: TypeAdapter[Decision] = TypeAdapter(Decision)
_T = TypeVar("_T")


def to_model(build: Callable[[Any], _T], value: Any, *, where: str) -> _T:
    """Validate a value with pydantic."""
    try:
        return build(value)
    except ValidationError as error:
        raise InvalidRequestError(first_problem(error, where=where)) from error


def agent_name(text: object) -> str:
    """Check the name of an agent, and return it."""
    return to_model(TypeAdapter(AgentName).validate_python, text, where="agent")


def check_request(request: HITLRequest) -> None:
    """Refuse a batch that could not be shown, stored or answered."""
    count = len(request.action_requests)
    if count > MAX_ACTIONS:
        raise InvalidRequestError(
            f"action_requests: {count} actions, at most {MAX_ACTIONS}; ask in several batches, or have the model make fewer calls"
        )
    for index, (action, config) in enumerate(
        zip(request.action_requests, request.review_configs, strict=True)
    ):
        if not 0 < len(action.name) <= MAX_NAME:
            raise InvalidRequestError(
                f"action_requests[{index}].name: {len(action.name)} characters, from 1 to {MAX_NAME}"
            )
        if problem := problem_of_tool(action.name):
            raise InvalidRequestError(f"action_requests[{index}].name: {problem}")
        for part in ("name", "id"):
            check_text(getattr(action, part), where=f"action_requests[{index}].{part}")
        check_arguments(action.args, where=f"action_requests[{index}].args")
        _check_decisions(config.allowed_decisions, where=f"review_configs[{index}].allowed_decisions")


def _check_decisions(allowed: tuple[str, ...], *, where: str) -> None:
    for index, each in enumerate(allowed):
        check_text(each, where=f"{where}[{index}]")
    if len(set(allowed)) != len(allowed):
        raise InvalidRequestError(f"{where}: a decision is listed twice in {list(allowed)}")
    if not set(allowed) & set(KNOWN_DECISIONS):
        raise InvalidRequestError(f"{where}: none of {list(allowed)} is one of {', '.join(KNOWN_DECISIONS)}")


def dump_interrupt(interrupt: Interrupt) -> str:
    """Return the text of an interrupt as it is stored: trimmed, with arguments in their exact bytes, and no continuation.

    Fields with their default are left out: the defaults belong to the schema version. Each schema is written once.
    """
    check_request(interrupt.request)
    if len(interrupt.pauses) != len(interrupt.request.action_requests):
        raise InvalidRequestError(
            f"pauses: {len(interrupt.pauses)} for {len(interrupt.request.action_requests)} actions; they pair by index"
        )
    if not MIN_LIFE <= interrupt.expires_in <= MAX_LIFE:
        raise InvalidRequestError(
            f"expires_in: {interrupt.expires_in.total_seconds():g} seconds: give people from 1 second to 7 days"
        )
    if interrupt.route.thread_ts and not interrupt.route.channel:
        raise InvalidRequestError("a thread needs its channel: pass channel=… beside thread_ts")
    envelope, text = _trimmed(interrupt)
    size = len(text.encode())
    if size > MAX_ENVELOPE_BYTES:
        raise InvalidRequestError(
            f"interrupt: {size:,} bytes, at most {MAX_ENVELOPE_BYTES:,}; ask in several batches"
        )
    if interrupt.source is None:
        return text
    # It does not count for the limit above, because it repeats the request, with schemas as large as they are.
    check_json(interrupt.source.payload, where="payload", most=MAX_SCHEMA_NODES)
    return encode({**envelope, "source": interrupt.source.model_dump(mode="python")})


def _trimmed(interrupt: Interrupt) -> tuple[dict[str, Any], str]:
    """Return the envelope of an interrupt, without schemas and with shorter texts where these are too long; and its text."""
    for most in STEPS:
        envelope = _envelope(trim(interrupt, most))
        text = encode(envelope)
        if len(text.encode()) <= MAX_ENVELOPE_BYTES:
            break
    return envelope, text


def trim(interrupt: Interrupt, most: int) -> Interrupt:
    """Return the interrupt without schemas and texts that are longer than this. What may run is as before."""
    request = interrupt.request
    actions = tuple(_action(action, most) for action in request.action_requests)
    configs = tuple(_config(config, most) for config in request.review_configs)
    asked = request.model_copy(update={"action_requests": actions, "review_configs": configs})
    return interrupt.model_copy(update={"request": asked, "context": _context(interrupt.context, most)})


def fits(schema: Any, most: int = MAX_SCHEMA_BYTES) -> bool:
    """Whether a schema can be sent: it is JSON, and not too large."""
    try:
        check_json(schema, where="schema")
    except InvalidRequestError:
        return False
    return len(encode(schema).encode()) <= most


def _action(action: ActionRequest, most: int) -> ActionRequest:
    if action.description is None:
        return action
    return action.model_copy(update={"description": _cut(action.description, most)})


def _config(config: ReviewConfig, most: int) -> ReviewConfig:
    schema = config.args_schema
    changed: dict[str, Any] = {}
    if schema is not None and not fits(schema, min(most, MAX_SCHEMA_BYTES)):
        changed["args_schema"] = LEFT_OUT
    if config.headline:
        changed["headline"] = tuple(_cut(name, most) for name in config.headline[:_HEADLINE])
    return config.model_copy(update=changed) if changed else config


def _context(context: Context, most: int) -> Context:
    links = [Link(label=_cut(link.label, most), url=_cut(link.url, most)) for link in context.links]
    if (more := len(links) - _LINKS) > 0:
        links[_LINKS:] = [Link(label="…", url=f"{more:,} more links were left out")]
    texts = {"title": context.title, "subagent": context.subagent}
    cut = {name: _cut(text, most) for name, text in texts.items() if text}
    return context.model_copy(update={**cut, "links": tuple(links)})


def _cut(text: str, most: int) -> str:
    # Half of a surrogate pair cannot be stored as text.
    text = text.encode(errors="backslashreplace").decode()
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]}… ({more:,} more characters were left out)"


def _envelope(interrupt: Interrupt) -> dict[str, Any]:
    envelope = {
        "schema_version": interrupt.schema_version,
        # What silence does is never left to a default.
        "on_expiry": interrupt.on_expiry,
        **interrupt.model_dump(
            mode="json", exclude_defaults=True, exclude={"request", "continuation", "source"}
        ),
    }
    check_json(envelope, where="interrupt")
    # The same as `model_dump`, but without a copy of every value.
    request = {name: [_written(each) for each in listed] for name, listed in interrupt.request}
    _share_schemas(request["review_configs"])
    return {**envelope, "request": request}


def _written(message: WireModel) -> dict[str, Any]:
    """Return the fields of a message that differ from their defaults."""
    fields = type(message).model_fields
    return {name: value for name, value in message if value != fields[name].default}


def _share_schemas(configs: list[dict[str, Any]]) -> None:
    """Keep each schema once, at the first config that has it."""
    first: dict[str, int] = {}
    for index, config in enumerate(configs):
        if "args_schema" in config:
            at = first.setdefault(encode(config["args_schema"]), index)
            if at != index:
                del config["args_schema"]
                config[SAME_SCHEMA] = at


def _spread_schemas(value: dict[str, Any]) -> None:
    """Give each config of a stored interrupt its schema again. Text that is not an interrupt is refused later."""
    with suppress(TypeError, LookupError, AttributeError):
        configs = value["request"]["review_configs"]
        for index, config in enumerate(configs):
            if config.get("args_schema") and not fits(config["args_schema"]):
                raise InvalidRequestError(f"review_configs[{index}].args_schema: it is too large")
            if SAME_SCHEMA in config:
                config["args_schema"] = configs[config[SAME_SCHEMA]]["args_schema"]


def dump_continuation(continuation: Continuation) -> str:
    """Return the text of a continuation as it is stored."""
    value = continuation.model_dump(mode="json")
    check_json(value, where="continuation")
    text = encode(value)
    size = len(text.encode())
    if size > MAX_CONTINUATION_BYTES:
        raise InvalidRequestError(
            f"continuation: {size:,} bytes of state, at most {MAX_CONTINUATION_BYTES:,}: the history of this run is too "
            "long to travel; keep it where a worker finds it (a checkpointer, a session), or wait in this process"
        )
    return text


def load_continuation(text: str) -> Continuation:
    """Read a stored continuation."""
    value = decode(text)
    format = value.get("format") if isinstance(value, dict) else None
    if not isinstance(format, int) or format > CONTINUATION_FORMAT:
        raise InvalidRequestError(
            f"continuation: format {format} was written by a newer agent; this version reads up to {CONTINUATION_FORMAT}: "
            "update this side"
        )
    return to_model(Continuation.model_validate, value, where="continuation")


def load_interrupt(text: str | bytes) -> Interrupt:
    """Read a stored interrupt."""
    # A body never changes and is read again at every wake-up. Large ones are not kept, because they would fill the memory.
    read = _read_interrupt if len(text) <= KEPT_BYTES else _read_interrupt.__wrapped__
    return read(text)


@lru_cache(maxsize=64)
def _read_interrupt(text: str | bytes) -> Interrupt:
    value = decode(text)
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, int):
        raise InvalidRequestError(
            "interrupt: the stored value has no schema_version, so it is not an interrupt"
        )
    if version > SCHEMA_VERSION:
        raise InvalidRequestError(
            f"schema_version: {version} was written by a newer agent; this version reads up to {SCHEMA_VERSION}: update this side"
        )
    _spread_schemas(value)
    interrupt = to_model(Interrupt.model_validate, value, where="interrupt")
    check_request(interrupt.request)
    return interrupt


def load_decision(value: Any) -> Decision:
    """Read a decision from plain JSON values."""
    return to_model(_decision.validate_python, value, where="decision")
