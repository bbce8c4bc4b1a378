"""The messages of a record: what Slack shows of each, and the remarks in its thread."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_adapter.contract.hitl import WireModel
from bot.domain.ids import MessageId

Stage = Literal["open", "ended", "resumed"]
"""The states of an interrupt, as people in the channel see them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What Slack shows of one part."""

    channel: str
    ts: str
    digest: str
    stage: Stage = "open"


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """One of our messages, as its record knows it."""

    interrupt_id: str
    part: MessageId
    thread_ts: str | None
    shown: Shown
    is_open: bool
    is_untaken: bool
    """Whether its agent can still take the answer."""


class Remark(WireModel):
    """A message in the thread of a card: posted once, never changed."""

    kind: Literal["remind", "escalate", "extend", "hand_over", "propose"]
    places: tuple[int, ...]
    """The places that get it."""
    actions: tuple[int, ...] = ()
    mentions: tuple[str, ...] = ()
    """The people that it mentions."""
    also_in: str | None = None
    """The other channel where it is asked."""
    by: str | None = None
    """The person who did it."""
    until: datetime | None = None
    """The new deadline."""
