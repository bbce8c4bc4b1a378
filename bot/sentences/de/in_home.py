"""What the Home tab says, and what `/approvals` shows: a person's lists."""

from collections.abc import Mapping
from datetime import datetime

from bot.sentences.de.words import when

TITLE = "Freigaben"
LOOKING = "Einen Moment…"
NOT_NOW = (
    "Slack oder Redis hat nicht geantwortet, deshalb ist hier nichts zu sehen. Bitte öffne das noch einmal."
)

LISTS: Mapping[str, str] = {
    "waiting": "Wartet auf mich",
    "asked": "Meine Anfragen",
    "decided": "Meine Entscheidungen",
    "standing": "Dauerfreigaben",
    "queue": "Wartet in diesem Kanal",
}
EMPTY: Mapping[str, str] = {
    "waiting": "Hier wartet nichts auf dich.",
    "asked": "In den letzten 30 Tagen hat kein Agent für dich gefragt.",
    "decided": "In den letzten 30 Tagen hast du nichts entschieden.",
    "standing": "Es gibt keine Dauerfreigaben, die du widerrufen kannst.",
    "queue": "In dieser Warteschlange wartet nichts mehr.",
}
LAST_PAGE = "Auf dieser Seite steht nichts mehr."
FURTHER = "Nächste Seite"
FROM_START = "Erste Seite"
OPEN_CARD = "Karte öffnen"
WHAT_HAPPENED = "Was geschah…"
LOOK_AND_DECIDE = "Ansehen, entscheiden…"
ALL_AGENTS, ALL_TOOLS = "Alle Agenten", "Alle Tools"


def waits_until(place: str, deadline: datetime, requester: str) -> str:
    """Say where it is asked, for whom, and until when. The list of one channel has no place."""
    asked = [place and f"gefragt in {place}", requester and f"für {requester}", f"bis {when(deadline)}"]
    return " · ".join(filter(None, asked))


def asked_at(place: str, at: datetime) -> str:
    """Say where and when it was asked."""
    return f"gefragt in {place}, {when(at)}"


def open_until(at: datetime) -> str:
    """Say until when it can be decided."""
    return f"offen bis {when(at)}"


def as_of(at: datetime) -> str:
    """Say how old the list is."""
    return f"Stand: {when(at)}. Öffne die Liste noch einmal, um sie zu aktualisieren."
