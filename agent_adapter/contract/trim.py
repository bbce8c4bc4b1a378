"""What only serves comfort never stops a question: where it is too long, it is cut or left out, and people see that."""

from typing import Any

from agent_adapter.contract.arguments import MAX_SCHEMA_BYTES, check_json, encode
from agent_adapter.contract.hitl import ActionRequest, ReviewConfig
from agent_adapter.contract.interrupt import Context, Interrupt, Link
from agent_adapter.errors import InvalidRequestError

STEPS = (256 * 1024, 32 * 1024, 4 * 1024, 1024, 200, 20)
"""How long a schema or a text may be, in bytes and characters. The first of these counts with which the request is small enough."""
LEFT_OUT = {"$comment": "The schema of this tool was left out, because it was too large."}
"""In place of such a schema. An edit is then checked by the agent, with its own copy."""
_LINKS, _HEADLINE = 20, 10


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
