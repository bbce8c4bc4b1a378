"""What a card and its thread say about calls that ran."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.words import calls, when

TITLE = "What became of the calls"
WORDS_FOLLOW, IT_SAYS = ", in the agent's words:", "the agent says:"
"""What comes before a quote: of one of several calls, and in the line that says how the agent goes on."""
_NAMED = 40
_STATUS = {"done": "Done", "failed": "Failed"}


def of_all(counted: str) -> str:
    """Say what became of all calls, in numbers."""
    return f"{TITLE}{counted}."


def ran(status: str, at: datetime, call: str = "") -> str:
    """Say what became of a call, and when it was reported. Of several calls, it is named."""
    return f"{call}*{_STATUS[status]}* {when(at)}"


def first_line(lines: int) -> str:
    """Say that only the first line of a result is shown."""
    return f" (the first of {lines} lines)"


def beginning(kept: int, length: int) -> str:
    """Say that the agent kept only the beginning of a longer text."""
    return f" (the agent sent the first {kept:,} of {length:,} characters)"


def failed(indices: Sequence[int]) -> str:
    """Say which of several calls failed. The first one of them follows."""
    which = calls(indices)
    named = which if len(which) <= _NAMED else f"{len(indices)} calls"
    return f"{named} failed{f', here is {indices[0] + 1}' if len(indices) > 1 else ''}:"


def in_thread(reported: int) -> str:
    """Say where every outcome is."""
    return (
        f"What became of {'the call' if reported == 1 else f'each of the {reported} calls'} is in the thread."
    )


def call(number: int, tool: str) -> str:
    """Name a call of a card with several calls."""
    return f"{number}. `{tool}` · "


def more(count: int) -> str:
    """Count the calls that the message does not name."""
    return f"and {count} more, as the title of the card counts them"
