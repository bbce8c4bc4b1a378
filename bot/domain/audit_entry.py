"""One entry of the audit trail, wherever it is kept. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import inf
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError

_NUMBERS = {"index", "waited", "step", "seq"}
UNREADABLE = "unreadable"
"""The field with what no bot has written: fields that are not UTF-8, or have a name of the line itself. It is a list of names and
values, as `_escaped` writes them."""
_OF_LINE = {"at", "lane", "entry"}
_OWN = {*_OF_LINE, "event", "id", "seq", "epoch", UNREADABLE}
"""What an entry is, and where. Facts say nothing about that."""
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)
_BYTE = re.compile("[\udc80-\udcff]")
"""How Python reads a byte that is not UTF-8, with `surrogateescape`."""
_NUMBER = re.compile(r"[0-9]{1,18}")
"""Longer ones stay text: no bot writes them, and Python refuses to read those of thousands of digits."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that happened to a request."""

    lane: str
    number: str
    """As Redis gave it: `<milliseconds>-<number>`."""
    said: Mapping[str, Any]
    """What happened: `event`, `id` and the other fields, with the facts of a decision among them."""

    @classmethod
    def of_stream(cls, lane: str, number: str, fields: Mapping[str, str]) -> "AuditEntry":
        """Read an entry of the stream in Redis."""
        readable = {name: text for name, text in fields.items() if _is_readable(name, text)}
        said: dict[str, Any] = {
            name: int(text) if name in _NUMBERS and _NUMBER.fullmatch(text) else text
            for name, text in readable.items()
            if name != "facts"
        }
        if others := [[_escaped(name), _escaped(fields[name])] for name in fields if name not in readable]:
            said[UNREADABLE] = others
        facts = _facts(readable.get("facts", ""))
        # Somebody who writes to Redis can write any facts. They must not change which entry this is.
        more = {name: value for name, value in facts.items() if name not in _OWN and name not in said}
        return cls(lane, number, {**said, **more})

    @classmethod
    def of_line(cls, line: str) -> "AuditEntry":
        """Read a line of the folder.

        Raises:
            ValueError: when the line is not a whole entry.
        """
        try:
            found = decode(line)
            said = {name: value for name, value in found.items() if name not in _OF_LINE}
            entry = cls(str(found["lane"]), str(found["entry"]), said)
            _ = entry.order, entry.at
        except (InvalidRequestError, KeyError, AttributeError, TypeError, OverflowError) as error:
            raise ValueError("not a whole entry") from error
        return entry

    @property
    def line(self) -> str:
        """The entry as a line of the folder, without its end."""
        text = encode({"at": self.written_at, "lane": self.lane, "entry": self.number, **self.said})
        # Halves of a pair cannot be written, and bytes that are no text are read as such.
        return text.encode(errors="replace").decode()

    @property
    def identity(self) -> tuple[object, ...]:
        """What no other entry has: after Redis went back, another one may have the same number."""
        return self.lane, self.number, self.said.get("seq")

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place among all entries, by time."""
        at, _, count = self.number.partition("-")
        return int(at), int(count), self.lane

    @property
    def at(self) -> datetime:
        return time_of(self.order[0])

    @property
    def written_at(self) -> str:
        """Its time, as people and programs read it."""
        return self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @property
    def day(self) -> str:
        """The day of its time, in UTC: `2026-11-22`."""
        return self.at.date().isoformat()

    def __getitem__(self, name: str) -> str:
        """Give what it says under a name, as text; empty when it says nothing."""
        found = self.said.get(name)
        return "" if found is None else found if isinstance(found, str) else encode(found)

    @property
    def agent(self) -> str:
        return self["id"].partition(".")[0]

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


def span_of(day: date) -> tuple[int, float]:
    """Return the first and the last millisecond of a day. The latest day has no end."""
    start = int(datetime.combine(day, time(), UTC).timestamp() * 1000)
    return start, inf if day >= _LATEST.date() else start + timedelta(days=1) // timedelta(milliseconds=1) - 1


def is_text(text: str) -> bool:
    """Whether what was read with `surrogateescape` is UTF-8."""
    return not _BYTE.search(text)


def _is_readable(name: str, text: str) -> bool:
    return name not in {*_OF_LINE, UNREADABLE} and is_text(name + text)


def _escaped(text: str) -> str:
    r"""Write bytes that are no text as `\xff`, and each backslash twice. So no two texts become the same."""
    data = text.encode(errors="surrogateescape").replace(b"\\", b"\\\\")
    return data.decode(errors="backslashreplace")


def _facts(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = decode(text)
    except InvalidRequestError:
        found = None
    return found if isinstance(found, dict) else {"facts": text}
