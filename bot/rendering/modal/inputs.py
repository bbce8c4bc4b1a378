"""One question, one input, and boxes to tick for what inputs cannot express: what the answer means.

Slack refuses an empty text where one is required, and may trim what is typed. So neither can be read from the text.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bot.domain.drafts import Raw
from bot.rendering.blocks import Block, input_block
from bot.rendering.modal.field_types import (
    ABSENT,
    KINDS,
    LEAVE_OUT,
    NULL,
    InputError,
    Question,
    is_same_number,
    offered,
)
from bot.rendering.modal.specs import GROUP, ROWS
from bot.sentences import in_field

TEXTS = {"text", "lines"}
"""The kinds of input that take any text."""
_EMPTY: dict[str, dict[str, Any] | list[Any]] = {GROUP: {}, ROWS: [], "choices": []}


def is_blank(value: Any) -> bool:
    """Tell whether a value is a text of only spaces and empty lines, which Slack cannot show in an input."""
    return isinstance(value, str) and not value.strip()


@dataclass(frozen=True, slots=True)
class Box:
    """One thing that can be ticked for each part of a form that it suits."""

    block_id: str

    @property
    def label(self) -> str:
        return in_field.BOXES[self.block_id][0]

    def suits(self, kind: str, asked: Question) -> bool:
        """Tell whether it can be ticked for a part of this kind."""
        value, empty, is_text = asked.value, _EMPTY.get(kind), kind in TEXTS
        # Nobody can clear an object, a list, or a text that looks empty as it is.
        stays = asked.is_given and (empty is not None or (is_text and is_blank(value)))
        match self.block_id:
            case "empty":
                return is_text and value != "" and asked.takes("")
            case "bare":
                return is_text and isinstance(value, str) and value.strip() not in {"", value}
            case "empty_whole":
                return (
                    empty is not None
                    and not (asked.is_given or asked.default == empty)
                    and asked.takes(empty)
                )
            case "left_out":
                is_null = value is None and asked.takes_null and kind != "choice"
                return (is_null or stays) and not asked.required
            case "null" if value is not None and asked.takes_null and kind not in {"choice", "json"}:
                return not asked.required or value is ABSENT or stays
        return False

    def block(self, options: list[Block], ticked: Collection[str]) -> Block:
        """Draw its input."""
        chosen = [option for option in options if option["value"] in ticked]
        element = offered("checkboxes", "multi_static_select", options)
        element |= {"initial_options": chosen} if chosen else {}
        return input_block(
            self.block_id, self.label, element, optional=True, hint=in_field.BOXES[self.block_id][1]
        )


BOXES = EMPTY, BARE, EMPTY_WHOLE, LEFT_OUT, NULLED = tuple(
    map(Box, ("empty", "bare", "empty_whole", "left_out", "null"))
)
OTHERS = Box("others")
"""Shows the inputs that are ticked in it, where a form has too many to look through."""


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
        if kind in TEXTS:
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
    text = _lines(other)
    # Slack may trim each end.
    return _lines(raw) in {text, text.strip(), text.lstrip(), text.rstrip()}


def _lines(raw: str | None) -> str:
    # Slack knows only one kind of line end.
    return (raw or "").replace("\r\n", "\n").replace("\r", "\n")
