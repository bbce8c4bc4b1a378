"""Slack's verdict on a message or a view, in Slack's own words."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.basic_objects import JsonObject
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from playground.blocks import MESSAGE_BLOCKS, VIEW
from playground.errors import SlackError
from playground.shapes import NOT_UNICODE, Problem, Walk, is_unicode

TEXT_OF_A_POST = 40_000
TEXT_OF_AN_UPDATE = 4_000
TEXT_OF_ALL_BLOCKS = 12_000
BYTES_OF_A_VIEW = 250_000
BYTES_OF_METADATA = 1_024
"""Slack publishes no figure; under this one nothing was ever refused."""


def check_message(text: str | None, blocks: Any, *, longest_text: int = TEXT_OF_A_POST) -> None:
    """Refuse a message that Slack would refuse.

    Raises:
        SlackError: `no_text`, `msg_too_long`, `invalid_blocks`, `msg_blocks_too_long`.
    """
    if text is not None and not isinstance(text, str):
        raise invalid_arguments("must provide a string [json-pointer:/text]")
    if text and not is_unicode(text):
        raise invalid_arguments(f"{NOT_UNICODE} [json-pointer:/text]")
    if text and len(text) > longest_text:
        raise SlackError("msg_too_long")
    if not blocks and not (text and text.strip()):
        raise SlackError("no_text")
    problems, length = message_problems(blocks if blocks is not None else [])
    if problems:
        raise invalid_blocks(problems)
    if length > TEXT_OF_ALL_BLOCKS:
        raise SlackError("msg_blocks_too_long")


def check_view(view: Any) -> None:
    """Refuse a view that Slack would refuse.

    Raises:
        SlackError: `view_too_large`, `invalid_arguments`.
    """
    if len(json.dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass")) > BYTES_OF_A_VIEW:
        raise SlackError("view_too_large")
    if problems := view_problems(view):
        raise invalid_arguments(*map(str, problems))


def message_problems(blocks: Any) -> tuple[list[Problem], int]:
    """All that Slack would say about a message's blocks, and the length of their text."""
    walk = Walk()
    MESSAGE_BLOCKS(walk, blocks, "/blocks")
    if not walk.problems:
        walk.problems.extend(_second_opinion(blocks, "/blocks"))
    return walk.problems, walk.text_length


def view_problems(view: Any) -> list[Problem]:
    """All that Slack would say about a view."""
    walk = Walk()
    VIEW(walk, view, "/view")
    if not walk.problems:
        walk.problems.extend(_formation_problems(View(**view), "/view"))
    return walk.problems


def check_metadata(metadata: Any) -> None:
    """Refuse metadata that is not an event type with a flat payload.

    Raises:
        SlackError: `invalid_metadata_format`, `invalid_metadata_schema`, `metadata_too_large`.
    """
    if not isinstance(metadata, dict) or set(metadata) != {"event_type", "event_payload"}:
        raise SlackError("invalid_metadata_format")
    if not isinstance(metadata["event_type"], str) or not metadata["event_type"]:
        raise SlackError("invalid_metadata_format")
    payload = metadata["event_payload"]
    if not isinstance(payload, dict) or not all(_is_payload_value(value) for value in payload.values()):
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > BYTES_OF_METADATA:
        raise SlackError("metadata_too_large")


def invalid_blocks(problems: list[Problem]) -> SlackError:
    """`invalid_blocks` with every problem under `errors` and, marked, under `response_metadata`."""
    sentences = [str(problem) for problem in problems]
    marked = [f"[ERROR] {sentence}" for sentence in sentences]
    return SlackError("invalid_blocks", errors=sentences, response_metadata={"messages": marked})


def invalid_arguments(*sentences: str) -> SlackError:
    """`invalid_arguments` with one sentence for each fault."""
    marked = [f"[ERROR] {sentence}" for sentence in sentences]
    return SlackError("invalid_arguments", response_metadata={"messages": marked})


def _is_payload_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, dict) and _is_flat(item) for item in value)
    return _is_flat(value) if isinstance(value, dict) else _is_scalar(value)


def _is_flat(value: dict[str, Any]) -> bool:
    return all(_is_scalar(item) for item in value.values())


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _second_opinion(blocks: list[dict[str, Any]], pointer: str) -> Iterator[Problem]:
    """What slack_sdk's own models say, read and checked one by one."""
    for index, block in enumerate(blocks):
        model = Block.parse(block)
        if model is None:
            yield Problem(f"{pointer}/{index}", "slack_sdk does not know this block", "unsupported_type")
        else:
            yield from _formation_problems(model, f"{pointer}/{index}")


def _formation_problems(model: JsonObject, pointer: str) -> Iterator[Problem]:
    for validator in _validators(type(model)):
        try:
            getattr(model, validator)()
        except SlackObjectFormationError as error:
            yield Problem(pointer, str(error))
    for value in vars(model).values():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, JsonObject):
                yield from _formation_problems(item, pointer)


@cache
def _validators(model: type[JsonObject]) -> tuple[str, ...]:
    """The names that `validate_json` would find anew on every object."""
    return tuple(name for name in dir(model) if hasattr(getattr(model, name, None), "validator"))
