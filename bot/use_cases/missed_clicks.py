"""Clicks and forms that failed through no fault of the person. After one, silence does not approve the record."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.domain.errors import DoneBeforeError, NotToldError, StoreUnavailableError
from bot.runtime.tasks import Tasks
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

TRIES = 15
"""Tries, a second apart. If Redis answers none of them, no bot has a heartbeat either, and silence approves nothing."""


@asynccontextmanager
async def noting_missed(store: ApprovalStore, tasks: Tasks, interrupt_id: str) -> AsyncIterator[None]:
    """Note in the record that somebody tried to decide and could not, when the body raises."""
    try:
        yield
    except (DoneBeforeError, NotToldError):
        # This click did not fail: it was handled before, or refused.
        raise
    except Exception:
        tasks.start(_note(store, interrupt_id))
        raise


async def _note(store: ApprovalStore, interrupt_id: str) -> None:
    for _ in range(TRIES):
        try:
            await store.mark_missed(interrupt_id)
        except StoreUnavailableError:
            await asyncio.sleep(1)
        else:
            return
    logger.error("click.not_noted", extra={"interrupt_id": interrupt_id})
