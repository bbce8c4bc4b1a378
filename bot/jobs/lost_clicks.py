"""Tells people and agents when Redis has lost a decision that Slack had shown as accepted. Nobody else would ever know it."""

import asyncio
import logging
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent_adapter.errors import InvalidRequestError, ServerFailedError, ServerUnreachableError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.messages import Remark
from bot.jobs.redis_restore import CODE as WENT_BACK
from bot.jobs.redis_restore import LOOKS_EVERY, RestoreGuard
from bot.runtime.metrics import LOST_CLICKS
from bot.store.accepted import KEPT_FOR, Accepted
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

SENTENCE = "Redis has lost a decision in a failover, and people are asked to decide again"
"""What agents hear that wait."""
REASON = (
    "a failover has lost what was decided, and an agent may have gone on with it. Look at what has run, then ask again if "
    "it is still needed"
)
"""Why a request ends whose decision is lost."""
LATE, AGAIN_IN = 3.0, 5.0
"""Seconds after which it looks once more: for what the former server was still answering, and for records that are not there."""
TRIES = 3
"""How often a click is looked for while people go on deciding."""
LOOKED_WITHIN = 120.0
"""Seconds that one look may take, with everything that was accepted lately."""


@dataclass
class LostClicks:
    """Looks after each doubt whether Redis still has what was accepted through this process."""

    store: ApprovalStore
    guard: RestoreGuard
    looked_after: int = 1
    """After how many doubts it has looked. The first one comes with the first connection, when nothing was accepted yet."""

    async def run(self, loop: Loop) -> None:
        """Look after each doubt, once everything is written again that is kept for that, until cancelled."""
        next_at, until = math.inf, 0.0
        while True:
            loop.beat(within=LOOKED_WITHIN)
            await asyncio.sleep(LOOKS_EVERY)
            doubts, now = self.guard.written_again, time.monotonic()
            if doubts <= self.looked_after and now < next_at:
                continue
            try:
                is_complete = await self.look()
            except ServerUnreachableError as error:
                loop.hinder(str(error))
                continue
            if doubts > self.looked_after:
                self.looked_after, next_at, until = doubts, now + LATE, now + KEPT_FOR
            else:
                next_at = math.inf if is_complete or now > until else now + AGAIN_IN

    async def look(self) -> bool:
        """Look once, and say whether the records of all clicks are there: a request may be asked again.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        self.store.scripts.leave_former()
        is_complete = True
        # A request that ends is not asked about again because of another click.
        for click in sorted(self.store.accepted.clicks(), key=_may_have_run, reverse=True):
            try:
                is_complete = await self._look_for(click) and is_complete
            except (InvalidRequestError, ServerFailedError, ValueError) as error:
                _note_not_looked_for(click[0].interrupt_id, error)
        for (interrupt_id, index), person in list(self.store.revoked.items()):
            try:
                await self._revoke_again(interrupt_id, index, person)
            except ServerFailedError as error:
                _note_not_looked_for(interrupt_id, error)
        return is_complete

    async def _revoke_again(self, interrupt_id: str, index: int, person: str) -> None:
        if await self.store.revoke_again(interrupt_id, index, by=person):
            extra = {"interrupt_id": interrupt_id, "index": index, "user": person}
            logger.error("revocation.lost", extra=extra)

    async def _look_for(self, click: Sequence[Accepted]) -> bool:
        for _ in range(TRIES):
            loss = await self.store.lost(click)
            state = await self.store.admitted(click[0].interrupt_id) if loss and loss.clicks else None
            if loss is None or (loss.clicks and state is None):
                return False
            untold = [each for each in loss.clicks if state and not _has_decided(state, each)]
            if not (state and untold) or await self._tell(state, untold, is_followed=loss.is_followed):
                self.store.accepted.forget(loss.clicks)
                break
        return True

    async def _tell(self, state: Approval, lost: Sequence[Accepted], *, is_followed: bool) -> bool:
        """Tell of the decisions of one click; false where somebody has decided meanwhile."""
        person = lost[0].person
        still = {each.index: each for each in lost if _is_undecided(state, each.index)}
        # If people decided again, the same calls could run twice.
        is_over = any(each.may_have_run or (is_followed and not each.is_vote) for each in still.values())
        remark = Remark(
            kind="lost_for_good" if is_over else "lost",
            places=tuple(state.places),
            actions=tuple(still),
            by=person,
            decision=_common({each.decision for each in still.values()}),
        )
        outcome = await self.store.tell_lost(
            lost,
            # When the time is up, nobody can decide again.
            remark if still and (is_over or not state.is_past) else None,
            still,
            sentence=REASON if is_over else SENTENCE,
            code=WENT_BACK if is_over else "",
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
    """Whether nobody has decided an action, also when its time is up."""
    return state.status == "pending" and state.recorded[index] is None and index not in state.unsigned


def _common(decisions: Collection[str]) -> str:
    return next(iter(decisions)) if len(decisions) == 1 else ""


def _has_decided(state: Approval, lost: Accepted) -> bool:
    """Whether the same person has decided the action with another click."""
    recorded = state.recorded[lost.index]
    return recorded is not None and lost.person in {recorded.decided_by, *recorded.agreed_by}
