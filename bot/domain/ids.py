"""The ids that Slack carries back to us: made and read in one place.

A click carries ids only; what they mean is read from the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

BULK_VERBS = ("approve_all", "reject_all")
"""Buttons of one place: `<verb>:<place>`; the one that approves stands on parts too: `approve_all:<place>.<part>`."""
PLACE_VERBS = (*BULK_VERBS, "claim", "hand_over")
STICKY = "sticky"
"""Opens the form that approves an action and later calls like it."""
REVOKE = "revoke"
"""Ends what was approved for later calls."""
EXTEND = "extend"
"""Gives more time: `extend:<how often it was given>`, so that a second press gives none."""
PAGE = "page"
"""Buttons that turn the pages of a reading: `page:<number>`."""

REMARK = 1_000
"""Messages of a card's thread from this number on remark on what happened; those below are its parts."""
LEDGER = 1_000_000
"""From this number on they tell what became of an approval for later calls: this number and the index of its action."""

KEPT = "="
"""Stands for the digest of a message that stays as it is, whatever its record says."""

EVENT_TYPE = "assent_card"
"""`metadata.event_type` of every card, so that a post that was not saved can be found again."""


def action_id(verb: str, subject: int | str) -> str:
    """Name a button: its verb, and the index or the place that it acts on."""
    return f"{verb}:{subject}"


def parse_action_id(text: str) -> tuple[str, str]:
    """Split a button's name into verb and subject."""
    verb, _, subject = text.partition(":")
    return verb, subject


@dataclass(frozen=True, slots=True)
class PartId:
    """One message of a card: its place, and its number there: 0 is the card itself, the rest stand in its thread."""

    place: int
    number: int

    @property
    def is_numbered(self) -> bool:
        """Whether it is a part of a card in several messages."""
        return 0 < self.number < REMARK

    @property
    def is_remark(self) -> bool:
        return self.number >= REMARK

    @property
    def is_ledger(self) -> bool:
        return self.number >= LEDGER

    def __str__(self) -> str:
        return f"{self.place}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> "PartId":
        place, _, number = text.partition(":")
        return cls(int(place), int(number))


@dataclass(frozen=True, slots=True)
class Label:
    """What one of our messages says about itself, in its metadata: whose it is, and how far its record was when it was drawn."""

    interrupt_id: str
    part: PartId
    digest: str = ""
    """Of what it shows. Messages of version 0.1 do not say it."""
    stage: str = "open"
    decided: frozenset[int] = frozenset()
    """Which actions were decided."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Write it as Slack keeps it. Everybody in the workspace may read it."""
        return {
            "event_type": EVENT_TYPE,
            "event_payload": {
                "id": self.interrupt_id,
                "part": str(self.part),
                "digest": self.digest,
                "stage": self.stage,
                "decided": " ".join(map(str, sorted(self.decided))),
            },
        }

    @classmethod
    def of(cls, message: Mapping[str, Any], bot_id: str) -> Self | None:
        """Read it from a message of a history; `None` where the message is not a card of this bot."""
        metadata = message.get("metadata") or {}
        if metadata.get("event_type") != EVENT_TYPE or message.get("bot_id") != bot_id:
            return None
        payload = metadata.get("event_payload") or {}
        try:
            return cls(
                str(payload["id"]),
                PartId.parse(str(payload["part"])),
                str(payload.get("digest", "")),
                str(payload.get("stage", "open")),
                frozenset(map(int, str(payload.get("decided", "")).split())),
            )
        except (KeyError, TypeError, ValueError):
            return None
