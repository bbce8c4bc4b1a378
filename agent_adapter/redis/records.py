"""The agent's side of the record in Redis: typed verbs over the scripts."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from agent_adapter.connection import Scripts, fields_of, read_hashes
from agent_adapter.continuation import Seal
from agent_adapter.contract.identity import interrupt_fingerprint, pause_digest
from agent_adapter.contract.interrupt import DecidedResume, Interrupt, Resume
from agent_adapter.contract.keys import Lane
from agent_adapter.contract.record import Fields, decided, expect_written, moment, read_resume, reading
from agent_adapter.contract.wire import dump_continuation, dump_interrupt, load_interrupt
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    ServerFailedError,
    UnknownInterruptError,
    UnreadableRecordError,
)

SMALL = 16_384
"""Characters of a stored interrupt that are read on the loop."""
REASON_SHOWN = 1_000
"""Characters of an error that a card is given."""


@dataclass(frozen=True, slots=True)
class Record:
    """One interrupt's record at one moment, as the agent reads it."""

    interrupt: Interrupt
    req: Fields
    card: Fields
    now: int
    """The store's milliseconds when this was read."""
    grace: int

    def resume(self) -> Resume | None:
        """Give the answer, `None` while the interrupt is open. Raises as `contract.record.read_resume`."""
        # The bot's deadline goes before our own: a policy may set an earlier one, people may give themselves more time.
        with reading(self.interrupt.id):
            deadline = int(self.card.get("deadline", self.req["deadline"]))
            return read_resume(self.interrupt, self.card, deadline=deadline, now=self.now, grace=self.grace)

    def answer(self) -> DecidedResume:
        """Give the answer to resume the run with.

        Raises:
            InterruptEndedError: when it ended without one.
            DecisionNotAllowedError: when what is stored does not answer what was asked.
        """
        resume = self.resume()
        if resume is None:
            raise AgentAdapterError(f"{self.interrupt.id} is not decided: wait for it before resuming")
        return decided(self.interrupt, resume)

    @property
    def is_resumed(self) -> bool:
        return "resumed" in self.req

    @property
    def claim_lapsed_at(self) -> datetime | None:
        """When the claim on its run lapsed: whoever took the answer has not said that the run went on."""
        until = int(self.req.get("claim_until", 0))
        return moment(until) if until and until <= self.now and not self.is_resumed else None

    @property
    def ended_unanswered(self) -> bool:
        """Whether it ended without an answer that a run could resume with."""
        resume = self.resume()
        return resume is not None and None in resume.decisions

    @property
    def notice(self) -> str | None:
        """Why nothing happens with it, in the bot's words."""
        return self.card.get("notice")


class UnsureError(ClaimedError):
    """The server's clock was set, so nobody can tell yet whether the process that holds the claim still lives."""

    def __init__(self, message: str, *, known_in: int) -> None:
        super().__init__(message)
        self.known_in = known_in
        """Milliseconds until it has renewed the claim, or has died."""


class Records:
    """Reads and writes the records of one agent, on behalf of one process.

    Every verb raises ServerUnreachableError when Redis does not answer, and may then be repeated.
    """

    def __init__(
        self,
        redis: Redis,
        scripts: Scripts,
        lane: Lane,
        *,
        process: str,
        namespace: str,
        grace: timedelta,
        seal: Seal,
    ) -> None:
        self.process = process
        self.grace = milliseconds(grace)
        self._redis = redis
        self._scripts = scripts
        self._lane = lane
        self._namespace = namespace
        self._seal = seal

    async def publish(self, interrupt: Interrupt, *, waits: bool, replaced: str = "") -> tuple[str, str]:
        """Store an interrupt once.

        Args:
            interrupt: What is asked.
            waits: Whether this process waits for the answer.
            replaced: The ended record that it asks again.

        Returns:
            (`created`, its id), (`known`, id of the record that asks about its pauses already), or (`mixed`, id of
            the record that asks about some of them).

        Raises:
            InvalidRequestError: when it is over a limit.
        """
        lane = self._lane
        # A large one takes a while to check, and whoever shares the loop does not wait for it.
        body, fingerprint = await asyncio.to_thread(_written, interrupt)
        pauses = [
            pause_digest(interrupt.agent, interrupt.run, pause) for pause in dict.fromkeys(interrupt.pauses)
        ]
        outcome, found = await self._scripts(
            "publish",
            [
                lane.req(interrupt.id),
                lane.undrawn,
                lane.wake,
                lane.audit,
                lane.run(interrupt.id),
                *map(lane.pause, pauses),
            ],
            [
                interrupt.id,
                fingerprint,
                body,
                milliseconds(interrupt.expires_in),
                self.process if waits else "",
                lane.prefix,
                " ".join(pauses),
                replaced,
                *self._entrusted(interrupt.id, interrupt),
            ],
        )
        return outcome, found

    async def entrust(self, interrupt_id: str, interrupt: Interrupt) -> None:
        """Give workers the continuation of this interrupt, unless the record has one.

        Raises:
            InvalidRequestError: when it is over the limit.
        """
        lane = self._lane
        await self._scripts(
            "entrust",
            [lane.req(interrupt_id), lane.card(interrupt_id), lane.run(interrupt_id), lane.unresumed],
            [interrupt_id, lane.prefix, *self._entrusted(interrupt_id, interrupt)],
        )

    def _entrusted(self, record: str, interrupt: Interrupt) -> tuple[str, str, int]:
        if interrupt.continuation is None:
            return "", "", 0
        needs = f"{interrupt.agent}: {interrupt.continuation.needs}"
        text = dump_continuation(interrupt.continuation)
        return self._seal.close(text, record=record, field="continuation"), needs, self.grace

    async def attach(self, interrupt_id: str, *, each_decision: bool = False) -> None:
        """Have this process woken when a record ends or has a notice, or also at each decision.

        Raises:
            UnknownInterruptError: when there is none.
        """
        with _of_our_types(interrupt_id):
            known = await self._scripts(
                "attach", [self._lane.req(interrupt_id)], [self.process, int(each_decision)]
            )
        if not known:
            raise self._unknown(interrupt_id)

    async def load(self, interrupt_id: str) -> Record:
        """Read a record.

        Raises:
            UnknownInterruptError: when there is none.
            InvalidRequestError: when it is none that this version reads.
        """
        with _of_our_types(interrupt_id):
            req, card, now = await read_hashes(self._scripts, self._lane, interrupt_id)
        if not req:
            raise self._unknown(interrupt_id)
        return await self._record(interrupt_id, req, card, now)

    async def withdraw(self, interrupt_id: str, reason: str) -> None:
        """Ask the bot to end a record.

        Raises:
            UnknownInterruptError: when there is none.
        """
        lane = self._lane
        with _of_our_types(interrupt_id):
            outcome = await self._scripts(
                "withdraw",
                [lane.req(interrupt_id), lane.card(interrupt_id), lane.due, lane.audit],
                [interrupt_id, reason],
            )
        if outcome == "unknown":
            raise self._unknown(interrupt_id)

    async def claim(self, interrupt_id: str, owner: str, lease: int) -> None:
        """Take or renew the right to resume a run for `lease` milliseconds; with 0, give it back.

        Raises:
            ClaimedError: when another process holds it.
            ConsumedError: when the run was resumed.
            UnknownInterruptError: when the record is gone.
        """
        await self._claim(interrupt_id, owner, lease, reads=False)

    async def take(self, interrupt_id: str, owner: str, lease: int) -> Record:
        """Take the right to resume a run, and read its record at the same moment.

        Raises: as `claim`; and InvalidRequestError when it is no record that this version reads. The claim is taken then.
        """
        _fence, req, card, now = await self._claim(interrupt_id, owner, lease, reads=True)
        return await self._record(interrupt_id, fields_of(req), fields_of(card), now)

    async def _claim(self, interrupt_id: str, owner: str, lease: int, *, reads: bool) -> Sequence[Any]:
        rest: list[Any]
        lane = self._lane
        with _of_our_types(interrupt_id):
            outcome, *rest = await self._scripts(
                "claim_resume",
                [lane.req(interrupt_id), lane.card(interrupt_id), lane.due, lane.undrawn, lane.wake],
                [owner, lease, self.grace, int(reads), interrupt_id, lane.prefix],
            )
        match outcome:
            case "claimed" | "unsure":
                sentence = f"{interrupt_id}: another process is resuming it, for {rest[0]} ms more at least"
                raise (
                    UnsureError(sentence, known_in=rest[0]) if outcome == "unsure" else ClaimedError(sentence)
                )
            case "consumed":
                raise ConsumedError(f"{interrupt_id} was already answered and its run resumed")
            case "pending":
                raise AgentAdapterError(f"{interrupt_id} is not decided: wait for it before resuming")
            case "unknown":
                raise self._unknown(interrupt_id)
            case "damaged":
                raise UnreadableRecordError(
                    f"{interrupt_id} cannot be read, because what was asked is missing: "
                    "look for what else writes to this Redis"
                )
        return rest

    async def finish(self, interrupt_id: str, owner: str) -> None:
        """Note that the run went on. Final.

        Raises:
            ClaimLostError: when the claim lapsed and another process took it.
        """
        lane = self._lane
        outcome = await self._scripts(
            "finish_resume",
            [
                lane.req(interrupt_id),
                lane.card(interrupt_id),
                lane.undrawn,
                lane.wake,
                lane.audit,
                lane.unresumed,
                lane.due,
            ],
            [interrupt_id, owner, lane.prefix],
        )
        if outcome in {"consumed", "lost"}:
            raise ClaimLostError(
                f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
            )

    async def hold_thread(self, thread: str, owner: str, lease: int) -> None:
        """Take or renew the right to run a thread, given by its digest, for `lease` milliseconds; with 0, give it back.

        Raises:
            ClaimedError: when another call runs it.
        """
        left = await self._scripts("hold_thread", [self._lane.thread(thread)], [owner, lease])
        if left:
            raise ClaimedError(
                "another process is running this thread; if that process has died, the thread is free again within "
                f"{-(-left // 1000)} seconds"
            )

    async def stall(self, interrupt_id: str, reason: str) -> None:
        """Have the card say why its run could not be resumed."""
        lane = self._lane
        keys = [lane.req(interrupt_id), lane.undrawn, lane.wake]
        await self._scripts("stall", keys, [interrupt_id, reason[:REASON_SHOWN]])

    def new_owner(self) -> str:
        """Name a claim of this process."""
        return f"{self.process}:{secrets.token_hex(6)}"

    async def _record(self, interrupt_id: str, req: Fields, card: Fields, now: int) -> Record:
        expect_written(interrupt_id, req)
        body = req["body"]
        with reading(interrupt_id):
            is_large = len(body) > SMALL
            interrupt = await asyncio.to_thread(load_interrupt, body) if is_large else load_interrupt(body)
            return Record(interrupt, req, card, now, self.grace)

    def _unknown(self, interrupt_id: str) -> UnknownInterruptError:
        return UnknownInterruptError(f"{interrupt_id}: no such interrupt in namespace {self._namespace!r}")


@contextlib.contextmanager
def _of_our_types(interrupt_id: str) -> Iterator[None]:
    """Raise as an unreadable record where a key of it is of another type than ours."""
    try:
        yield
    except ServerFailedError as error:
        if "WRONGTYPE" not in str(error):
            raise
        raise UnreadableRecordError(f"{interrupt_id} cannot be read: {error}") from error


def _written(interrupt: Interrupt) -> tuple[str, str]:
    return dump_interrupt(interrupt), interrupt_fingerprint(interrupt)


def milliseconds(duration: timedelta) -> int:
    """Write a duration as the store counts."""
    return int(duration.total_seconds() * 1000)
