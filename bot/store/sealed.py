"""What of a card a bot wrote: a bot with a seal believes nothing else that it reads back from Redis. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_adapter.contract.record import Fields, milliseconds
from bot.domain.codec import ADMISSION, body_digest
from bot.domain.errors import BrokenSealError
from bot.domain.seal import CLOCKS_DIFFER, Seal

_SEAL = "seal"
"""The field with the times of an admission and its mark."""
_MARK = "seal:"
"""Begins the name of the field with the mark of another one."""
FACTS = frozenset({"seen", "reached", "remark", "mark", "part", "proposal", "place", "reason"})
"""The kinds of fields that are written later. Each has a mark of its own. One without it counts as if it were not there."""


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
    mark = seal.mark(record, "admission", _admitted(fields, str(created), str(deadline)))
    return {_SEAL: f"{created} {deadline} {mark}"}


def sealed_deadline(seal: Seal, record: str, extended: int, deadline: int) -> str:
    """Give the mark of a deadline that people have extended so often."""
    return seal.mark(record, "deadline", (str(extended), str(deadline)))


def is_fact(field: str) -> bool:
    """Whether a field of a card is written after the admission and has a mark of its text."""
    return _kind(field) in FACTS - {"part"}


def sealed_fact(seal: Seal, record: str, field: str, text: str) -> str:
    """Give the mark of what a bot writes into a field of a card.

    Args:
        seal: Makes the mark.
        record: The id of the record.
        field: Its name.
        text: What it says.
    """
    return seal.mark(record, "fact", (field, text))


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What of a record a bot wrote."""

    req: Fields
    """The agent's side, with the time that was sealed."""
    card: Fields
    """The bot's side, without the fields that no bot wrote."""
    forged: Mapping[str, str] = field(default_factory=dict)
    """Those fields."""


def unsealed(seal: Seal, record: str, req: Fields, card: Fields) -> Unsealed:
    """Give the two halves of a record with nothing in them that no bot wrote, and with the times that were sealed.

    Args:
        seal: Checks them.
        record: The id by which they were found.
        req: The agent's side.
        card: The bot's side.

    Raises:
        BrokenSealError: when the admission is not what a bot wrote. It decides nothing then.
    """
    created = req.get("created", "")
    if _SEAL in card:
        created = _check_admission(seal, record, req, card)
    elif "policy_version" in card:
        raise BrokenSealError(f"{record}: it has no seal: people were asked by a bot without a seal key")
    forged = {name: text for name, text in card.items() if _is_forged(seal, record, card, name, text)}
    known = {name: text for name, text in card.items() if name not in forged}
    return Unsealed({**req, "created": created}, known, forged)


def _is_forged(seal: Seal, record: str, card: Fields, name: str, text: str) -> bool:
    """Whether a field has no mark of a bot, and would need one."""
    kind, mark = _kind(name), card.get(_MARK + name)
    if kind not in FACTS or (kind in ADMISSION and mark is None):
        return False
    said = where_of(text) if kind == "part" else text
    return not seal.holds(mark or "", record, "fact", (name, said))


def where_of(part: str) -> str:
    """Give where a message is. What it shows is noted beside it, and is doubted at times: that needs no mark."""
    return " ".join(part.split(" ")[:2])


def without_forged_parts(seal: Seal, record: str, card: Fields) -> Fields:
    """Give the fields of a card that say where its messages are, without those that no bot wrote."""
    return {
        name: text
        for name, text in card.items()
        if _kind(name) != "part" or not _is_forged(seal, record, card, name, text)
    }


def _check_admission(seal: Seal, record: str, req: Fields, card: Fields) -> str:
    """Check what was fixed when people were asked. Returns when that was."""
    created, deadline, mark = _parts(record, card[_SEAL])
    covered = {
        name: text
        for name, text in card.items()
        if _kind(name) in ADMISSION and not (_kind(name) in FACTS and _MARK + name in card)
    }
    if not seal.holds(mark, record, "admission", _admitted(covered, created, deadline)):
        raise BrokenSealError(
            f"{record}: the seal of its terms is wrong: somebody changed them, or they were sealed with another key"
        )
    if covered.get("asked") != body_digest(req["body"]):
        raise BrokenSealError(f"{record}: what is asked has been changed since people were asked")
    _check_deadline(seal, record, card, deadline)
    return created


def _check_deadline(seal: Seal, record: str, card: Fields, admitted: str) -> None:
    extended, deadline = card.get("extended", "0"), card.get("deadline", "")
    if (extended, deadline) == ("0", admitted):
        return
    if not seal.holds(card.get(f"{_MARK}deadline", ""), record, "deadline", (extended, deadline)):
        raise BrokenSealError(f"{record}: somebody changed its deadline")


def _parts(record: str, text: str) -> tuple[str, str, str]:
    parts = text.split(" ")
    if len(parts) != 3:
        raise BrokenSealError(f"{record}: its seal cannot be read")
    return parts[0], parts[1], parts[2]


def _admitted(fields: Mapping[str, str], created: str, deadline: str) -> list[str]:
    return [created, deadline, *(part for field in sorted(fields.items()) for part in field)]


def _kind(name: str) -> str:
    return name.partition(":")[0]


def bounded(now: int, own: int) -> int:
    """Give the time of Redis where it agrees with the bot's own clock, and the nearest time that does otherwise."""
    apart = milliseconds(CLOCKS_DIFFER)
    return min(max(now, own - apart), own + apart)
