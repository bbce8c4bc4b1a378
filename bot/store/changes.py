"""Which call of a run was sent back for changes, so that the next proposal is shown beside it."""

from datetime import timedelta

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.interrupt import Interrupt
from bot.domain.approval import Approval
from bot.store.connected import WITHIN
from bot.store.reading import Reading, referred

KEPT_FOR = timedelta(days=7)


class Changes(Reading):
    """Finds the call that is proposed again."""

    async def note_changes(self, state: Approval, index: int) -> None:
        """Note that somebody asks for changes to a call, before that is recorded: the reader looks whether it was.

        Raises:
            StoreUnavailableError: when Redis does not answer in time.
        """
        name = self._changes_of(state.interrupt, index)
        noted = self._guarded(self._redis.set(name, f"{state.id}:{index}", px=KEPT_FOR))
        await self._in_time(noted, WITHIN)

    async def sent_back(self, interrupt: Interrupt, name: str) -> tuple[Approval, int] | None:
        """Give the record and index of a call to which people asked for changes, and which one of this interrupt is instead of.

        Args:
            interrupt: What is asked now.
            name: Of that call, as it was noted.
        """
        interrupt_id, number = referred(name) or ("", 0)
        before = await self._readable(interrupt_id) if interrupt_id else None
        if before is None or before.id == interrupt.id or number >= len(before.recorded):
            return None
        recorded = before.recorded[number]
        return (before, number) if recorded and recorded.changes else None

    def _changes_of(self, interrupt: Interrupt, index: int) -> str:
        tool = interrupt.request.action_requests[index].name
        named = digest("changes", interrupt.agent, interrupt.run, tool)
        return self.keys.changes(named)


def comparable(interrupt: Interrupt) -> list[int]:
    """Name the calls of an interrupt that an earlier one may be compared with: nobody knows which of several of a tool it is."""
    tools = [call.name for call in interrupt.request.action_requests]
    return [index for index, tool in enumerate(tools) if tools.count(tool) == 1]
