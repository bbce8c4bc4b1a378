"""The agent's side of the record in Redis: typed methods over the scripts."""

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from agent_adapter.cipher import RECORD_KEY, STATE_KEY, Cipher
from agent_adapter.contract.identity import pause_digest
from agent_adapter.contract.interrupt import DecidedResume, Interrupt, Resume
from agent_adapter.contract.keys import Keys, Named
from agent_adapter.contract.outcome import RUNS, Outcome, Reported, dump_outcome
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.record import (
    Fields,
    Recorded,
    decided,
    expect_written,
    load_recorded,
    load_reported,
    milliseconds,
    moment,
    read_reported,
    read_resume,
    reading,
)
from agent_adapter.contract.trace import TraceContext
from agent_adapter.contract.wire import dump_continuation, dump_interrupt, load_interrupt
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimLostError,
    ConflictError,
    DecisionNotAllowedError,
    InvalidRequestError,
    ReceiptError,
    UnreadableRecordError,
)
from agent_adapter.receipts.answer import Verifier, proven
from agent_adapter.receipts.question import Marks, sign_question
from agent_adapter.receipts.statement import continuation_field
from agent_adapter.redis.acts import (
    Claim,
    ThreadClaim,
    exists,
    finish,
    go_on_with,
    publish,
    read,
    report,
    stall,
    unknown,
    withdraw,
)
from agent_adapter.redis.change import Answer, Change, Stamp, Word, read_hashes, run, written
from agent_adapter.redis.scripts import Private, Scripts, opened

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

SMALL = 16_384
"""Up to this many characters, a stored interrupt is read on the event loop; longer ones in a thread."""
ASKED_LATELY = 600.0
"""Seconds after which a question that is asked again counts as a new one: nobody looks for its card any more."""
REASON_SHOWN = 1_000
"""Characters of an error that are shown on a card."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one interrupt at one moment, as the agent reads it."""

    interrupt: Interrupt
    _req: Fields
    _card: Fields
    _now: int
    _grace: int
    _stored: Fields
    """The bot's side as it is stored: encrypted if there is a key."""
    receipts: tuple[Receipt | None, ...] = ()
    """What proves that each call may run, for a client with a ring."""
    faults: Mapping[int, ReceiptError] = field(default_factory=dict)
    """Why stored decisions count for nothing, by the index of the action, for a client with a ring."""

    @property
    def read_at(self) -> datetime:
        """When this was read, by the clock of Redis."""
        return moment(self._now)

    @property
    def body(self) -> str:
        """The question as it is stored, before it is encrypted."""
        return self._req["body"]

    @property
    def trace(self) -> TraceContext | None:
        """Where it was asked in a trace, if its agent traces."""
        return TraceContext.read(self._req)

    @property
    def created_at(self) -> datetime:
        with reading(self.interrupt.id):
            return moment(self._req["created"])

    @property
    def deadline(self) -> datetime:
        """Until when people may decide. The bot may change the agent's deadline: by a rule, or when people extend it."""
        with reading(self.interrupt.id):
            return moment(self._deadline)

    @property
    def resumed_at(self) -> datetime | None:
        """When the agent recorded that its run was resumed."""
        with reading(self.interrupt.id):
            return moment(self._req["resumed"]) if self.is_resumed else None

    def recorded(self) -> list[Recorded | None]:
        """Return the decision about each action; `None` for an action that is still open."""
        return [
            load_recorded(self._card, index) for index in range(len(self.interrupt.request.action_requests))
        ]

    def outcomes(self) -> list[Reported | None]:
        """Return what was reported about each action; `None` where nothing was."""
        with reading(self.interrupt.id):
            return [
                load_reported(self._req, index)
                for index in range(len(self.interrupt.request.action_requests))
            ]

    def resume(self) -> Resume | None:
        """Return the answer; `None` while the interrupt is open."""
        # The bot's deadline replaces our own: a policy may set an earlier one, and people may extend it.
        with reading(self.interrupt.id):
            resume = read_resume(
                self.interrupt,
                self._card,
                deadline=self._deadline,
                now=self._now,
                grace=self._grace,
                faults=self.faults,
            )
        return resume and resume.model_copy(update={"receipts": self.receipts})

    @property
    def _deadline(self) -> int:
        return int(self._card.get("deadline", self._req["deadline"]))

    def answer(self) -> DecidedResume:
        """Return the answer to resume the run with.

        Raises:
            InterruptEndedError: when it ended without one.
            DecisionNotAllowedError: when a stored decision does not fit the action that it answers.
            ReceiptError: when a stored decision is not proven.
            AgentAdapterError: when it is not decided yet.
        """
        resume = self.resume()
        if resume is None:
            for fault in self.faults.values():
                raise fault
            raise AgentAdapterError(f"{self.interrupt.id} is not decided: wait for it before resuming")
        return decided(self.interrupt, resume)

    @property
    def is_resumed(self) -> bool:
        return "resumed" in self._req

    @property
    def unused(self) -> str:
        """Why its answer could not be used, so that nothing ran; empty otherwise. The same question may be asked again."""
        return self._req.get("stalled", "") if "unused" in self._req else ""

    @property
    def claim_lapsed_at(self) -> datetime | None:
        """When the claim on its run expired, if the process that took the answer has not recorded that the run went on."""
        with reading(self.interrupt.id):
            until = int(self._req.get("claim_until", 0))
            return moment(until) if until and until <= self._now and not self.is_resumed else None

    def was_claimed_before(self, owner: str) -> bool:
        """Whether somebody else had its answer before this owner. A claim that was sent twice finds itself."""
        return "claimed_again" in self._req or self._req.get("claim_by") not in {None, owner}

    def check_claim(self, owner: str | None, *, process: str) -> str:
        """Return the fence of the claim on its run.

        Args:
            owner: Whose claim it has to be; `None` for any of this process.
            process: The name of this process, with which the owner names of its claims begin.

        Raises:
            ClaimLostError: when the claim is somebody else's, or nobody has claimed it.
        """
        holder = self._req.get("claim_by")
        if holder is None:
            raise ClaimLostError(
                f"{self.interrupt.id}: nobody has claimed its run, so nothing can have run: take the answer with "
                "`review`, `reviewing`, `resuming` or `claim` first"
            )
        if holder != owner if owner is not None else not holder.startswith(f"{process}:"):
            raise ClaimLostError(
                f"{self.interrupt.id}: another process has the claim on its run, and reports what becomes of it"
                + ("" if owner is not None else "; if you took it with `claim`, pass its owner as claim=…")
            )
        return self._req["fence"]

    def check_reportable(self, index: int) -> str:
        """Return the stored decision that lets this action run.

        Raises:
            InvalidRequestError: when the record has no action with this index.
            DecisionNotAllowedError: when it was not approved, so it did not run.
            InterruptEndedError: when the interrupt ended without an answer, so nothing ran.
            AgentAdapterError: when the interrupt is not decided yet.
        """
        decisions = self.answer().decisions
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(decisions):
            raise InvalidRequestError(
                f"index: {self.interrupt.id} has no action {index!r}: pass its position in the batch, "
                f"from 0 to {len(decisions) - 1}"
            )
        kind = decisions[index].type
        if kind not in RUNS:
            name = self.interrupt.request.action_requests[index].name
            raise DecisionNotAllowedError(
                f"{self.interrupt.id}: the decision about action {index} ({name}) is {kind}, so it has no outcome: "
                "report what became of approved and edited actions only"
            )
        return self._stored[f"d:{index}"]

    @property
    def ended_unanswered(self) -> bool:
        """Whether it ended without an answer that a run could resume with."""
        resume = self.resume()
        return resume is not None and None in resume.decisions

    @property
    def notice(self) -> str | None:
        """Why nothing happens with it, as a sentence of the bot; `None` when all is well."""
        return self._card.get("notice")


class Records:
    """Reads and writes the records of one agent, for one process.

    Every method raises ServerUnreachableError when Redis does not answer, and may then be repeated.
    """

    def __init__(
        self,
        scripts: Scripts,
        keys: Keys,
        *,
        process: str,
        grace: int,
        state_cipher: Cipher,
        verifier: Verifier | None = None,
        signer: "Signer | None" = None,
        marks: Marks | None = None,
    ) -> None:
        self.process = process
        self.grace = grace
        self._scripts = scripts
        self._keys = keys
        self._state_cipher = state_cipher
        self._verifier = verifier
        self._signer = signer
        self._marks = marks

    async def publish(
        self,
        interrupt: Interrupt,
        *,
        waits: bool,
        replaced: str = "",
        trace: TraceContext | None = None,
        since: float | None = None,
    ) -> tuple[str, str]:
        """Store an interrupt once, in place of an ended record (`replaced`) that is asked again.

        `waits` says whether this process waits for the answer, `since` when it first asked, if that may have been before.

        Returns:
            (`created`, its id), (`known`, the id of the record that already asks about its pauses), or (`mixed`, the id
            of a record that asks about some of them).
        """
        # The check of a large one takes a while, so it runs in a thread and does not block the event loop.
        body = await asyncio.to_thread(dump_interrupt, interrupt)
        pauses = [
            pause_digest(interrupt.agent, interrupt.run, pause) for pause in dict.fromkeys(interrupt.pauses)
        ]
        names = self._keys.of(interrupt.id)
        known = {self._keys.pause(interrupt.agent, pause): replaced or None for pause in pauses}
        req: dict[str, Word] = {f"w:{self.process}": 1} if waits else {}
        if signature := await self._signed(interrupt, body):
            req["signature"] = signature
        if trace:
            req["traceparent"] = trace.parent
        needed, state = self._continuation(interrupt.id, interrupt, body)
        req |= needed | {
            "body": Private(body, "body"),
            "pauses": " ".join(pauses),
            "created": Stamp(-_age(since)),
            "deadline": Stamp(milliseconds(interrupt.expires_in)),
        }
        while True:
            answer = await self._run(names, publish(names, known, req, state))
            if answer.ran:
                return "created", interrupt.id
            known = dict(zip(known, answer.found, strict=False))
            others = sorted(filter(None, {*known.values()}))
            # A pause outlives a record that was deleted by hand.
            if live := [record for record in others if await self._is_there(record)]:
                return "known" if {*known.values()} == {live[0]} else "mixed", live[0]
            if answer.found[-1] is not None:
                return "known", interrupt.id

    async def _is_there(self, interrupt_id: str) -> bool:
        names = self._keys.of(interrupt_id)
        return (await self._run(names, Change([exists(names)]))).ran

    async def _signed(self, interrupt: Interrupt, body: str) -> str:
        if self._marks is not None:
            return await self._marks.mark(interrupt, body)
        if self._signer is None:
            return ""
        at = time.time_ns() // 1_000_000
        return sign_question(self._signer, interrupt, body, namespace=self._keys.namespace, at=at)

    async def add_continuation(self, record: Record, interrupt: Interrupt) -> None:
        """Store the continuation of this interrupt for the workers of a record, unless it already has one."""
        names = self._keys.of(record.interrupt.id)
        await self._run(
            names, go_on_with(names, *self._continuation(record.interrupt.id, interrupt, record.body))
        )

    def _continuation(
        self, record: str, interrupt: Interrupt, body: str
    ) -> tuple[dict[str, Word], dict[str, Word]]:
        """Return the fields of the record and of its run about a continuation; none without one."""
        if interrupt.continuation is None:
            return {}, {}
        self.check_state_key()
        text = dump_continuation(interrupt.continuation)
        needs = f"{interrupt.agent}: {interrupt.continuation.needs}"
        closed = self._state_cipher.close(text, record=record, field=continuation_field(body))
        return {"needs": needs, "head_start": self.grace}, {"continuation": closed}

    def check_state_key(self) -> None:
        """Refuse to store the state of a run that nothing would protect."""
        why = f"{RECORD_KEY} encrypts the question" if self._scripts.cipher else ""
        why = "decisions are signed (there is a ring)" if self._verifier else why
        if why and not self._state_cipher:
            raise InvalidRequestError(
                f"continuation: {why}, and nothing would protect the state of its run: set {STATE_KEY} too"
            )

    async def add_waiter(self, interrupt_id: str, *, each_decision: bool = False) -> None:
        """Have this process woken when a record ends or gets a notice; with `each_decision`, at each decision too."""
        names = self._keys.of(interrupt_id)
        fields: dict[str, Word] = {f"w:{self.process}": 1}
        if each_decision:
            fields[f"f:{self.process}"] = 1
        waits = Change([exists(names)], written(names["req"], fields))
        if not (await self._run(names, waits)).ran:
            raise unknown(names)

    async def load(self, interrupt_id: str) -> Record:
        """Read a record."""
        names = self._keys.of(interrupt_id)
        (req, card), now = await read_hashes(self._scripts, names, "req", "card")
        if not req:
            raise unknown(names)
        return await self._record(interrupt_id, req, card, now)

    async def withdraw(self, interrupt_id: str, reason: str) -> None:
        """Ask the bot to end a record."""
        names = self._keys.of(interrupt_id)
        answer = await self._run(names, withdraw(names, reason))
        if answer.found[0] is None:
            raise unknown(names)

    async def take(self, interrupt_id: str, owner: str, lease: int) -> tuple[Record, int]:
        """Take the right to resume a run, and read its record at the same moment. Also give the fence of the claim."""
        wish = Claim(self._keys.of(interrupt_id), owner, lease, self.grace, reads=True)
        fence, answer = await self._settle(wish)
        req, card, *_ = read(wish.names, answer)
        return await self._record(interrupt_id, req, card, answer.now), fence

    async def claim(self, interrupt_id: str, owner: str, lease: int, *, held: int | None = None) -> None:
        """Take or renew the right to resume a run for `lease` milliseconds; with 0, give it back.

        `held` is the fence of the claim that the owner has already, also if Redis has lost that.
        """
        await self._settle(Claim(self._keys.of(interrupt_id), owner, lease, self.grace, held))

    async def _settle(self, wish: Claim) -> tuple[int, Answer]:
        """Claim by what is likely, and then by what the record says. Give the fence, and what was read."""
        step, answer = wish.guess(), None
        while step.change:
            answer = await self._run(wish.names, step.change)
            if answer.ran:
                break
            with reading(wish.names["id"]):
                step = wish.judge(answer)
        if step.then:
            raise step.then
        assert answer
        return answer.now if step.fence is None else step.fence, answer

    async def finish(
        self, interrupt_id: str, owner: str, fence: int | None = None, *, unused: str = ""
    ) -> None:
        """Record that the run was resumed, or why (`unused`) it could not be. Final.

        With the `fence` of their claim, an older claim in Redis does not count as somebody else's.
        """
        names = self._keys.of(interrupt_id)
        holder: str | None = owner
        while True:
            answer = await self._run(names, finish(names, owner, holder, unused[:REASON_SHOWN]))
            there, by, holder, newest = answer.found
            if answer.ran:
                return
            if there is None or by == owner:
                return
            # Redis may have lost this claim. Then an older one is there, or none.
            is_older = fence is not None and int(newest or 0) < fence
            if by is not None or (holder not in {None, owner} and not is_older):
                raise ClaimLostError(
                    f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
                )

    async def claim_thread(self, thread: str, owner: str, lease: int, *, is_held: bool = False) -> None:
        """Take or renew the right to run a thread, given by its id, for `lease` milliseconds."""
        wish = ThreadClaim(self._keys.of(thread), owner, lease, is_held)
        answer = await self._run(wish.names, wish.guess())
        while not answer.ran:
            answer = await self._run(wish.names, wish.judge(answer))

    async def leave_thread(self, thread: str, owner: str) -> None:
        """Give back the right to run a thread."""
        names = self._keys.of(thread)
        await self._run(names, ThreadClaim(names, owner, 0, is_held=True).give_back())

    async def report(
        self, interrupt_id: str, index: int, outcome: Outcome, *, owner: str | None, fenced: bool = True
    ) -> Reported:
        """Keep what became of an approved call. The first outcome is kept.

        Where `fenced`, the claim on the run has to be the owner's; without one, any of this process.
        """
        record, names = await self.load(interrupt_id), self._keys.of(interrupt_id)
        decided = record.check_reportable(index)
        fence = record.check_claim(owner, process=self.process) if fenced else None
        text = dump_outcome(outcome)
        answer = await self._run(names, report(names, index, decided, fence, outcome.status, text))
        there, holder, known, _ = answer.found
        if there is None:
            raise unknown(names)
        if fence is not None and holder != fence:
            raise ClaimLostError(
                f"{interrupt_id}: another process took the claim on its run, and reports what becomes of it"
            )
        if known is None and not answer.ran:
            raise ConflictError(f"{interrupt_id}: its decision has changed meanwhile: read the record again")
        field, kept = f"outcome:{index}", f"{answer.now} {text}" if known is None else known
        with reading(interrupt_id):
            stored = opened(self._scripts.cipher, interrupt_id, {field: kept})
            return replace(read_reported(stored[field]), is_repeat=known is not None)

    async def mark_stalled(self, interrupt_id: str, owner: str, reason: str) -> None:
        """Show on the card why its run could not be resumed, or with which error it ended under this claim."""
        names = self._keys.of(interrupt_id)
        await self._run(names, stall(names, owner, reason[:REASON_SHOWN]))

    def new_owner(self) -> str:
        """Make a new owner name for a claim of this process."""
        return f"{self.process}:{secrets.token_hex(6)}"

    async def _record(self, interrupt_id: str, stored: Fields, decided: Fields, now: int) -> Record:
        expect_written(interrupt_id, stored)
        req, card = (opened(self._scripts.cipher, interrupt_id, each) for each in (stored, decided))
        body = req["body"]
        with reading(interrupt_id):
            is_large = len(body) > SMALL
            interrupt = await asyncio.to_thread(load_interrupt, body) if is_large else load_interrupt(body)
        if interrupt.id != interrupt_id:
            raise UnreadableRecordError(f"{interrupt_id} holds the interrupt {interrupt.id}")
        if self._marks is not None:
            self._marks.check(interrupt, body, req.get("signature", ""))
        if self._verifier is None:
            return Record(interrupt, req, card, now, self.grace, decided)
        proof = proven(interrupt, card, self._verifier, body=body, now=time.time_ns() // 1_000_000)
        return Record(interrupt, req, proof.fields, now, self.grace, decided, proof.receipts, proof.faults)

    async def _run(self, names: Named, change: Change) -> Answer:
        return await run(self._scripts, names, change)


def _age(since: float | None) -> int:
    age = 0.0 if since is None else time.monotonic() - since
    return int(age * 1000) if age < ASKED_LATELY else 0
