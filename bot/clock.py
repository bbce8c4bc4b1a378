"""Everything that falls due. The script decides by the server's time, so any number of replicas may sweep."""

import logging

from bot.store import ApprovalStore

logger = logging.getLogger(__name__)


class Clock:
    """Ends interrupts at their deadline, or when their agent withdraws them."""

    def __init__(self, store: ApprovalStore) -> None:
        self._store = store

    async def fall_due(self, interrupt_id: str) -> int | None:
        """Do what is due for this record; when it is too early, come again soon."""
        state = await self._store.load(interrupt_id)
        if state and state.withdraw_asked is not None:
            outcome = await self._store.settle(interrupt_id, "withdrawn", reason=state.withdraw_asked)
        else:
            outcome = await self._store.settle(interrupt_id, "expired")
        if outcome == "early":
            return 50
        if outcome == "settled":
            logger.info("interrupt.ended", extra={"interrupt_id": interrupt_id})
        return None
