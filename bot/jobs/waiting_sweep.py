"""Repairs the lists of what waits for whom, after Redis lost some."""

import asyncio
import logging
from dataclasses import dataclass

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

EVERY = 600.0
"""Seconds between two sweeps."""
AT_ONCE = 100
"""How many requests one script looks at."""


@dataclass
class WaitingSweep:
    """Writes for every open request for whom it waits, where that is missing."""

    store: ApprovalStore

    async def run(self, loop: Loop) -> None:
        """Sweep from time to time, until cancelled."""
        while True:
            loop.beat(within=2 * EVERY)
            try:
                await self.sweep()
            except AgentAdapterError as error:
                logger.warning("waiting.not_swept", extra={"reason": str(error)})
            await asyncio.sleep(EVERY)

    async def sweep(self) -> None:
        """Look at every open request once.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        first = 0
        while True:
            looked = await self.store.relist(first=first, limit=AT_ONCE)
            if looked < AT_ONCE:
                return
            first += looked
