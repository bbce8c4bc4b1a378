"""Approvals without Redis and Slack, for the tests of your own agent.

async def test_agent_keeps_the_file_when_told_so():
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": reject("we still need it")})
    approvals = InMemoryApprovalClient(reviewer)

    result = await run(agent, {"messages": [("user", "tidy up")]}, approvals=approvals, config=config)

    assert [action.name for action in reviewer.asked] == ["send_email", "delete_file"]
    assert "keep" in result["messages"][-1].text
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Any, Self, TypeAlias

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    EditedAction,
    HITLRequest,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.identity import action_fingerprints, interrupt_id
from agent_adapter.contract.interrupt import Decided, Interrupt, Resume, Status
from agent_adapter.contract.record import (
    dump_recorded,
    in_order,
    matching_actions,
    raise_unanswered,
    read_resume,
)
from agent_adapter.contract.wire import dump_interrupt, load_interrupt
from agent_adapter.dialects.answers import check_answers
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ConflictError,
    ConsumedError,
    UnknownInterruptError,
)
from agent_adapter.records import Record

REVIEWER = "U0REVIEWER"
"""Who decided, in the records of a `Resume`."""
POLICY = "test-1"
"""Version of the rules, in the records of a `Resume`."""

Reviewer: TypeAlias = Callable[[ActionRequest, ReviewConfig], Decision | None]
"""Decides one action; `None` means that nobody decides it in time."""
Answer: TypeAlias = Decision | Callable[[ActionRequest], Decision | None] | None
"""A decision, how to make one from the action, or `None` for nobody."""


class UnexpectedActionError(AgentAdapterError):
    """The reviewer was asked about an action for which the test has no answer."""


def approve() -> Decision:
    """Run the call as it was shown."""
    return ApproveDecision()


def reject(message: str | None = None) -> Decision:
    """Do not run the call."""
    return RejectDecision(message=message)


def respond(message: str) -> Decision:
    """Answer in the tool's place."""
    return RespondDecision(message=message)


def edit(args: dict[str, Any]) -> Answer:
    """Run the call with these arguments instead: all of them, not a patch."""
    return lambda action: EditDecision(edited_action=EditedAction(name=action.name, args=args))


class ScriptedReviewer:
    """Decides what the test wrote down, and remembers in `asked` what it was asked.

    Args:
        answers: By the tool's name, one answer for every call or a list with one for each call;
            or a list with one for each action, in the order of asking.
    """

    def __init__(self, answers: Mapping[str, Answer | Sequence[Answer]] | Sequence[Answer]) -> None:
        self.asked: list[ActionRequest] = []
        by_name = dict(answers) if isinstance(answers, Mapping) else {}
        self._by_name = {name: _every_time(answer) for name, answer in by_name.items()}
        self._in_order = iter(()) if isinstance(answers, Mapping) else iter(answers)

    def __call__(self, action: ActionRequest, config: ReviewConfig) -> Decision | None:
        """Decide one action.

        Raises:
            UnexpectedActionError: when there is no answer for it, or none is left.
        """
        self.asked.append(action)
        try:
            answer = next(self._by_name.get(action.name, self._in_order))
        except StopIteration:
            known = (
                f"answers are for {', '.join(self._by_name)}" if self._by_name else "all answers were given"
            )
            raise UnexpectedActionError(
                f"question {len(self.asked)} was about {action.name}({encode(action.args)}), "
                f"which may be decided by {', '.join(config.allowed_decisions)}, and the test has no answer left: {known}"
            ) from None
        return answer(action) if callable(answer) else answer


class InMemoryApprovalClient(ApprovalClient):
    """An `ApprovalClient` that keeps its records in memory and asks a reviewer of the test.

    Ids, checks and errors are those of the real one. A reviewer is asked when the answer is waited for, once for each
    action; if it decides nothing, the deadline passes at once.
    """

    def __init__(self, reviewer: Reviewer, *, agent: str = "test") -> None:
        self.agent = agent
        self.reviewer = reviewer
        self._kept: dict[str, _Record] = {}
        self._asked_in: dict[tuple[str, str], str] = {}

    async def __aenter__(self) -> Self:
        """Nothing to connect to."""
        return self

    async def close(self) -> None:
        """Nothing to close."""

    async def publish(self, interrupt: Interrupt) -> str:
        """Keep an interrupt once, and give the id of its record. See `ApprovalClient.publish`."""
        asked = load_interrupt(dump_interrupt(interrupt))
        records = {self._asked_in.get((asked.run, pause)) for pause in asked.pauses}
        if len(records) > 1:
            raise ConflictError(
                f"some pauses of {asked.id} are already asked, others are not: publish them apart"
            )
        known = records.pop()
        if known is None:
            return self._keep(asked)
        record = await self.record(known)
        matching_actions(record.interrupt, asked)
        if record.is_resumed:
            raise ConsumedError(f"{known} was already answered and its run resumed")
        if not record.ended_unanswered:
            return known
        ids = (interrupt_id(asked.agent, asked.run, asked.pauses, attempt=attempt) for attempt in count(1))
        return self._keep(asked.model_copy(update={"id": next(id for id in ids if id not in self._kept)}))

    async def wait(self, interrupt_id: str) -> Resume:
        """Ask the reviewer what is still open, and give the answer. See `ApprovalClient.wait`."""
        return self._record(interrupt_id).decided_by(self.reviewer)

    @asynccontextmanager
    async def reviewing(self, interrupt: Interrupt) -> AsyncIterator[Resume]:
        """Publish, wait and claim; finish when the body ends. See `ApprovalClient.reviewing`."""
        record_id = await self.publish(interrupt)
        indices = matching_actions(self._record(record_id).interrupt, interrupt)
        async with self.resuming(record_id) as resume:
            yield in_order(resume, indices)

    @asynccontextmanager
    async def resuming(self, interrupt_id: str) -> AsyncIterator[Resume]:
        """Claim while the body runs, finish when it ends. See `ApprovalClient.resuming`."""
        record = self._record(interrupt_id)
        resume = record.decided_by(self.reviewer)
        raise_unanswered(record.interrupt, resume)
        if record.resumed:
            raise ConsumedError(f"{interrupt_id} was already answered and its run resumed")
        if record.claimed:
            raise ClaimedError(f"{interrupt_id}: another is resuming it")
        record.claimed = True
        try:
            yield resume
        finally:
            record.claimed = False
        record.resumed = True

    async def record(self, interrupt_id: str) -> Record:
        """Read what is asked, and what has become of it. See `ApprovalClient.record`."""
        kept = self._record(interrupt_id)
        resumed = {"resumed": str(_now())} if kept.resumed else {}
        return Record(kept.interrupt, {"deadline": str(kept.deadline), **resumed}, dict(kept.card), _now(), 0)

    async def decisions(self, interrupt_id: str) -> AsyncIterator[Decided]:
        """Give each action's index and decision. See `ApprovalClient.decisions`."""
        for index, decision in enumerate((await self.wait(interrupt_id)).decisions):
            if decision is not None:
                yield Decided(index, decision)

    async def withdraw(self, interrupt_id: str, reason: str = "") -> None:
        """End an interrupt that nobody needs any more. See `ApprovalClient.withdraw`."""
        self._record(interrupt_id).settle("withdrawn", reason=reason)

    def _keep(self, interrupt: Interrupt) -> str:
        self._kept[interrupt.id] = _Record(interrupt, deadline=_now() + _milliseconds(interrupt))
        self._asked_in |= {(interrupt.run, pause): interrupt.id for pause in interrupt.pauses}
        return interrupt.id

    def _record(self, interrupt_id: str) -> "_Record":
        if interrupt_id not in self._kept:
            raise UnknownInterruptError(f"{interrupt_id}: no such interrupt")
        return self._kept[interrupt_id]


@dataclass
class _Record:
    """One interrupt, with the fields that the bot would have written."""

    interrupt: Interrupt
    deadline: int
    card: dict[str, str] = field(default_factory=lambda: {"policy": POLICY})
    claimed: bool = False
    resumed: bool = False

    def decided_by(self, reviewer: Reviewer) -> Resume:
        request = self.interrupt.request
        for index, (action, config) in enumerate(
            zip(request.action_requests, request.review_configs, strict=True)
        ):
            if "status" not in self.card and f"d:{index}" not in self.card:
                self._record_decision(index, reviewer(action, config))
        every = range(len(request.action_requests))
        self.settle("decided" if all(f"d:{index}" in self.card for index in every) else "expired")
        resume = read_resume(self.interrupt, self.card, deadline=self.deadline, now=_now(), grace=0)
        assert resume, "a settled record has an answer"
        return resume

    def settle(self, status: Status, *, reason: str = "") -> None:
        if "status" not in self.card:
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


def _every_time(answer: Answer | Sequence[Answer]) -> Iterator[Answer]:
    return iter(answer) if isinstance(answer, Sequence) else repeat(answer)


def _milliseconds(interrupt: Interrupt) -> int:
    return int(interrupt.expires_in.total_seconds() * 1000)


def _now() -> int:
    return int(time.time() * 1000)
