"""The record in Redis: typed methods over the scripts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent_adapter.connection import Scripts, read_hashes, unreachable
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.keys import Keys, Lane
from agent_adapter.contract.record import EXPIRED, dump_recorded
from agent_adapter.errors import InvalidRequestError, ServerUnreachableError
from bot.errors import StoreUnavailableError
from bot.fields import REMEMBERED, admission_fields, dumped, milliseconds, read_state, unix_milliseconds
from bot.ids import PartId
from bot.schedule import Remark
from bot.state import Admission, ApprovalState, Shown
from bot.sticky import Covered, Grant

WorkSet = Literal["undrawn", "due"]

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


class ApprovalStore:
    """Reads and writes records. Every write is one script, safe to repeat."""

    def __init__(self, redis: Redis, keys: Keys, *, address: str = "") -> None:
        self.keys = keys
        self._redis = redis
        self._address = address
        self._remembered: dict[str, ApprovalState] = {}
        self.scripts = Scripts(redis, "bot.scripts", address=address)

    async def load(self, interrupt_id: str) -> ApprovalState | None:
        """Read a record, `None` when there is none.

        Raises:
            InvalidRequestError: when what is stored is no interrupt that this version reads.
            ServerUnreachableError: when Redis does not answer.
        """
        lane = self.keys.lane_for(interrupt_id)
        req, card, now = await read_hashes(self.scripts, lane, interrupt_id)
        if "body" not in req:
            return None
        state = read_state(req, card, now=now)
        if state.id != interrupt_id:
            raise InvalidRequestError(f"{interrupt_id} holds the interrupt {state.id}")
        self._remembered[interrupt_id] = state
        if len(self._remembered) > REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return state

    def recall(self, interrupt_id: str) -> ApprovalState | None:
        """Give a record as this process last read it, `None` when it has not lately.

        What lets a person decide (the admission, what was shown, what they have read) is never taken back, so it may
        be judged by this; whether a decision is still taken, only `record_decision` knows.
        """
        return self._remembered.get(interrupt_id)

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
            grant: For which later calls it holds, too.

        Raises:
            StoreUnavailableError: when Redis has not answered within `deadline` seconds. It may have been recorded
                all the same: pressing again with the same token then says so.
        """
        lane = self.keys.lane_for(interrupt_id)
        named = positions or {}
        slots = [
            part
            for index, text in decisions.items()
            for part in (str(index), named.get(index) or digest("vote", text), text)
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
            state = await self.load(interrupt_id)
            if state and int(index) in state.sticky and state.sticky[int(index)].is_live(state.now):
                found.append((state, int(index)))
        return found

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
    ) -> str:
        """End a record; the answer is `settled`, or why not."""
        lane = self.keys.lane_for(interrupt_id)
        approved = await self._by_silence(interrupt_id) if status == "expired" else {}
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
                ],
                [
                    interrupt_id,
                    status,
                    reason,
                    code,
                    lane.prefix,
                    *[part for index, text in approved.items() for part in (str(index), text)],
                ],
            )
        )

    async def _by_silence(self, interrupt_id: str) -> dict[int, str]:
        """Give what the deadline approves: what people were shown all the same, and may have stopped."""
        try:
            state = await self.load(interrupt_id)
        except InvalidRequestError:
            return {}
        if state is None or state.admission is None or not state.is_shown:
            return {}
        return {
            action.index: dump_recorded(
                ApproveDecision(),
                fingerprint=action.fingerprint,
                decided_by=EXPIRED,
                policy=state.admission.policy_version,
            )
            for action in state.actions
            if state.is_approved_by_silence(action.index) and not action.recorded
        }

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

    async def _within(self, verb: str, keys: Sequence[str], args: Sequence[str | int]) -> str:
        try:
            async with asyncio.timeout(WITHIN):
                return str(await self.scripts(verb, keys, args))
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not take the change in time") from error

    async def claim_work(self, kind: WorkSet, lane: Lane, *, limit: int, lease: int) -> list[Work]:
        """Take up to `limit` due ids for `lease` milliseconds."""
        taken: Sequence[str] = await self.scripts("claim_work", [_set(lane, kind)], [limit, lease])
        return [Work(kind, lane, taken[i], taken[i + 1]) for i in range(0, len(taken), 2)]

    async def finish_work(self, work: Work, *, again_in: int | None = None) -> None:
        """Give work back: done, or to be done again after so many milliseconds."""
        await self.scripts(
            "finish_work",
            [_set(work.lane, work.kind)],
            [work.interrupt_id, work.lease, "" if again_in is None else again_in],
        )

    async def put_back(self, kind: WorkSet, lane: Lane, waits: Mapping[Work, int]) -> None:
        """Give work of one lane back, each to be done after so many milliseconds."""
        told = [part for work, wait in waits.items() for part in (work.interrupt_id, work.lease, wait)]
        await self.scripts("finish_work", [_set(lane, kind)], told)

    async def lease_part(self, interrupt_id: str, part: PartId, *, owner: str, lease: int) -> PartLease:
        """Take one message of a card for one call, noting the intent first."""
        card = self.keys.lane_for(interrupt_id).card(interrupt_id)
        outcome, since = await self.scripts("lease_part", [card], [str(part), owner, lease])
        return PartLease(outcome, int(since))

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

    async def doubt_part(self, interrupt_id: str, part: PartId) -> None:
        """Note that nobody knows what Slack shows of one message, so that it is drawn anew."""
        card = self.keys.lane_for(interrupt_id).card(interrupt_id)
        await self.scripts("doubt_part", [card], [str(part)])

    async def mark_read(self, state: ApprovalState, index: int, user: str, pages: int) -> None:
        """Note how many pages of an action this person was shown, in order."""
        card = self.keys.lane_for(state.id).card(state.id)
        mark = f"{state.actions[index].fingerprint}:{pages}"
        await self.scripts("mark_read", [card], [index, user, mark])

    async def notice(self, interrupt_id: str, sentence: str) -> None:
        """Tell whoever waits why nothing happens; an empty sentence takes it back."""
        lane = self.keys.lane_for(interrupt_id)
        await self.scripts("notice", [lane.req(interrupt_id), lane.card(interrupt_id)],
                            [interrupt_id, sentence, lane.prefix])  # fmt: skip

    async def heartbeat(self, process: str, *, alive: bool = True) -> None:
        """Say in every lane that this bot lives, or that it has ended."""
        for lane in self.keys.all_lanes():
            await self.scripts("heartbeat", [lane.bots], [process, int(alive)])

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
            raise unreachable(self._address, error) from error


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


def _set(lane: Lane, kind: WorkSet) -> str:
    return lane.undrawn if kind == "undrawn" else lane.due
