"""What the agent's script does in Redis, done in the memory of one process."""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from agent_adapter.cipher import Cipher
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.keys import Keys
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
        self._owed: dict[str, int] = {}
        self._notes: list[tuple[str, str]] = []

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
        words: list[Any] = [each.text if isinstance(each, Private) else each for each in more]
        match verb:
            case "change":
                return self._change(words, int(str(given["looks"])))
            case "read":
                card = str(given.get("card", names["card"]))
                return [self._hgetall(names["req"]), self._hgetall(card), now()]
            case "finish_work":
                return self._finish_work(*words)
        raise KeyError(verb)

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
        return getattr(self, f"_{command.lower()}")(key, *rest)

    def _get(self, key: str) -> str | None:
        return self._texts.get(key)

    def _set(self, key: str, text: str, *_: str) -> None:
        self._texts[key] = text

    def _pttl(self, _: str) -> int:
        return 1

    def _del(self, key: str) -> None:
        self._hashes.pop(key, None)
        self._texts.pop(key, None)

    def _hget(self, key: str, field: str) -> str | None:
        return self._hashes[key].get(field)

    def _hexists(self, key: str, field: str) -> int:
        return int(field in self._hashes[key])

    def _hgetall(self, key: str) -> list[str]:
        return list(chain.from_iterable(self._hashes[key].items()))

    def _hset(self, key: str, *fields: str) -> None:
        self._hashes[key] |= dict(zip(fields[::2], fields[1::2], strict=True))

    def _zrevrange(self, *_: str) -> list[str]:
        return []

    def _zscore(self, _: str, interrupt_id: str) -> str | None:
        return str(self._owed[interrupt_id]) if interrupt_id in self._owed else None

    def _zadd(self, _: str, due: str, interrupt_id: str) -> None:
        self._owed[interrupt_id] = int(due)

    def _zrem(self, _: str, interrupt_id: str) -> None:
        self._owed.pop(interrupt_id, None)

    def _zrangebyscore(self, _key: str, _least: str, most: str, *options: str) -> list[str]:
        first, count = map(int, options[-2:])
        due = [id for id, at in self._owed.items() if at <= int(most)][first : first + count]
        for id in due:
            # People decide while no process waits.
            self.decide(id)
        return [word for id in due if self._is_free(id, int(most)) for word in (id, str(self._owed[id]))]

    def _is_free(self, interrupt_id: str, at: int) -> bool:
        req = self._hashes[self.keys.req(interrupt_id)]
        return "resumed" not in req and int(req.get("claim_until", 0)) <= at

    def _xadd(self, _key: str, _number: str, _event: str, event: str, _id: str, id: str, *_more: str) -> None:
        self._notes.append((event, id))

    def _publish(self, *_: str) -> None:
        """Do what a bot does with the notes of an agent."""
        for event, id in self._notes:
            req, card = self._hashes[self.keys.req(id)], self._hashes[self.keys.card(id)]
            if event == "published":
                self.asked.append(id)
                card["policy"] = POLICY
            elif event == "withdraw_asked":
                card |= {"status": "withdrawn", "reason": req["withdraw"]}
            if event in {"published", "continued"} and "needs" in req:
                self._owed[id] = now()
        self._notes.clear()

    def _finish_work(self, id: str, lease: str, again_in: int | None) -> None:
        if str(self._owed.get(id)) != lease:
            return
        if again_in is None:
            del self._owed[id]
        else:
            self._owed[id] = now() + again_in


def _said(words: Sequence[Any], at: int) -> list[str]:
    """Read the words of a command: a word is `= text`, or `@n text` for the time before a text."""
    command, key, *rest = words
    stamps = [re.match(r"@(-?\d+)", word) for word in rest]
    return [
        command,
        key,
        *(
            f"{at + int(stamp[1])}{word[stamp.end() :]}" if stamp else word[2:]
            for stamp, word in zip(stamps, rest, strict=True)
        ),
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
