"""What the agent's scripts do in Redis, done in the memory of one process."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from agent_adapter.cipher import Cipher
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import dump_recorded
from agent_adapter.contract.wire import load_interrupt
from agent_adapter.dialects.answers import check_answers
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Scripts, Value
from agent_adapter.testing.reviewers import Reviewer

REVIEWER = "U0REVIEWER"
"""`decided_by` in the records of a `Resume`."""
POLICY = "test-1"
"""`policy` in the records of a `Resume`."""


@dataclass
class Stored:
    """One record: the agent's side, the bot's side, and what a worker needs."""

    req: dict[str, str] = field(default_factory=dict)
    card: dict[str, str] = field(default_factory=dict)
    run: dict[str, str] = field(default_factory=dict)

    @property
    def interrupt(self) -> Interrupt:
        return load_interrupt(self.req["body"])

    def settle(self, status: str, *, reason: str = "") -> None:
        if "status" not in self.card:
            self.card |= {"status": status, "reason": reason}

    def keep_outcome(self, index: int, outcome: str) -> list[str]:
        """Keep an outcome, unless there is one."""
        name = f"outcome:{index}"
        word = "repeat" if name in self.req else "reported"
        return [word, self.req.setdefault(name, f"{now()} {outcome}")]


class Memory(Scripts):
    """Answers as the scripts of these names do. A reviewer of the test decides in place of people."""

    def __init__(self, reviewer: Reviewer) -> None:
        self.cipher, self.address = Cipher(), ""
        self.reviewer = reviewer
        self.records: dict[str, Stored] = {}
        self._asked_in: dict[str, str] = {}
        self._due: dict[str, int] = {}
        self._running: dict[str, str] = {}
        self._notes: dict[str, str] = {}

    async def __call__(
        self,
        verb: str,
        names: Mapping[str, str],
        more: Iterable[Value] = (),
        _more_keys: Iterable[str] = (),
        /,
        **given: Value,
    ) -> Any:
        """Do what a script does. Which answers there are is written in the script."""
        plain = {name: each.text if isinstance(each, Private) else each for name, each in given.items()}
        return getattr(self, verb)(names.get("id") or list(more), **plain)

    def decide(self, interrupt_id: str) -> None:
        """Let the reviewer decide what is open. What the reviewer leaves open has then expired."""
        record = self.records.get(interrupt_id)
        if record is None or "status" in record.card:
            return
        request = record.interrupt.request
        pairs = list(zip(request.action_requests, request.review_configs, strict=True))
        for index, (action, config) in enumerate(pairs):
            if f"d:{index}" in record.card or (decision := self.reviewer(action, config)) is None:
                continue
            (checked,) = check_answers(
                [decision], HITLRequest(action_requests=(action,), review_configs=(config,))
            )
            fingerprint = action_fingerprints(request)[index]
            record.card |= {
                f"d:{index}": dump_recorded(
                    checked, fingerprint=fingerprint, decided_by=REVIEWER, policy=POLICY
                ),
                f"at:{index}": str(now()),
            }
        is_decided = all(f"d:{index}" in record.card for index in range(len(pairs)))
        record.settle("decided" if is_decided else "expired")

    def publish(
        self, id: str, *, body: str, lifetime: int, pauses: str, replaced: str, **given: Any
    ) -> tuple[str, str]:
        found = {self._asked_in.get(pause) for pause in pauses.split()}
        known = found - {None, replaced}
        if known:
            return "mixed" if len(found) > 1 else "known", str(known.pop())
        if id in self.records:
            return "known", id
        at = now()
        req = {"body": body, "created": str(at), "deadline": str(at + lifetime)}
        self.records[id] = Stored(req, {"policy": POLICY})
        self._asked_in |= dict.fromkeys(pauses.split(), id)
        self.add_continuation(id, given["continuation"], given["needs"])
        return "created", id

    def add_continuation(self, id: str, continuation: str, needs: str, **_: Any) -> None:
        if continuation and id not in self._due:
            self.records[id].req["needs"] = needs
            self.records[id].run["continuation"] = continuation
            self._due[id] = now()

    def add_waiter(self, id: str, **_: Any) -> str:
        return "noted" if id in self.records else "unknown"

    def read(self, id: str, *, card: str = "") -> list[Any]:
        record = self.records.get(id, Stored())
        # For the notes of a run, its key is given in place of the card's.
        return [_flat(record.req), _flat(record.run if card else record.card), now()]

    def withdraw(self, id: str, reason: str) -> str:
        if id not in self.records:
            return "unknown"
        self.records[id].settle("withdrawn", reason=reason)
        return "asked"

    def claim_resume(
        self, id: str, *, owner: str, lease: int, is_read: int, held: int | None, **_: Any
    ) -> list[Any]:
        if id not in self.records:
            return ["unknown"]
        record = self.records[id]
        if "resumed" in record.req:
            return ["mine", held] if held and record.req["resumed_by"] == owner else ["consumed"]
        if is_read:
            self.decide(id)
        if "status" not in record.card:
            return ["pending"]
        holder, left = record.req.get("claim_by"), int(record.req.get("claim_until", 0)) - now()
        if holder != owner and left > 0:
            return ["mine", 0] if lease == 0 else ["claimed", left]
        fence = int(record.req.get("fence", 0)) + (holder != owner)
        until = now() + lease if lease else 0
        record.req |= {"claim_by": owner, "claim_until": str(until), "fence": str(fence)}
        return ["mine", fence, *self.read(id)]

    def finish_resume(self, id: str, *, owner: str, unused: str, **_: Any) -> str:
        req = self.records[id].req
        if "resumed" in req:
            return "repeat" if req["resumed_by"] == owner else "consumed"
        if req.get("claim_by", owner) != owner:
            return "lost"
        req |= {"resumed": str(now()), "resumed_by": owner}
        req |= {"unused": "1", "stalled": unused} if unused else {}
        self.records[id].run.clear()
        return "finished"

    def mark_stalled(self, id: str, *, reason: str, **_: Any) -> None:
        self.records[id].req["stalled"] = reason

    def report_outcome(self, id: str, *, index: int, outcome: str, **_: Any) -> list[str]:
        return self.records[id].keep_outcome(index, outcome)

    def claim_thread(self, id: str, *, owner: str, lease: int, note: str, **_: Any) -> list[Any]:
        if self._running.get(id, owner) != owner:
            return ["claimed", 1]
        if lease:
            self._running[id] = owner
        elif self._running.pop(id, None):
            self._notes[id] = note
        return ["mine", self._notes.get(id, "")]

    def lease_runs(
        self, needs: list[str], *, limit: int, lease: int, first: int, look_at: int, **_: Any
    ) -> list[Any]:
        at, missing, taken = now(), set[str](), list[Any]()
        due = [id for id, not_before in self._due.items() if not_before <= at][first : first + look_at]
        for id in due:
            req = self.records[id].req
            if req["needs"] not in needs:
                missing.add(req["needs"])
            elif len(taken) < 2 * limit:
                # People decide while no process waits.
                self.decide(id)
                if "resumed" not in req and int(req.get("claim_until", 0)) <= at:
                    self._due[id] = at + lease
                    taken += [id, str(at + lease)]
        return [len(due), list(missing), *taken]

    def finish_work(self, work: list[Any], **_: Any) -> None:
        id, lease, again_in = work
        if str(self._due.get(id)) == lease:
            self._due[id] = now() + again_in if again_in else 0
            if again_in is None:
                del self._due[id]

    def drop_run(self, id: str) -> None:
        self._due.pop(id, None)

    def note_run(self, id: str, *, name: str, note: str) -> str:
        record = self.records[id]
        return "" if "resumed" in record.req else record.run.setdefault(name, note)

    def fail_run(self, id: str, *, attempt: str, reason: str) -> int:
        run = self.records[id].run
        failures = int(run.get("failures", 0)) + (run.get("failed_by") != attempt)
        run |= {"failures": str(failures), "failed_by": attempt, "reason": reason}
        return failures


def now() -> int:
    """Return the time in the store's milliseconds."""
    return int(time.time() * 1000)


def _flat(fields: Mapping[str, str]) -> list[str]:
    """Write a hash as a script returns it."""
    return list(chain.from_iterable(fields.items()))
