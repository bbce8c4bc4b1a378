"""An `ApprovalClient` without Redis and Slack: its records are in memory, and a reviewer of the test decides."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from secrets import token_hex
from typing import Self

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import (
    Decision,
    HITLRequest,
)
from agent_adapter.contract.identity import action_fingerprints, interrupt_id
from agent_adapter.contract.interrupt import Decided, DecidedResume, Interrupt, Resume, Status
from agent_adapter.contract.outcome import Outcome, Reported, dump_outcome
from agent_adapter.contract.record import (
    decided,
    dump_recorded,
    in_order,
    matching_actions,
    read_reported,
    read_resume,
)
from agent_adapter.contract.wire import agent_name, dump_interrupt, load_interrupt
from agent_adapter.dialects.answers import check_answers
from agent_adapter.edit_check import asked_again, misfit
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    UnknownInterruptError,
    WrongArgumentError,
)
from agent_adapter.expected import expect_id, expect_interrupt, expect_outcome, kind_of
from agent_adapter.idempotency import carrying
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.claims import Right
from agent_adapter.redis.records import Record
from agent_adapter.testing.reviewers import Reviewer
from agent_adapter.testing.runs import InMemoryRuns
from agent_adapter.testing.signing import Signing

REVIEWER = "U0REVIEWER"
"""`decided_by` in the records of a `Resume`."""
POLICY = "test-1"
"""`policy` in the records of a `Resume`."""


class InMemoryApprovalClient(ApprovalClient):
    """An `ApprovalClient` that keeps its records in memory and asks a reviewer of the test.

    Ids, checks and errors are the same as in the real client. The reviewer is called during `wait`, once for each action. If
    it returns `None`, the deadline passes at once.

    Args:
        reviewer: Decides each action, for example a `ScriptedReviewer`.
        agent: The name of the agent.
    """

    def __init__(self, reviewer: Reviewer, *, agent: str = "test") -> None:
        if not callable(reviewer):
            cure = "pass a reviewer, as in ScriptedReviewer({'pay': approve()})"
            raise WrongArgumentError(f"reviewer: this is {kind_of(reviewer)}: {cure}")
        self.agent = agent_name(agent)
        self.reviewer = reviewer
        self.runs: InMemoryRuns = InMemoryRuns(agent, self._is_owed)
        """The runs that a `ResumeWorker` resumes."""
        self._kept: dict[str, _Record] = {}
        self._asked_in: dict[tuple[str, str], str] = {}
        self._running: set[tuple[str, str]] = set()
        self._notes: dict[tuple[str, str], str] = {}
        self._signing: Signing | None = None
        self._lonely = set()

    @property
    def ring(self) -> Ring:
        """The public keys for `@requires_receipt` in a test. From the first reading on, approved calls have receipts."""
        self._signing = self._signing or Signing()
        return self._signing.ring

    @property
    def asked(self) -> tuple[Interrupt, ...]:
        """All questions, in order; each has its actions in `request`, its channel in `route`, and its `context`."""
        return tuple(record.interrupt for record in self._kept.values())

    async def __aenter__(self) -> Self:
        """Do nothing: there is no connection."""
        return self

    def check_open(self) -> None:
        """Do nothing: this client is always open."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    async def publish(self, interrupt: Interrupt) -> str:
        """Store an interrupt once, and return the id of its record. See `ApprovalClient.publish`."""
        expect_interrupt(interrupt)
        asked = load_interrupt(dump_interrupt(interrupt))
        found = await self._published(asked)
        if interrupt.continuation:
            self.runs.add_continuation(found, interrupt.continuation)
        return found

    async def _published(self, asked: Interrupt) -> str:
        records = {self._asked_in.get((asked.run, pause)) for pause in asked.pauses}
        if len(records) > 1:
            raise ConflictError(
                f"some pauses of {asked.id} are already asked, others are not: publish them separately"
            )
        known = records.pop()
        if known is None:
            return self._keep(asked)
        record = await self.record(known)
        if record.is_resumed and not record.unused:
            raise ConsumedError(f"{known} was already answered and its run resumed")
        if not (record.unused or record.ended_unanswered):
            matching_actions(record.interrupt, asked)
            return known
        ids = (interrupt_id(asked.agent, asked.run, asked.pauses, attempt=attempt) for attempt in count(1))
        anew = asked_again(asked, record.unused)
        return self._keep(anew.model_copy(update={"id": next(id for id in ids if id not in self._kept)}))

    async def wait(self, interrupt_id: str) -> Resume:
        """Ask the reviewer about each open action, and return the answer. See `ApprovalClient.wait`."""
        return self._answer(self._record(interrupt_id))

    def _answer(self, record: "_Record") -> Resume:
        resume = record.decided_by(self.reviewer)
        if self._signing is None:
            return resume
        receipts = self._signing.receipts(record.interrupt, resume, record.deadline)
        return resume.model_copy(update={"receipts": receipts})

    @asynccontextmanager
    async def reviewing(self, interrupt: Interrupt) -> AsyncIterator[DecidedResume]:
        """Publish, wait and claim; finish when the body ends. See `ApprovalClient.reviewing`."""
        while True:
            record_id = await self.publish(interrupt)
            indices = matching_actions(self._record(record_id).interrupt, interrupt)
            async with self.resuming(record_id) as resume:
                given = in_order(resume, indices)
                if not (problem := misfit(given.decisions, interrupt)):
                    yield given
                    return
                await self.refuse_answer(given, problem)

    @asynccontextmanager
    async def resuming(
        self,
        interrupt_id: str,
        *,
        interrupt: Interrupt | None = None,
        unchecked: bool = False,  # noqa: ARG002  # as in `ApprovalClient`; nobody else writes to this memory
    ) -> AsyncIterator[DecidedResume]:
        """Claim while the body runs, finish when it ends. See `ApprovalClient.resuming`."""
        record = self._record(interrupt_id)
        resume = decided(record.interrupt, self._answer(record))
        record.claim(owner := token_hex(6))
        try:
            given = resume.model_copy(update={"claim": owner})
            if interrupt:
                given = in_order(given, matching_actions(record.interrupt, interrupt))
                if problem := misfit(given.decisions, interrupt):
                    await self.refuse_answer(given, problem)
                    raise DecisionNotAllowedError(
                        f"{problem}; nothing was resumed, and the question can be asked again"
                    )
            with carrying(given):
                yield given
        finally:
            record.claimed_by = ""
        record.finish(owner)

    async def claim(self, interrupt_id: str, owner: str, lease: timedelta) -> None:
        """Take or give back the right to resume a run. Here, a lease never ends by itself. See `ApprovalClient.claim`."""
        record = self._record(interrupt_id)
        if not record.is_settled:
            raise AgentAdapterError(f"{interrupt_id} is not decided: wait for it before resuming")
        record.claim(owner)
        if not lease:
            record.claimed_by = ""

    async def finish(self, interrupt_id: str, owner: str) -> None:
        """Record that a claimed run was resumed. See `ApprovalClient.finish`."""
        self._record(interrupt_id).finish(owner)

    @asynccontextmanager
    async def running(self, run: str, *, place: str = "") -> AsyncIterator[Right]:
        """Hold the right to run a thread while the body runs its graph. See `ApprovalClient.running`."""
        thread = (run, place)
        if thread in self._running:
            raise ClaimedError("another call is running this thread")
        self._running.add(thread)
        right = Right(self._notes.get(thread, ""))
        try:
            yield right
        finally:
            self._running.discard(thread)
            self._notes[thread] = right.note

    async def record(self, interrupt_id: str) -> Record:
        """Read a record. See `ApprovalClient.record`."""
        kept = self._record(interrupt_id)
        resumed = {"resumed": str(_now())} if kept.resumed else {}
        resumed |= {"unused": "1", "stalled": kept.unused} if kept.unused else {}
        req = {
            "body": dump_interrupt(kept.interrupt),
            "created": str(kept.created),
            "deadline": str(kept.deadline),
            **kept.reported,
            **resumed,
        }
        card = dict(kept.card)
        return Record(kept.interrupt, req, card, _now(), 0, card)

    async def report(
        self,
        interrupt_id: str,
        index: int,
        outcome: Outcome,
        *,
        claim: str | None = None,
        fenced: bool = True,
    ) -> Reported:
        """Keep what became of an approved call; `record(…).outcomes()` has it. See `ApprovalClient.report`."""
        expect_outcome(outcome)
        record = await self.record(interrupt_id)
        record.check_reportable(index)
        kept = self._record(interrupt_id)
        if fenced:
            kept.check_claim(claim)
        return kept.keep(index, outcome)

    def report_later(self, key: str, outcome: Outcome, *, claim: str) -> None:
        """Keep what became of a call at once. See `ApprovalClient.report_later`."""
        interrupt_id, _, index = key.rpartition(":")
        with suppress(AgentAdapterError):
            record = self._record(interrupt_id)
            record.check_claim(claim)
            record.keep(int(index), outcome)

    async def note_failure(self, resume: DecidedResume, error: Exception) -> None:
        """Do nothing: there is no card."""

    async def refuse_answer(self, resume: DecidedResume, reason: str) -> None:
        """End a question whose answer cannot be used. See `ApprovalClient.refuse_answer`."""
        record = self._record(resume.interrupt_id)
        record.resumed, record.unused = True, reason

    async def decisions(self, interrupt_id: str) -> AsyncIterator[Decided]:
        """Yield the index of each action and its decision. See `ApprovalClient.decisions`."""
        for index, decision in enumerate((await self.wait(interrupt_id)).decisions):
            if decision is not None:
                yield Decided(index, decision)

    async def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """End an interrupt that is no longer needed. See `ApprovalClient.withdraw`."""
        self._record(interrupt_id).settle("withdrawn", reason=reason)

    async def withdraw_cancelled(self, *interrupt_ids: str, reason: str) -> None:
        """Withdraw for a call that has ended."""
        for each in interrupt_ids:
            with suppress(UnknownInterruptError):
                await self.withdraw(each, reason)

    def _is_owed(self, interrupt_id: str) -> bool:
        """Let the reviewer decide, as people would while no process waits; return whether the run is owed to a worker."""
        record = self._record(interrupt_id)
        if not record.resumed:
            record.decided_by(self.reviewer)
        return not (record.resumed or record.claimed_by)

    def _keep(self, interrupt: Interrupt) -> str:
        now = _now()
        self._kept[interrupt.id] = _Record(interrupt, now, deadline=now + _milliseconds(interrupt))
        self._asked_in |= {(interrupt.run, pause): interrupt.id for pause in interrupt.pauses}
        return interrupt.id

    def _record(self, interrupt_id: str) -> "_Record":
        expect_id(interrupt_id)
        if interrupt_id not in self._kept:
            raise UnknownInterruptError(f"{interrupt_id}: no such interrupt")
        return self._kept[interrupt_id]


@dataclass
class _Record:
    """One interrupt, with the fields that the bot would have written."""

    interrupt: Interrupt
    created: int
    deadline: int
    card: dict[str, str] = field(default_factory=lambda: {"policy": POLICY})
    claimed_by: str = ""
    last_claim: str = ""
    """Who claimed it last, also when the claim was given back or used."""
    resumed: bool = False
    unused: str = ""
    reported: dict[str, str] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        return "status" in self.card

    def claim(self, owner: str) -> None:
        if self.resumed:
            raise ConsumedError(f"{self.interrupt.id} was already answered and its run resumed")
        if self.claimed_by not in {"", owner}:
            raise ClaimedError(f"{self.interrupt.id}: another call is resuming it")
        self.claimed_by = self.last_claim = owner

    def check_claim(self, owner: str | None) -> None:
        if not self.last_claim or owner not in {None, self.last_claim}:
            raise ClaimLostError(f"{self.interrupt.id}: the claim on its run is somebody else's, or nobody's")

    def keep(self, index: int, outcome: Outcome) -> Reported:
        """Keep an outcome, unless there is one."""
        name = f"outcome:{index}"
        is_repeat = name in self.reported
        kept = self.reported.setdefault(name, f"{_now()} {dump_outcome(outcome)}")
        return replace(read_reported(kept), is_repeat=is_repeat)

    def finish(self, owner: str) -> None:
        if (self.resumed and not self.unused) or self.claimed_by not in {"", owner}:
            raise ClaimLostError(f"{self.interrupt.id}: another call took its claim")
        self.resumed = True

    def decided_by(self, reviewer: Reviewer) -> Resume:
        request = self.interrupt.request
        for index, (action, config) in enumerate(
            zip(request.action_requests, request.review_configs, strict=True)
        ):
            if not self.is_settled and f"d:{index}" not in self.card:
                self._record_decision(index, reviewer(action, config))
        every = range(len(request.action_requests))
        self.settle("decided" if all(f"d:{index}" in self.card for index in every) else "expired")
        resume = read_resume(self.interrupt, self.card, deadline=self.deadline, now=_now(), grace=0)
        assert resume, "a settled record has an answer"
        return resume

    def settle(self, status: Status, *, reason: str = "") -> None:
        if not self.is_settled:
            self.card |= {"status": status, "reason": reason}

    def _record_decision(self, index: int, decision: Decision | None) -> None:
        if decision is None:
            return
        request = self.interrupt.request
        alone = HITLRequest(
            action_requests=request.action_requests[index : index + 1],
            review_configs=request.review_configs[index : index + 1],
        )
        (checked,) = check_answers([decision], alone)
        fingerprint = action_fingerprints(request)[index]
        self.card |= {
            f"d:{index}": dump_recorded(checked, fingerprint=fingerprint, decided_by=REVIEWER, policy=POLICY),
            f"at:{index}": str(_now()),
        }


def _milliseconds(interrupt: Interrupt) -> int:
    return int(interrupt.expires_in.total_seconds() * 1000)


def _now() -> int:
    return int(time.time() * 1000)
