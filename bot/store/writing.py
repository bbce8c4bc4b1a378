"""Hands a change to the script that writes it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from agent_adapter.redis.private import Private, is_private, words_before
from agent_adapter.redis.scripts import Value
from bot.domain.codec import unix_milliseconds
from bot.domain.transitions import Change, Entry, Line, Stamp, Text
from bot.store.audit import FACTS
from bot.store.connected import WITHIN, Connected
from bot.store.sealed import is_fact, sealed_deadline

Record: TypeAlias = tuple[Sequence[str], Sequence[str], int]
"""A record as the script `read` gives it, and those that were about it anyway."""


class Writing(Connected):
    """Writes changes, with marks where there is a seal, and encrypted where there is a key."""

    async def write(
        self,
        interrupt_id: str,
        version: str,
        waiting: str,
        change: Change,
        *,
        within: float = WITHIN,
        is_told: bool = False,
    ) -> Record | None:
        """Write a change about a card of this version, which waits for these circles; as `commit`, without reading it."""
        scripts = self.durable if is_told else self.scripts
        given: dict[str, Value] = {
            "seen": version,
            "till": unix_milliseconds(change.until) if change.until else None,
            "drawn": int(change.is_drawn),
            "looked": unix_milliseconds(change.due) if isinstance(change.due, datetime) else change.due,
            "wakes": "w:" if change.ends else "f:" if change.wakes else None,
            "runs": int(change.runs),
            "circles": waiting if change.ends else change.listed,
            "deadline": unix_milliseconds(change.deadline) if change.deadline else None,
        }
        writing = scripts("commit", self._of(interrupt_id), [*self._words(interrupt_id, change)], **given)
        record: Record | None = (
            await self._in_time(writing, within + self.durability.extra) if is_told else await writing
        )
        return record

    def _words(self, interrupt_id: str, change: Change) -> Iterator[Value]:
        """Write the lists that the script takes."""
        lists: list[list[Value]] = [
            [part for name, text in change.judged.items() for part in (name, text)],
            [*self._sealed(interrupt_id, change.fields)],
            [*change.removed],
            [*change.mine],
            [part for name, lasts in change.given.items() for part in (name, lasts)],
            [*change.ended],
            *([*_entry(entry)] for entry in change.entries),
        ]
        for each in lists:
            yield len(each)
            yield from each

    def _sealed(self, interrupt_id: str, fields: Mapping[str, Text]) -> Iterator[Value]:
        for name, text in fields.items():
            yield from (name, _private(name, text))
            if mark := self._mark_of(interrupt_id, fields, name):
                yield from (f"seal:{name}", f"= {mark}")

    def _mark_of(self, interrupt_id: str, fields: Mapping[str, Text], name: str) -> str:
        # The seal of an admission covers all of it.
        if not self.seal or "seal" in fields:
            return ""
        if name == "deadline":
            extended, deadline = (int(str(fields[each])) for each in ("extended", "deadline"))
            return sealed_deadline(self.seal, interrupt_id, extended, deadline)
        return self._mark(interrupt_id, name, str(fields[name])) if is_fact(name) else ""


def _entry(entry: Entry) -> Iterator[Value]:
    yield entry.event
    for name, said in entry.said.items():
        yield from (name, Private(_value(said), FACTS, words=1) if name == FACTS else _value(said))


def _private(name: str, text: Text) -> Value:
    """Mark what quotes an agent or a person. Some words before it are for everybody to read."""
    if not is_private(name):
        return _value(text)
    # The time of a stamp is one of those words.
    is_stamped = isinstance(text.text if isinstance(text, Line) else text, Stamp)
    return Private(_value(text), name, words=words_before(name) + (not is_stamped))


def _value(text: Text) -> str:
    match text:
        case Stamp(rest, later):
            return f"@{later}{rest}"
        case Line(line):
            return f"+{_value(line)}"
        case _:
            return f"= {text}"
