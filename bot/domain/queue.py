"""The queue of a channel: requests that came in a burst, and that one card is about. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

EVENT_TYPE = "assent_queue"
CALLED_AT_MOST = 20
"""How many people, groups and schedules a card mentions. The others are counted."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What people read about the queue of a channel."""

    waiting: int
    """How many requests wait."""
    deadline: datetime | None = None
    """The first deadline of them."""
    is_rejected: bool = False
    """Whether the first one is rejected then, if it is not decided."""
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How many calls of each tool, by agent and tool."""
    high: frozenset[tuple[str, str]] = frozenset()
    """Of these agents and tools, a call has a high risk."""
    mentioned: tuple[str, ...] = ()
    """The approvers whom Slack notifies."""
    on_call: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Who was on call when it was asked, by the entry of the schedule."""
    over: Mapping[str, int] = field(default_factory=dict)
    """How those ended that waited before, when none is left."""

    @property
    def called(self) -> frozenset[str]:
        """The people and groups whom Slack notifies when the card is posted."""
        named = self.mentioned[:CALLED_AT_MOST]
        return frozenset(person for name in named for person in self.on_call.get(name, (name,)))


@dataclass(frozen=True, slots=True)
class QueueCard:
    """What is known of the card of a queue."""

    name: str
    """Of the queue, in the metadata of its card."""
    asked: int
    """When a request last joined the queue, in the server's milliseconds."""
    now: int
    """The server's clock when this was read."""
    joined: tuple[str, ...]
    """The requests that joined it."""
    ts: str = ""
    """The message; empty when it is not posted."""
    shown: str = ""
    """The digest of what it shows."""
    drawn: int = 0
    """When it was last posted or edited."""
    gone: int = 0
    """How often somebody deleted it."""
    posted: int = 0
    """When it was last posted; 0 when that is unknown."""
    called: frozenset[str] = frozenset()
    """Whom it mentioned then. Slack notifies nobody of an edit."""
    """Of the request that began the queue."""


@dataclass(frozen=True, slots=True)
class QueueLabel:
    """The metadata of the card of a queue, by which it is found again."""

    name: str

    @property
    def metadata(self) -> dict[str, Any]:
        """Write it as Slack keeps it."""
        return {"event_type": EVENT_TYPE, "event_payload": {"name": self.name}}

    @classmethod
    def of(cls, message: Mapping[str, Any], bot_id: str) -> Self | None:
        """Read it from a message of a history; `None` where the message is not the card of a queue of this bot."""
        metadata = message.get("metadata") or {}
        if metadata.get("event_type") != EVENT_TYPE or message.get("bot_id") != bot_id:
            return None
        return cls(str((metadata.get("event_payload") or {}).get("name")))
