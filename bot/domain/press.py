"""What a person has pressed or submitted, by which the same delivery is known again. Pure."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Press:
    """One click, or one submitted form. What it decides is recorded once, however often it is delivered."""

    how: Literal["click", "form"] = "form"
    name: str = ""
    """The same for each delivery, over HTTP and over Socket Mode; empty where nothing tells one press from another."""
    message: str = ""
    """Channel and ts of the message that was pressed; empty for a form."""


UNNAMED = Press()
"""A press that nothing tells from another."""
