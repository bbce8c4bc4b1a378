"""What a text input cannot say by itself: that its text is empty on purpose, or goes without the spaces around it.

Slack takes no empty text where one is required, and may trim what is typed. So neither is read out of a text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.rendering import labels
from bot.rendering.blocks import Block, plain
from bot.rendering.kinds import Question

_TEXTS = {"text", "lines"}


def is_text(kind: str) -> bool:
    """Tell whether an input takes any text."""
    return kind in _TEXTS


def is_blank(value: Any) -> bool:
    """Tell whether a text has nothing but spaces and empty lines; Slack cannot show one in an input."""
    return isinstance(value, str) and not value.strip()


def _can_be_emptied(kind: str, question: Question) -> bool:
    return is_text(kind) and question.value != ""


def _has_spaces_around(kind: str, question: Question) -> bool:
    value = question.value
    return is_text(kind) and isinstance(value, str) and not is_blank(value) and value != value.strip()


@dataclass(frozen=True, slots=True)
class Box:
    """One thing to tick, for each input that it suits."""

    block_id: str
    label: str
    hint: str
    suits: Callable[[str, Question], bool]

    def block(self, options: list[tuple[str, str]]) -> Block:
        """Draw it, with a label and a value for each input."""
        found = [{"text": plain(label), "value": value} for label, value in options]
        kind = "checkboxes" if len(found) <= 10 else "multi_static_select"
        return {
            "type": "input",
            "block_id": self.block_id,
            "label": plain(self.label),
            "hint": plain(self.hint),
            "element": {"type": kind, "action_id": self.block_id, "options": found},
            "optional": True,
        }

    def ticked(self, view: dict[str, Any]) -> frozenset[str]:
        """Read the values that somebody ticked."""
        state = view["state"]["values"].get(self.block_id, {}).get(self.block_id, {})
        return frozenset(option["value"] for option in state.get("selected_options") or ())


EMPTY = Box(
    "empty",
    labels.EMPTY,
    "What is ticked is sent as an empty text, whatever its field holds.",
    _can_be_emptied,
)
BARE = Box(
    "bare",
    labels.BARE,
    "Without a tick they stay while a text is not changed. Slack may take them off a text that you change.",
    _has_spaces_around,
)
BOXES = (EMPTY, BARE)
