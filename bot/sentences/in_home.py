"""What the Home tab says, and what `/approvals` shows: a person's lists."""

from collections.abc import Mapping
from datetime import datetime

from bot.sentences.words import when

TITLE = "Approvals"
LOOKING = "Looking…"
NOT_NOW = "Slack or Redis did not answer, so nothing is shown. Please open this again."

LISTS: Mapping[str, str] = {
    "waiting": "Waiting for me",
    "asked": "My requests",
    "decided": "My decisions",
    "standing": "Standing approvals",
}
EMPTY: Mapping[str, str] = {
    "waiting": "Nothing waits for you here.",
    "asked": "No agent has asked for anything for you in the last 30 days.",
    "decided": "You have decided nothing in the last 30 days.",
    "standing": "There are no standing approvals that you can revoke.",
}
LAST_PAGE = "There is nothing more on this page."
FURTHER = "Next page"
FROM_START = "First page"
OPEN_CARD = "Open the card"
ALL_AGENTS, ALL_TOOLS = "All agents", "All tools"


def waits_until(place: str, deadline: datetime, requester: str) -> str:
    """Say where it is asked, for whom, and until when."""
    asked = [f"asked in {place}", requester and f"for {requester}", f"until {when(deadline)}"]
    return " · ".join(filter(None, asked))


def asked_at(place: str, at: datetime) -> str:
    """Say where and when it was asked."""
    return f"asked in {place}, {when(at)}"


def open_until(at: datetime) -> str:
    """Say until when it can be decided."""
    return f"open until {when(at)}"


def as_of(at: datetime) -> str:
    """Say how old the list is."""
    return f"Updated {when(at)}. Open it again to update it."
