"""Looks after an old namespace until nothing waits there. Then it says so."""

import asyncio
import logging
from dataclasses import dataclass

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.runtime.health import Health
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

WARNING = "namespace_old"


@dataclass
class OldNamespace:
    """Says in the log and in `/readyz` that an old namespace is empty."""

    store: ApprovalStore
    health: Health
    every: float
    """Seconds between two looks."""

    async def run(self, loop: Loop) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
                loop.beat()
            except AgentAdapterError as error:
                logger.warning("namespace.not_looked_at", extra={"reason": str(error)})
                loop.hinder(str(error))
            await asyncio.sleep(self.every)

    async def look(self) -> None:
        """Look once.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        owed = await _owed(self.store)
        if self._said and owed:
            # Some agent still asks there.
            self.health.warnings.pop(WARNING, None)
        elif not (self._said or owed or await self.store.find_inboxes()):
            namespace = self.store.keys.namespace
            logger.warning("namespace.empty", extra={"namespace": namespace, "reason": empty(namespace)})
            self.health.warnings[WARNING] = empty(namespace)

    @property
    def _said(self) -> bool:
        return WARNING in self.health.warnings


async def work_left(store: ApprovalStore) -> int:
    """Count what is left to do there. This looks at all keys.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    return await _owed(store) + len(await store.find_inboxes())


async def _owed(store: ApprovalStore) -> int:
    """Count what waits: requests, cards to draw, runs to resume, standing approvals, and work that failed."""
    return sum((await store.owed()).values()) + len(await store.failing())


def empty(namespace: str) -> str:
    """Say that nothing waits in a namespace."""
    return (
        f"nothing waits in namespace {namespace!r} any more: once no agent and no worker uses it, remove "
        "ASSENT_NAMESPACE_OLD"
    )


def not_empty(namespace: str, left: int) -> str:
    """Say that something waits in a namespace."""
    return f"namespace {namespace!r} is served until nothing waits there: {left} left"
