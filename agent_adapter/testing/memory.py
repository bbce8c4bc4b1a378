"""An `ApprovalClient` without Redis and Slack: a memory does what the script of the agent does in Redis, and a reviewer decides."""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, Self

from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest, ReviewConfig
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.outcome import Outcome, dump_outcome
from agent_adapter.contract.record import dump_recorded
from agent_adapter.contract.wire import agent_name, load_interrupt
from agent_adapter.dialects.answers import check_answers
from agent_adapter.errors import AgentAdapterError, WrongArgumentError
from agent_adapter.expected import kind_of
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.claims import Claims
from agent_adapter.redis.records import Record, Records
from agent_adapter.redis.replies import Waits, Watch
from agent_adapter.redis.runs import Runs
from agent_adapter.redis.scripts import Scripts, Value
from agent_adapter.testing.reviewers import Reviewer
from agent_adapter.testing.signing import Signing

REVIEWER = "U0REVIEWER"
"""`decided_by` in the records of a `Resume`."""
POLICY = "test-1"
"""`policy` in the records of a `Resume`."""

_STAMP = re.compile(r"^@(-?\d+)")


class Memory(Scripts):
    """Answers as the scripts of these names do. A reviewer of the test decides in place of people."""

    def __init__(self, reviewer: Reviewer) -> None:
        self.cipher, self.address = Cipher(), ""
        self.reviewer = reviewer
        self.keys = Keys()
        self.asked: list[str] = []
        """The ids of all records, in their order."""
        self._hashes: dict[str, dict[str, str]] = defaultdict(dict)
        self._texts: dict[str, str] = {}
        self._notes: list[tuple[str, str]] = []

    async def __call__(
        self,
        verb: str,
        _names: Mapping[str, str],
        more: Iterable[Value] = (),
        _more_keys: Iterable[str] = (),
        /,
        **given: Value,
    ) -> Any:
        """Do what a script does. Which answers there are is written in the script."""
        words: list[Any] = [*more]
        if verb != "change":
            raise KeyError(verb)
        return self._change(words, int(str(given["looks"])))

    def interrupt(self, interrupt_id: str) -> Interrupt:
        """Return what was asked."""
        return load_interrupt(self._hashes[self.keys.req(interrupt_id)]["body"])

    def keep_outcome(self, interrupt_id: str, index: str, outcome: str, *, claim: str) -> None:
        """Keep what became of a call, unless there is something, or somebody else has the claim."""
        req = self._hashes[self.keys.req(interrupt_id)]
        if req.get("claim_by") == claim:
            req.setdefault(f"outcome:{index}", f"{now()} {outcome}")

    def decide(self, interrupt_id: str) -> None:
        """Let the reviewer decide what is open. What the reviewer leaves open has then expired."""
        card = self._hashes[self.keys.card(interrupt_id)]
        if interrupt_id not in self.asked or "status" in card:
            return
        request = self.interrupt(interrupt_id).request
        pairs = list(zip(request.action_requests, request.review_configs, strict=True))
        for index, (action, config) in enumerate(pairs):
            if f"d:{index}" in card or (decision := self.reviewer(action, config)) is None:
                continue
            (checked,) = check_answers(
                [decision], HITLRequest(action_requests=(action,), review_configs=(config,))
            )
            fingerprint = action_fingerprints(request)[index]
            card |= {
                f"d:{index}": dump_recorded(
                    checked, fingerprint=fingerprint, decided_by=REVIEWER, policy=POLICY
                ),
                f"at:{index}": str(now()),
            }
        is_decided = all(f"d:{index}" in card for index in range(len(pairs)))
        card["status"] = "decided" if is_decided else "expired"

    def _change(self, words: Sequence[Any], looks: int) -> tuple[int, int, int, list[Any]]:
        """Do what `change.lua` does. No server can lose a claim here, so nothing is unsure."""
        at, found, commands, is_so, i = now(), list[Any](), list[Sequence[str]](), True, 0
        while i < len(words):
            first, i = i + 1, i + 1 + words[i]
            if len(found) < looks:
                expected, *command = words[first:i]
                is_due = is_so is False or expected != "!"
                found.append(self._do(_said(command, at)) if is_due else None)
                is_so = is_so and _is_as_expected(expected, found[-1])
            else:
                commands.append(_said(words[first:i], at))
        for each in commands if is_so else ():
            self._do(each)
        return int(is_so), at, 0, found

    def _do(self, words: Sequence[str]) -> Any:
        command, key, *rest = words
        if command.startswith("H"):
            return _of_hash(command, self._hashes[key], rest)
        match command:
            case "GET":
                return self._texts.get(key)
            case "SET":
                self._texts[key] = rest[0]
            case "PTTL":
                return 1
            case "DEL":
                self._hashes.pop(key, None)
                self._texts.pop(key, None)
            case "XADD":
                self._notes.append((rest[2], rest[4]))
            case "PUBLISH":
                self._take_notes()
        return None

    def _take_notes(self) -> None:
        """Do what a bot does with the notes of an agent."""
        for event, id in self._notes:
            req, card = self._hashes[self.keys.req(id)], self._hashes[self.keys.card(id)]
            if event == "published":
                self.asked.append(id)
                card["policy"] = POLICY
            elif event == "withdraw_asked":
                card |= {"status": "withdrawn", "reason": req["withdraw"]}
        self._notes.clear()


def _of_hash(command: str, fields: dict[str, str], rest: Sequence[str]) -> Any:
    match command:
        case "HGET":
            return fields.get(rest[0])
        case "HEXISTS":
            return int(rest[0] in fields)
        case "HSET":
            fields |= dict(zip(rest[::2], rest[1::2], strict=True))
    return list(chain.from_iterable(fields.items()))


def _said(words: Sequence[Any], at: int) -> list[str]:
    """Read the words of a command: after the key, a word is `= text`, or `@n text` for the time before a text."""
    return [
        *words[:2],
        *(_STAMP.sub(lambda n: str(at + int(n[1])), each).removeprefix("= ") for each in words[2:]),
    ]


def _is_as_expected(expected: str, found: Any) -> bool:
    match expected[:1]:
        case "=":
            return found is not None and str(found) == expected[2:]
        case "~":
            return found is None or found.startswith(expected[2:])
        case "*":
            return found is not None
        case "":
            return found is None
    return True


def now() -> int:
    """Return the time in the store's milliseconds."""
    return int(time.time() * 1000)


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
        """What is noted about runs. None is owed to a worker: test one with a Redis."""
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
        """Do nothing, because nothing is connected."""
        return self

    async def close(self) -> None:
        """Do nothing, because nothing is connected."""

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
