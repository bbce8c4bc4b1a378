"""Tells people and agents when Redis has lost a decision that Slack had shown as accepted. Nobody else would ever know it."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent_adapter.errors import InvalidRequestError, ServerFailedError, ServerUnreachableError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.messages import Remark
from bot.jobs.redis_restore import CODE as WENT_BACK
from bot.jobs.redis_restore import LOOKS_EVERY, RestoreGuard
from bot.store.accepted import Accepted
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

SENTENCE = "Redis has lost a decision in a failover, and people are asked to decide again"
"""What agents hear that wait."""
REASON = (
    "a failover has lost what was decided, and an agent may have gone on with it. Look at what has run, then ask again if "
    "it is still needed"
)
"""Why a request ends whose decision is lost."""
LOOKED_WITHIN = 120.0
"""Seconds that one look may take, with everything that was accepted lately."""


@dataclass
class LostClicks:
    """Looks after each doubt whether Redis still has what was accepted through this process."""

    store: ApprovalStore
    guard: RestoreGuard

    async def run(self, loop: Loop) -> None:
        """Look after each doubt, once everything is written again that is kept for that, until cancelled."""
        looked_after = 0
        while True:
            loop.beat(within=LOOKED_WITHIN)
            await asyncio.sleep(LOOKS_EVERY)
            doubts = self.guard.written_again
            if doubts == looked_after:
                continue
            try:
                await self.look()
                looked_after = doubts
            except ServerUnreachableError as error:
                loop.hinder(str(error))

    async def look(self) -> None:
        """Look once.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        self.store.scripts.leave_former()
        for click in self.store.accepted.clicks():
            try:
                await self._look_for(click)
            except (InvalidRequestError, ServerFailedError, ValueError) as error:
                # The presenter says what is wrong with this record.
                logger.warning(
                    "click.not_looked_for",
                    extra={"interrupt_id": click[0].interrupt_id, "reason": str(error)},
                )

    async def _look_for(self, click: Sequence[Accepted]) -> None:
        lost = await self.store.lost(click)
        state = await self.store.admitted(click[0].interrupt_id) if lost else None
        untold = [each for each in lost if state and not _has_decided(state, each)]
        if state and untold:
            await self._tell(state, untold)
        self.store.accepted.forget(lost)

    async def _tell(self, state: Approval, lost: Sequence[Accepted]) -> None:
        person, still = lost[0].person, [each for each in lost if state.is_open_at(each.index)]
        # Whoever decided again would let the same calls run twice.
        is_over = any(each.may_have_run for each in still)
        extra = {"interrupt_id": state.id, "indices": [each.index for each in lost], "user": person}
        logger.error("click.lost", extra={**extra, "ended": is_over})
        remark = Remark(
            kind="lost_for_good" if is_over else "lost",
            places=tuple(state.places),
            actions=tuple(each.index for each in still),
            by=person,
            decision=_common({each.decision for each in still}),
        )
        await self.store.tell_lost(
            lost,
            remark if still else None,
            sentence=REASON if is_over else SENTENCE,
            code=WENT_BACK if is_over else "",
        )


def _common(decisions: Collection[str]) -> str:
    return next(iter(decisions)) if len(decisions) == 1 else ""


def _has_decided(state: Approval, lost: Accepted) -> bool:
    """Whether the same person has decided the action with another click."""
    recorded = state.recorded[lost.index]
    return recorded is not None and lost.person in {recorded.decided_by, *recorded.agreed_by}
