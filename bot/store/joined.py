"""The records of all namespaces that a bot serves, read as one for the lists of people."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from heapq import merge
from typing import TypeVar

from agent_adapter.errors import ServerUnreachableError
from bot.domain.approval import Approval
from bot.domain.waiting import Spot
from bot.store.records import ApprovalStore
from bot.store.waiting import Mine

_T = TypeVar("_T")


async def first_with(each: Iterable[_T], has: Callable[[_T], Awaitable[object]]) -> _T | None:
    """Find the first one that has something. One of which that is not known does not hide another one that has it.

    Raises:
        ServerUnreachableError: when none has it, and of one that is not known.
    """
    unknown: ServerUnreachableError | None = None
    for one in each:
        try:
            if await has(one):
                return one
        except ServerUnreachableError as error:
            unknown = error
    if unknown:
        raise unknown
    return None


class JoinedStores:
    """Reads as an `ApprovalStore` does. A record is in one namespace only: `Admissions` refuses a second one."""

    def __init__(self, stores: Sequence[ApprovalStore]) -> None:
        self.stores = stores

    async def admitted(self, interrupt_id: str) -> Approval | None:
        """Read a record that was admitted. It raises as `ApprovalStore.admitted` does."""
        found = await first_with(self.stores, lambda store: store.admitted(interrupt_id))
        return await found.admitted(interrupt_id) if found else None

    async def waiting(
        self, entries: Sequence[str], *, agent: str = "", after: Spot | None = None, limit: int
    ) -> list[Spot]:
        """Merge what waits for a person, the oldest deadline first."""
        found = [await store.waiting(entries, agent=agent, after=after, limit=limit) for store in self.stores]
        return [*merge(*found)][:limit]

    async def count_waiting(self, entries: Sequence[str]) -> Counter[str]:
        """Count the requests in the lists of a person by agent."""
        found = Counter[str]()
        for store in self.stores:
            found.update(await store.count_waiting(entries))
        return found

    async def mine(self, what: Mine, user: str) -> list[str]:
        """List what a person asked for, or decided, the newest first."""
        found = [await store.dated(what, user) for store in self.stores]
        return [interrupt_id for _, interrupt_id in merge(*found, reverse=True)]

    async def drop_stale(self, entries: Iterable[str], interrupt_ids: Iterable[str]) -> None:
        """Forget for these people, groups and channels those of the requests that have ended or are gone."""
        named, ended = [*entries], [*interrupt_ids]
        for store in self.stores:
            await store.drop_stale(named, ended)
