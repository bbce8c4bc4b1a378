"""What the card of a queue says: requests that came in a burst, and have no cards of their own."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.sentences.de import grouped
from bot.sentences.de.words import UNUSUAL_TOOL, and_more, by, times

NO_CARDS = "Es kamen viele Anfragen auf einmal, deshalb haben diese keine eigenen Karten."
TITLE_OVER = "In dieser Warteschlange wartet nichts"
MOST = 1_000
"""More than these are not counted one by one."""
_MOST_TOOLS = 7
_ENDS = {
    "decided": "entschieden",
    "expired": "abgelaufen",
    "withdrawn": "zurückgezogen",
    "refused": "zurückgewiesen",
}


def title(waiting: int, calls: int) -> str:
    """Say how many wait, and how many calls these are where that is more."""
    if waiting > MOST:
        return f"Mehr als {grouped(MOST)} Anfragen warten"
    of_calls = f" ({grouped(calls)} Aufrufe)" if calls > waiting else ""
    return f"1 Anfrage{of_calls} wartet" if waiting == 1 else f"{grouped(waiting)} Anfragen{of_calls} warten"


def heard(title: str, calls: Sequence[str], deadline: str) -> str:
    """Say in a notification how many wait, what they ask, and until when."""
    said = [title, "; ".join(calls), deadline[:1].upper() + deadline[1:]]
    return " ".join(f"{each}." for each in said if each)


def look_through(waiting: int) -> str:
    """Label the button that leads to them."""
    if waiting > MOST:
        return "Anfragen ansehen…"
    return "Anfrage ansehen…" if waiting == 1 else f"{grouped(waiting)} Anfragen ansehen…"


def calls_of(agent: str, tools: Sequence[tuple[str, int]]) -> str:
    """Say what an agent asks. A tool without a plain name is given as empty."""
    named = [f"{f'`{tool}`' if tool else UNUSUAL_TOOL} {times(count)}" for tool, count in tools]
    return f"*{agent}*: {and_more(named, _MOST_TOOLS)}"


def more_agents(count: int) -> str:
    """Say how many agents have no line of their own."""
    return "und 1 weiterer Agent" if count == 1 else f"und {grouped(count)} weitere Agenten"


def first_deadline(deadline: datetime, *, is_rejected: bool) -> str:
    """Say until when the first of them can be decided, and what happens then where that is known."""
    if is_rejected:
        return f"Entscheidung über die erste bis {by(deadline)}, sonst wird sie abgelehnt"
    return f"Entscheidung über die erste bis {by(deadline)}"


def notified(people: str) -> str:
    """Say who decides about them."""
    return f"Entscheiden dürfen: {people}"


def over(ends: Mapping[str, int]) -> str:
    """Say what became of them."""
    said = [f"{grouped(ends[end])} {word}" for end, word in _ENDS.items() if ends.get(end)]
    return f"Was hier gewartet hat: {', '.join(said)}." if said else ""
