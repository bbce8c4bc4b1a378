"""Inboxes: an agent notes what it did with its records, and a bot does what follows from it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from agent_adapter.contract.names import is_agent_name
from agent_adapter.contract.trace import TRACEPARENT, TraceContext
from bot.store.paging import Paging

AT_ONCE = 100
"""How many notes one script takes. Meanwhile Redis does nothing else."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was in an inbox."""

    notes: int
    refused: int
    """How many of them no client of ours writes, or are about a record that is not the agent's, or is gone."""
    waits: tuple[tuple[int, TraceContext | None], ...] = field(default=(), compare=False)
    """For each decided run that an agent took for the first time: how many milliseconds after its decision, and its trace."""

    @property
    def has_more(self) -> bool:
        """Whether more may be in the inbox."""
        return self.notes >= AT_ONCE


class Inboxes(Paging):
    """Reads the inboxes of agents."""

    async def take_inbox(self, agent: str) -> Taken:
        """Do what follows from the oldest notes of an agent, and delete them."""
        notes, refused, waits = await self.scripts("take_inbox", self._of(agent), agent=agent, limit=AT_ONCE)
        return Taken(
            notes, refused, tuple((wait, TraceContext.read({TRACEPARENT: parent})) for wait, parent in waits)
        )

    async def full_inboxes(self, told_of: Collection[str]) -> list[str]:
        """Name the agents that have something in their inbox: of the known ones, then of those that we were told of."""
        (known,) = await self._together(("ZRANGE", self.keys.inboxes, 0, -1))
        names = [*dict.fromkeys((*(each.decode(errors="replace") for each in known or ()), *told_of))]
        full = await self._together(*(("EXISTS", self.keys.inbox(name)) for name in names))
        return [name for name, is_full in zip(names, full, strict=True) if is_full]

    async def find_inboxes(self) -> list[str]:
        """Name the agents that have something in their inbox, known or not. This looks at all keys."""
        pages = self._named(self.keys.inbox(""), "stream")
        return [name async for names in pages for name in names if is_agent_name(name)]
