"""Which card is the first of its run in a channel, and under which message each card stands."""

from datetime import timedelta

from agent_adapter.contract.identity import digest
from agent_adapter.contract.interrupt import Interrupt
from bot.domain.approval import Approval
from bot.store.codec import milliseconds, under_field
from bot.store.connected import Connected

KEPT_FOR = timedelta(days=8)
"""Longer than a request is open. Each later card of the run keeps it as long again."""


class RunThreads(Connected):
    """Keeps the first cards of runs."""

    async def first_of_run(self, interrupt: Interrupt, channel: str, *, instead: str = "") -> str:
        """Name the record whose card is the first of its run in a channel. Where no card came before, it is this record.

        Args:
            interrupt: Whose run.
            channel: Where.
            instead: A record that was the first and has no card. This one takes its place, if no other has.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        lane = self.keys.lane_for(interrupt.id)
        named = lane.first(digest("first", interrupt.agent, interrupt.run, channel))
        return str(
            await self.scripts(
                "take_first", {"first": named}, id=interrupt.id, instead=instead, kept=milliseconds(KEPT_FOR)
            )
        )

    async def note_thread(
        self, state: Approval, number: int, thread_ts: str | None, *, instead: str = ""
    ) -> None:
        """Note under which message the card of a place stands, before it is posted.

        Args:
            state: The record.
            number: Of the place.
            thread_ts: That message. `None`: the card stands in the channel.
            instead: A message that was noted and is gone. Without it, an earlier note stays.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        under = under_field(thread_ts)
        await self.scripts(
            "note_thread",
            self._of(state.id),
            place=number,
            under=under,
            mark=self._mark(state.id, f"under:{number}", under),
            instead=instead,
        )
