"""Writes what transitions change: one script, one round trip."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeVar

from agent_adapter.redis.private import Private, is_private, words_before
from agent_adapter.redis.scripts import Value
from bot.domain.approval import Approval, Published
from bot.domain.codec import unix_milliseconds
from bot.domain.errors import StoreUnavailableError
from bot.domain.transitions import Change, Entry, Line, Stamp, Text
from bot.store.audit import FACTS
from bot.store.connected import WITHIN
from bot.store.reading import Reading, Record, as_admitted
from bot.store.sealed import is_fact, sealed_deadline

ATTEMPTS = 20
"""How often a transition is asked again, because somebody else has changed the record since it was read."""
_T = TypeVar("_T")


class Committing(Reading):
    """Writes a change, if nobody else has changed the record since it was read."""

    async def update(
        self,
        state: Approval,
        transition: Callable[[Approval], tuple[_T, Change | None]],
        *,
        is_told: bool = True,
    ) -> _T:
        """Write what a transition changes, and give its outcome.

        Args:
            state: The record as it was read.
            transition: Judges the record. It is asked again when somebody else has changed it.
            is_told: Whether a person reads the outcome as stored.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
            NotConfirmedError: when it is stored, and not as durable yet as the operator asks.
            UnreadableRecordError: when the record is not what a bot wrote any more.
        """
        for _ in range(ATTEMPTS):
            outcome, change = transition(state)
            if change is None:
                if is_told:
                    await self.confirm()
                return outcome
            newest = await self.commit(state, change, is_told=is_told)
            if newest is None:
                return outcome
            state = as_admitted(newest) or replace(state, status="expired")
        raise StoreUnavailableError("others kept changing this record")

    async def commit(
        self, state: Published, change: Change, *, within: float = WITHIN, is_told: bool = True
    ) -> Published | None:
        """Write a change. Gives `None`; or the record as it is, when it is not the same any more or it is too late.

        Args:
            state: The record as it was judged.
            change: What changes.
            within: Seconds that it may take.
            is_told: As in `update`.

        Raises:
            StoreUnavailableError, NotConfirmedError, UnreadableRecordError: as `update`.
        """
        waiting = state.waiting if isinstance(state, Approval) else ""
        try:
            record = await self.write(
                state.id, state.version, waiting, change, within=within, is_told=is_told
            )
        finally:
            self._remembered.forget(state.id)
        if record is None:
            return None
        # Nothing can be changed about a record that is gone.
        return await self._taken(state.id, record) or replace(state, status="expired")

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
        committing = scripts("commit", self._of(interrupt_id), [*self._words(interrupt_id, change)], **given)
        record: Record | None = await self._in_time(committing, within + self.durability.extra * is_told)
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

    async def note_click(
        self,
        interrupt_id: str,
        user: str,
        *,
        event: Literal["click_refused", "click_failed"] = "click_refused",
        button: str,
        index: int | None = None,
        code: str,
    ) -> None:
        """Enter into the audit trail that somebody pressed, and that nothing was stored.

        Args:
            interrupt_id: The record.
            user: Who pressed.
            event: Whether it was refused, or could not be done.
            button: What they pressed, or the kind of their decision.
            index: The index of the action, if it is about one.
            code: Why.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        await self._within(
            "note_click", interrupt_id, event=event, user=user, button=button, index=index, code=code
        )


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
