"""The ids that Slack carries back to us, made and read in one place, and the messages that have them.

A click carries ids, and the name of what was asked. What the ids mean is read from the record.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from agent_adapter.contract.hitl import WireModel

KEPT = "="
"""The digest of a message that is never drawn again, whatever its record says."""

EVENT_TYPE = "assent_card"
"""The `metadata.event_type` of every card. With it, a message that was posted and not saved can be found."""


def action_id(verb: str, subject: int | str) -> str:
    """Build the `action_id` of a button from its verb and its subject."""
    return f"{verb}:{subject}"


def parse_action_id(text: str) -> tuple[str, str]:
    """Split a button's name into verb and subject."""
    verb, _, subject = text.partition(":")
    return verb, subject


_QUESTION = "~"
"""The start of the question in what a button carries."""


def button_value(interrupt_id: str, named: Iterable[int] = (), question: str = "") -> str:
    """Write what a button carries: its record, the actions that its own question in Slack names, and what was asked when it was drawn."""
    return " ".join((interrupt_id, *map(str, named), *([f"{_QUESTION}{question}"] if question else [])))


def parse_button_value(text: str) -> tuple[str, frozenset[int], str]:
    """Split what a button carries into its record, the actions that it names, and its question, if it has one."""
    interrupt_id, *more = text.split(" ")
    named, question = [], ""
    for each in more:
        if each.startswith(_QUESTION):
            question = question or each.removeprefix(_QUESTION)
        elif each.isdecimal():
            named.append(int(each))
    return interrupt_id, frozenset(named), question


def record_of(message: Mapping[str, Any]) -> str:
    """Give the record that the first button of a message carries; empty where it has none."""
    elements = (element for block in message.get("blocks") or () for element in block.get("elements") or ())
    return next((element["value"].partition(" ")[0] for element in elements if element.get("value")), "")


def choice_value(action_id: str, value: str) -> str:
    """Write what a choice in a menu carries: the name and the value that its button would have."""
    return f"{action_id} {value}"


def parse_choice_value(text: str) -> tuple[str, str]:
    """Split what a choice carries into the name and the value of its button."""
    name, _, value = text.partition(" ")
    return name, value


Kind = Literal["card", "part", "remark", "standing", "told", "outcomes"]
"""The kinds of messages: a card, one of its numbered parts, a remark in its thread such as a reminder, the uses of a
standing approval, the outcome for the person who the agent acts for, or what became of the calls."""

REMARKS_FROM = 1_000
"""Where the numbers of remarks begin."""
_BESIDE: Mapping[Kind, int] = {
    "outcomes": 3_000_000,
    "told": 2_000_000,
    "standing": 1_000_000,
    "remark": REMARKS_FROM,
}
"""Redis and Slack keep a kind as a range of numbers: a card is 0, then its parts, and these begin here."""


@dataclass(frozen=True, slots=True)
class MessageId:
    """One message of an interrupt in one place, for example the second remark there: `MessageId(0, "remark", 2)`."""

    place: int
    kind: Kind = "card"
    number: int = 0
    """The number of a part or a remark, from 1. For a standing approval, the index of its action. For a card, 0."""

    @property
    def card(self) -> "MessageId":
        """The card of its place."""
        return MessageId(self.place)

    def parts(self, count: int) -> "list[MessageId]":
        """This many numbered parts of its place."""
        return [MessageId(self.place, "part", number) for number in range(1, count + 1)]

    @property
    def is_beside(self) -> bool:
        """Whether it asks nothing, so that people can decide without it."""
        return self.kind in _BESIDE

    def __str__(self) -> str:
        return f"{self.place}:{_BESIDE.get(self.kind, 0) + self.number}"

    @classmethod
    def parse(cls, text: str) -> "MessageId":
        """Read it as it is stored: `<place>:<number>`."""
        place, _, number = text.partition(":")
        return cls.stored(int(place), int(number))

    @classmethod
    def stored(cls, place: int, number: int) -> "MessageId":
        """Give the message that has this number in Redis, in Slack and in our buttons."""
        for kind, start in _BESIDE.items():
            if number >= start:
                return cls(place, kind, number - start)
        return cls(place, "part", number) if number else cls(place)


@dataclass(frozen=True, slots=True)
class Label:
    """The metadata of one of our messages: its record, and what the record knew when the message was drawn."""

    interrupt_id: str
    part: MessageId
    digest: str = ""
    """The digest of what it shows."""
    stage: str = "open"
    decided: frozenset[int] = frozenset()
    """Which actions were decided."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Write it as Slack keeps it. Everybody in the workspace can read it."""
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
                MessageId.parse(str(payload["part"])),
                str(payload["digest"]),
                str(payload["stage"]),
                frozenset(map(int, str(payload["decided"]).split())),
            )
        except (KeyError, TypeError, ValueError):
            return None


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
