"""Writes what transitions change: one script, one round trip."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

from bot.domain.approval import Approval, Published
from bot.domain.errors import StoreUnavailableError
from bot.domain.transitions import ANYTHING, Change, Entry
from bot.store.connected import WITHIN
from bot.store.reading import Reading, as_admitted

ATTEMPTS = 20
"""How often a transition is asked again, because somebody else has changed the record since it was read."""
_T = TypeVar("_T")


class Committing(Reading):
    """Writes a change, if nobody else has changed the record since it was read."""

    def turn(self, interrupt_id: str) -> asyncio.Lock:
        """Give what those who decide about a record in this process take in turn. Otherwise each would judge what the next one changes."""
        turn = self._turns.get(interrupt_id) or asyncio.Lock()
        self._turns[interrupt_id] = turn
        return turn

    @cached_property
    def _turns(self) -> WeakValueDictionary[str, asyncio.Lock]:
        return WeakValueDictionary()

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
            is_told: Whether a person reads the outcome as stored, and waits for it.

        Raises:
            StoreUnavailableError: when Redis did not answer in time, where a person waits.
            ServerUnreachableError: where nobody does.
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
            state = as_admitted(newest) or state
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
            StoreUnavailableError, ServerUnreachableError, NotConfirmedError, UnreadableRecordError: as `update`.
        """
        waiting = state.waiting if isinstance(state, Approval) else ""
        # What is remembered of it stays: its parsed question and what was drawn of it serve the next reading.
        record = await self.write(state.id, state.version, waiting, change, within=within, is_told=is_told)
        if record is None:
            return None
        newest = await self._taken(state.id, record)
        is_gone = newest is None or (isinstance(state, Approval) and not isinstance(newest, Approval))
        # Nothing can be changed about a record that is gone, or that has lost what people were asked.
        return replace(state, status="expired") if is_gone else newest

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
            button: What they pressed, or the button that opened their form.
            index: The index of the action, if it is about one.
            code: Why.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        said = {} if index is None else {"index": str(index)}
        said |= {"by": user, "button": button, "code": code}
        noted = Change({}, entries=[Entry(event, said)], is_drawn=False)
        await self._in_time(self.write(interrupt_id, ANYTHING, "", noted), WITHIN)
