"""One entry of the audit trail, wherever it is kept. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError

_NUMBERS = {"index", "waited", "step", "seq"}
_OF_LINE = {"at", "entry"}
_OWN = {*_OF_LINE, "event", "id", "seq"}
"""What an entry is, and where. Facts say nothing about that."""
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[0-9]{1,18}")
"""Longer ones stay text: no bot writes them, and Python refuses to read those of thousands of digits."""
_MARK = re.compile(r"([0-9]{1,20}-[0-9]{1,20}) ([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the audit trail: an entry, and how far entries had been counted there."""

    number: str = "0-0"
    seq: int = 0

    @classmethod
    def parse(cls, text: str) -> "Mark":
        """Read what `str` writes; the beginning, when it is something else."""
        found = _MARK.fullmatch(text)
        return cls(found[1], int(found[2])) if found else cls()

    def __str__(self) -> str:
        return f"{self.number} {self.seq}"

    @property
    def order(self) -> tuple[int, int]:
        """Its place by time."""
        return _order(self.number)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that happened to a request."""

    number: str
    """As Redis gave it: `<milliseconds>-<number>`."""
    said: Mapping[str, Any]
    """What happened: `event`, `id` and the other fields, with the facts of a decision among them."""

    @classmethod
    def of_stream(cls, number: str, fields: Mapping[str, str]) -> "AuditEntry":
        """Read an entry of the stream in Redis."""
        said: dict[str, Any] = {
            name: int(text) if name in _NUMBERS and _NUMBER.fullmatch(text) else text
            for name, text in fields.items()
            if name not in {*_OF_LINE, "facts"}
        }
        facts = _facts(fields.get("facts", ""))
        # Somebody who writes to Redis can write any facts. They must not change which entry this is.
        more = {name: value for name, value in facts.items() if name not in _OWN and name not in said}
        return cls(number, {**said, **more})

    @property
    def line(self) -> str:
        """The entry as JSON."""
        text = encode({"at": self.written_at, "entry": self.number, **self.said})
        # Half of a surrogate pair cannot be written.
        return text.encode(errors="replace").decode()

    @property
    def identity(self) -> tuple[object, ...]:
        """What no other entry has: after Redis went back, another one may have the same number."""
        return self.number, self.said.get("seq")

    @property
    def order(self) -> tuple[int, int]:
        """Its place among all entries, by time."""
        return _order(self.number)

    @property
    def written_at(self) -> str:
        """Its time, as people and programs read it."""
        return written(self.order[0])

    def __getitem__(self, name: str) -> str:
        """Give what it says under a name, as text; empty when it says nothing."""
        found = self.said.get(name)
        return "" if found is None else found if isinstance(found, str) else encode(found)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it is about: one for a decision, all of them for a question."""
        named = [each.get("tool") for each in self._asked.values()]
        return tuple(filter(None, [self["tool"], *map(str, filter(None, named))]))

    @property
    def _asked(self) -> Mapping[int, Mapping[str, Any]]:
        asked = self.said.get("actions")
        found = enumerate(asked) if isinstance(asked, list) else ()
        return {index: each for index, each in found if isinstance(each, dict)}


def time_of(milliseconds: int) -> datetime:
    """Return the time of an entry. A time after the latest date that there is becomes that date."""
    return datetime.fromtimestamp(min(milliseconds / 1000, _LATEST.timestamp()), UTC)


def written(milliseconds: int) -> str:
    """Write a time as people and programs read it."""
    return time_of(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _order(number: str) -> tuple[int, int]:
    at, _, count = number.partition("-")
    return int(at), int(count)


def _facts(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = decode(text)
    except InvalidRequestError:
        found = None
    return found if isinstance(found, dict) else {"facts": text}
