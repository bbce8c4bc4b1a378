"""Tells people and agents when Redis has lost a decision that Slack had shown as accepted. Nobody else would ever know it."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

from agent_adapter.errors import ServerUnreachableError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.messages import Remark
from bot.jobs.redis_restore import CODE as WENT_BACK
from bot.jobs.redis_restore import LOOKS_EVERY, RestoreGuard
from bot.runtime.metrics import LOST_CLICKS
from bot.store.accepted import KEPT_FOR, Accepted, Loss
from bot.store.codec import body_digest
from bot.store.connected import LOOKS_AGAIN_IN
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

SENTENCE = "Redis has lost a decision in a failover, and people are asked to decide again"
"""What agents hear that wait."""
REASON = (
    "a failover has lost what was decided, and an agent may have gone on with it. Look at what has run, then ask again if "
    "it is still needed"
)
"""Why a request ends whose decision is lost."""
LATE = 5.0
"""Seconds after which it looks once more: for what the former server was still answering, and for agents that say again that they
take each decision."""
LOOKS_ANEW = 1.0
"""Seconds after which it looks again where Redis did not answer."""
ANSWERS_WITHIN = 3.0
"""Seconds that a look for one request may take. Then the others are told about, and it is looked for again."""
AT_ONCE = 8
"""How many requests it looks for at the same time: people who press wait for it."""
TRIES = 3
"""How often a click is looked for while people go on deciding."""
LOOKED_WITHIN = 120.0
"""Seconds that one look may take, with everything that was accepted lately."""
Outcome: TypeAlias = Literal["told", "missing", "will ask"]
"""What a look has done about one request: see `Found`."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look has found out."""

    missing: frozenset[str]
    """The requests of which Redis has nothing. They may be asked again."""
    will_ask: frozenset[str]
    """The requests about which people will be asked again, but not yet."""
    unreachable: dict[int, ServerUnreachableError]
    """The lanes where Redis did not answer."""


@dataclass
class LostClicks:
    """Looks after each doubt whether Redis still has what was accepted through this process."""

    store: ApprovalStore
    guard: RestoreGuard
    doubts: int = 1
    """How many doubts it knows. The first one comes with the first connection, when nothing was accepted yet."""
    looked_after: int = 1
    """After how many of them it has looked."""
    changes: int = 0
    """How many changes of the server it knows."""
    next_at: float = math.inf
    """When it looks next."""
    asks_at: float = math.inf
    """From when on people are asked again; infinite once all is told."""
    until: float = 0.0
    """Until when what is missing may come back."""

    async def run(self, loop: Loop) -> None:
        """Look after each doubt, once everything is written again that is kept for that, until cancelled."""
        # Where this loop starts again after an error, it looks again.
        self.doubts = self.looked_after
        while True:
            loop.beat(within=LOOKED_WITHIN)
            await asyncio.sleep(LOOKS_EVERY)
            now = time.monotonic()
            self._hear(now)
            if now < self.next_at:
                continue
            # An agent can have taken a decision that looks as if nothing could have run with it.
            ends_only, in_flight = now < self.asks_at, self.store.deciding
            found = await self.look(ends_only=ends_only)
            self._note_looked(found, ends_only=ends_only, in_flight=in_flight)
            for error in found.unreachable.values():
                loop.hinder(str(error))
            self._plan(found, now, ends_only=ends_only)

    def _hear(self, now: float) -> None:
        """Look at once after a new doubt, unless another bot may still write again what builds on what this one knows."""
        doubts = self.guard.written_again
        if doubts <= self.doubts or self.store.is_unsettled:
            return
        self.doubts, self.next_at, self.until = doubts, now, now + KEPT_FOR
        if self.asks_at == math.inf or self.guard.changes > self.changes:
            # A connection to the same server that is lost again and again puts nothing off.
            self.asks_at, self.changes = now + LATE, self.guard.changes

    def _plan(self, found: Found, now: float, *, ends_only: bool) -> None:
        if found.unreachable:
            self.next_at = now + LOOKS_ANEW
        elif ends_only:
            self.next_at = self.asks_at
        elif found.missing and now < self.until:
            self.asks_at = self.next_at = now + LOOKS_AGAIN_IN
            self.looked_after = self.doubts
        else:
            self._give_up(found.missing)
            self.asks_at = self.next_at = math.inf
            self.looked_after = self.doubts

    def _note_looked(self, found: Found, *, ends_only: bool, in_flight: int) -> None:
        """Let people decide again wherever all is told, unless there is a new doubt."""
        self.store.missing = found.missing
        if self.doubts != self.guard.doubts or (ends_only and in_flight):
            return
        untold = map(self.store.keys.lane_of, found.will_ask)
        self.store.unlooked = frozenset([*found.unreachable, *untold])

    def _give_up(self, missing: Collection[str]) -> None:
        """Say of which requests nothing has come back. They have no record, so nobody can be told on a card."""
        gone = (click for clicks in self.store.accepted.requests() for click in clicks)
        for click in (click for click in gone if click[0].interrupt_id in missing):
            LOST_CLICKS.inc()
            indices = [each.index for each in click]
            extra = {"interrupt_id": click[0].interrupt_id, "indices": indices, "user": click[0].person}
            logger.error("click.lost", extra={**extra, "ended": False, "gone": True})
        self.store.missing = frozenset()

    async def look(self, *, ends_only: bool = False) -> Found:
        """Look once for everything that was accepted lately, and tell what is lost.

        Args:
            ends_only: Whether people are not asked again yet.
        """
        self.store.scripts.leave_former()
        looks: list[tuple[str, Callable[[], Awaitable[Outcome]]]] = [
            (clicks[0][0].interrupt_id, partial(self._look_for, clicks, ends_only=ends_only))
            for clicks in self.store.accepted.requests()
        ]
        looks += [
            (interrupt_id, partial(self._revoke_again, interrupt_id, index, person))
            for (interrupt_id, index), person in self.store.revoked.items()
        ]
        turns, unreachable = asyncio.Semaphore(AT_ONCE), dict[int, ServerUnreachableError]()

        async def looked(interrupt_id: str, look: Callable[[], Awaitable[Outcome]]) -> tuple[Outcome, str]:
            lane = self.store.keys.lane_of(interrupt_id)
            async with turns:
                try:
                    if lane not in unreachable:
                        async with asyncio.timeout(ANSWERS_WITHIN):
                            return await look(), interrupt_id
                except ServerUnreachableError as error:
                    unreachable[lane] = error
                except TimeoutError:
                    unreachable[lane] = ServerUnreachableError("Redis has not answered in time")
                except Exception as error:  # noqa: BLE001  # the other requests must still be looked at
                    _note_not_looked_for(interrupt_id, error)
            return "told", interrupt_id

        found = await asyncio.gather(*(looked(*each) for each in looks))
        missing, will_ask = (
            frozenset(interrupt_id for outcome, interrupt_id in found if outcome == kind)
            for kind in ("missing", "will ask")
        )
        return Found(missing, will_ask, unreachable)

    async def _revoke_again(self, interrupt_id: str, index: int, person: str) -> Outcome:
        if await self.store.revoke_again(interrupt_id, index, by=person):
            extra = {"interrupt_id": interrupt_id, "index": index, "user": person}
            logger.error("revocation.lost", extra=extra)
        return "told"

    async def _look_for(self, clicks: Sequence[Sequence[Accepted]], *, ends_only: bool) -> Outcome:
        """Look for what was decided about one request."""
        state = await self.store.admitted(clicks[0][0].interrupt_id)
        if state is None:
            return "missing"
        asked = {"", body_digest(state.body)}
        for click in (each for each in clicks if each[0].asked not in asked):
            # The same run asks something else under this id by now. Nobody has decided that, so its card says nothing.
            await self._tell(state, click, is_over=True, is_asked=False)
        clicks = [click for click in clicks if click[0].asked in asked]
        is_taken = any(map(_may_have_run, clicks))
        last = next((each for click in clicks for each in click if each.was_last), None)
        outcomes: set[Outcome] = {"told"}
        # What the agent may have gone on with is named first.
        for click in sorted(clicks, key=_may_have_run, reverse=True):
            for _ in range(TRIES):
                loss = await self.store.lost(click)
                if loss is None:
                    return "missing"
                if not loss.clicks:
                    break
                state = await self.store.admitted(click[0].interrupt_id)
                if state is None:
                    return "missing"
                loss = replace(loss, is_followed=loss.is_followed or is_taken)
                outcome = await self._tell_of(state, loss, has_ended=last is not None, ends_only=ends_only)
                if outcome:
                    outcomes.add(outcome)
                    break
        if last and not await self._end_open(last):
            return "missing"
        return "will ask" if "will ask" in outcomes else "told"

    async def _tell_of(
        self, state: Approval, loss: Loss, *, has_ended: bool, ends_only: bool
    ) -> Outcome | None:
        """Tell of what is lost of a click; `None` where somebody has decided meanwhile."""
        untold = [each for each in loss.clicks if not _has_decided(state, each)]
        if not untold:
            return "told"
        # If people decided again, the same calls could run twice. A card that showed the decision may have ended it already.
        is_over = has_ended or state.code == WENT_BACK
        is_over = is_over or any(loss.is_followed and not each.is_vote for each in untold)
        if ends_only and not is_over:
            return "will ask"
        return "told" if await self._tell(state, untold, is_over=is_over) else None

    async def _end_open(self, last: Accepted) -> bool:
        """End a request that was decided and is open again: its other clicks are lost. Returns false while Redis has nothing of it."""
        state = await self.store.admitted(last.interrupt_id)
        if state is None:
            return False
        still = [index for index in range(len(state.recorded)) if _is_undecided(state, index)]
        if still and state.status == "pending":
            # Under a name of its own: what is lost of that click may have been told before.
            lost = replace(last, token=f"{last.token}.rest", person="", decision="")
            await self._tell(state, [replace(lost, index=index) for index in still], is_over=True)
        return True

    async def _tell(
        self, state: Approval, lost: Sequence[Accepted], *, is_over: bool, is_asked: bool = True
    ) -> bool:
        """Tell of the decisions of one click; false where somebody has decided meanwhile.

        Args:
            state: The record.
            lost: What is lost of the click.
            is_over: Whether nobody decides about it again.
            is_asked: Whether it was about what the record asks. Otherwise only the log and the audit trail have it.
        """
        person, is_open = lost[0].person, state.status == "pending"
        still = {each.index: each for each in lost if is_asked and _is_undecided(state, each.index)}
        remark = Remark(
            # When the request has ended or its time is up, nobody can decide again.
            kind="lost" if is_open and not (is_over or state.is_past) else "lost_for_good",
            places=tuple(state.places),
            actions=tuple(still),
            by=person,
            decision=_common({each.decision for each in still.values()}),
            is_vote=any(each.is_vote for each in still.values()),
        )
        outcome = await self.store.tell_lost(
            lost,
            remark if still else None,
            still if is_open else (),
            {each.index: state.actions[each.index].request.name for each in lost} if is_asked else {},
            sentence=REASON if is_over else SENTENCE,
            code=WENT_BACK if is_over and is_open and still else "",
        )
        is_told = outcome in {"told", "repeat"}
        if is_told:
            self.store.accepted.note_told(lost)
        if outcome == "told":
            LOST_CLICKS.inc()
            indices = [each.index for each in lost]
            decision = _common({each.decision for each in lost})
            extra = {"interrupt_id": state.id, "indices": indices, "user": person, "decision": decision}
            logger.error("click.lost", extra={**extra, "ended": is_over})
        return is_told


def _may_have_run(click: Sequence[Accepted]) -> bool:
    return any(each.may_have_run for each in click)


def _note_not_looked_for(interrupt_id: str, error: Exception) -> None:
    # The presenter says what is wrong with this record.
    logger.warning("click.not_looked_for", extra={"interrupt_id": interrupt_id, "reason": str(error)})


def _is_undecided(state: Approval, index: int) -> bool:
    """Whether nobody has decided an action, also when its time is up or its card has ended it."""
    return (
        state.status in {"pending", "expired", "refused"}
        and state.recorded[index] is None
        and index not in state.unsigned
    )


def _common(decisions: Collection[str]) -> str:
    return next(iter(decisions)) if len(decisions) == 1 else ""


def _has_decided(state: Approval, lost: Accepted) -> bool:
    """Whether the same person has decided the action in the same way with another click."""
    recorded = state.recorded[lost.index]
    if recorded is None or recorded.decision.type != lost.decision:
        return False
    return lost.person in {recorded.decided_by, *recorded.agreed_by}
