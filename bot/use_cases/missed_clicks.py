"""Clicks and forms that come to nothing for a reason that is not the person's: silence after them is no silence."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.errors import DoneBeforeError, StoreUnavailableError
from bot.store import ApprovalStore
from bot.tasks import Tasks

logger = logging.getLogger(__name__)

TRIES = 15
"""A second apart: where Redis answers none of them, no bot could say that it lives either, which is a gap of its own."""


@asynccontextmanager
async def noting_missed(store: ApprovalStore, tasks: Tasks, interrupt_id: str) -> AsyncIterator[None]:
    """Note in the record that somebody tried to decide and could not, where the body raises."""
    try:
        yield
    except DoneBeforeError:
        raise
    except Exception:
        tasks.start(_note(store, interrupt_id))
        raise


async def _note(store: ApprovalStore, interrupt_id: str) -> None:
    for _ in range(TRIES):
        try:
            await store.note_missed(interrupt_id)
        except StoreUnavailableError:
            await asyncio.sleep(1)
        else:
            return
    logger.error("click.not_noted", extra={"interrupt_id": interrupt_id})
