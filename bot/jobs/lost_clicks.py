"""Tells people and agents when Redis has lost a decision that Slack had shown as accepted. Nobody else would ever know it."""

import asyncio
import logging
from dataclasses import dataclass

from agent_adapter.errors import InvalidRequestError, ServerFailedError, ServerUnreachableError
from agent_adapter.loops import Loop
from bot.domain.messages import Remark
from bot.jobs.redis_restore import LOOKS_EVERY, RestoreGuard
from bot.store.accepted import Accepted
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

SENTENCE = "Redis has lost a decision in a failover, and people are asked to decide again"
"""What agents hear that wait."""
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
        for accepted in self.store.accepted:
            try:
                await self._look_for(accepted)
            except (InvalidRequestError, ServerFailedError) as error:
                # The presenter says what is wrong with this record.
                logger.warning(
                    "click.not_looked_for",
                    extra={"interrupt_id": accepted.interrupt_id, "reason": str(error)},
                )

    async def _look_for(self, accepted: Accepted) -> None:
        if not await self.store.has_lost(accepted):
            return
        state = await self.store.admitted(accepted.interrupt_id)
        if state:
            logger.error(
                "click.lost",
                extra={"interrupt_id": state.id, "index": accepted.index, "user": accepted.person},
            )
            remark = Remark(
                kind="lost",
                places=tuple(state.places),
                actions=(accepted.index,),
                by=accepted.person,
            )
            await self.store.tell_lost(accepted, remark, sentence=SENTENCE)
        self.store.accepted.forget(accepted)
