"""Standing approvals."""

from redis.client import NEVER_DECODE

from bot.domain.approval import Approval
from bot.store.reading import Reading, referred


class Standing(Reading):
    """Keeps the standing approvals."""

    async def standing(self, *, agent: str = "") -> list[tuple[Approval, int]]:
        """List the active standing approvals, the one that ends first at the front: the record and the index of the action.

        Args:
            agent: Only those of this agent; those of all agents when empty.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        stored = self._redis.execute_command("ZRANGE", self.keys.standing, 0, -1, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]  # redis-py does not type it
        names = [name.decode(errors="backslashreplace") for name in await self._guarded(stored)]
        found = []
        for interrupt_id, index in filter(None, map(referred, names)):
            if agent and not interrupt_id.startswith(f"{agent}."):
                continue
            state = await self._readable(interrupt_id)
            if state and index in state.standing and state.standing[index].is_live(state.now):
                found.append((state, index))
        return found
