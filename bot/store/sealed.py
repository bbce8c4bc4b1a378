"""What of a card a bot wrote: a bot with a seal believes nothing else that it reads back from Redis. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from agent_adapter.contract.record import Fields
from bot.domain.errors import BrokenSealError
from bot.domain.seal import Seal
from bot.store.codec import ADMISSION, body_digest

TOLERANCE = timedelta(seconds=30) // timedelta(milliseconds=1)
"""Milliseconds by which the clock of Redis may differ from the clock of a bot with a seal."""
_SEAL = "seal"
"""The field with the times of an admission and its mark."""
_SEALED = "sealed"
"""The field with the kinds of fields that this mark covers, so that an older version checks those that it does not know."""
_OF_DEADLINE = "seal:deadline"


@dataclass(frozen=True, slots=True)
class Trust:
    """With which seal a bot checks what it reads back."""

    seal: Seal
    accepts_unsealed: bool = False
    """Whether records count that were admitted before there was a seal."""


def sealed_admission(
    seal: Seal, record: str, fields: Mapping[str, str], *, created: int, deadline: int
) -> dict[str, str]:
    """Give the fields that seal an admission.

    Args:
        seal: Makes the mark.
        record: Its id.
        fields: What is fixed.
        created: When it was asked, in milliseconds.
        deadline: Until when, in milliseconds.
    """
    kinds = " ".join(sorted({_kind(name) for name in fields}))
    mark = seal.mark(record, "admission", _admitted(fields, kinds, str(created), str(deadline)))
    return {_SEAL: f"{created} {deadline} {mark}", _SEALED: kinds}


def sealed_deadline(seal: Seal, record: str, extended: int, deadline: int) -> str:
    """Give the mark of a deadline that people have extended so often."""
    return seal.mark(record, "deadline", (str(extended), str(deadline)))


def unsealed(trust: Trust, record: str, req: Fields, card: Fields) -> tuple[Fields, Fields]:
    """Give the two halves of a record with nothing in them that no bot wrote, and with the times that were sealed.

    Args:
        trust: With which seal they are checked.
        record: The id by which they were found.
        req: The agent's side.
        card: The bot's side.

    Raises:
        BrokenSealError: when the admission is not what a bot wrote. It decides nothing then.
    """
    if _SEAL not in card:
        if "policy" in card and not trust.accepts_unsealed:
            raise BrokenSealError(f"{record}: it has no seal: people were asked by a bot without a seal key")
        return req, card
    created, deadline, mark = _parts(record, card[_SEAL])
    kinds = card.get(_SEALED, "")
    listed = ADMISSION | set(kinds.split())
    covered = {name: text for name, text in card.items() if _kind(name) in listed}
    if not trust.seal.holds(mark, record, "admission", _admitted(covered, kinds, created, deadline)):
        raise BrokenSealError(
            f"{record}: the seal of its terms is wrong: somebody changed them, or they were sealed with another key"
        )
    if covered.get("asked") != body_digest(req["body"]):
        raise BrokenSealError(f"{record}: what is asked has been changed since people were asked")
    _check_deadline(trust, record, card, deadline)
    return {**req, "created": created}, card


def _check_deadline(trust: Trust, record: str, card: Fields, admitted: str) -> None:
    extended, deadline = card.get("extended", "0"), card.get("deadline", "")
    if (extended, deadline) == ("0", admitted):
        return
    if not trust.seal.holds(card.get(_OF_DEADLINE, ""), record, "deadline", (extended, deadline)):
        raise BrokenSealError(f"{record}: somebody changed its deadline")


def _parts(record: str, text: str) -> tuple[str, str, str]:
    parts = text.split(" ")
    if len(parts) != 3:
        raise BrokenSealError(f"{record}: its seal cannot be read")
    return parts[0], parts[1], parts[2]


def _admitted(fields: Mapping[str, str], kinds: str, created: str, deadline: str) -> list[str]:
    return [created, deadline, kinds, *(part for field in sorted(fields.items()) for part in field)]


def _kind(name: str) -> str:
    return name.partition(":")[0]


def bounded(now: int, own: int) -> int:
    """Give the time of Redis where it agrees with the bot's own clock, and the nearest time that does otherwise."""
    return min(max(now, own - TOLERANCE), own + TOLERANCE)
