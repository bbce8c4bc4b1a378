"""How much room the policy in force leaves an agent to ask."""

import math
from dataclasses import dataclass

from bot.limits import exceeded, limits_for
from bot.policy_keeper import PolicyKeeper
from bot.store import ApprovalStore


@dataclass(frozen=True, slots=True)
class TooMuch:
    """Why an interrupt is refused."""

    reason: str
    retry_after: int
    """Seconds after which asking again makes sense."""


@dataclass(frozen=True, slots=True)
class Room:
    """Keeps agents to their limits, over all replicas."""

    policies: PolicyKeeper
    store: ApprovalStore

    async def take(self, agent: str, *, interrupt_id: str = "", size: int = 0) -> TooMuch | None:
        """Count an interrupt, once however often it is counted; `None` when there is room for it.

        Args:
            agent: Who asks.
            interrupt_id: Its record; without one, room is only looked for.
            size: Its bytes, where there is no record yet.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        limits = limits_for(self.policies.policy.limits, agent)
        if limits is None:
            return None
        broken = await self.store.reserve(agent, limits, interrupt_id=interrupt_id, size=size)
        if broken is None:
            return None
        what, much = broken
        return TooMuch(
            exceeded(limits, what, agent, much), math.ceil(much / 1000) if what == "per_minute" else 60
        )
