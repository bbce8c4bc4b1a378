"""What the card of a queue says: requests that came in a burst, and have no cards of their own."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.sentences.words import UNUSUAL_TOOL, and_more, by, times

NO_CARDS = "Many requests came at once, so these have no cards of their own."
TITLE_OVER = "Nothing waits in this queue"
MOST = 1_000
"""More than these are not counted one by one."""
_MOST_TOOLS = 7
_ENDS = {"decided": "decided", "expired": "expired", "withdrawn": "withdrawn", "refused": "refused"}


def title(waiting: int, calls: int) -> str:
    """Say how many wait, and how many calls these are where that is more."""
    if waiting > MOST:
        return f"More than {MOST:,} requests wait in a queue"
    of_calls = f" ({calls:,} calls)" if calls > waiting else ""
    return (
        f"1 request{of_calls} waits in a queue"
        if waiting == 1
        else f"{waiting:,} requests{of_calls} wait in a queue"
    )


def heard(title: str, calls: Sequence[str], deadline: str) -> str:
    """Say in a notification how many wait, what they ask, and until when."""
    said = [title, "; ".join(calls), deadline[:1].upper() + deadline[1:]]
    return " ".join(f"{each}." for each in said if each)


def look_through(waiting: int) -> str:
    """Label the button that leads to them."""
    if waiting > MOST:
        return "Look through them…"
    return "Look at the request…" if waiting == 1 else f"Look through {waiting:,}…"


def calls_of(agent: str, tools: Sequence[tuple[str, int]]) -> str:
    """Say what an agent asks. A tool without a plain name is given as empty."""
    named = [f"{f'`{tool}`' if tool else UNUSUAL_TOOL} {times(count)}" for tool, count in tools]
    return f"*{agent}*: {and_more(named, _MOST_TOOLS)}"


def more_agents(count: int) -> str:
    """Say how many agents have no line of their own."""
    return "and 1 more agent" if count == 1 else f"and {count:,} more agents"


def first_deadline(deadline: datetime, *, is_rejected: bool) -> str:
    """Say until when the first of them can be decided, and what happens then where that is known."""
    if is_rejected:
        return f"Decide the first by {by(deadline)}, or it is rejected"
    return f"Decide the first by {by(deadline)}"


def notified(people: str) -> str:
    """Say who decides about them."""
    return f"Can decide: {people}"


def over(ends: Mapping[str, int]) -> str:
    """Say what became of them."""
    said = [f"{ends[end]:,} {word}" for end, word in _ENDS.items() if ends.get(end)]
    return f"Of those that waited here: {', '.join(said)}." if said else ""
