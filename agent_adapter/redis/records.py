"""The agent's side of the record in Redis: typed methods over the scripts."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent_adapter.cipher import RECORD_KEY, STATE_KEY, Cipher
from agent_adapter.contract.identity import pause_digest
from agent_adapter.contract.interrupt import DecidedResume, Interrupt, Resume
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.outcome import RUNS, Outcome, Reported, dump_outcome
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.record import (
    Asked,
    Fields,
    Recorded,
    decided,
    expect_written,
    fields_sent,
    load_recorded,
    load_reported,
    milliseconds,
    moment,
    read_reported,
    read_resume,
    read_sent_answer,
    reading,
)
from agent_adapter.contract.trace import TraceContext
from agent_adapter.contract.wire import dump_continuation, dump_interrupt, load_interrupt
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InvalidRequestError,
    NotDecidedError,
    ReceiptError,
    ServerFailedError,
    UnknownInterruptError,
    UnreadableRecordError,
)
from agent_adapter.receipts.answer import Verifier, proven
from agent_adapter.receipts.question import Marks, sign_question
from agent_adapter.receipts.statement import continuation_field
from agent_adapter.redis.private import Private, opened
from agent_adapter.redis.scripts import Scripts, Value, fields_of, read_hashes

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
        """Return the answer; `None` while the interrupt is open.

        Raises:
            DecisionNotAllowedError: when a stored decision is not about this interrupt, or of a kind that is not allowed.
        """
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


class UnsureError(ClaimedError):
    """It is not known yet whether a living process holds the claim: the server's clock was set, or it was replaced."""

    def __init__(self, message: str, *, known_in: int) -> None:
        super().__init__(message)
        self.known_in = known_in
        """Milliseconds until a living holder has renewed it."""


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
        outcome, found = await self._scripts(
            "publish",
            self._keys.of(interrupt.id),
            [],
            [self._keys.pause(interrupt.agent, pause) for pause in pauses],
            body=Private(body, "body"),
            signature=await self._signed(interrupt, body),
            lifetime=milliseconds(interrupt.expires_in),
            age=_age(since),
            process=self.process if waits else "",
            traceparent=trace.parent if trace else "",
            tracestate=trace.state if trace else "",
            pauses=" ".join(pauses),
            replaced=replaced,
            **self._continuation(interrupt.id, interrupt, body),
        )
        return outcome, found

    async def _signed(self, interrupt: Interrupt, body: str) -> str:
        if self._marks is not None:
            return await self._marks.mark(interrupt, body)
        if self._signer is None:
            return ""
        at = time.time_ns() // 1_000_000
        return await sign_question(self._signer, interrupt, body, namespace=self._keys.namespace, at=at)

    async def add_continuation(self, record: Record, interrupt: Interrupt) -> None:
        """Store the continuation of this interrupt for the workers of a record, unless it already has one."""
        interrupt_id = record.interrupt.id
        given = self._continuation(interrupt_id, interrupt, record.body)
        await self._scripts("add_continuation", self._keys.of(interrupt_id), **given)

    def _continuation(self, record: str, interrupt: Interrupt, body: str) -> dict[str, Value]:
        """Return the script arguments about a continuation; empty values without one."""
        if interrupt.continuation is None:
            return {"continuation": "", "needs": "", "head_start": 0}
        why = f"{RECORD_KEY} encrypts the question" if self._scripts.cipher else ""
        why = "decisions are signed (there is a ring)" if self._verifier else why
        if why and not self._state_cipher:
            raise InvalidRequestError(
                f"continuation: {why}, and nothing would protect the state of its run: set {STATE_KEY} too"
            )
        text = dump_continuation(interrupt.continuation)
        return {
            "continuation": self._state_cipher.close(text, record=record, field=continuation_field(body)),
            "needs": f"{interrupt.agent}: {interrupt.continuation.needs}",
            "head_start": self.grace,
        }

    async def add_waiter(self, interrupt_id: str, *, each_decision: bool = False) -> None:
        """Have this process woken when a record ends or gets a notice; with `each_decision`, at each decision too."""
        await self._run("add_waiter", interrupt_id, process=self.process, follows=int(each_decision))

    async def load(self, interrupt_id: str) -> Record:
        """Read a record."""
        with _of_our_types(interrupt_id):
            req, card, now = await read_hashes(self._scripts, self._keys, interrupt_id)
        if not req:
            raise self._unknown(interrupt_id)
        return await self._record(interrupt_id, req, card, now)

    def sent_answer(self, interrupt_id: str, asked: Asked, sent: str) -> Resume | None:
        """Read the answer that came with a wake-up. `None` when there is none, or it is not proven: the record says more."""
        if self._verifier is None:
            return read_sent_answer(interrupt_id, asked, sent)
        try:
            return self._proven_answer(interrupt_id, asked, fields_sent(sent), self._verifier)
        except AgentAdapterError:
            return None

    def _proven_answer(
        self, interrupt_id: str, asked: Asked, card: Fields, verifier: Verifier
    ) -> Resume | None:
        with reading(interrupt_id):
            interrupt = load_interrupt(card.get("body", ""))
            if interrupt.id != interrupt_id or Asked.by(interrupt) != asked:
                return None
            proof = proven(interrupt, card, verifier, body=card["body"], now=time.time_ns() // 1_000_000)
            if proof.fields.get("status") != "decided":
                return None
            resume = read_resume(interrupt, proof.fields, deadline=0, now=0, grace=self.grace)
        return resume and resume.model_copy(update={"receipts": proof.receipts})

    async def withdraw(self, interrupt_id: str, reason: str) -> None:
        """Ask the bot to end a record."""
        await self._run("withdraw", interrupt_id, reason=Private(reason, "withdraw"))

    async def take(self, interrupt_id: str, owner: str, lease: int) -> tuple[Record, int]:
        """Take the right to resume a run, and read its record at the same moment. Also give the fence of the claim."""
        fence, req, card, now = await self.claim(interrupt_id, owner, lease, reads=True)
        return await self._record(interrupt_id, fields_of(req), fields_of(card), now), fence

    async def claim(
        self, interrupt_id: str, owner: str, lease: int, *, reads: bool = False, held: int | None = None
    ) -> Sequence[Any]:
        """Take or renew the right to resume a run for `lease` milliseconds; with 0, give it back.

        `held` is the fence of the claim that the owner has already, also if Redis has lost that.
        """
        outcome: str
        rest: list[Any]
        outcome, *rest = await self._run(
            "claim_resume",
            interrupt_id,
            owner=owner,
            lease=lease,
            grace=self.grace,
            is_read=int(reads),
            held=held,
        )
        match outcome:
            case "claimed":
                raise ClaimedError(
                    f"{interrupt_id}: another process is resuming it, for {rest[0]} ms more at least"
                )
            case "unsure":
                raise UnsureError(
                    f"{interrupt_id}: another process may be resuming it; whether it lives is known in {rest[0]} ms",
                    known_in=rest[0],
                )
            case "consumed":
                raise ConsumedError(f"{interrupt_id} was already answered and its run resumed")
            case "pending":
                raise NotDecidedError(f"{interrupt_id} is not decided: wait for it before resuming")
            case "damaged":
                raise UnreadableRecordError(
                    f"{interrupt_id} cannot be read, because what was asked is missing: "
                    "look for what else writes to this Redis"
                )
        return rest

    async def finish(
        self, interrupt_id: str, owner: str, fence: int | None = None, *, unused: str = ""
    ) -> None:
        """Record that the run was resumed, or why (`unused`) it could not be. Final.

        With the `fence` of their claim, an older claim in Redis does not count as somebody else's.
        """
        names = self._keys.of(interrupt_id)
        why = Private(unused[:REASON_SHOWN], "stalled") if unused else ""
        outcome = await self._scripts("finish_resume", names, owner=owner, fence=fence, unused=why)
        if outcome in {"consumed", "lost"}:
            raise ClaimLostError(
                f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
            )

    async def claim_thread(
        self, thread: str, owner: str, lease: int, *, renews: bool = False, note: str = ""
    ) -> str:
        """Take or renew the right to run a thread, given by its id, for `lease` milliseconds; with 0, give it back.

        Return the note that was left with it.
        """
        outcome, *rest = await self._scripts(
            "claim_thread",
            self._keys.of(thread),
            owner=owner,
            lease=lease,
            renews=int(renews),
            note=note,
        )
        match outcome:
            case "claimed":
                raise ClaimedError(
                    "another process is running this thread; if that process has died, the thread is free again within "
                    f"{-(-rest[0] // 1000)} seconds"
                )
            case "unsure":
                raise UnsureError("another process may be running this thread", known_in=rest[0])
        return str(rest[0])

    async def report(
        self, interrupt_id: str, index: int, outcome: Outcome, *, owner: str | None, fenced: bool = True
    ) -> Reported:
        """Keep what became of an approved call. The first outcome is kept.

        Where `fenced`, the claim on the run has to be the owner's; without one, any of this process.
        """
        record = await self.load(interrupt_id)
        decided = record.check_reportable(index)
        fence = record.check_claim(owner, process=self.process) if fenced else ""
        word, *stored = await self._run(
            "report_outcome",
            interrupt_id,
            index=index,
            decided=decided,
            fence=fence,
            status=outcome.status,
            outcome=Private(dump_outcome(outcome), f"outcome:{index}"),
        )
        match word:
            case "lost":
                raise ClaimLostError(
                    f"{interrupt_id}: another process took the claim on its run, and reports what becomes of it"
                )
            case "changed":
                raise ConflictError(
                    f"{interrupt_id}: its decision has changed meanwhile: read the record again"
                )
        kept = opened(self._scripts.cipher, interrupt_id, {f"outcome:{index}": stored[0]})
        with reading(interrupt_id):
            return replace(read_reported(kept[f"outcome:{index}"]), is_repeat=word == "repeat")

    async def mark_stalled(self, interrupt_id: str, owner: str, reason: str) -> None:
        """Show on the card why its run could not be resumed, or with which error it ended under this claim."""
        names = self._keys.of(interrupt_id)
        said = Private(reason[:REASON_SHOWN], "stalled")
        await self._scripts("mark_stalled", names, owner=owner, reason=said)

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

    async def _run(self, verb: str, interrupt_id: str, **given: Value) -> Any:
        """Run a script about a record that has to be there."""
        with _of_our_types(interrupt_id):
            answer = await self._scripts(verb, self._keys.of(interrupt_id), **given)
        if answer in ("unknown", ["unknown"]):
            raise self._unknown(interrupt_id)
        return answer

    def _unknown(self, interrupt_id: str) -> UnknownInterruptError:
        return UnknownInterruptError(
            f"{interrupt_id}: no such interrupt in namespace {self._keys.namespace!r}"
        )


@contextlib.contextmanager
def _of_our_types(interrupt_id: str) -> Iterator[None]:
    """Turn Redis' error about a key of another type into the error that the record cannot be read."""
    try:
        yield
    except ServerFailedError as error:
        if "WRONGTYPE" not in str(error):
            raise
        raise UnreadableRecordError(f"{interrupt_id} cannot be read: {error}") from error


def _age(since: float | None) -> int:
    age = 0.0 if since is None else time.monotonic() - since
    return int(age * 1000) if age < ASKED_LATELY else 0
