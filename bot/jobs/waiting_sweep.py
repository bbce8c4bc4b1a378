"""Repairs the lists of what waits for whom, after Redis lost some, and keeps those of old requests."""

import asyncio
import logging

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

EVERY = 600.0
"""Seconds between two sweeps."""


async def keep_lists(store: ApprovalStore, loop: Loop) -> None:
    """Sweep from time to time, until cancelled."""
    while True:
        loop.beat(within=2 * EVERY)
        try:
            await sweep(store)
        except AgentAdapterError as error:
            logger.warning("waiting.not_swept", extra={"reason": str(error)})
        await asyncio.sleep(EVERY)


async def sweep(store: ApprovalStore) -> None:
    """Write for every open request for whom it waits, where that is missing.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    async for interrupt_ids in store.open_ids():
        await store.relist(interrupt_ids)
