"""Runs that are owed to workers, in memory: the methods that a `ResumeWorker` uses."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_adapter.cipher import Cipher
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.contract.wire import dump_continuation
from agent_adapter.redis.runs import Journal, OwedRun, Runs


@dataclass
class _Run:
    needs: str
    notes: dict[str, str]
    due: float = field(default_factory=time.monotonic)
    failed_attempts: set[str] = field(default_factory=set)


class InMemoryRuns(Runs):
    """The runs of an `InMemoryApprovalClient`. A run is due as soon as a worker looks.

    Args:
        agent: The name of the agent.
        is_owed: Lets a record be decided, and returns whether its run still waits for a worker.
    """

    def __init__(self, agent: str, is_owed: Callable[[str], bool]) -> None:
        self.cipher, self.is_signed = Cipher(), False
        self._agent = agent
        self._is_owed = is_owed
        self._kept: dict[str, _Run] = {}

    def add_continuation(self, interrupt_id: str, continuation: Continuation) -> None:
        """Store what a worker needs to resume the run of a record. A second one is ignored."""
        needs = f"{self._agent}: {continuation.needs}"
        self._kept.setdefault(interrupt_id, _Run(needs, {"continuation": dump_continuation(continuation)}))

    async def lease(self, needs: Sequence[str], *, limit: int, lease: int) -> tuple[list[OwedRun], set[str]]:
        """Take up to `limit` runs; see `Runs.lease`."""
        now = time.monotonic()
        due = {id: run for id, run in self._kept.items() if run.due <= now}
        taken = [id for id, run in due.items() if run.needs in needs and self._is_owed(id)][:limit]
        for id in taken:
            self._kept[id].due = now + lease / 1000
        return [OwedRun(id, "") for id in taken], {run.needs for run in due.values()} - set(needs)

    async def _finish(self, run: OwedRun, *, again_in: int | None) -> None:
        if again_in is None:
            await self.drop(run.interrupt_id)
        elif run.interrupt_id in self._kept:
            self._kept[run.interrupt_id].due = time.monotonic() + again_in / 1000

    async def drop(self, interrupt_id: str) -> None:
        """Stop owing a run to workers."""
        self._kept.pop(interrupt_id, None)

    async def journal(self, interrupt_id: str, *, body: str = "") -> Journal:
        """Read the notes about a run."""
        run = self._kept.get(interrupt_id)
        return Journal(interrupt_id, dict(run.notes) if run else {}, self, body)

    async def note(self, interrupt_id: str, name: str, text: str) -> str:
        """Write a note about a run once; see `Runs.note`."""
        run = self._kept.get(interrupt_id)
        return run.notes.setdefault(name, text) if run else ""

    async def failed(self, interrupt_id: str, *, attempt: str, reason: str) -> int:
        """Count a failed attempt; return how many have failed."""
        run = self._kept.get(interrupt_id)
        if run is None:
            return 0
        run.notes["reason"] = reason
        run.failed_attempts.add(attempt)
        return len(run.failed_attempts)
