"""Boxes to tick for what inputs cannot express: an empty text, a text without the spaces around it, an empty object or
list where none was given, and what is left out or null.

Slack refuses an empty text where one is required, and may trim what is typed. So neither can be read from the text.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from bot.rendering.blocks import Block, input_block
from bot.rendering.modal.field_types import ABSENT, Question, offered
from bot.rendering.modal.specs import GROUP, ROWS
from bot.sentences import in_field

_TEXTS = {"text", "lines"}
_EMPTY: dict[str, dict[str, Any] | list[Any]] = {GROUP: {}, ROWS: [], "choices": []}


def is_text(kind: str) -> bool:
    """Tell whether an input of this kind takes any text."""
    return kind in _TEXTS


def is_blank(value: Any) -> bool:
    """Tell whether a value is a text of only spaces and empty lines, which Slack cannot show in an input."""
    return isinstance(value, str) and not value.strip()


def _can_be_emptied(kind: str, question: Question) -> bool:
    return is_text(kind) and question.value != "" and question.takes("")


def _can_be_empty(kind: str, question: Question) -> bool:
    empty = _EMPTY.get(kind)
    return empty is not None and not question.is_given and question.default != empty and question.takes(empty)


def _has_spaces_around(kind: str, question: Question) -> bool:
    value = question.value
    return is_text(kind) and isinstance(value, str) and not is_blank(value) and value != value.strip()


def _cannot_be_cleared(kind: str, question: Question) -> bool:
    """Tell whether something is there that nobody can clear: an object, a list, or a text that looks empty as it is."""
    return question.is_given and (kind in _EMPTY or (is_text(kind) and is_blank(question.value)))


def _can_be_left_out(kind: str, question: Question) -> bool:
    is_null = question.value is None and question.takes_null and kind != "choice"
    return (is_null or _cannot_be_cleared(kind, question)) and not question.required


def _can_be_null(kind: str, question: Question) -> bool:
    if question.value is None or not question.takes_null or kind in {"choice", "json"}:
        return False
    return not question.required or question.value is ABSENT or _cannot_be_cleared(kind, question)


@dataclass(frozen=True, slots=True)
class Box:
    """One thing that can be ticked for each part of a form that it suits."""

    block_id: str
    suits: Callable[[str, Question], bool]

    @property
    def label(self) -> str:
        """What it does."""
        return in_field.BOXES[self.block_id][0]

    @property
    def hint(self) -> str:
        """What happens without a tick, or with one."""
        return in_field.BOXES[self.block_id][1]

    def block(self, options: list[Block], ticked: Collection[str]) -> Block:
        """Draw its input."""
        chosen = [option for option in options if option["value"] in ticked]
        element = offered("checkboxes", "multi_static_select", options)
        element |= {"initial_options": chosen} if chosen else {}
        return input_block(self.block_id, self.label, element, optional=True, hint=self.hint)


EMPTY = Box("empty", _can_be_emptied)
EMPTY_WHOLE = Box("empty_whole", _can_be_empty)
BARE = Box("bare", _has_spaces_around)
LEFT_OUT = Box("left_out", _can_be_left_out)
NULLED = Box("null", _can_be_null)
BOXES = (EMPTY, BARE, EMPTY_WHOLE, LEFT_OUT, NULLED)
OTHERS = Box("others", lambda *_: False)
"""Shows the inputs that are ticked in it, where a form has too many to look through."""
