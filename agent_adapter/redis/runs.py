"""Runs that are owed to workers, in Redis: typed methods over the scripts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from agent_adapter.cipher import MARK, STATE_KEY, Cipher
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.contract.keys import Keys, Named
from agent_adapter.contract.wire import load_continuation
from agent_adapter.errors import ConsumedError, CutOffError, LockedRecordError, UnreadableContinuationError
from agent_adapter.receipts.statement import continuation_field
from agent_adapter.redis.acts import exists, says
from agent_adapter.redis.change import (
    ANYTHING,
    NOTHING,
    WHATEVER,
    Answer,
    Change,
    Stamp,
    Word,
    Words,
    note,
    read_hashes,
    run,
    same,
    wake,
    written,
)
from agent_adapter.redis.scripts import Private, Scripts

SET_ASIDE = "set_aside"
"""The note that says why workers do not resume this run by themselves."""
FAILURE = "failure"
"""What the reason of a failed attempt is bound to when it is encrypted."""
LOOKED_AT = 500
"""How many due runs one script looks at."""


@dataclass(frozen=True, slots=True)
class OwedRun:
    """A run that this worker has taken."""

    interrupt_id: str
    lease: str
    """Identifies this lease when the run is given back."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Notes about one run that is being resumed, so that another worker can go on after a crash."""

    interrupt_id: str
    notes: dict[str, str]
    """As stored: encrypted if there is a key."""
    _runs: "Runs" = field(repr=False)
    body: str = field(default="", repr=False)
    """The question as it was read."""

    def __contains__(self, name: str) -> bool:
        return name in self.notes

    def __getitem__(self, name: str) -> str:
        return self._runs.open_state(self.notes[name], record=self.interrupt_id, field=name)

    @property
    def continuation(self) -> Continuation:
        """The state from which the run is resumed."""
        if "continuation" not in self.notes:
            raise ConsumedError(f"{self.interrupt_id}: its run has gone on")
        stored, field = self.notes["continuation"], continuation_field(self.body)
        return load_continuation(self._runs.open_state(stored, record=self.interrupt_id, field=field))

    async def keep(self, name: str, text: str) -> str:
        """Write a note once, and return the note that is stored: this one, or an earlier one of the same name."""
        closed = self._runs.cipher.close(text, record=self.interrupt_id, field=name)
        kept = await self._runs.note(self.interrupt_id, name, closed)
        if not kept:
            raise ConsumedError(f"{self.interrupt_id}: its run was resumed by another process meanwhile")
        self.notes[name] = kept
        return self[name]

    async def set_aside(self, why: str, tools: Collection[str]) -> CutOffError:
        """Note why no worker resumes this run by itself, and which tools may have taken effect; return the error to raise."""
        sentence = (
            f"{why} when {', '.join(tools)} may have run: look whether it had its effect, then let it run again with "
            f"--again {self.interrupt_id}"
        )
        return CutOffError(await self.keep(SET_ASIDE, sentence))

    def check(self) -> None:
        """Refuse to resume a run that was set aside."""
        if SET_ASIDE in self:
            raise CutOffError(self[SET_ASIDE])


def failed_with(error: BaseException) -> str:
    """Say why a run failed. It names only the class of the error, because cards show it to everybody in their channel."""
    # A framework may have wrapped the error of the tool.
    while error.__cause__:
        error = error.__cause__
    return f"the run failed with {type(error).__name__}"


class Runs:
    """Reads and writes the runs that are owed to workers.

    Every method raises ServerUnreachableError when Redis does not answer, and may then be repeated.

    Args:
        cipher: Encrypts the states of runs, with the agent's own keys.
        is_signed: Whether decisions are signed. A state that anybody can change in Redis would decide what runs, so it has
            to be encrypted then.
    """

    def __init__(
        self, scripts: Scripts, keys: Keys, cipher: Cipher, *, agent: str = "", is_signed: bool = False
    ) -> None:
        self._agent = agent
        self.cipher = cipher
        self.is_signed = is_signed
        self._scripts = scripts
        self._keys = keys

    def open_state(self, text: str, *, record: str, field: str) -> str:
        """Decrypt a part of the state of a run; without a key, return it unchanged."""
        if self.is_signed and not self.cipher and not text.startswith(MARK):
            raise UnreadableContinuationError(
                "decisions are signed (there is a ring), but this state is not protected against changes in Redis: set "
                f"{STATE_KEY}, in the process that asks and in this one"
            )
        if self.cipher and not text.startswith(MARK):
            raise UnreadableContinuationError(
                f"the state is not encrypted, but this worker has a key in {STATE_KEY}: if the run was started without "
                f"one, resume it with a worker without {STATE_KEY}"
            )
        try:
            return self.cipher.open(text, record=record, field=field)
        except LockedRecordError as error:
            raise UnreadableContinuationError(str(error)) from error

    async def lease(
        self, needs: Sequence[str], *, limit: int, lease: int, leave: Collection[str] = ()
    ) -> tuple[list[OwedRun], set[str]]:
        """Take up to `limit` due runs that have one of these needs, for `lease` milliseconds; return the needs of others, too.

        Those of `leave` stay where they are.
        """
        taken: list[OwedRun] = []
        missing: set[str] = set()
        passed, due = 0, [("", "")] * LOOKED_AT
        while len(due) == LOOKED_AT and len(taken) < limit:
            due = await self._due(passed)
            passed += len(due)
            own = [each for each in due if each[0].partition(".")[0] == self._agent]
            for (interrupt_id, not_before), need in zip(own, await self._needs(own), strict=True):
                if need not in needs:
                    missing |= {need} if need else set()
                elif (
                    interrupt_id not in leave
                    and len(taken) < limit
                    and (till := await self._taken(interrupt_id, not_before, lease))
                ):
                    taken.append(OwedRun(interrupt_id, till))
                    passed -= 1
        return taken, missing

    async def _due(self, passed: int) -> list[tuple[str, str]]:
        """Read runs that are due, each with when it was: after those that were passed over."""
        first = (WHATEVER, "ZRANGEBYSCORE", self._keys.unresumed, "-inf", Stamp(), "WITHSCORES")
        answer = await self._run("", Change([(*first, "LIMIT", passed, LOOKED_AT)]))
        listed = answer.found[0] or []
        return list(zip(listed[::2], listed[1::2], strict=True))

    async def _needs(self, runs: Sequence[tuple[str, str]]) -> Sequence[str | None]:
        """Read what these runs need; `None` of a record that was damaged, which an operator sees in the list of owed runs."""
        looks = [(WHATEVER, "HGET", self._keys.req(each), "needs") for each, _ in runs]
        return (await self._run("", Change(looks))).found if looks else []

    async def _taken(self, interrupt_id: str, not_before: str, lease: int) -> str:
        """Make a run due again after the lease, and return when that is; empty where another worker was first."""
        unresumed = self._keys.unresumed
        take = ("ZADD", unresumed, Stamp(lease), interrupt_id)
        answer = await self._run("", Change([(same(not_before), "ZSCORE", unresumed, interrupt_id)], [take]))
        return str(answer.now + lease) if answer.ran else ""

    async def give_back(self, run: OwedRun, *, again_in: int | None) -> None:
        """Make a run due again in `again_in` milliseconds; with `None` owe it to workers no longer, because it has gone on."""
        # Only the bots count what has failed: a worker may not write that.
        given = {"owed": self._keys.unresumed, "failing": None}
        words = (run.interrupt_id, run.lease, "" if again_in is None else again_in)
        await self._scripts("finish_work", {}, words, said=None, **given)

    async def drop(self, interrupt_id: str) -> None:
        """Stop owing a run to workers, without resuming it."""
        names, unresumed = self._keys.of(interrupt_id), self._keys.unresumed
        drop = [("ZREM", unresumed, interrupt_id), note(names, "let_go"), wake(names)]
        await self._run(interrupt_id, Change([(ANYTHING, "ZSCORE", unresumed, interrupt_id)], drop))

    async def journal(self, interrupt_id: str, *, body: str = "") -> Journal:
        """Read the notes about a run. Its continuation is bound to the `body` of its question, as it was read."""
        (notes,), _ = await read_hashes(self._scripts, self._keys.of(interrupt_id), "run")
        return Journal(interrupt_id, notes, self, body)

    async def note(self, interrupt_id: str, name: str, text: str) -> str:
        """Write a note about a run once; return the note that is stored, or `""` when the run has already gone on."""
        names = self._keys.of(interrupt_id)
        looks = [*_goes_on(names), says(NOTHING, names["run"], name)]
        answer = await self._run(interrupt_id, Change(looks, written(names["run"], {name: text})))
        there, resumed, kept = answer.found
        if answer.ran:
            return text
        return str(kept) if there and not resumed else ""

    async def failed(self, interrupt_id: str, *, attempt: str, reason: str) -> int:
        """Count a failed attempt and note its reason; return how many attempts have failed.

        The same attempt counts once.
        """
        names, said = self._keys.of(interrupt_id), Private(reason, FAILURE)
        failures, by = None, None
        while True:
            count = int(failures or 0) + (by != attempt)
            fields: dict[str, Word] = {"failures": count, "failed_by": attempt, "reason": said}
            looks = [
                *_goes_on(names),
                says(same(failures), names["run"], "failures"),
                says(same(by), names["run"], "failed_by"),
            ]
            answer = await self._run(interrupt_id, Change(looks, written(names["run"], fields)))
            if answer.ran:
                return count
            there, resumed, failures, by = answer.found
            if resumed or not there:
                return 0

    async def _run(self, interrupt_id: str, change: Change) -> Answer:
        return await run(self._scripts, self._keys.of(interrupt_id), change)


def _goes_on(names: Named) -> list[Words]:
    """Rely on a run that nobody has resumed yet."""
    return [exists(names), says(NOTHING, names["req"], "resumed")]


async def release(scripts: Scripts, keys: Keys, interrupt_id: str) -> str:
    """Let a worker resume a run that was set aside, at once.

    Returns:
        What came of it, after the words "the run"; empty where there is nothing to resume.
    """
    names = keys.of(interrupt_id)
    commands: list[Words] = [
        ("HSET", names["run"], "again", "1"),
        ("HDEL", names["run"], "set_aside"),
        ("ZADD", keys.unresumed, "XX", Stamp(), interrupt_id),
    ]
    looks = [*_goes_on(names), says(ANYTHING, names["run"], "set_aside")]
    answer = await run(scripts, names, Change(looks, commands))
    there, resumed, _ = answer.found
    if answer.ran:
        return "will go on"
    return "is not set aside" if there and not resumed else ""
