"""Looks at Slack while people decide: a card that somebody deleted is posted again, and one that Redis forgot is noticed."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from agent_adapter.loops import Loop
from bot.errors import InterruptFaultError, SlackBusyError, SlackError
from bot.health import Health
from bot.ids import KEPT, Label, PartId
from bot.pacing import Pacing
from bot.rewind import Rewind, is_ahead
from bot.slack_client import Seen, SlackClient
from bot.state import ApprovalState, Shown, Standing
from bot.store import ApprovalStore

logger = logging.getLogger(__name__)

AT_ONCE = 1_000
"""Open questions that one look is about: more would take too much of the loop that clicks wait for."""
LOOK_EVERY = 5.0
"""Seconds between two looks at the same channel or thread, by whichever replica."""
ROUND_WITHIN = 3600.0
"""Seconds that one round may take: with cards in very many threads, Slack's limits make it long."""
DOUBTED_FOR = 600.0
"""Seconds for which a message that Slack edits and does not list is not doubted again."""
SEEN_FOR = 5.0
"""Seconds for which a message that was seen counts as there. Many deadlines that come together then take no look of their own."""

Where = tuple[str, str | None]
"""A channel, or a thread in it."""
Compare = Callable[[Standing, Seen], Awaitable[None]]


@dataclass
class Lookout:
    """Compares what Slack lists with what the open records say of their messages."""

    store: ApprovalStore
    slack: SlackClient
    pacing: Pacing
    health: Health
    rewind: Rewind
    every: float = LOOK_EVERY
    """Seconds."""
    _doubts_seen: int = -1
    _untaken: dict[Where, list[Standing]] = field(default_factory=dict)
    """What may have been taken in a past that Redis has forgotten, and was not compared since the last doubt."""
    _next: int = 0
    _doubted: dict[tuple[str, str], float] = field(default_factory=dict)
    _seen_at: dict[tuple[str, str], float] = field(default_factory=dict)

    async def run(self, loop: Loop) -> None:
        """Look until cancelled."""
        started = time.monotonic()
        while True:
            loop.beat(within=ROUND_WITHIN)
            # A round that took longer is followed by the next one: many channels make it long.
            await asyncio.sleep(max(self.every / 10, started + self.every - time.monotonic()))
            started = time.monotonic()
            if self.health.slack_fault:
                continue
            try:
                await self.look()
            except AgentAdapterError as error:
                logger.warning("lookout.unreachable", extra={"reason": str(error)})
                loop.hinder(str(error))

    async def look(self) -> None:
        """Look at every place where some of the open questions stand; the next look is at the next ones."""
        await self._look_at_untaken()
        now = time.monotonic()
        self._seen_at = {here: at for here, at in self._seen_at.items() if now - at < SEEN_FOR}
        first = self._next
        standing, self._next = await self.store.standing(first=first, count=AT_ONCE)
        for where, messages in _by_place(message for message in standing if message.is_open).items():
            if await self.pacing.turn_to_look(f"{first}:{_name(where)}", int(self.every * 1000)):
                # Another replica has just looked.
                continue
            try:
                await self._look_at(where, messages, self._compare)
            except SlackError as error:
                await self._not_seen(where, error)

    async def _look_at_untaken(self) -> None:
        """After a doubt, compare what agents and workers may still take with what Slack shows of it."""
        if self._doubts_seen != self.rewind.doubts:
            doubts = self.rewind.doubts
            self._untaken = _by_place(await self.store.untaken())
            self._doubts_seen = doubts
        elif not self._untaken:
            return
        for where, messages in list(self._untaken.items()):
            try:
                await self._look_at(where, messages, self._compare_untaken)
            except InterruptFaultError as error:
                # Slack will not say it later either.
                logger.warning("untaken.not_compared", extra={"place": _name(where), "reason": str(error)})
            except SlackError as error:
                await self._not_seen(where, error)
                continue
            del self._untaken[where]
        if not self._untaken and self._doubts_seen == self.rewind.doubts:
            logger.info("untaken.compared")

    async def deleted(self, channel: str, ts: str) -> None:
        """Hear from Slack that somebody deleted a message."""
        self._seen_at.pop((channel, ts), None)
        for message in (await self.store.standing())[0]:
            if message.is_open and (message.shown.channel, message.shown.ts) == (channel, ts):
                await self.store.doubt_part(message.interrupt_id, message.part, ts)

    async def sees(self, state: ApprovalState) -> bool:
        """Whether the messages that ask about a record are there, by a look of now or of the last seconds.

        Raises:
            SlackError: when Slack does not say.
        """
        for part, shown in state.asked_by.items():
            seen_at = self._seen_at.get((shown.channel, shown.ts))
            is_seen = seen_at is not None and time.monotonic() - seen_at < SEEN_FOR
            if not is_seen and not await self._is_there(state, part, shown):
                return False
        return True

    async def _is_there(self, state: ApprovalState, part: PartId, shown: Shown) -> bool:
        parent = state.shown.get(PartId(part.place, 0)) if part.number else None
        thread_ts = state.places[part.place].thread_ts or (parent.ts if parent else None)
        seen = await self._seen(shown.channel, thread_ts, shown.ts, shown.ts)
        label = seen.labels.get(shown.ts)
        if label is None or (label.interrupt_id, label.part) != (state.id, part):
            return False
        return label.digest != KEPT and not is_ahead(label, state)

    async def _look_at(self, where: Where, messages: Iterable[Standing], compare: Compare) -> None:
        channel, thread_ts = where
        left = sorted(messages, key=lambda message: message.shown.ts)
        while left:
            await self.turn_to_read(thread_ts)
            seen = await self._seen(channel, thread_ts, left[0].shown.ts, left[-1].shown.ts)
            looked = [message for message in left if seen.oldest <= message.shown.ts <= seen.latest]
            for message in looked:
                await compare(message, seen)
            left = [message for message in left if not seen.oldest <= message.shown.ts <= seen.latest]

    async def turn_to_read(self, thread_ts: str | None = None) -> None:
        """Wait for a turn to read a history, or a thread."""
        while wait := await self.pacing.turn_to_read(_kind(thread_ts)):  # noqa: ASYNC110  # replicas share the turns
            await asyncio.sleep(wait / 1000)

    async def _seen(self, channel: str, thread_ts: str | None, oldest: str, latest: str) -> Seen:
        try:
            return await self.slack.look(channel, thread_ts, oldest, latest)
        except InterruptFaultError as error:
            if error.code != "thread_not_found":
                raise
            return Seen({}, {}, oldest, latest)

    async def _compare(self, message: Standing, seen: Seen) -> None:
        label = seen.labels.get(message.shown.ts)
        if label is None or (label.interrupt_id, label.part) != (message.interrupt_id, message.part):
            await self._doubt(message, "card.missing")
        elif label.digest not in {"", KEPT, message.shown.digest}:
            await self._compare_anew(message, seen, label)
        else:
            self.rewind.note_sure(message.shown.channel, message.shown.ts)
            if label.digest == message.shown.digest:
                self._seen_at[message.shown.channel, message.shown.ts] = seen.at

    async def _compare_untaken(self, message: Standing, seen: Seen) -> None:
        try:
            state = await self.store.load(message.interrupt_id)
        except UnreadableRecordError:
            return
        shown = state.shown.get(message.part) if state else None
        if state and shown and shown.ts == message.shown.ts:
            await self.rewind.compare(state, message.part, shown, seen)

    async def _compare_anew(self, message: Standing, seen: Seen, label: Label) -> None:
        """Compare a message with its record as it is now: it may have been drawn since the record was read."""
        state = await self.store.load(message.interrupt_id)
        shown = state.shown.get(message.part) if state else None
        if state is None or shown is None or shown.ts != message.shown.ts or message.part in state.begun:
            return
        is_behind = await self.rewind.compare(state, message.part, shown, seen)
        if not is_behind and shown.digest != label.digest:
            await self._doubt(message, "card.otherwise")

    async def _doubt(self, message: Standing, event: str) -> None:
        here, now = (message.shown.channel, message.shown.ts), time.monotonic()
        self._doubted = {key: at for key, at in self._doubted.items() if now - at < DOUBTED_FOR}
        if here in self._doubted:
            return
        self._doubted[here] = now
        logger.warning(event, extra={"interrupt_id": message.interrupt_id, "part": str(message.part)})
        # Drawing it again tells whether it is really gone.
        await self.store.doubt_part(message.interrupt_id, message.part, message.shown.ts)

    async def _not_seen(self, where: Where, error: SlackError) -> None:
        logger.info("lookout.not_seen", extra={"place": _name(where), "reason": str(error)})
        if isinstance(error, SlackBusyError):
            await self.pacing.hold_reads(_kind(where[1]), error.retry_after)


def _by_place(messages: Iterable[Standing]) -> dict[Where, list[Standing]]:
    places: dict[Where, list[Standing]] = {}
    for message in messages:
        places.setdefault((message.shown.channel, message.thread_ts), []).append(message)
    return places


def _kind(thread_ts: str | None) -> str:
    return "replies" if thread_ts else "history"


def _name(where: Where) -> str:
    channel, thread_ts = where
    return f"{channel}:{thread_ts}" if thread_ts else channel
