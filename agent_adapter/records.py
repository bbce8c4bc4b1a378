"""The agent's side of the record in Redis: typed verbs over the scripts."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis.asyncio import Redis

from agent_adapter.connection import Scripts, fields_of, read_hashes
from agent_adapter.contract.identity import interrupt_fingerprint, pause_digest
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.contract.keys import Lane
from agent_adapter.contract.record import Fields, raise_unanswered, read_resume
from agent_adapter.contract.wire import dump_continuation, dump_interrupt, load_interrupt
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    UnknownInterruptError,
)

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
        deadline = int(self.card.get("deadline", self.req["deadline"]))
        return read_resume(self.interrupt, self.card, deadline=deadline, now=self.now, grace=self.grace)

    def answer(self) -> Resume:
        """Give the answer to resume the run with.

        Raises:
            InterruptEndedError: when it ended without one.
            DecisionNotAllowedError: when what is stored does not answer what was asked.
        """
        resume = self.resume()
        if resume is None:
            raise AgentAdapterError(f"{self.interrupt.id} is not decided: wait for it before resuming")
        raise_unanswered(self.interrupt, resume)
        return resume

    @property
    def is_resumed(self) -> bool:
        return "resumed" in self.req

    @property
    def ended_unanswered(self) -> bool:
        """Whether it ended without an answer that a run could resume with."""
        resume = self.resume()
        return resume is not None and None in resume.decisions

    @property
    def notice(self) -> str | None:
        """Why nothing happens with it, in the bot's words."""
        return self.card.get("notice")


class Records:
    """Reads and writes the records of one agent, on behalf of one process.

    Every verb raises ServerUnreachableError when Redis does not answer, and may then be repeated.
    """

    def __init__(
        self, redis: Redis, scripts: Scripts, lane: Lane, *, process: str, namespace: str, grace: timedelta
    ) -> None:
        self.process = process
        self.grace = milliseconds(grace)
        self._redis = redis
        self._scripts = scripts
        self._lane = lane
        self._namespace = namespace

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
        lane, body = self._lane, dump_interrupt(interrupt)
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
                interrupt_fingerprint(interrupt),
                body,
                milliseconds(interrupt.expires_in),
                self.process if waits else "",
                lane.prefix,
                " ".join(pauses),
                replaced,
                *self._entrusted(interrupt),
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
            [interrupt_id, lane.prefix, *self._entrusted(interrupt)],
        )

    def _entrusted(self, interrupt: Interrupt) -> tuple[str, str, int]:
        if interrupt.continuation is None:
            return "", "", 0
        needs = f"{interrupt.agent}: {interrupt.continuation.needs}"
        return dump_continuation(interrupt.continuation), needs, self.grace

    async def attach(self, interrupt_id: str, *, each_decision: bool = False) -> None:
        """Have this process woken when a record ends or has a notice, or also at each decision.

        Raises:
            UnknownInterruptError: when there is none.
        """
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
        req, card, now = await read_hashes(self._scripts, self._lane, interrupt_id)
        if "body" not in req:
            raise self._unknown(interrupt_id)
        return self._record(req, card, now)

    async def withdraw(self, interrupt_id: str, reason: str) -> None:
        """Ask the bot to end a record.

        Raises:
            UnknownInterruptError: when there is none.
        """
        lane = self._lane
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
        return self._record(fields_of(req), fields_of(card), now)

    async def _claim(self, interrupt_id: str, owner: str, lease: int, *, reads: bool) -> Sequence[Any]:
        rest: list[Any]
        lane = self._lane
        outcome, *rest = await self._scripts(
            "claim_resume",
            [lane.req(interrupt_id), lane.card(interrupt_id)],
            [owner, lease, self.grace, int(reads)],
        )
        match outcome:
            case "claimed":
                raise ClaimedError(
                    f"{interrupt_id}: another process is resuming it, for {rest[0]} ms more at least"
                )
            case "consumed":
                raise ConsumedError(f"{interrupt_id} was already answered and its run resumed")
            case "pending":
                raise AgentAdapterError(f"{interrupt_id} is not decided: wait for it before resuming")
            case "unknown":
                raise self._unknown(interrupt_id)
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
            ],
            [interrupt_id, owner, lane.prefix],
        )
        if outcome in {"consumed", "lost"}:
            raise ClaimLostError(
                f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
            )

    async def stall(self, interrupt_id: str, reason: str) -> None:
        """Have the card say why its run could not be resumed."""
        lane = self._lane
        keys = [lane.req(interrupt_id), lane.undrawn, lane.wake]
        await self._scripts("stall", keys, [interrupt_id, reason[:REASON_SHOWN]])

    def new_owner(self) -> str:
        """Name a claim of this process."""
        return f"{self.process}:{secrets.token_hex(6)}"

    def _record(self, req: Fields, card: Fields, now: int) -> Record:
        return Record(load_interrupt(req["body"]), req, card, now, self.grace)

    def _unknown(self, interrupt_id: str) -> UnknownInterruptError:
        return UnknownInterruptError(f"{interrupt_id}: no such interrupt in namespace {self._namespace!r}")


def milliseconds(duration: timedelta) -> int:
    """Write a duration as the store counts."""
    return int(duration.total_seconds() * 1000)
