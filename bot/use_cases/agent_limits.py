"""Keeps agents within the limits of the current policy."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.policy import Policy, limits_for
from bot.sentences import in_refusal
from bot.store.records import ApprovalStore


@dataclass(frozen=True, slots=True)
class TooMuch:
    """Why an interrupt is refused."""

    reason: str
    retry_after: int = 60
    """Seconds after which asking again makes sense."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Keeps agents within their limits, across all replicas."""

    policy: Callable[[], Policy]
    """Gives the current policy."""
    store: ApprovalStore

    async def take(
        self, agent: str, *, interrupt: Interrupt | None = None, size: int = 0
    ) -> TooMuch | frozenset[str]:
        """Count an interrupt, or one of this size that has no record yet, once even if this is repeated.

        If it is within the limits, name those for whom a key of the HTTP API vouches.
        """
        limits = limits_for(self.policy().limits, agent)
        found = await self.store.reserve(agent, limits, interrupt=interrupt, size=size)
        if isinstance(found, frozenset):
            return found
        match found:
            case "pending", used:
                return TooMuch(in_refusal.too_many_open(agent, used, limits.pending))
            case "bytes", used:
                return TooMuch(in_refusal.too_many_bytes(agent, used, limits.bytes or 0))
            case _, milliseconds:
                reason = in_refusal.too_many_in_a_minute(agent, limits.per_minute or 0)
                return TooMuch(reason, math.ceil(milliseconds / 1000))
