"""Compares the cards in Slack with their records. A deleted card is posted again, and a card that Redis forgot is noticed."""

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.errors import InterruptFaultError, SlackBusyError, SlackError
from bot.domain.ids import KEPT, Label, MessageId, PostedMessage, Shown
from bot.jobs.redis_restore import RestoreGuard, is_ahead
from bot.runtime.health import Health
from bot.slack.client import Seen, SlackClient
from bot.slack.pacing import Pacing
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

EVERY = 600.0
"""Seconds between two rounds. There is also one when this process starts, and after each doubt about Redis."""
ROUND_WITHIN = 3600.0
"""Seconds that one round may take. With cards in very many threads, Slack's limits make it long."""
SEEN_FOR = 5.0
"""Seconds for which a message that was seen counts as present. Many deadlines at once then share one look."""

Where = tuple[str, str | None]
"""A channel, or a thread in it."""


@dataclass
class SlackWatch:
    """Compares the messages that Slack lists with those of the records."""

    store: ApprovalStore
    slack: SlackClient
    pacing: Pacing
    health: Health
    restore_guard: RestoreGuard
    every: float
    """Seconds until it is seen that a round is due."""
    _doubts_seen: int = -1
    _due: float = 0.0
    """When the next round is, by the monotonic clock."""
    _untaken: list[PostedMessage] = field(default_factory=list)
    """Messages of records whose answers may have been taken before Redis went back, and that are not compared yet."""
    _seen: dict[Where, tuple[int, Seen]] = field(default_factory=dict)
    """The newest looks of deadlines, each with the doubts before it: after a failover, a record may say less."""
    _seeing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, loop: Loop) -> None:
        """Look until cancelled."""
        # A look that fails does not make the bot less ready, so it is noted elsewhere.
        looking = Loop("lookout", within=ROUND_WITHIN)
        while True:
            loop.beat(within=ROUND_WITHIN)
            await asyncio.sleep(self.every)
            if self.health.slack_fault:
                continue
            try:
                await self.look()
            except AgentAdapterError as error:
                looking.hinder(str(error))
            else:
                looking.beat()

    async def look(self) -> None:
        """Compare what is due: after a doubt first the answers that can still be taken, and what is open from time to time."""
        doubts, now = self.restore_guard.doubts, time.monotonic()
        is_doubted = doubts != self._doubts_seen
        if is_doubted:
            pages, posted = self.store.all_ids(), self.store.posted
            self._untaken = [each async for page in pages for each in await posted(page) if each.is_untaken]
            self._doubts_seen = doubts
        if is_doubted or self._untaken:
            self._untaken = await self._look_at(self._untaken, doubts)
            if not self._untaken and doubts == self.restore_guard.doubts:
                logger.info("untaken.compared")
        if is_doubted or now >= self._due:
            async for page in self.store.open_ids():
                await self._look_at([each for each in await self.store.posted(page) if each.is_open], doubts)
            self._due = now + EVERY

    async def on_deleted(self, channel: str, ts: str, interrupt_id: str) -> None:
        """Handle Slack's event that somebody deleted a message, which named this record."""
        self._seen.clear()
        for message in await self.store.posted([interrupt_id]):
            if message.is_open and (message.shown.channel, message.shown.ts) == (channel, ts):
                await self.store.invalidate_part(interrupt_id, message.part, ts)

    # --- At a deadline ------------------------------------------------------------------------------------------------

    async def sees(self, state: Approval) -> bool:
        """Whether the messages that ask about a record are in Slack, by a look of now or of the last seconds.

        Raises:
            SlackError: when Slack does not say.
        """
        for part, shown in state.asked_by.items():
            label = await self._label(state, part, shown)
            if label is None or (label.interrupt_id, label.part) != (state.id, part):
                return False
            if label.digest == KEPT or is_ahead(label, state):
                return False
        return True

    async def _label(self, state: Approval, part: MessageId, shown: Shown) -> Label | None:
        """Give what a message says of itself; `None` where it is not there, or is not ours."""
        parent = state.shown.get(part.card) if part.kind != "card" else None
        where = shown.channel, state.places[part.place].thread_ts or (parent.ts if parent else None)
        async with self._seeing:
            # What was posted since is read with it. If that is too much for one call, it is read alone.
            for latest in (f"{time.time():.6f}", shown.ts):
                if not self._has_seen(where, shown.ts):
                    self._seen = {each: known for each, known in self._seen.items() if self._is_new(*known)}
                    self._seen[where] = self.restore_guard.doubts, await self._read(where, shown.ts, latest)
            return self._seen[where][1].labels.get(shown.ts)

    def _has_seen(self, where: Where, ts: str) -> bool:
        doubts, seen = self._seen.get(where, (-1, None))
        return seen is not None and self._is_new(doubts, seen) and seen.oldest <= ts <= seen.latest

    def _is_new(self, doubts: int, seen: Seen) -> bool:
        return doubts == self.restore_guard.doubts and time.monotonic() - seen.at < SEEN_FOR

    # --- A round ------------------------------------------------------------------------------------------------------

    async def _look_at(self, messages: Iterable[PostedMessage], doubts: int) -> list[PostedMessage]:
        """Compare messages, until there is a new doubt. Gives those that Slack did not show for now."""
        left = []
        for where, posted in _by_place(messages).items():
            if doubts != self.restore_guard.doubts:
                return []
            try:
                await self._look_in(where, posted, doubts)
            except SlackError as error:
                said = {"place": ":".join(filter(None, where)), "reason": str(error)}
                logger.info("lookout.not_seen", extra=said)
                if isinstance(error, SlackBusyError):
                    await self.pacing.hold(error.retry_after, _kind(where))
                if not isinstance(error, InterruptFaultError):
                    left += posted
                elif posted[0].is_untaken:
                    # Slack will not say it later either.
                    logger.warning("untaken.not_compared", extra=said)
        return left

    async def _look_in(self, where: Where, messages: Iterable[PostedMessage], doubts: int) -> None:
        left = sorted(messages, key=lambda message: message.shown.ts)
        while left:
            urgent = left[0].is_untaken
            while wait := await self.pacing.turn_to_read(_kind(where), urgent=urgent):  # noqa: ASYNC110  # replicas share the turns
                await asyncio.sleep(wait / 1000)
            seen = await self._read(where, left[0].shown.ts, left[-1].shown.ts)
            for message in left:
                if seen.oldest <= message.shown.ts <= seen.latest:
                    await self._compare(message, seen, doubts)
            left = [message for message in left if not seen.oldest <= message.shown.ts <= seen.latest]

    async def _read(self, where: Where, oldest: str, latest: str) -> Seen:
        try:
            return await self.slack.look(*where, oldest, latest)
        except InterruptFaultError as error:
            if error.code != "thread_not_found":
                raise
            return Seen({}, {}, oldest, latest)

    async def _compare(self, message: PostedMessage, seen: Seen, doubts: int) -> None:
        """Compare a message with what its record said after so many doubts."""
        label = seen.labels.get(message.shown.ts)
        if label is None or (label.interrupt_id, label.part) != (message.interrupt_id, message.part):
            await self._doubt(message, "card.missing")
        elif message.is_untaken or label.digest not in {KEPT, message.shown.digest}:
            await self._compare_anew(message, seen, label)
        elif doubts == self.restore_guard.doubts:
            self.restore_guard.note_sure(message.shown.channel, message.shown.ts)

    async def _compare_anew(self, message: PostedMessage, seen: Seen, label: Label) -> None:
        """Compare a message with its record as it is now. It may have been drawn since the record was read."""
        try:
            state = await self.store.admitted(message.interrupt_id)
        except UnreadableRecordError:
            # The presenter closes its card. The other cards are compared all the same.
            return
        shown = state.shown.get(message.part) if state else None
        if state is None or shown is None or shown.ts != message.shown.ts:
            return
        if message.is_open and message.part in state.begun:
            return
        is_behind = await self.restore_guard.compare(state, message.part, shown, seen)
        if not is_behind and shown.digest != label.digest:
            await self._doubt(message, "card.otherwise")

    async def _doubt(self, message: PostedMessage, event: str) -> None:
        """Have an open message drawn again, which shows whether it is really gone."""
        if message.is_open:
            logger.warning(event, extra={"interrupt_id": message.interrupt_id, "part": str(message.part)})
            await self.store.invalidate_part(message.interrupt_id, message.part, message.shown.ts)


def _by_place(messages: Iterable[PostedMessage]) -> dict[Where, list[PostedMessage]]:
    places: dict[Where, list[PostedMessage]] = {}
    for message in messages:
        places.setdefault((message.shown.channel, message.thread_ts), []).append(message)
    return places


def _kind(where: Where) -> str:
    return "replies" if where[1] else "history"
