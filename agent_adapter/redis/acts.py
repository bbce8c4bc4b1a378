"""What an agent does to a record, as changes for one script: commands that run together, if what they rely on is still so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_adapter.contract.keys import Named
from agent_adapter.contract.record import Fields
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ConsumedError,
    NotDecidedError,
    UnknownInterruptError,
    UnreadableRecordError,
)
from agent_adapter.redis.change import (
    ANYTHING,
    NOTHING,
    WHATEVER,
    WHERE_REFUSED,
    Answer,
    Change,
    Stamp,
    Word,
    Words,
    clock_was_set,
    no_other_than,
    note,
    same,
    wake,
    written,
)
from agent_adapter.redis.scripts import Private, fields_of

Seen: TypeAlias = Mapping[str, str | None]
"""Fields as they were read."""

FREE = "free:"
"""How a thread says that nobody runs it, before who did last."""
FREE_FOR = 3_600_000
"""Milliseconds for which a thread remembers who ran it last."""


class UnsureError(ClaimedError):
    """It is not known yet whether a living process holds the claim: the server's clock was set, or it was replaced."""

    def __init__(self, message: str, *, known_in: int) -> None:
        super().__init__(message)
        self.known_in = known_in
        """Milliseconds until a living holder has renewed it."""


def exists(names: Named) -> Words:
    """Rely on the record: it may expire at any time, and what is written then would never end."""
    return (ANYTHING, "HGET", names["req"], "deadline")


def says(expected: str, key: str, field: str) -> Words:
    """Rely on what a field says."""
    return (expected, "HGET", key, field)


def _told(
    names: Named,
    event: str,
    looks: Sequence[Words],
    fields: Mapping[str, Word],
    *,
    before: Sequence[Words] = (),
    words: Words = (),
) -> Change:
    """Write fields of a record, and tell the bots. The fields come last, so that a bot is told of them for certain."""
    told = [note(names, event, *words), *before, *written(names["req"], fields), wake(names)]
    return Change(looks, told)


def publish(
    names: Named, pauses: Mapping[str, str | None], req: Mapping[str, Word], run: Mapping[str, Word]
) -> Change:
    """Store a question, if its pauses lead to these records."""
    looks = [(same(record), "GET", pause) for pause, record in pauses.items()]
    lead_here = [("SET", pause, names["id"]) for pause in pauses]
    return _told(
        names,
        "published",
        [*looks, says(NOTHING, names["req"], "body")],
        req,
        before=[*lead_here, *written(names["run"], run)],
    )


def go_on_with(names: Named, req: Mapping[str, Word], run: Mapping[str, Word]) -> Change:
    """Store what workers need to resume a run, for an open run that was published without it. A second one is ignored."""
    still = [says(NOTHING, names["req"], field) for field in ("needs", "resumed")]
    looks = [exists(names), *still]
    return _told(names, "continued", looks, req, before=written(names["run"], run))


def withdraw(names: Named, reason: str) -> Change:
    """Ask the bot to end a record, if it is open and nobody has asked for that."""
    is_open = says(no_other_than("pending"), names["card"], "status")
    looks = [exists(names), says(NOTHING, names["req"], "withdraw"), is_open]
    return _told(names, "withdraw_asked", looks, {"withdraw": Private(reason, "withdraw")})


def stall(names: Named, owner: str, reason: str) -> Change:
    """Say why a run could not be resumed, or with which error it ended."""
    looks = [exists(names), says(NOTHING, names["req"], "resumed")]
    return _told(names, "stalled", looks, {"stalled": Private(reason, "stalled"), "stalled_by": owner})


def report(names: Named, index: int, decided: str, fence: str | None, status: str, outcome: str) -> Change:
    """Keep what became of a call, if nobody has, its decision is this one, and the claim has this fence."""
    field = f"outcome:{index}"
    looks = [
        exists(names),
        says(WHATEVER if fence is None else same(fence), names["req"], "fence"),
        says(NOTHING, names["req"], field),
        says(same(decided), names["card"], f"d:{index}"),
    ]
    fields = {field: Stamp(text=Private(outcome, field))}
    return _told(names, "reported", looks, fields, words=("index", index, "outcome", status))


def finish(names: Named, owner: str, holder: str | None, unused: str) -> Change:
    """Record that a run was resumed, or why its answer could not be used, if this is who holds the claim on it."""
    fields: dict[str, Word] = {"resumed": Stamp(), "resumed_by": owner}
    if unused:
        fields |= {"unused": 1, "stalled": Private(unused, "stalled"), "stalled_by": owner}
    looks = [
        exists(names),
        says(NOTHING, names["req"], "resumed_by"),
        says(same(holder), names["req"], "claim_by"),
        says(WHATEVER, names["req"], "fence"),
    ]
    # That the run was resumed is written first, because it must not be lost. Then the stored state goes: it contains what
    # the agent has seen.
    first = [*written(names["req"], fields), ("DEL", names["run"])]
    return Change(looks, [*first, note(names, "resumed"), wake(names)])


@dataclass(frozen=True, slots=True)
class Step:
    """What follows from a record for somebody who wants the claim on it."""

    change: Change | None = None
    """Nothing where there is nothing to write."""
    fence: int | None = None
    """Of the claim; `None` where it is the time of the change."""
    then: AgentAdapterError | None = None
    """What is raised once it is written."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The wish to take, renew or (with a lease of 0) give back the right to resume a run."""

    names: Named
    owner: str
    lease: int
    """Milliseconds."""
    grace: int
    """Milliseconds after the deadline."""
    held: int | None = None
    """The fence of the claim for who holds it already."""
    reads: bool = False
    """Whether to read the record with it."""

    def guess(self) -> Step:
        """Take a run that was decided and that nobody has claimed, or renew or give back a claim that is still there."""
        own = {"resumed": None, "claim_by": self.owner}
        if not self.lease:
            return self._write(own, {"lapsed": None}, fence=None)
        if self.held is not None:
            return self._write({**own, "fence": str(self.held)}, {"lapsed": None}, fence=self.held)
        seen: Seen = {"resumed": None, "claim_by": None}
        return self._write(seen, {"status": "decided"}, fence=None, is_next=True, is_noted=True, waits=True)

    def judge(self, answer: Answer) -> Step:
        """Say what follows from the record as it is.

        Raises:
            ClaimedError: when another owner holds it, or (UnsureError) may hold it.
            ConsumedError: when the run was resumed.
            NotDecidedError: when people may still decide.
            UnknownInterruptError: when there is no such record.
            UnreadableRecordError: when something else has written to it.
        """
        req, card, clock, bots = read(self.names, answer)
        at, holder, fence = answer.now, req.get("claim_by"), int(req.get("fence", 0))
        if self._has_used_it_up(req):
            return Step(fence=self.held)
        self._check_decided(req, card, at)
        is_own = holder == self.owner
        if not self.lease and not is_own:
            # Another one has it since, or Redis has lost it: nothing is left to give back.
            return Step(fence=fence)
        seen = {name: req.get(name) for name in ("resumed", "claim_by", "claim_until", "fence")}
        seen_of_card = {name: card.get(name) for name in ("status", "deadline", "lapsed")}
        if holder is not None and not is_own and (lease := self._restarted(req, at, clock, bots)):
            # A living holder renews it within that time.
            again = written(self.names["req"], {"claim_until": Stamp(lease)})
            return Step(Change(self._looks(seen, seen_of_card), again, at), then=self._unsure(lease))
        is_live = is_own and int(req.get("claim_until", 0)) > at
        # Another one may have had its own claim since its lease ended, and Redis may have lost that.
        is_new = self.held is None and not is_live and self.lease > 0
        if is_new and answer.unsure:
            raise self._unsure(answer.unsure)
        has_lapsed = "lapsed" in card and card["lapsed"] == req.get("fence")
        is_next = has_lapsed or is_new or not is_own
        # The bots know a claim that is renewed.
        is_known = not self.lease or is_live
        return self._write(
            seen,
            seen_of_card,
            # By the clock, so that it is newer than a claim that Redis has lost.
            fence=fence if not is_next else None if at > fence else fence + 1,
            since=at,
            # Sent late, it may reach a server that has lost who had it after that.
            before=int(req["claim_until"]) if is_live else None,
            is_next=is_next,
            is_noted=has_lapsed or not is_known,
            # Nobody waits for a bot to know of a claim, but a card that says that it has lapsed is wrong now.
            is_told=has_lapsed,
            is_again=holder is not None and not is_own,
            waits=is_new,
        )

    def _has_used_it_up(self, req: Fields) -> bool:
        """Whether the run was resumed under this very claim. Who has used it up itself has lost nothing."""
        if not req:
            raise unknown(self.names)
        if "body" not in req or "deadline" not in req:
            raise UnreadableRecordError(
                f"{self.names['id']} cannot be read, because what was asked is missing: "
                "look for what else writes to this Redis"
            )
        if "resumed" not in req:
            return False
        if self.held is None or req.get("resumed_by") != self.owner:
            id = self.names["id"]
            raise ConsumedError(f"{id} was already answered and its run resumed", interrupt_id=id)
        return True

    def _check_decided(self, req: Fields, card: Fields, at: int) -> None:
        deadline = int(card.get("deadline", req["deadline"]))
        if card.get("status", "pending") == "pending" and at <= deadline + self.grace:
            raise NotDecidedError(f"{self.names['id']} is not decided: wait for it before resuming")

    def _restarted(self, req: Fields, at: int, clock: str | None, bots: Sequence[str]) -> int:
        """Return the lease of another holder if it has to begin again, because the clock was set; 0 when it has ended."""
        # A process that held the claim and was too late does not go on, also when the next one has given it back.
        # Where Redis has lost the claim that is renewed, an older one is there.
        if self.held is not None and int(req.get("fence", 0)) >= self.held:
            raise self._claimed(0)
        till, lease = int(req.get("claim_until", 0)), int(req.get("claim_for", self.lease))
        if clock_was_set(till, lease, at, clock, bots):
            return lease
        if till > at:
            raise self._claimed(till - at)
        return 0

    def _write(
        self,
        req: Seen,
        card: Seen,
        *,
        fence: int | None,
        since: int = 0,
        before: int | None = None,
        is_next: bool = False,
        is_noted: bool = False,
        is_told: bool = False,
        is_again: bool = False,
        waits: bool = False,
    ) -> Step:
        fields: dict[str, Word] = {"claim_until": 0}
        if self.lease:
            fields = {"claim_by": self.owner, "claim_until": Stamp(self.lease), "claim_for": self.lease}
        if is_again:
            fields["claimed_again"] = 1
        if is_next:
            fields["fence"] = Stamp() if fence is None else fence
        commands = [
            *([note(self.names, "claimed")] if is_noted else []),
            *written(self.names["req"], fields),
            *([wake(self.names)] if is_told else []),
        ]
        lease = self.lease if waits else None
        return Step(Change(self._looks(req, card), commands, since, before, lease), fence)

    def _looks(self, req: Seen, card: Seen) -> list[Words]:
        kind, names = WHATEVER if self.reads else WHERE_REFUSED, self.names
        return [
            exists(names),
            ("= 1", "HEXISTS", names["req"], "body"),
            *(says(same(said), names["req"], name) for name, said in req.items()),
            *(says(same(said), names["card"], name) for name, said in card.items()),
            (kind, "HGETALL", names["req"]),
            (kind, "HGETALL", names["card"]),
            (WHERE_REFUSED, "GET", names["clock"]),
            (WHERE_REFUSED, "ZREVRANGE", names["bots"], 0, 0, "WITHSCORES"),
        ]

    def _claimed(self, left: int) -> ClaimedError:
        return ClaimedError(
            f"{self.names['id']}: another process is resuming it, for {left} ms more at least"
        )

    def _unsure(self, known_in: int) -> UnsureError:
        return UnsureError(
            f"{self.names['id']}: another process may be resuming it; whether it lives is known in {known_in} ms",
            known_in=known_in,
        )


def read(names: Named, answer: Answer) -> tuple[Fields, Fields, str | None, Sequence[str]]:
    """Return what a claim has read of a record, when a bot noticed that the clock was set, and which bot was seen last."""
    req, card, clock, bots = answer.found[-4:]
    return fields_of(req, names["id"]), fields_of(card, names["id"]), clock, bots or ()


def unknown(names: Named) -> UnknownInterruptError:
    """Give the error about a record that does not exist."""
    return UnknownInterruptError(
        f"{names['id']}: no such interrupt in namespace {names['prefix'].strip('{}:')!r}"
    )


@dataclass(frozen=True, slots=True)
class ThreadClaim:
    """The wish to take, renew or give back the right to run one thread.

    Its key expires if nobody renews it. Who had it last is kept for an hour: a process that was too late does not go on with what
    another one has run.
    """

    names: Named
    owner: str
    lease: int
    """Milliseconds."""
    is_held: bool
    """Whether the owner holds it already."""

    def guess(self) -> Change:
        """Take a thread that nobody runs, or renew a right that is still there."""
        if self.is_held:
            return self._write(same(self.owner))
        return self._write(no_other_than(FREE), is_new=True)

    def judge(self, answer: Answer) -> Change:
        """Say what to write, by who has it.

        Raises:
            ClaimedError: when another owner holds it, or (UnsureError) may hold it.
        """
        holder, left = answer.found
        is_free = holder is None or holder.startswith(FREE)
        if holder not in {None, self.owner} and (self.is_held or not is_free):
            raise ClaimedError(
                "another process is running this thread; if that process has died, the thread is free again within "
                f"{-(-max(1, left) // 1000)} seconds"
            )
        if not self.is_held and is_free and answer.unsure:
            raise UnsureError("another process may be running this thread", known_in=answer.unsure)
        return self._write(same(holder), is_new=is_free and not self.is_held)

    def give_back(self) -> Change:
        """Say what to write for who has it next."""
        thread = self.names["thread"]
        free = ("SET", thread, FREE + self.owner, "PX", FREE_FOR)
        return Change([(same(self.owner), "GET", thread)], [free])

    def _write(self, expected: str, *, is_new: bool = False) -> Change:
        thread = self.names["thread"]
        return Change(
            looks=[(expected, "GET", thread), (WHERE_REFUSED, "PTTL", thread)],
            commands=[("SET", thread, self.owner, "PX", self.lease)],
            lease=self.lease if is_new else None,
        )
