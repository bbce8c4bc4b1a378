"""An `ApprovalClient` without Redis and Slack: its records are in memory, and a reviewer of the test decides."""

from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import ActionRequest, Decision, ReviewConfig
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.outcome import Outcome, dump_outcome
from agent_adapter.contract.wire import agent_name
from agent_adapter.errors import AgentAdapterError, WrongArgumentError
from agent_adapter.expected import kind_of
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.claims import Claims
from agent_adapter.redis.records import Record, Records
from agent_adapter.redis.runs import Runs
from agent_adapter.redis.waits import Waits, Watch
from agent_adapter.testing.memory import Memory
from agent_adapter.testing.reviewers import Reviewer
from agent_adapter.testing.signing import Signing

LEASE = 30_000
"""Milliseconds that a claim holds until it is renewed."""


class InMemoryApprovalClient(ApprovalClient):
    """An `ApprovalClient` that keeps its records in memory and asks a reviewer of the test.

    Every verb is that of the real client, over a memory in place of Redis. The reviewer is called during `wait`, once for each
    action. If it returns `None`, the deadline passes at once.

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
        self._memory = Memory(self._decide)
        self._records = self._kept = _Records(self._memory, agent)
        self._replies = _Waits(self._memory)
        self._claims = Claims(self._records, lease=LEASE)
        self.runs = Runs(self._memory, self._memory.keys, Cipher(), agent=agent)
        """The runs that a `ResumeWorker` resumes."""
        self._verifier = None
        self._withdrawals = set()

    def _decide(self, action: ActionRequest, config: ReviewConfig) -> Decision | None:
        # A test may have replaced its reviewer.
        return self.reviewer(action, config)

    @property
    def ring(self) -> Ring:
        """The public keys for `@requires_receipt` in a test. From the first reading on, approved calls have receipts."""
        self._kept.signing = self._kept.signing or Signing()
        return self._kept.signing.ring

    @property
    def asked(self) -> tuple[Interrupt, ...]:
        """All questions, in order; each has its actions in `request`, its channel in `route`, and its `context`."""
        return tuple(map(self._memory.interrupt, self._memory.asked))

    async def __aenter__(self) -> Self:
        """Do nothing: there is no connection."""
        return self

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def report_later(self, key: str, outcome: Outcome, *, claim: str) -> None:
        """Keep what became of a call at once. See `ApprovalClient.report_later`."""
        interrupt_id, _, index = key.rpartition(":")
        with suppress(AgentAdapterError):
            self._memory.keep_outcome(interrupt_id, index, dump_outcome(outcome), claim=claim)


class _Records(Records):
    """Records with receipts, where a test wants them."""

    signing: Signing | None = None

    def __init__(self, memory: Memory, agent: str) -> None:
        super().__init__(memory, memory.keys, process=agent, grace=0, state_cipher=Cipher())
        self._memory = memory

    async def take(self, interrupt_id: str, owner: str, lease: int) -> tuple[Record, int]:
        self._memory.decide(interrupt_id)
        return await super().take(interrupt_id, owner, lease)

    async def _record(self, interrupt_id: str, *read: Any) -> Record:
        record = await super()._record(interrupt_id, *read)
        resume = record.resume()
        if resume is None or self.signing is None:
            return record
        deadline = int(record.deadline.timestamp() * 1000)
        return replace(record, receipts=self.signing.receipts(record.interrupt, resume, deadline))


class _Waits(Waits):
    """Waits that have their answer when they begin."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def watch(self, interrupt_id: str) -> Watch:
        self._memory.decide(interrupt_id)
        return super().watch(interrupt_id)
