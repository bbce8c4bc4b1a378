"""One question, one input: how it is drawn, and what the answer means."""

from typing import Any

from bot.rendering.blocks import Block
from bot.rendering.kinds import ABSENT, KINDS, LEAVE_OUT, NULL, InputError, Question, Raw, is_same_number


def element(kind: str, question: Question, action_id: str) -> Block:
    """Draw the element of an input, filled with the value."""
    return {**KINDS[kind].element(initial(kind, question), question), "action_id": action_id}


def initial(kind: str, question: Question) -> Raw:
    """Give what the input holds before anybody touches it."""
    if kind == "choice" and not question.is_given:
        if question.value is None:
            return NULL
        return None if question.required else LEAVE_OUT
    return KINDS[kind].to_raw(question.value, question) if question.is_given else None


def fits(kind: str, question: Question) -> bool:
    """Tell whether this way of asking can hold the value that is there."""
    return not question.is_given or KINDS[kind].holds(question.value, question)


def raw_of(state: dict[str, Any]) -> Raw:
    """Read what Slack reports about one input, whatever its kind."""
    if "selected_options" in state:
        return [option["value"] for option in state["selected_options"] or ()]
    if "selected_option" in state:
        return state["selected_option"]["value"] if state["selected_option"] else None
    for key in ("value", "selected_date", "selected_time", "selected_date_time"):
        if key in state:
            return None if state[key] is None else str(state[key])
    return None


def answer(kind: str, question: Question, raw: Raw) -> Any:
    """Turn what came back into the argument; untouched is exactly the value that was there.

    Clearing an argument that may be left out leaves it out; otherwise it becomes null where that is allowed, and an
    empty text where it is a text.

    Raises:
        InputError: with what is wanted.
    """
    if _same(kind, raw, initial(kind, question)):
        return question.value
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return _cleared(kind, question)
    if raw in (NULL, LEAVE_OUT) and kind == "choice":
        return None if raw == NULL else ABSENT
    return KINDS[kind].to_value(raw, question)


def _cleared(kind: str, question: Question) -> Any:
    if not question.required:
        return ABSENT
    if question.nullable:
        return None
    if kind in {"text", "lines"}:
        return ""
    raise InputError("This needs a value.")


def _same(kind: str, raw: Raw, other: Raw) -> bool:
    if kind in {"integer", "number"} and isinstance(raw, str) and isinstance(other, str):
        return is_same_number(raw, other)
    if isinstance(raw, list) or isinstance(other, list):
        return sorted(raw or []) == sorted(other or [])
    return _normal(raw) == _normal(other)


def _normal(raw: str | None) -> str:
    # What Slack does to text: it trims, and it has one form of line end.
    return (raw or "").replace("\r\n", "\n").replace("\r", "\n").strip()
