"""The record in Redis: typed methods over the scripts."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal

from redis.asyncio import Redis
from redis.client import NEVER_DECODE
from redis.exceptions import RedisError

from agent_adapter.connection import Scripts, fields_of, read_hashes
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, Decision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.identity import interrupt_id as id_of
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.keys import Keys, Lane
from agent_adapter.contract.record import (
    EXPIRED,
    EXPIRED_MESSAGE,
    Fields,
    by_silence,
    dump_recorded,
    expect_written,
)
from agent_adapter.errors import InvalidRequestError, ServerUnreachableError, UnreadableRecordError
from agent_adapter.servers import looked_into
from bot.aside import Received, aside
from bot.errors import StoreUnavailableError
from bot.fields import (
    admission_fields,
    dumped,
    milliseconds,
    place_field,
    proposal_field,
    read_standing,
    read_state,
    size_of,
    unix_milliseconds,
)
from bot.ids import PartId
from bot.limits import Limits, What
from bot.memory import Memory
from bot.schedule import Remark
from bot.state import Action, Admission, ApprovalState, Place, Proposal, Shown, Standing
from bot.sticky import Covered, Grant

logger = logging.getLogger(__name__)

WorkSet = Literal["undrawn", "due"]

TOLD_AT_ONCE = 50
"""Records of which one script tells where they stand: reading them holds a click up for a few milliseconds."""
WITHIN = 1.0
"""Seconds that Redis may take for what a person waits for."""


class Outcome(StrEnum):
    """What became of one action's decision."""

    RECORDED = "recorded"
    COUNTED = "counted"
    """It takes more people to agree."""
    REPEAT = "repeat"
    """Recorded or counted already, by this very click."""
    TAKEN = "taken"
    """Somebody else decided first."""
    CLOSED = "closed"
    """Past the deadline, or ended otherwise."""
    GONE = "gone"
    """It agrees with a proposal that another one has replaced."""
    JUDGE_AGAIN = "judge_again"
    """It would be final with the vote of somebody who was not judged just now. Nothing was recorded."""


@dataclass(frozen=True, slots=True)
class Voters:
    """The others who say the same, as they were judged just now."""

    allowed: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    """Who may not decide any more: their votes are taken out."""


@dataclass(frozen=True, slots=True)
class Work:
    """Something owed, claimed for a while."""

    kind: WorkSet
    lane: Lane
    interrupt_id: str
    lease: str


@dataclass(frozen=True, slots=True)
class PartLease:
    """The right to make one call about one message of a card."""

    outcome: Literal["mine", "takeover", "busy", "gone"]
    since: int
    """Server milliseconds of the first intent that is not settled; with `busy`, milliseconds to wait."""
    epoch: int
    """As in `Beat`, of the record's lane."""


@dataclass(frozen=True, slots=True)
class Silence:
    """What a deadline decides that may approve."""

    since: int
    """From when a bot has to have been there: server milliseconds."""
    decided: Mapping[int, tuple[str, str]]
    """By index: the decision, and the one where no bot was there all the time."""


NO_SILENCE = Silence(0, {})
SHOWN_TOO_SHORT = "Silence does not approve it: the card was not shown long enough."
MISSED = (
    "Silence does not approve it: somebody pressed a button or sent a form, and it could not be recorded."
)
NOT_LOOKED = (
    "Silence does not approve it: at the deadline Slack did not say whether people could still object."
)
UNWATCHED = "Silence does not approve it: no bot was there all the time to take an answer."


@dataclass(frozen=True, slots=True)
class Beat:
    """One sign of life of this process, and what Redis knew before it. Times are the server's milliseconds."""

    others: int
    """How many other bots live."""
    at: int
    epochs: tuple[int, ...]
    """How often any bot has said that it lives, by lane. It only ever grows."""
    before: int
    """This one's sign of life before; 0 when there was none."""


class ApprovalStore:
    """Reads and writes records. Every write is one script, safe to repeat."""

    def __init__(self, redis: Redis, keys: Keys, *, address: str = "") -> None:
        self.keys = keys
        self._redis = redis
        self._address = address
        self._remembered = Memory()
        self.scripts = Scripts(redis, keys, "bot.scripts", address=address)

    async def load(self, interrupt_id: str) -> ApprovalState | None:
        """Read a record, `None` when there is none.

        Raises:
            InvalidRequestError: when what is stored is no interrupt that this version reads.
            ServerUnreachableError: when Redis does not answer.
        """
        lane = self.keys.lane_for(interrupt_id)
        req, card, now = await read_hashes(self.scripts, lane, interrupt_id)
        if not req:
            return None
        expect_written(interrupt_id, req)
        try:
            received = Received(interrupt_id.partition(".")[0], size_of(req, card))
            known = self._remembered.get(interrupt_id)
            state = await aside(received, _read, req, card, now=now, known=known)
        except InvalidRequestError as error:
            raise UnreadableRecordError(f"{interrupt_id} cannot be read: {error}") from error
        if state.id != interrupt_id:
            raise UnreadableRecordError(f"{interrupt_id} holds the interrupt {state.id}")
        self._remembered.put(state)
        return state

    def recall(self, interrupt_id: str) -> ApprovalState | None:
        """Give a record as this process last read it, `None` when it has not lately.

        What lets a person decide (the admission, what was shown, what they have read) is never taken back, so it may
        be judged by this; whether a decision is still taken, only `record_decision` knows.
        """
        return self._remembered.get(interrupt_id)

    async def reserve(
        self, agent: str, limits: Limits, *, interrupt_id: str = "", size: int = 0
    ) -> tuple[What, int] | None:
        """Count an interrupt among the open ones of its agent, once; the answer is the limit that it would break.

        Args:
            agent: Who asks.
            limits: What the policy says.
            interrupt_id: The record; without one nothing is counted, only looked at.
            size: Bytes of an interrupt that is not stored yet.

        Returns:
            Which limit, and how much it would be; for one of a minute, the milliseconds to wait. `None`: none is broken.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        lane = self.keys.lane_for(agent)
        most = (limits.pending, limits.per_minute, limits.bytes)
        what, much = await self.scripts(
            "reserve",
            [lane.held(agent), lane.rate(agent)],
            [interrupt_id, size, *("" if each is None else each for each in most), lane.prefix],
        )
        return (what, int(much)) if what else None

    async def vouched(self, interrupt: Interrupt) -> frozenset[str]:
        """Name the people for whom a key of the HTTP API says that the agent acts here.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        # Asked again after it ended without an answer, it has another id, and the same run and pauses.
        first = id_of(interrupt.agent, interrupt.run, interrupt.pauses)
        return frozenset(await self._guarded(self._redis.smembers(self.keys.lane_for(first).vouched(first))))

    async def admit(
        self,
        state: ApprovalState,
        admission: Admission,
        *,
        life: int | None = None,
        covered: Sequence[Covered] = (),
    ) -> None:
        """Fix what judges every click. The first one stands.

        Args:
            state: The record.
            admission: What to fix.
            life: The policy's own milliseconds from publication to the deadline; the earlier deadline holds.
            covered: Actions that are approved already, each for as long as what covers it still holds.
        """
        lane = self.keys.lane_for(state.id)
        uses = [part for each in covered for part in _use(each, admission.policy_version)]
        await self.scripts(
            "admit",
            [
                lane.req(state.id),
                lane.card(state.id),
                lane.due,
                lane.audit,
                lane.undrawn,
                lane.wake,
                lane.unresumed,
                lane.sticky,
            ],
            [
                state.id,
                len(state.recorded),
                "" if life is None else life,
                int(bool(admission.steps or admission.extension)),
                lane.prefix,
                len(covered),
                *uses,
                *admission_fields(admission),
            ],
        )

    async def record_decision(
        self,
        interrupt_id: str,
        decisions: Mapping[int, str],
        *,
        token: str,
        person: str,
        deadline: float,
        positions: Mapping[int, str] | None = None,
        voters: Mapping[int, Voters] | None = None,
        policies: Mapping[int, str] | None = None,
        grant: Grant | None = None,
    ) -> dict[int, Outcome]:
        """Record decisions, by action index; the answer tells what became of each.

        Args:
            interrupt_id: The record.
            decisions: What is kept of each decision.
            token: Names the click.
            person: Who clicked.
            deadline: Seconds that it may take.
            positions: What each decision says, where several people have to say the same; without, nobody agrees with it.
            voters: Whose votes may make each decision final; without, of everybody who was allowed when they voted.
            policies: The version of the rules by which each was judged; without, that of the card.
            grant: For which later calls it holds, too.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds. It may have been recorded
                all the same: pressing again with the same token then says so.
        """
        lane = self.keys.lane_for(interrupt_id)
        named, judged, rules = positions or {}, voters or {}, policies or {}
        slots = [
            part
            for index, text in decisions.items()
            for part in (
                str(index),
                named.get(index) or digest("vote", text),
                text,
                *_judged(judged.get(index)),
                rules.get(index, ""),
            )
        ]
        try:
            async with asyncio.timeout(deadline):
                outcomes = await self.scripts(
                    "record_decision",
                    [
                        lane.req(interrupt_id),
                        lane.card(interrupt_id),
                        lane.undrawn,
                        lane.wake,
                        lane.due,
                        lane.audit,
                        lane.unresumed,
                        lane.sticky,
                    ],
                    [interrupt_id, token, person, lane.prefix, *_later(grant), *slots],
                )
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not take the decision in time") from error
        return {index: Outcome(word) for index, word in zip(decisions, outcomes, strict=True)}

    async def propose(
        self,
        interrupt_id: str,
        index: int,
        proposal: Proposal,
        remark: Remark,
        *,
        place: Place | None,
        deadline: float,
    ) -> Outcome:
        """Keep an edit that another rule is about, in the place of an earlier one and of its votes.

        Args:
            interrupt_id: The record.
            index: Of the action.
            proposal: What somebody proposes; what they said before about the action counts no longer.
            remark: What is said about it.
            place: Where it is asked as well; nowhere else when `None`.
            deadline: Seconds that it may take.

        Returns:
            Recorded, repeat, taken or closed.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds.
        """
        lane = self.keys.lane_for(interrupt_id)
        args: list[str | int]
        args = [interrupt_id, index, proposal.by, proposal.name, proposal.terms.quorum, proposal.policy,
                proposal_field(proposal), place_field(place) if place else "", dumped(remark)]  # fmt: skip
        keys = [lane.card(interrupt_id), lane.undrawn, lane.wake, lane.audit]
        return Outcome(await self._within("propose", keys, args, deadline=deadline))

    async def sticky(self, lane: Lane, *, agent: str = "") -> list[tuple[ApprovalState, int]]:
        """Give what was approved for later calls and still holds, what ends first at the front: its record, and the index there.

        Args:
            lane: Where to look.
            agent: Whose; everybody's when empty.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        names = await self._guarded(self._redis.zrange(lane.sticky, 0, -1))
        found = []
        for name in names:
            interrupt_id, _, index = name.rpartition(":")
            if agent and not interrupt_id.startswith(f"{agent}."):
                continue
            state = await self._readable(interrupt_id)
            if state and int(index) in state.sticky and state.sticky[int(index)].is_live(state.now):
                found.append((state, int(index)))
        return found

    async def _readable(self, interrupt_id: str) -> ApprovalState | None:
        """Read a record on behalf of another one, which goes without it when it cannot be read."""
        try:
            return await self.load(interrupt_id)
        except ServerUnreachableError:
            raise
        except Exception:
            logger.exception("record.unreadable", extra={"interrupt_id": interrupt_id})
            return None

    async def end_sticky(self, interrupt_id: str, index: int, *, by: str = "time") -> str:
        """End what was approved for later calls; the answer is `ended`, `known`, `early` or `unknown`.

        Args:
            interrupt_id: The record that it was given in.
            index: Of its action.
            by: Who revokes it; `time` when its time is over.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.card(interrupt_id), lane.undrawn, lane.wake, lane.sticky, lane.audit]
        return await self._within("end_sticky", keys, [interrupt_id, index, by])

    async def settle(
        self,
        interrupt_id: str,
        status: Literal["expired", "withdrawn", "refused"],
        *,
        reason: str = "",
        code: str = "",
        why_not: str = NOT_LOOKED,
    ) -> str:
        """End a record; the answer is `settled`, or why not.

        Args:
            interrupt_id: The record.
            status: How it ends.
            reason: Why it was withdrawn or refused.
            code: Of the refusal.
            why_not: Why silence approves nothing at the deadline; empty where somebody has looked that it may.
        """
        lane = self.keys.lane_for(interrupt_id)
        silence = await self._by_silence(interrupt_id, why_not) if status == "expired" else NO_SILENCE
        return str(
            await self.scripts(
                "settle",
                [
                    lane.req(interrupt_id),
                    lane.card(interrupt_id),
                    lane.undrawn,
                    lane.wake,
                    lane.due,
                    lane.audit,
                    lane.unresumed,
                    lane.watched,
                ],
                [
                    interrupt_id,
                    status,
                    reason,
                    code,
                    lane.prefix,
                    silence.since,
                    *[part for index, texts in silence.decided.items() for part in (str(index), *texts)],
                ],
            )
        )

    async def note_missed(self, interrupt_id: str) -> None:
        """Note that somebody tried to decide and could not, so that silence approves nothing of this record.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        await self._within("note_missed", [self.keys.lane_for(interrupt_id).card(interrupt_id)], [])

    async def _by_silence(self, interrupt_id: str, why_not: str) -> Silence:
        """Give what the deadline decides of what it may approve: what people were shown for as long as the rule says."""
        try:
            state = await self.load(interrupt_id)
        except InvalidRequestError:
            return NO_SILENCE
        if state is None or state.admission is None:
            return NO_SILENCE
        noted = MISSED if state.missed else ""
        if not state.is_shown_since(state.silent_from):
            noted = SHOWN_TOO_SHORT
        decided = {}
        for action in state.actions:
            if state.is_approved_by_silence(action.index) and not action.recorded:
                watched = (
                    _rejected(state, action, noted or why_not)
                    if noted or why_not
                    else _ended(state, action, ApproveDecision())
                )
                decided[action.index] = (watched, _rejected(state, action, noted or UNWATCHED))
        return Silence(unix_milliseconds(state.silent_from), decided)

    async def rest(self, interrupt_id: str) -> None:
        """Put a record to rest that has ended and is drawn: its keys go after a while. An open one stays as it is."""
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.req(interrupt_id), lane.card(interrupt_id), lane.due, lane.unresumed]
        await self.scripts("rest", keys, [interrupt_id, lane.prefix])

    async def reach(self, interrupt_id: str, steps: Mapping[int, Remark | None]) -> int:
        """Note steps whose time has come, each with what is said about it, and have the card drawn.

        Returns:
            How many were noted now; none when it has ended.
        """
        lane = self.keys.lane_for(interrupt_id)
        told = [
            part for number, remark in steps.items() for part in (number, dumped(remark) if remark else "")
        ]
        return int(
            await self.scripts(
                "reach",
                [lane.card(interrupt_id), lane.undrawn, lane.wake, lane.audit],
                [interrupt_id, *told],
            )
        )

    async def note_lapse(self, interrupt_id: str) -> bool:
        """Have the card say that whoever took its answer has not gone on with the run; false when it is not so."""
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.req(interrupt_id), lane.card(interrupt_id), lane.undrawn, lane.wake, lane.audit]
        return bool(await self.scripts("note_lapse", keys, [interrupt_id]))

    async def extend(self, state: ApprovalState, remark: Remark, *, by: timedelta) -> str:
        """Move the deadline; the answer is `extended`, `repeat` or `closed`.

        Args:
            state: The record as the person saw it: what was extended since then is not extended again.
            remark: What is said about it.
            by: How much later.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        return await self._change(
            "extend", state.id, [state.extended, milliseconds(by), remark.by or "", dumped(remark)]
        )

    async def claim(
        self, state: ApprovalState, place: int, user: str, *, holder: str = "", remark: Remark | None = None
    ) -> str:
        """Note who is looking at a place; the answer is `claimed`, `taken` or `closed`.

        Args:
            state: The record.
            place: Its number.
            user: Who is looking from now on.
            holder: Who hands it over; nobody when it is free.
            remark: What is said about it.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        lasts = state.places[place].claim or timedelta()
        known = state.claims.get(place)
        return await self._change(
            "claim",
            state.id,
            [
                place,
                f"{unix_milliseconds(known.since)} {unix_milliseconds(known.until)} {known.user}"
                if known
                else "",
                user,
                milliseconds(lasts),
                holder,
                dumped(remark) if remark else "",
            ],
        )

    async def _change(self, verb: str, interrupt_id: str, args: Sequence[str | int]) -> str:
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.card(interrupt_id), lane.undrawn, lane.wake, lane.due, lane.audit]
        return await self._within(verb, keys, [interrupt_id, *args])

    async def _within(
        self, verb: str, keys: Sequence[str], args: Sequence[str | int], *, deadline: float = WITHIN
    ) -> str:
        try:
            async with asyncio.timeout(deadline):
                return str(await self.scripts(verb, keys, args))
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not take the change in time") from error

    async def claim_work(self, kind: WorkSet, lane: Lane, *, limit: int, lease: int) -> list[Work]:
        """Take up to `limit` due ids for `lease` milliseconds."""
        taken: Sequence[str] = await self.scripts("claim_work", [_set(lane, kind)], [limit, lease])
        return [Work(kind, lane, taken[i], taken[i + 1]) for i in range(0, len(taken), 2)]

    async def finish_work(self, work: Work, *, again_in: int | None = None) -> bool:
        """Give work back: done, or to be done again after so many milliseconds.

        Returns:
            Whether earlier attempts at it had failed.
        """
        mended = await self.scripts(
            "finish_work",
            [_set(work.lane, work.kind), work.lane.failing],
            [work.interrupt_id, work.lease, "" if again_in is None else again_in],
        )
        return bool(mended)

    async def fail_work(self, work: Work, *, reason: str, first_pause: int, too_many: int) -> int:
        """Note that an attempt at work failed; give how many have, 0 when somebody else has claimed it since."""
        return int(
            await self.scripts(
                "fail_work",
                [_set(work.lane, work.kind), work.lane.failing],
                [work.interrupt_id, work.lease, first_pause, too_many, reason],
            )
        )

    async def failing(self, lane: Lane) -> dict[str, str]:
        """Give the work of one lane that could not be done, as it is stored. Bytes that are not text are shown as hex digits."""
        found = await self._guarded(
            self._redis.execute_command("HGETALL", lane.failing, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        )
        return {_shown(name): _shown(text) for name, text in found.items()}

    async def release_work(self, interrupt_id: str) -> bool:
        """Have failed work about a record done again; false when nothing had failed."""
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.failing, lane.undrawn, lane.wake, lane.due]
        return bool(await self.scripts("release_work", keys, [interrupt_id]))

    async def put_back(self, kind: WorkSet, lane: Lane, waits: Mapping[Work, int]) -> None:
        """Give work of one lane back, each to be done after so many milliseconds."""
        told = [part for work, wait in waits.items() for part in (work.interrupt_id, work.lease, wait)]
        await self.scripts("finish_work", [_set(lane, kind)], told)

    async def lease_part(self, interrupt_id: str, part: PartId, *, owner: str, lease: int) -> PartLease:
        """Take one message of a card for one call, noting the intent first."""
        lane = self.keys.lane_for(interrupt_id)
        outcome, since, epoch = await self.scripts(
            "lease_part", [lane.card(interrupt_id), lane.epoch], [str(part), owner, lease, lane.prefix]
        )
        return PartLease(outcome, int(since), epoch)

    async def card_drawn(
        self, interrupt_id: str, part: PartId, *, owner: str, shown: Shown | None, forget: bool = False
    ) -> bool:
        """Note what Slack shows; with `None` that nothing was sent, or with `forget` that it shows nothing any more.

        Returns:
            False when the lease went to somebody else.
        """
        card = self.keys.lane_for(interrupt_id).card(interrupt_id)
        text = f"{shown.channel} {shown.ts} {shown.stage} {shown.digest}" if shown else "-" if forget else ""
        return bool(await self.scripts("card_drawn", [card], [str(part), owner, text]) == "drawn")

    async def doubt_part(self, interrupt_id: str, part: PartId, ts: str = "") -> None:
        """Note that nobody knows what Slack shows of one message, so that it is drawn anew.

        Args:
            interrupt_id: The record.
            part: Which message.
            ts: Only as long as it is this one.
        """
        lane = self.keys.lane_for(interrupt_id)
        keys = [lane.card(interrupt_id), lane.undrawn, lane.wake]
        await self.scripts("doubt_part", keys, [interrupt_id, str(part), ts])

    async def owe_drawing(self, interrupt_id: str) -> None:
        """Have the card of a record drawn."""
        lane = self.keys.lane_for(interrupt_id)
        await self.scripts("owe", [lane.undrawn, lane.wake], [interrupt_id])

    async def standing(self, *, first: int = 0, count: int | None = None) -> tuple[list[Standing], int]:
        """Give the messages of records that something falls due for, as far as they are as this version writes them.

        Args:
            first: Number of the first record.
            count: About how many records; all that follow when `None`.

        Returns:
            The messages, and the number of the record to go on with, 0 at the end.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: list[Standing] = []
        end = None if count is None else first + count
        looked = TOLD_AT_ONCE
        while looked and (end is None or first < end):
            looked = 0
            for lane in self.keys.all_lanes():
                number, *told = await self.scripts(
                    "standing", [lane.due], [lane.prefix, first, first + TOLD_AT_ONCE - 1]
                )
                looked = max(looked, number)
                found += _standing(told)
            first += TOLD_AT_ONCE
        return found, first if looked == TOLD_AT_ONCE else 0

    async def untaken(self) -> list[Standing]:
        """Give the messages of what has ended and was not resumed: its agent, or a worker, may still take the answer.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: dict[tuple[str, PartId], Standing] = {}
        for lane in self.keys.all_lanes():
            cursor = "0"
            while True:
                cursor, *told = await self.scripts("untaken", [lane.due], [lane.prefix, cursor])
                # Redis may name a key twice.
                found |= {(message.interrupt_id, message.part): message for message in _standing(told)}
                if cursor == "0":
                    break
        return list(found.values())

    async def mark_read(
        self, state: ApprovalState, index: int, user: str, pages: int, call: Action | None = None
    ) -> None:
        """Note how many pages of an action, or of the call that is proposed in its place, this person was shown, in order."""
        card = self.keys.lane_for(state.id).card(state.id)
        mark = f"{(call or state.actions[index]).fingerprint}:{pages}"
        await self.scripts("mark_read", [card], [index, user, mark])

    async def notice(self, interrupt_id: str, sentence: str) -> None:
        """Tell whoever waits why nothing happens; an empty sentence takes it back."""
        lane = self.keys.lane_for(interrupt_id)
        await self.scripts("notice", [lane.req(interrupt_id), lane.card(interrupt_id)],
                            [interrupt_id, sentence, lane.prefix])  # fmt: skip

    async def heartbeat(
        self, process: str, *, alive: bool = True, stepped_within: int = 0, quiet_for: float | None = 0.0
    ) -> Beat:
        """Say in every lane that this bot lives, or that it has ended.

        Args:
            process: Its name.
            alive: False when it has ended.
            stepped_within: The last milliseconds, where it has noticed that the server's clock was set in them.
            quiet_for: Seconds since Slack last carried out a call of it; `None` when Slack cannot be used.
        """
        told = [
            await self.scripts(
                "heartbeat",
                [lane.bots, lane.clock, lane.undrawn, lane.due, lane.unresumed, lane.watched, lane.epoch],
                [
                    process,
                    int(alive),
                    stepped_within,
                    "" if quiet_for is None else int(quiet_for * 1000),
                ],
            )
            for lane in self.keys.all_lanes()
        ]
        return Beat(
            others=max(others for others, *_ in told),
            at=max(at for _, at, *_ in told),
            epochs=tuple(epoch for *_, epoch, _ in told),
            before=min(int(before or 0) for *_, before in told),
        )

    async def lived_until(self) -> float:
        """Tell until when anything happened as far as Redis knows, in unix seconds; 0 when it knows of nothing."""
        ends = [0.0]
        for lane in self.keys.all_lanes():
            beats = await self._guarded(self._redis.zrange(lane.bots, -1, -1, withscores=True))
            entries = await self._guarded(self._redis.xrevrange(lane.audit, count=1))
            # An agent may have asked since, without a bot: where one has lived, its last sign of life says more.
            ends.append(
                beats[0][1] / 1000
                if beats
                else int(entries[0][0].partition("-")[0]) / 1000
                if entries
                else 0.0
            )
        return max(ends)

    async def rewind(self, interrupt_id: str, part: PartId, *, code: str, reason: str) -> None:
        """End a record that knows less than this message shows, which stays as it is."""
        lane = self.keys.lane_for(interrupt_id)
        keys = [
            lane.req(interrupt_id),
            lane.card(interrupt_id),
            lane.undrawn,
            lane.wake,
            lane.audit,
            lane.unresumed,
        ]
        await self.scripts("rewind", keys, [interrupt_id, str(part), code, reason, lane.prefix])

    def forget_remembered(self) -> None:
        """Judge no click by what was read before."""
        self._remembered.clear()

    async def owed(self) -> dict[str, int]:
        """Count the owed work by kind, over all lanes."""
        counts = {"undrawn": 0, "due": 0, "unresumed": 0}
        for lane in self.keys.all_lanes():
            for kind in counts:
                counts[kind] += int(await self._guarded(self._redis.zcard(getattr(lane, kind))))
        return counts

    async def _guarded(self, call: object) -> Any:
        try:
            return await call  # type: ignore[misc]  # redis-py types commands as sync or async
        except (RedisError, OSError) as error:
            raise await looked_into(self._redis, self.keys, self._address, error) from error


def _standing(told: Sequence[Any]) -> list[Standing]:
    found: list[Standing] = []
    for interrupt_id, fields in zip(told[::2], told[1::2], strict=True):
        with contextlib.suppress(ValueError, LookupError, TypeError):
            found += read_standing(interrupt_id, fields_of(fields))
    return found


def _rejected(state: ApprovalState, action: Action, why: str) -> str:
    """Write the rejection of what silence does not approve; nothing where the agent takes none."""
    config = state.interrupt.request.review_configs[action.index]
    decision = by_silence(config, f"{EXPIRED_MESSAGE} {why}")
    return _ended(state, action, decision) if decision else ""


def _ended(state: ApprovalState, action: Action, decision: Decision) -> str:
    assert state.admission is not None
    return dump_recorded(
        decision,
        fingerprint=action.fingerprint,
        decided_by=EXPIRED,
        policy=state.admission.policy_version,
    )


def _shown(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")


def _judged(voters: Voters | None) -> tuple[str, str]:
    """Write whose votes may make a decision final, and whose are taken out."""
    return ("*", "") if voters is None else (" ".join(voters.allowed), " ".join(voters.refused))


def _read(req: Fields, card: Fields, *, now: int, known: ApprovalState | None) -> ApprovalState:
    state = read_state(req, card, now=now, known=known)
    # Here, so that a large one is read beside the loop.
    _ = state.actions
    return state


def _later(grant: Grant | None) -> list[str | int]:
    """Write for which later calls a decision holds, how long and how often."""
    return [dumped(grant), milliseconds(grant.lasts), grant.uses] if grant else ["", 0, 0]


def _use(covered: Covered, policy: str) -> list[str | int]:
    """Write the decision of an action that needs no asking, and what is kept of it beside the earlier one."""
    interrupt_id, _, index = covered.name.rpartition(":")
    decision = dump_recorded(
        ApproveDecision(),
        fingerprint=covered.fingerprint,
        decided_by=covered.by,
        policy=policy,
        sticky=covered.name,
    )
    return [covered.index, interrupt_id, index, covered.by, decision, encode(covered.kept)]


def set_of(name: str) -> WorkSet:
    """Read the name of a set of work."""
    return "undrawn" if name == "undrawn" else "due"


def _set(lane: Lane, kind: WorkSet) -> str:
    return lane.undrawn if kind == "undrawn" else lane.due
