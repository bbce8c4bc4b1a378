"""Records: read from Redis or from the cache of this process, and changed by one script in one round trip."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

from agent_adapter.contract.record import Fields, expect_written
from agent_adapter.errors import InvalidRequestError, ServerUnreachableError, UnreadableRecordError
from agent_adapter.receipts.answer import Verifier
from agent_adapter.redis.change import read_hashes
from agent_adapter.redis.scripts import fields_of, opened
from bot.domain.approval import Approval, Published
from bot.domain.codec import read_state, size_of
from bot.domain.errors import StoreUnavailableError
from bot.domain.transitions import ANYTHING, Change, Entry
from bot.runtime.offload import Received, offload
from bot.store.believed import believed
from bot.store.connected import WITHIN, Connected
from bot.store.sealed import bounded, unsealed

logger = logging.getLogger(__name__)

REMEMBERED_BYTES = 48 << 20
"""Bytes of memory, estimated from what is stored."""
_EACH = 12_000
"""Bytes of an ordinary record without its text and values, but with what was computed from it."""
_VALUE = 90
"""Bytes of a value in memory: an empty list takes 56, and 8 in the one that holds it."""
ATTEMPTS = 20
"""How often a transition is asked again, because somebody else has changed the record since it was read."""
_T = TypeVar("_T")
_REFERENCE = re.compile(r"(\S+):(\d{1,6})", re.ASCII)


class Memory:
    """The records that were read last, up to a number of bytes: the cards that people look at now."""

    def __init__(self, most: int = REMEMBERED_BYTES) -> None:
        self._most = most
        self._states: dict[str, Published] = {}
        self.bytes = 0

    def get(self, interrupt_id: str) -> Published | None:
        """Give a record; `None` when it is not remembered."""
        return self._states.get(interrupt_id)

    def put(self, state: Published) -> None:
        """Remember a record, and forget its earlier version."""
        self._forget(state.id)
        self._states[state.id] = state
        self.bytes += weight(state)
        while self.bytes > self._most and len(self._states) > 1:
            self._forget(next(iter(self._states)))

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()
        self.bytes = 0

    def _forget(self, interrupt_id: str) -> None:
        if known := self._states.pop(interrupt_id, None):
            self.bytes -= weight(known)


def weight(state: Published) -> int:
    """Estimate how many bytes of memory a record takes."""
    body = state.body
    values = body.count(",") + body.count("[") + body.count("{")
    # Decisions contain arguments as well.
    return _EACH + 2 * len(body) + _VALUE * values + 8 * (state.size - len(body))


class Committing(Connected):
    """Reads records, caches those that people look at now, and writes a change if nobody else has changed the record since."""

    @cached_property
    def _remembered(self) -> Memory:
        return Memory()

    async def load(self, interrupt_id: str) -> Published | None:
        """Read a record. It is an `Approval` once it was admitted, and `None` when there is no such record.

        Raises:
            LockedRecordError: when it is encrypted with a key that this bot does not have.
            DamagedRecordError: when something else has changed the bot's side of it.
            UnreadableRecordError: when this version cannot read what is stored.
        """
        (req, card), now = await read_hashes(self.scripts, self.keys.of(interrupt_id), "req", "card")
        return await self._taken(interrupt_id, req, card, now)

    async def _taken(self, interrupt_id: str, req: Fields, card: Fields, now: int) -> Published | None:
        """Take a record that a script gave. It raises as `load` does."""
        if not req:
            return None
        expect_written(interrupt_id, req)
        req, card = (opened(self.cipher, interrupt_id, each) for each in (req, card))
        try:
            received = Received(interrupt_id.partition(".")[0], size_of(req, card))
            known = self._remembered.get(interrupt_id)
            verifier = self.signing.verifier if self.signing else None
            if self.seal:
                found = await offload(received, unsealed, self.seal, interrupt_id, req, card)
                now = bounded(now, own=time.time_ns() // 1_000_000)
                if found.forged:
                    await self._drop(interrupt_id, card, sorted(found.forged))
                req, card = found.req, found.card
            state = await offload(received, _read, req, card, now=now, known=known, verifier=verifier)
        except UnreadableRecordError:
            raise
        except InvalidRequestError as error:
            raise UnreadableRecordError(f"{interrupt_id} cannot be read: {error}") from error
        if state.id != interrupt_id:
            raise UnreadableRecordError(f"{interrupt_id} holds the interrupt {state.id}")
        if not interrupt_id.startswith(f"{state.interrupt.agent}."):
            # Redis lets an agent write only what has its name, and policies judge by the name inside.
            raise UnreadableRecordError(
                f"{interrupt_id} says that it is of the agent {state.interrupt.agent}"
            )
        self._remembered.put(state)
        return state

    async def _drop(self, interrupt_id: str, card: Fields, forged: Sequence[str]) -> None:
        """Remove fields that no bot wrote, so that a bot can write them again, and note it in the audit trail once."""
        change = Change(
            {},
            removed=[name for field in forged for name in (field, f"seal:{field}")],
            entries=[Entry("forged", {"fields": " ".join(forged)})],
        )
        version, waiting = card.get("version", ""), card.get("waiting", "")
        if await self.write(interrupt_id, version, waiting, change) is None:
            logger.error("record.forged", extra={"interrupt_id": interrupt_id, "fields": forged})

    async def admitted(self, interrupt_id: str) -> Approval | None:
        """Read a record that was admitted. `None` when there is no such record, or nobody was asked yet.

        Raises:
            UnreadableRecordError: when this version cannot read what is stored.
        """
        return as_admitted(await self.load(interrupt_id))

    def recall(self, interrupt_id: str) -> Approval | None:
        """Give an admitted record as this process last read it. `None` when it is not in the cache.

        What lets a person decide is never taken back: the admission, and what they have read. So it can be judged by
        the cached record. `commit` says whether it is still the same.
        """
        return as_admitted(self._remembered.get(interrupt_id))

    def forget_remembered(self) -> None:
        """Empty the cache, so that no click is judged by it."""
        self._remembered.clear()

    async def _readable(self, interrupt_id: str) -> Approval | None:
        """Read a record that another one refers to. `None` when it cannot be read: the other one does without it."""
        try:
            return await self.admitted(interrupt_id)
        except ServerUnreachableError:
            raise
        except Exception:
            logger.exception("record.unreadable", extra={"interrupt_id": interrupt_id})
            return None

    async def standing(self, *, agent: str = "") -> list[tuple[Approval, int]]:
        """List the active standing approvals, the one that ends first at the front: the record and the index of the action.

        Args:
            agent: Only those of this agent; those of all agents when empty.
        """
        (stored,) = await self._together(("ZRANGE", self.keys.standing, 0, -1))
        names = [name.decode(errors="backslashreplace") for name in stored or []]
        found = []
        for interrupt_id, index in filter(None, map(referred, names)):
            if agent and not interrupt_id.startswith(f"{agent}."):
                continue
            state = await self._readable(interrupt_id)
            if state and index in state.standing and state.standing[index].is_live(state.now):
                found.append((state, index))
        return found

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
        req, card, now = record
        newest = await self._taken(state.id, fields_of(req, state.id), fields_of(card, state.id), now)
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
        """Enter into the audit trail that somebody pressed, or sent a form that this button opens, and that nothing was stored.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        said = {} if index is None else {"index": str(index)}
        said |= {"by": user, "button": button, "code": code}
        noted = Change({}, entries=[Entry(event, said)], is_drawn=False)
        await self._in_time(self.write(interrupt_id, ANYTHING, "", noted), WITHIN)


def referred(text: str) -> tuple[str, int] | None:
    """Read how one record refers to an action of another, `<id>:<index>`. `None` for what no bot writes."""
    found = _REFERENCE.fullmatch(text)
    return (found[1], int(found[2])) if found else None


def _read(
    req: Fields, card: Fields, *, now: int, known: Published | None, verifier: Verifier | None
) -> Published:
    state = read_state(req, card, now=now, known=known)
    if isinstance(state, Approval):
        state = believed(state, card, verifier) if verifier else state
        # Parsed here and now: this runs in a thread, so a large record does not hold up the event loop.
        _ = state.actions
    return state


def as_admitted(state: Published | None) -> Approval | None:
    """Give a record that was admitted; `None` where nobody was asked yet."""
    return state if isinstance(state, Approval) else None
