"""Standing approvals."""

from agent_adapter.contract.keys import Lane
from bot.domain.approval import Approval
from bot.store.reading import Reading


class StandingApprovals(Reading):
    """Keeps the standing approvals."""

    async def standing(self, lane: Lane, *, agent: str = "") -> list[tuple[Approval, int]]:
        """List the active standing approvals, the one that ends first at the front: the record and the index of the action.

        Args:
            lane: The lane to look in.
            agent: Only those of this agent; those of all agents when empty.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        names = await self._guarded(self._redis.zrange(lane.standing, 0, -1))
        found = []
        for name in names:
            interrupt_id, _, index = name.rpartition(":")
            if agent and not interrupt_id.startswith(f"{agent}."):
                continue
            state = await self._readable(interrupt_id)
            if state and int(index) in state.standing and state.standing[int(index)].is_live(state.now):
                found.append((state, int(index)))
        return found

    async def end_standing(self, interrupt_id: str, index: int, *, by: str = "time") -> str:
        """End a standing approval. Returns `ended`, `known`, `early` or `unknown`.

        Args:
            interrupt_id: The record that it was given in.
            index: The index of its action.
            by: The person who revokes it; `time` when its time is over.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        return await self._within("end_standing", interrupt_id, index=index, by=by)
