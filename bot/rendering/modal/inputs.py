"""One question, one input: how it is drawn, and what the answer means."""

from collections.abc import Collection
from typing import Any

from bot.domain.drafts import Raw
from bot.rendering.blocks import Block
from bot.rendering.modal.boxes import BARE, EMPTY, Box, is_blank, is_text
from bot.rendering.modal.field_types import (
    ABSENT,
    KINDS,
    LEAVE_OUT,
    NULL,
    InputError,
    Question,
    is_same_number,
)
from bot.sentences import in_field


def initial(kind: str, question: Question) -> Raw:
    """Give what the input holds before anybody touches it."""
    if kind == "choice" and not question.is_given:
        if question.value is None:
            return NULL
        return None if question.required else LEAVE_OUT
    return KINDS[kind].to_raw(question.value, question) if question.is_given else None


def fits(kind: str, question: Question) -> bool:
    """Tell whether an input of this kind can hold the value exactly."""
    return not question.is_given or KINDS[kind].holds(question.value, question)


def options_of(block: Block) -> list[Block]:
    """Give the choices of an input, in groups or not."""
    found = block.get("element", {})
    return [each for group in found.get("option_groups", [found]) for each in group.get("options", ())]


def raw_of(state: dict[str, Any]) -> Raw:
    """Read what Slack reports about one input, whatever its kind."""
    if "selected_options" in state:
        return [option["value"] for option in state["selected_options"] or ()]
    if "selected_option" in state:
        return state["selected_option"]["value"] if state["selected_option"] else None
    for key in ("value", "selected_date", "selected_time", "selected_date_time", "selected_user"):
        if key in state:
            return None if state[key] is None else str(state[key])
    return None


def answer(kind: str, question: Question, raw: Raw, ticked: Collection[Box] = ()) -> Any:
    """Turn what came back into the argument. An untouched input gives exactly the value that was there.

    A cleared argument is left out where that is allowed. Otherwise it becomes null where that is allowed.

    Raises:
        InputError: What came back is not a value of this kind.
    """
    if EMPTY in ticked:
        return ""
    untouched = _same(kind, raw, initial(kind, question))
    if BARE in ticked:
        raw, untouched = str((question.value if untouched else raw) or "").strip(), False
    if untouched:
        return question.value
    if raw is None or raw == "":
        return _cleared(question)
    if is_blank(raw):
        if is_text(kind):
            raise InputError(in_field.ONLY_SPACES if question.takes("") else in_field.NEEDS_VALUE)
        return _cleared(question)
    if raw in (NULL, LEAVE_OUT) and kind == "choice":
        return None if raw == NULL else ABSENT
    return KINDS[kind].to_value(raw, question)


def _cleared(question: Question) -> Any:
    if not question.required:
        return ABSENT
    if question.nullable:
        return None
    raise InputError(in_field.NEEDS_VALUE)


def _same(kind: str, raw: Raw, other: Raw) -> bool:
    if kind in {"integer", "number"} and isinstance(raw, str) and isinstance(other, str):
        return is_same_number(raw, other)
    if isinstance(raw, list) or isinstance(other, list):
        return sorted(raw or []) == sorted(other or [])
    if kind == "json":
        return _lines(raw).strip() == _lines(other).strip()
    return _lines(raw) in _untouched(_lines(other))


def _lines(raw: str | None) -> str:
    # Slack knows only one kind of line end.
    return (raw or "").replace("\r\n", "\n").replace("\r", "\n")


def _untouched(text: str) -> set[str]:
    """Give what Slack may send back for this text, because it may trim each end."""
    return {text, text.strip(), text.lstrip(), text.rstrip()}
