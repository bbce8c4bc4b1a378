"""Everything that falls due. Scripts decide by the server's time, so any number of replicas may sweep.

A record stands in `due` once, never later than the earliest of its times; what is due is reckoned from the record.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import datetime
from typing import Literal

from agent_adapter.errors import InvalidRequestError
from bot.schedule import Remark, Step
from bot.state import ApprovalState
from bot.store import NOT_LOOKED, ApprovalStore

logger = logging.getLogger(__name__)

UNREADABLE_AGAIN = 60_000
"""Milliseconds until a record is looked at again that cannot be read; by then it has ended."""
TOO_EARLY = 50
"""Milliseconds until a record is looked at again whose deadline somebody else has just moved."""


class Clock:
    """Reminds and escalates, and ends interrupts at their deadline or when their agent withdraws them."""

    def __init__(
        self, store: ApprovalStore, why_not: Callable[[ApprovalState], Awaitable[str]] | None = None
    ) -> None:
        """Prepare it.

        Args:
            store: Where the records are.
            why_not: Says why silence approves nothing of a record; without, it never approves.
        """
        self._store = store
        self._why_not = why_not

    async def fall_due(self, interrupt_id: str) -> int | None:
        """Do what is due for this record, and say in how many milliseconds something else will be."""
        try:
            state = await self._store.load(interrupt_id)
        except InvalidRequestError:
            # The presenter refuses it, and says so on its card.
            await self._store.owe_drawing(interrupt_id)
            return UNREADABLE_AGAIN
        if state is None:
            return await self._end(interrupt_id)
        if state.sticky:
            await self._end_sticky(state)
        if state.stage != "open":
            await self._note_lapse(state)
            return _until_first(times_after(state), state)
        if not state.is_open or state.withdraw_asked is not None:
            why_not = await self._why_not(state) if state.is_past and self._why_not else NOT_LOOKED
            ended = await self._end(state.id, state.withdraw_asked, why_not)
            return ended or _until_first(sticky_ahead(state), state)
        steps = due_steps(state)
        # Also without a step: a claim may be over, or more time may be asked for from now on.
        if await self._store.reach(interrupt_id, steps):
            logger.info("interrupt.reached", extra={"interrupt_id": interrupt_id, "steps": list(steps)})
        state = await self._store.load(interrupt_id)
        return milliseconds_left(state) if state and state.is_open else TOO_EARLY

    async def _note_lapse(self, state: ApprovalState) -> None:
        has_lapsed = state.claimed_until is not None and state.claimed_until <= state.now
        if has_lapsed and await self._store.note_lapse(state.id):
            logger.warning("claim.lapsed", extra={"interrupt_id": state.id})

    async def _end_sticky(self, state: ApprovalState) -> None:
        for index, approval in state.sticky.items():
            if approval.ended is None and approval.until <= state.now:
                await self._store.end_sticky(state.id, index)
                logger.info("sticky.ended", extra={"interrupt_id": state.id, "index": index})

    async def _end(
        self, interrupt_id: str, withdrawn: str | None = None, why_not: str = NOT_LOOKED
    ) -> int | None:
        """End a record, as withdrawn where its agent says why."""
        status: Literal["expired", "withdrawn"] = "expired" if withdrawn is None else "withdrawn"
        outcome = await self._store.settle(interrupt_id, status, reason=withdrawn or "", why_not=why_not)
        if outcome == "early":
            return TOO_EARLY
        if outcome == "settled":
            logger.info("interrupt.ended", extra={"interrupt_id": interrupt_id})
        return None


def milliseconds_left(state: ApprovalState) -> int | None:
    """Reckon in how many milliseconds something is due for an open record."""
    return _until_first(times_ahead(state), state)


def _until_first(times: Iterable[datetime], state: ApprovalState) -> int | None:
    """Give the milliseconds until the first of these times, `None` when there is none."""
    first = min(times, default=None)
    return None if first is None else max(1, int((first - state.now).total_seconds() * 1000))


def times_ahead(state: ApprovalState) -> Iterator[datetime]:
    """Give every time at which something happens to an open record, or to what its card shows."""
    yield state.deadline
    yield from sticky_ahead(state)
    for step in _steps_ahead(state).values():
        yield step.due(state.created_at, state.now)
    ahead = [state.extend_from, *(claim.until for claim in state.claims.values())]
    yield from (time for time in ahead if time and time > state.now)


def times_after(state: ApprovalState) -> list[datetime]:
    """Give every time at which something happens to a record that has ended."""
    claimed = state.claimed_until
    return [*sticky_ahead(state), *([claimed] if claimed and claimed > state.now else [])]


def sticky_ahead(state: ApprovalState) -> list[datetime]:
    """Give the times at which what was approved for later calls is over."""
    return [approval.until for approval in state.sticky.values() if approval.is_live(state.now)]


def due_steps(state: ApprovalState) -> dict[int, Remark | None]:
    """Give the steps whose time has come, in order, each with what is said about it; `None` when nothing is.

    Of several reminders that were missed, the last one is for all.
    """
    due = [
        (number, step)
        for number, step in _steps_ahead(state).items()
        if step.due(state.created_at, state.now) <= state.now
    ]
    last = {step.actions: number for number, step in due if step.kind == "remind"}
    return {
        number: _remark(state, number, step)
        if step.kind == "escalate" or last[step.actions] == number
        else None
        for number, step in due
    }


def _steps_ahead(state: ApprovalState) -> dict[int, Step]:
    steps = state.admission.steps if state.admission else ()
    return {number: step for number, step in enumerate(steps) if number not in state.reached}


def _remark(state: ApprovalState, number: int, step: Step) -> Remark | None:
    still = tuple(index for index in step.actions if state.is_open_at(index))
    if not still:
        return None
    beside = tuple(number for number, place in state.places.items() if {*place.actions} & {*still})
    if step.kind == "remind":
        return Remark(kind="remind", places=beside, actions=still, mentions=who_is_left(state, still))
    assert state.admission is not None
    opened = next((place.channel for place in state.admission.places if place.opened_by == number), None)
    if not opened and not step.approvers:
        # Nobody can be reached there any more.
        return None
    # A card of its own calls them where it is asked as well.
    called = () if opened else step.approvers
    return Remark(kind="escalate", places=beside, actions=still, mentions=called, also_in=opened)


def who_is_left(state: ApprovalState, actions: tuple[int, ...]) -> tuple[str, ...]:
    """Give the approvers who can still decide something of this: not who has voted, and seldom who it is done for."""
    assert state.admission is not None
    found = []
    for index in actions:
        terms = state.admission.terms(index)
        done = {"channel", *(vote.user for vote in state.votes.get(index, ()))}
        done |= state.kept_out(terms)
        proposal = state.proposals.get(index)
        may_agree = proposal.terms.approvers if proposal else ()
        found += [approver for approver in (*terms.approvers, *may_agree) if approver not in done]
    return tuple(dict.fromkeys(found))
