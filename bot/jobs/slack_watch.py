"""Checks the cards in Slack while people decide. A deleted card is posted again, and a card that Redis forgot is noticed."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.errors import InterruptFaultError, SlackBusyError, SlackError
from bot.domain.ids import KEPT, Label, MessageId
from bot.domain.messages import PostedMessage, Shown
from bot.jobs.redis_restore import RestoreGuard, is_ahead
from bot.runtime.health import Health
from bot.slack.client import Seen, SlackClient
from bot.slack.pacing import Pacing
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

AT_ONCE = 1_000
"""How many open records one look covers. More would block the event loop too long for clicks."""
LOOK_EVERY = 5.0
"""Seconds between two looks at the same channel or thread, by any replica."""
ROUND_WITHIN = 3600.0
"""Seconds that one round may take. With cards in very many threads, Slack's limits make it long."""
DOUBTED_FOR = 600.0
"""Seconds until a message that Slack can edit but does not list is checked again."""
SEEN_FOR = 5.0
"""Seconds for which a message that was seen counts as present. Many deadlines at once then share one look."""

Where = tuple[str, str | None]
"""A channel, or a thread in it."""
Compare = Callable[[PostedMessage, Seen], Awaitable[None]]


@dataclass
class SlackWatch:
    """Compares the messages that Slack lists with those of the open records."""

    store: ApprovalStore
    slack: SlackClient
    pacing: Pacing
    health: Health
    restore_guard: RestoreGuard
    every: float = LOOK_EVERY
    """Seconds."""
    _doubts_seen: int = -1
    _untaken: dict[Where, list[PostedMessage]] = field(default_factory=dict)
    """Messages of records whose answers may have been taken before Redis went back, and that are not compared yet."""
    _next: int = 0
    _doubted: dict[tuple[str, str], float] = field(default_factory=dict)
    _seen_at: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """When each message was seen as its record says, and after how many doubts: after a failover, the record may say less."""

    async def run(self, loop: Loop) -> None:
        """Look until cancelled."""
        # A look that fails does not make the bot less ready, so it is noted elsewhere.
        started, looking = time.monotonic(), Loop("lookout", within=ROUND_WITHIN)
        while True:
            loop.beat(within=ROUND_WITHIN)
            # After a round that took longer, the next one follows at once.
            await asyncio.sleep(max(self.every / 10, started + self.every - time.monotonic()))
            started = time.monotonic()
            if self.health.slack_fault:
                continue
            try:
                await self.look()
            except AgentAdapterError as error:
                looking.hinder(str(error))
            else:
                looking.beat()

    async def look(self) -> None:
        """Look at the channels and threads of some open records. The next look is at the next records."""
        await self._look_at_untaken()
        now, doubts = time.monotonic(), self.restore_guard.doubts
        self._seen_at = {here: seen for here, seen in self._seen_at.items() if now - seen[0] < SEEN_FOR}
        first = self._next
        posted, self._next = await self.store.posted(first=first, count=AT_ONCE)
        for where, messages in _by_place(message for message in posted if message.is_open).items():
            if await self.pacing.turn_to_look(
                f"{self.store.keys.namespace}:{first}:{_name(where)}", int(self.every * 1000)
            ):
                # Another replica has just looked.
                continue
            try:
                await self._look_at(where, messages, partial(self._compare, doubts))
            except SlackError as error:
                await self._not_seen(where, error)

    async def _look_at_untaken(self) -> None:
        """When Redis may have gone back, compare the answers that can still be taken with what Slack shows."""
        if self._doubts_seen != self.restore_guard.doubts:
            doubts = self.restore_guard.doubts
            self._untaken = _by_place(await self.store.posted_unresumed())
            self._doubts_seen = doubts
        elif not self._untaken:
            return
        for where, messages in list(self._untaken.items()):
            try:
                await self._look_at(where, messages, self._compare_untaken, urgent=True)
            except InterruptFaultError as error:
                # Slack will not say it later either.
                logger.warning("untaken.not_compared", extra={"place": _name(where), "reason": str(error)})
            except SlackError as error:
                await self._not_seen(where, error)
                continue
            del self._untaken[where]
        if not self._untaken and self._doubts_seen == self.restore_guard.doubts:
            logger.info("untaken.compared")

    async def on_deleted(self, channel: str, ts: str) -> None:
        """Handle Slack's event that somebody deleted a message."""
        self._seen_at.pop((channel, ts), None)
        for message in (await self.store.posted())[0]:
            if message.is_open and (message.shown.channel, message.shown.ts) == (channel, ts):
                await self.store.invalidate_part(message.interrupt_id, message.part, ts)

    async def sees(self, state: Approval) -> bool:
        """Whether the messages that ask about a record are in Slack, by a look of now or of the last seconds.

        Raises:
            SlackError: when Slack does not say.
        """
        for part, shown in state.asked_by.items():
            at, doubts = self._seen_at.get((shown.channel, shown.ts), (-math.inf, 0))
            is_seen = time.monotonic() - at < SEEN_FOR and doubts == self.restore_guard.doubts
            if not is_seen and not await self._is_there(state, part, shown):
                return False
        return True

    async def _is_there(self, state: Approval, part: MessageId, shown: Shown) -> bool:
        parent = state.shown.get(part.card) if part.kind != "card" else None
        thread_ts = state.places[part.place].thread_ts or (parent.ts if parent else None)
        seen = await self._seen(shown.channel, thread_ts, shown.ts, shown.ts)
        label = seen.labels.get(shown.ts)
        if label is None or (label.interrupt_id, label.part) != (state.id, part):
            return False
        return label.digest != KEPT and not is_ahead(label, state)

    async def _look_at(
        self, where: Where, messages: Iterable[PostedMessage], compare: Compare, *, urgent: bool = False
    ) -> None:
        channel, thread_ts = where
        left = sorted(messages, key=lambda message: message.shown.ts)
        while left:
            await self.turn_to_read(thread_ts, urgent=urgent)
            seen = await self._seen(channel, thread_ts, left[0].shown.ts, left[-1].shown.ts)
            self.restore_guard.readings.note(channel, seen)
            looked = [message for message in left if seen.oldest <= message.shown.ts <= seen.latest]
            for message in looked:
                await compare(message, seen)
            left = [message for message in left if not seen.oldest <= message.shown.ts <= seen.latest]

    async def turn_to_read(self, thread_ts: str | None, *, urgent: bool) -> None:
        """Wait for a turn to read a history, or a thread."""
        while wait := await self.pacing.turn_to_read(_kind(thread_ts), urgent=urgent):  # noqa: ASYNC110  # replicas share the turns
            await asyncio.sleep(wait / 1000)

    async def _seen(self, channel: str, thread_ts: str | None, oldest: str, latest: str) -> Seen:
        try:
            return await self.slack.look(channel, thread_ts, oldest, latest)
        except InterruptFaultError as error:
            if error.code != "thread_not_found":
                raise
            return Seen({}, {}, oldest, latest)

    async def _compare(self, doubts: int, message: PostedMessage, seen: Seen) -> None:
        """Compare a message with what its record said after so many doubts."""
        label = seen.labels.get(message.shown.ts)
        if label is None or (label.interrupt_id, label.part) != (message.interrupt_id, message.part):
            await self._doubt(message, "card.missing")
        elif label.digest not in {KEPT, message.shown.digest}:
            await self._compare_anew(message, seen, label)
        elif doubts == self.restore_guard.doubts:
            self.restore_guard.note_sure(message.shown.channel, message.shown.ts)
            if label.digest == message.shown.digest:
                self._seen_at[message.shown.channel, message.shown.ts] = seen.at, doubts

    async def _compare_untaken(self, message: PostedMessage, seen: Seen) -> None:
        state = await self._readable(message.interrupt_id)
        shown = state.shown.get(message.part) if state else None
        if state and shown and shown.ts == message.shown.ts:
            await self.restore_guard.compare(state, message.part, shown, seen)

    async def _readable(self, interrupt_id: str) -> Approval | None:
        try:
            return await self.store.admitted(interrupt_id)
        except UnreadableRecordError:
            # The presenter closes its card. The other cards are compared all the same.
            return None

    async def _compare_anew(self, message: PostedMessage, seen: Seen, label: Label) -> None:
        """Compare a message with its record as it is now. It may have been drawn since the record was read."""
        state = await self._readable(message.interrupt_id)
        shown = state.shown.get(message.part) if state else None
        if state is None or shown is None or shown.ts != message.shown.ts or message.part in state.begun:
            return
        is_behind = await self.restore_guard.compare(state, message.part, shown, seen)
        if not is_behind and shown.digest != label.digest:
            await self._doubt(message, "card.otherwise")

    async def _doubt(self, message: PostedMessage, event: str) -> None:
        here, now = (message.shown.channel, message.shown.ts), time.monotonic()
        self._doubted = {key: at for key, at in self._doubted.items() if now - at < DOUBTED_FOR}
        if here in self._doubted:
            return
        self._doubted[here] = now
        logger.warning(event, extra={"interrupt_id": message.interrupt_id, "part": str(message.part)})
        # Drawing it again shows whether it is really gone.
        await self.store.invalidate_part(message.interrupt_id, message.part, message.shown.ts)

    async def _not_seen(self, where: Where, error: SlackError) -> None:
        logger.info("lookout.not_seen", extra={"place": _name(where), "reason": str(error)})
        if isinstance(error, SlackBusyError):
            await self.pacing.hold_reads(_kind(where[1]), error.retry_after)


def _by_place(messages: Iterable[PostedMessage]) -> dict[Where, list[PostedMessage]]:
    places: dict[Where, list[PostedMessage]] = {}
    for message in messages:
        places.setdefault((message.shown.channel, message.thread_ts), []).append(message)
    return places


def _kind(thread_ts: str | None) -> str:
    return "replies" if thread_ts else "history"


def _name(where: Where) -> str:
    channel, thread_ts = where
    return f"{channel}:{thread_ts}" if thread_ts else channel
