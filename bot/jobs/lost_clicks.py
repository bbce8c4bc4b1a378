"""Tells people and agents when Redis has lost a decision that Slack had shown as accepted. Nobody else would ever know it."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from agent_adapter.errors import ServerUnreachableError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.messages import Remark
from bot.jobs.redis_restore import CODE as WENT_BACK
from bot.jobs.redis_restore import LOOKS_EVERY, RestoreGuard
from bot.runtime.metrics import LOST_CLICKS
from bot.store.accepted import KEPT_FOR, Accepted, Loss
from bot.store.codec import body_digest
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

SENTENCE = "Redis has lost a decision in a failover, and people are asked to decide again"
"""What agents hear that wait."""
REASON = (
    "a failover has lost what was decided, and an agent may have gone on with it. Look at what has run, then ask again if "
    "it is still needed"
)
"""Why a request ends whose decision is lost."""
LATE, AGAIN_IN = 5.0, 5.0
"""Seconds after which it looks once more: for what the former server was still answering, for agents that say again that they
take each decision, and for records that are not there."""
LOOKS_ANEW = 1.0
"""Seconds after which it looks again where Redis did not answer."""
AT_ONCE = 8
"""How many requests it looks for at the same time: people who press wait for it."""
TRIES = 3
"""How often a click is looked for while people go on deciding."""
LOOKED_WITHIN = 120.0
"""Seconds that one look may take, with everything that was accepted lately."""


@dataclass
class LostClicks:
    """Looks after each doubt whether Redis still has what was accepted through this process."""

    store: ApprovalStore
    guard: RestoreGuard
    doubts: int = 1
    """How many doubts it knows. The first one comes with the first connection, when nothing was accepted yet."""
    looked_after: int = 1
    """After how many of them it has looked."""
    will_ask: bool = False
    """Whether the last look found something that people will be asked again, but not yet."""

    async def run(self, loop: Loop) -> None:
        """Look after each doubt, once everything is written again that is kept for that, until cancelled."""
        next_at, asks_at, until = math.inf, 0.0, 0.0
        # Where this loop starts again after an error, it looks again.
        self.doubts = self.looked_after
        while True:
            loop.beat(within=LOOKED_WITHIN)
            await asyncio.sleep(LOOKS_EVERY)
            doubts, now = self.guard.written_again, time.monotonic()
            # Another bot may still write again what builds on what this one knows.
            if doubts > self.doubts and not self.store.is_unsettled:
                self.doubts, next_at, asks_at, until = doubts, now, now + LATE, now + KEPT_FOR
            if now < next_at:
                continue
            try:
                # An agent can have taken a decision that looks as if nothing could have run with it.
                is_complete = await self.look(ends_only=now < asks_at)
            except ServerUnreachableError as error:
                next_at = now + LOOKS_ANEW
                loop.hinder(str(error))
                continue
            if now >= asks_at:
                self.looked_after = self.doubts
            if now >= asks_at or (is_complete and not self.will_ask and not self.store.deciding):
                await self._note_looked()
            again = math.inf if is_complete or now >= until else now + AGAIN_IN
            next_at = asks_at if now < asks_at else again

    async def _note_looked(self) -> None:
        """Let people decide again, unless there is a new doubt."""
        with suppress(ServerUnreachableError):
            self.store.is_alone = await self.store.alive() <= {self.guard.process}
            self.store.has_looked = self.doubts == self.guard.doubts

    async def look(self, *, ends_only: bool = False) -> bool:
        """Look once, and say whether the records of all clicks are there: a request may be asked again.

        Args:
            ends_only: Whether people are not asked again yet.

        Raises:
            ServerUnreachableError: when Redis does not answer about some of them. It has looked at all others.
        """
        self.store.scripts.leave_former()
        self.will_ask = False
        looks: list[tuple[str, Callable[[], Awaitable[bool]]]] = [
            (clicks[0][0].interrupt_id, partial(self._look_for, clicks, ends_only=ends_only))
            for clicks in self.store.accepted.requests()
        ]
        looks += [
            (interrupt_id, partial(self._revoke_again, interrupt_id, index, person))
            for (interrupt_id, index), person in self.store.revoked.items()
        ]
        turns, unreachable = asyncio.Semaphore(AT_ONCE), dict[int, ServerUnreachableError]()

        async def looked(interrupt_id: str, look: Callable[[], Awaitable[bool]]) -> bool:
            lane = self.store.keys.lane_of(interrupt_id)
            async with turns:
                try:
                    return lane in unreachable or await look()
                except ServerUnreachableError as error:
                    unreachable[lane] = error
                except Exception as error:  # noqa: BLE001  # the other requests must still be looked at
                    _note_not_looked_for(interrupt_id, error)
            return True

        found = await asyncio.gather(*(looked(*each) for each in looks))
        if unreachable:
            raise next(iter(unreachable.values()))
        return all(found)

    async def _revoke_again(self, interrupt_id: str, index: int, person: str) -> bool:
        if await self.store.revoke_again(interrupt_id, index, by=person):
            extra = {"interrupt_id": interrupt_id, "index": index, "user": person}
            logger.error("revocation.lost", extra=extra)
        return True

    async def _look_for(self, clicks: Sequence[Sequence[Accepted]], *, ends_only: bool) -> bool:
        """Look for what was decided about one request. Returns false while Redis has nothing of it."""
        state = await self.store.admitted(clicks[0][0].interrupt_id)
        if state is None:
            return False
        # The same run may ask something else under this id by now. Nobody has decided that.
        asked = {"", body_digest(state.body)}
        clicks = [*filter(None, ([each for each in click if each.asked in asked] for click in clicks))]
        is_taken = any(map(_may_have_run, clicks))
        last = next((each for click in clicks for each in click if each.was_last), None)
        # What the agent may have gone on with is named first.
        for click in sorted(clicks, key=_may_have_run, reverse=True):
            for _ in range(TRIES):
                loss = await self.store.lost(click)
                if loss is None:
                    return False
                if not loss.clicks:
                    break
                state = await self.store.admitted(click[0].interrupt_id)
                if state is None:
                    return False
                loss = replace(loss, is_followed=loss.is_followed or is_taken)
                if await self._is_told(state, loss, has_ended=last is not None, ends_only=ends_only):
                    break
        return last is None or await self._end_open(last)

    async def _is_told(self, state: Approval, loss: Loss, *, has_ended: bool, ends_only: bool) -> bool:
        """Tell of what is lost of a click; false where somebody has decided meanwhile."""
        untold = [each for each in loss.clicks if not _has_decided(state, each)]
        if not untold:
            return True
        # If people decided again, the same calls could run twice. A card that showed the decision may have ended it already.
        is_over = has_ended or state.code == WENT_BACK
        is_over = is_over or any(loss.is_followed and not each.is_vote for each in untold)
        if ends_only and not is_over:
            self.will_ask = True
            return True
        return await self._tell(state, untold, is_over=is_over)

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

    async def _tell(self, state: Approval, lost: Sequence[Accepted], *, is_over: bool) -> bool:
        """Tell of the decisions of one click; false where somebody has decided meanwhile."""
        person, is_open = lost[0].person, state.status == "pending"
        still = {each.index: each for each in lost if _is_undecided(state, each.index)}
        remark = Remark(
            # When the request has ended or its time is up, nobody can decide again.
            kind="lost" if is_open and not (is_over or state.is_past) else "lost_for_good",
            places=tuple(state.places),
            actions=tuple(still),
            by=person,
            decision=_common({each.decision for each in still.values()}),
        )
        outcome = await self.store.tell_lost(
            lost,
            remark if still else None,
            still if is_open else (),
            sentence=REASON if is_over else SENTENCE,
            code=WENT_BACK if is_over and is_open and still else "",
        )
        if outcome == "told":
            LOST_CLICKS.inc()
            indices = [each.index for each in lost]
            extra = {"interrupt_id": state.id, "indices": indices, "user": person, "ended": is_over}
            logger.error("click.lost", extra=extra)
        return outcome in {"told", "repeat"}


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
