"""Runs that are owed to workers, in Redis: typed verbs over the scripts."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent_adapter.connection import Scripts, read_hashes
from agent_adapter.continuation import Seal
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.contract.keys import Lane
from agent_adapter.contract.record import Fields
from agent_adapter.contract.wire import load_continuation
from agent_adapter.errors import ConsumedError, CutOffError, ServerFailedError, UnreadableRecordError
from agent_adapter.servers import explained

SET_ASIDE = "set_aside"
"""Under this name is noted why no worker goes on with a run by itself."""
LOOKED_AT = 500
"""Due runs that one script looks at."""


@dataclass(frozen=True, slots=True)
class OwedRun:
    """A run that this worker is to go on with."""

    interrupt_id: str
    lease: str
    """Names this claim when the run is given back."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What was noted about one run that is being resumed, for whoever goes on with it after a crash."""

    interrupt_id: str
    notes: dict[str, str]
    """As they are stored."""
    _runs: "Runs" = field(repr=False)

    def __contains__(self, name: str) -> bool:
        return name in self.notes

    def __getitem__(self, name: str) -> str:
        return self._runs.seal.open(self.notes[name], record=self.interrupt_id, field=name)

    @property
    def continuation(self) -> Continuation:
        """What the run goes on from.

        Raises:
            ConsumedError: when the run has gone on meanwhile.
            InvalidRequestError: when this version does not read it.
            UnreadableContinuationError: when it is encrypted with another key, or was stored by somebody without one.
        """
        if "continuation" not in self.notes:
            raise ConsumedError(f"{self.interrupt_id}: its run has gone on")
        return load_continuation(self["continuation"])

    async def keep(self, name: str, text: str) -> str:
        """Note something once; give what stands, which may be an earlier note.

        Raises:
            ConsumedError: when another process has taken the run further meanwhile.
            ServerUnreachableError: when Redis does not answer.
            UnreadableContinuationError: when the earlier note is not one that this process can trust.
        """
        sealed = self._runs.seal.close(text, record=self.interrupt_id, field=name)
        stands = await self._runs.note(self.interrupt_id, name, sealed)
        if not stands:
            raise ConsumedError(f"{self.interrupt_id}: its run was resumed by another process meanwhile")
        self.notes[name] = stands
        return self[name]

    async def set_aside(self, why: str, tools: Collection[str]) -> CutOffError:
        """Note that no worker goes on by itself; give what to raise.

        Args:
            why: What happened, as in "a worker died".
            tools: Those that were approved, and may have had their effect.

        Raises:
            ConsumedError, ServerUnreachableError: as in `keep`.
        """
        failure = int(self.notes.get("again", 0)) + 1
        sentence = (
            f"{why} when {', '.join(tools)} may have run: look whether it had its effect, then let it run again with "
            f"--again {self.interrupt_id}#{failure}"
        )
        return CutOffError(await self.keep(SET_ASIDE, sentence))

    def check(self) -> None:
        """Refuse to go on with a run that was set aside.

        Raises:
            CutOffError: until somebody lets it run again.
        """
        if SET_ASIDE in self:
            raise CutOffError(self[SET_ASIDE])


def failed_with(error: BaseException) -> str:
    """Say why a run failed. Only the kind of the error is told: cards show it to everybody in their channel."""
    # A framework may have wrapped what the tool raised.
    while error.__cause__:
        error = error.__cause__
    return f"the run failed with {type(error).__name__}"


@dataclass(frozen=True, slots=True)
class Owed:
    """A run that is owed to workers, as an operator sees it. Times are the store's milliseconds."""

    interrupt_id: str
    req: Fields
    card: Fields
    notes: Fields
    due: int
    now: int
    unreadable: str = ""
    """Why nothing of it can be read; empty where it can."""


class Runs:
    """Reads and writes what workers owe. Every verb raises ServerUnreachableError, and may then be repeated."""

    def __init__(self, redis: Redis, scripts: Scripts, lane: Lane, seal: Seal) -> None:
        self.seal = seal
        self._redis = redis
        self._scripts = scripts
        self._lane = lane

    async def claim(self, needs: Sequence[str], *, limit: int, lease: int) -> tuple[list[OwedRun], set[str]]:
        """Take up to `limit` due runs that need one of these, for `lease` milliseconds; tell what others need."""
        taken: list[OwedRun] = []
        missing: set[str] = set()
        passed, looked = 0, LOOKED_AT
        while looked == LOOKED_AT and len(taken) < limit:
            looked, others, *found = await self._scripts(
                "claim_runs",
                [self._lane.unresumed],
                [limit - len(taken), lease, self._lane.prefix, passed, LOOKED_AT, *needs],
            )
            taken += [OwedRun(found[i], found[i + 1]) for i in range(0, len(found), 2)]
            passed += looked - len(found) // 2
            missing.update(others)
        return taken, missing

    async def give_back(self, run: OwedRun, *, again_in: int) -> None:
        """Let a run be due again in so many milliseconds."""
        await self._scripts("finish_work", [self._lane.unresumed], [run.interrupt_id, run.lease, again_in])

    async def let_go(self, interrupt_id: str) -> None:
        """Owe a run to nobody any more, without resuming it."""
        lane = self._lane
        await self._scripts(
            "let_go",
            [lane.req(interrupt_id), lane.card(interrupt_id), lane.unresumed, lane.audit],
            [interrupt_id, lane.prefix],
        )

    async def journal(self, interrupt_id: str) -> Journal:
        """Read what was noted about a run."""
        return Journal(interrupt_id, await self._hash(self._lane.run(interrupt_id)), self)

    async def note(self, interrupt_id: str, name: str, text: str) -> str:
        """Note something about a run once; give what stands, nothing when nobody is to go on with the run any more."""
        lane = self._lane
        keys = [lane.req(interrupt_id), lane.run(interrupt_id)]
        return str(await self._scripts("note_run", keys, [name, text]))

    async def let_again(self, interrupt_id: str, failure: str = "") -> str:
        """Let a run that was set aside go on at once; tell what came of it, as in `let_again.lua`.

        Args:
            interrupt_id: Of its question.
            failure: Which of its failures was seen: after another one, nothing is done.
        """
        lane = self._lane
        keys = [lane.req(interrupt_id), lane.run(interrupt_id), lane.unresumed]
        return str(await self._scripts("let_again", keys, [interrupt_id, failure]))

    async def failed(self, interrupt_id: str, *, attempt: str, reason: str) -> int:
        """Count a failed attempt and note why; give how many have failed."""
        lane = self._lane
        keys = [lane.req(interrupt_id), lane.run(interrupt_id)]
        return int(await self._scripts("fail_run", keys, [attempt, reason]))

    async def owed(self) -> AsyncIterator["Owed"]:
        """Give every run that is owed, the longest due first."""
        try:
            listed: Any = await self._redis.zrange(self._lane.unresumed, 0, -1, withscores=True)
        except (RedisError, OSError) as error:
            raise explained(self._scripts.address, error) from error
        for interrupt_id, due in listed:
            try:
                req, card, now = await read_hashes(self._scripts, self._lane, interrupt_id)
                notes = await self._hash(self._lane.run(interrupt_id))
            except (ServerFailedError, UnreadableRecordError) as error:
                yield Owed(interrupt_id, {}, {}, {}, int(due), 0, unreadable=str(error))
            else:
                yield Owed(interrupt_id, req, card, notes, int(due), now)

    async def _hash(self, key: str) -> dict[str, str]:
        try:
            return cast("dict[str, str]", await self._redis.hgetall(key))
        except (RedisError, OSError) as error:
            raise explained(self._scripts.address, error) from error
