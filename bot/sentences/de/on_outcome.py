"""What a card and its thread say about calls that ran."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.de import grouped
from bot.sentences.de.words import calls, when

TITLE = "Ergebnis der Aufrufe"
NO_WORDS = "Der Agent hat nichts dazu gesagt."
WORDS_FOLLOW, IT_SAYS = ", in den Worten des Agenten:", "der Agent meldet:"
"""What comes before a quote: of one of several calls, and in the line that says how the agent goes on."""
_NAMED = 40
_STATUS = {"done": "Erledigt", "failed": "Fehlgeschlagen"}


def of_all(counted: str) -> str:
    """Say what became of all calls, in numbers."""
    return f"{TITLE}{counted}."


def ran(status: str, at: datetime, call: str = "") -> str:
    """Say what became of a call, and when it was reported. Of several calls, it is named."""
    return f"{call}*{_STATUS[status]}*, {when(at)}"


def first_line(lines: int) -> str:
    """Say that only the first line of a result is shown."""
    return f" (die erste von {lines} Zeilen)"


def beginning(kept: int, length: int) -> str:
    """Say that the agent kept only the beginning of a longer text."""
    return f" (der Agent hat die ersten {grouped(kept)} von {grouped(length)} Zeichen gesendet)"


def failed(indices: Sequence[int]) -> str:
    """Say which of several calls failed. The first one of them follows."""
    if len(indices) == 1:
        return f"Fehler bei {indices[0] + 1}:"
    which = calls(indices)
    named = which if len(which) <= _NAMED else f"{len(indices)} Aufrufe"
    return f"{named} fehlgeschlagen, hier ist {indices[0] + 1}:"


def in_thread(reported: int) -> str:
    """Say where every outcome is."""
    if reported == 1:
        return "Was aus 1 Aufruf wurde, steht im Thread."
    return f"Die Ergebnisse der {reported} Aufrufe stehen im Thread."


def call(number: int, tool: str) -> str:
    """Name a call of a card with several calls."""
    return f"{number}. `{tool}` · "


def more(count: int) -> str:
    """Count the calls that the message does not name."""
    return f"und noch {count}, im Titel der Karte mitgezählt"
