"""Hands a change to the script that writes it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from agent_adapter.contract.record import milliseconds, unix_milliseconds
from agent_adapter.redis.private import Private, words_before
from agent_adapter.redis.scripts import Sent, Value
from bot.domain.transitions import Change, Entry, Line, Stamp, Text
from bot.store.connected import WITHIN, Connected, flat
from bot.store.sealed import is_fact, sealed_deadline

FACTS = "facts"
"""The field of an entry of the audit trail that says what was asked or decided."""
Record: TypeAlias = tuple[Sequence[str], Sequence[str], int]
"""A record as scripts give it: the fields of the agent's side and of the card, and the milliseconds of the server."""


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
        kept: timedelta | None = None,
    ) -> Record | None:
        """Write a change about a card of this version, which waits for these circles; as `commit`. Gives what the script answers.

        With `ANYTHING` for the version, only what the audit trail says is written, and how long an ended record is `kept`.
        """
        scripts = self.durable if is_told else self.scripts
        given: dict[str, Value] = {
            "seen": version,
            "till": unix_milliseconds(change.until) if change.until else None,
            "drawn": int(change.is_drawn),
            "looked": unix_milliseconds(change.due) if isinstance(change.due, datetime) else change.due,
            "wakes": "w:" if change.ends or change.is_said else "f:" if change.wakes else None,
            "runs": int(change.runs) if change.ends else None,
            "circles": waiting if change.ends else change.listed,
            "deadline": unix_milliseconds(change.deadline) if change.deadline else None,
            "kept": milliseconds(kept) if kept else None,
        }
        writing = scripts("commit", self._of(interrupt_id), self._words(interrupt_id, change), **given)
        record: Record | None = (
            await self._in_time(writing, within + self.durability.extra) if is_told else await writing
        )
        return record

    def _words(self, interrupt_id: str, change: Change) -> list[Sent]:
        """Write the lists that the script takes, each after the number of its words."""
        lists: Sequence[Sequence[Sent]] = (
            flat(change.judged),
            self._sealed(interrupt_id, change.fields),
            change.removed,
            change.mine,
            flat(change.given),
            change.ended,
            *map(_entry, change.entries),
        )
        words: list[Sent] = []
        for each in lists:
            words.append(len(each))
            words += each
        return words

    def _sealed(self, interrupt_id: str, fields: Mapping[str, Text]) -> list[str]:
        words: list[str] = []
        # The seal of an admission covers all of it.
        seal = None if "seal" in fields else self.seal
        for name, text in fields.items():
            words += (name, _value(name, text))
            if seal and name == "deadline":
                extended, deadline = (int(str(fields[each])) for each in ("extended", "deadline"))
                words += ("seal:deadline", f"= {sealed_deadline(seal, interrupt_id, extended, deadline)}")
            elif seal and is_fact(name):
                words += (f"seal:{name}", f"= {self._mark(interrupt_id, name, str(text))}")
        return words


def _entry(entry: Entry) -> list[str]:
    words: list[str] = [entry.event]
    for name, said in entry.said.items():
        words += (name, Private(f"= {said}", FACTS, words=1) if name == FACTS else _written(said))
    return words


def _value(name: str, text: Text) -> str:
    """Write a field. What quotes an agent or a person is private, after some words that are for everybody to read."""
    before = words_before(name)
    if before is None:
        return _written(text)
    # The time of a stamp is one of those words.
    is_stamped = isinstance(text.text if isinstance(text, Line) else text, Stamp)
    return Private(_written(text), name, words=before + (not is_stamped))


def _written(text: Text) -> str:
    if isinstance(text, str):
        return f"= {text}"
    return f"@{text.later}{text.rest}" if isinstance(text, Stamp) else f"+{_written(text.text)}"
