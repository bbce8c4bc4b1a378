"""Draws the card of each queue: one for all requests of a channel that came in a burst."""

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from agent_adapter.errors import (
    AgentAdapterError,
    InvalidRequestError,
    ServerFailedError,
    UnreadableRecordError,
)
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.errors import (
    InterruptFaultError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.domain.queue import Queue, QueueCard, QueueLabel
from bot.domain.waiting import Spot, queue_entry
from bot.jobs.orphans import LOOKS, Second, remove_second
from bot.jobs.slack_call import DELETED_AT_MOST, GONE
from bot.jobs.slack_trouble import EDIT, POST, SlackTrouble
from bot.rendering.queue import QueuePicture, render_queue
from bot.runtime.health import NOT_YET, Health
from bot.slack.client import SlackClient
from bot.slack.pacing import Pacing
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
"""Seconds between two looks at the queues."""
EDIT_EVERY = 5
"""After so many looks a card may be edited again. Everything that happens in between is one edit."""
LOOK_WITHIN = 120.0
"""Seconds that one look may take: Slack may be slow in several channels."""
LINGER = 60_000
"""Milliseconds for which an empty queue is kept, since requests may have joined it that are not admitted yet."""
SURE_FOR = 300_000
"""Milliseconds after which a card is edited although nothing changed, since it may have been deleted unnoticed."""
CALL_AGAIN = 600_000
"""Milliseconds after which a card is posted anew for a request that joins, since nobody looks at an old card."""
UNKNOWN = "?"
"""The digest of a card of which nobody knows what it shows."""
MOST = 1_001
"""How many requests are looked at."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What never changes of a request in a queue."""

    calls: tuple[tuple[str, str], ...]
    high: tuple[tuple[str, str], ...]
    is_rejected: bool
    mentioned: tuple[str, ...]
    on_call: dict[str, tuple[str, ...]]


@dataclass
class Queues:
    """Makes Slack agree with the queues. Which requests wait is read again before every call."""

    store: ApprovalStore
    slack: SlackClient
    pacing: Pacing
    health: Health
    trouble: SlackTrouble
    lease: int
    """Milliseconds that one call may take before another replica takes over."""
    every: float = LOOK_EVERY
    """Seconds."""
    _known: dict[str, dict[str, _Asked]] = field(default_factory=dict)
    _over: dict[str, tuple[tuple[str, ...], Queue]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    """The queues whose agents were told that Slack takes nothing."""
    _began: int = 0
    """When this process first looked at a queue, by the server's clock. Cards may have been deleted before."""

    async def run(self, loop: Loop) -> None:
        """Look until cancelled."""
        while True:
            loop.beat(within=LOOK_WITHIN)
            try:
                if not (fault := self.health.slack_fault):
                    await self.look()
                elif fault != NOT_YET:
                    await self._tell(fault)
            except AgentAdapterError as error:
                logger.warning("queues.unreachable", extra={"reason": str(error)})
                loop.hinder(str(error))
            await asyncio.sleep(self.every)

    async def look(self) -> None:
        """Draw the cards that do not show what waits.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        channels = await self.store.queues()
        for channel in channels:
            try:
                if await self._due(channel):
                    await self._draw(channel)
            except (SlackError, ServerFailedError, UnreadableRecordError) as error:
                # The other queues have cards, too.
                logger.warning("queue.not_drawn", extra={"channel": channel, "reason": str(error)})
        if not channels:
            self._known, self._over = {}, {}

    async def on_deleted(self, channel: str, ts: str) -> None:
        """Handle Slack's event that somebody deleted a message."""
        await self.store.doubt_queue(channel, ts)

    async def _tell(self, fault: str) -> None:
        """Say to the agents that wait in all queues why nothing happens."""
        for channel in await self.store.queues():
            self._told.add(channel)
            for spot in await self._spots(channel):
                await self.trouble.say_fault(spot.interrupt_id, fault)

    # --- One queue ------------------------------------------------------------------------------------------------

    async def _due(self, channel: str) -> tuple[QueueCard, Queue, int | None] | None:
        """Give what the card has to show and, if the queue is over, since when; `None` when there is nothing to do now."""
        card = await self.store.queue_card(channel)
        self._began = self._began or (card.now if card else 0)
        if card is None or (card.ts and card.now - card.drawn < EDIT_EVERY * self.every * 1000):
            return None
        queue = await self._read(channel, card)
        shows_all = card.shown == render_queue(queue).digest
        is_over = not queue.waiting and card.now - card.asked >= LINGER
        is_shown = shows_all and self._is_sure(card) if queue.waiting else shows_all or not card.ts
        return None if is_shown and not is_over else (card, queue, card.asked if is_over else None)

    def _is_sure(self, card: QueueCard) -> bool:
        """Whether the card is surely there. Slack may not say that it was deleted; an edit shows it."""
        return card.drawn >= max(self._began, card.now - SURE_FOR)

    async def _draw(self, channel: str) -> None:
        owner, leased_until = secrets.token_hex(8), time.monotonic() + self.lease / 1000
        outcome, since = await self.store.lease_queue(channel, owner=owner, lease=self.lease)
        if outcome in {"busy", "gone"}:
            return
        due = await self._due(channel)
        if due is None:
            if outcome == "mine":
                await self.store.save_queue(channel, owner=owner)
            return
        card, queue, over = due
        picture = render_queue(queue)
        if outcome == "takeover":
            await self._take_over(channel, card, owner, since, over)
            return
        is_over = over is not None and (card.shown == picture.digest or not card.ts)
        if is_over or await self._has_to_wait(channel, card.ts):
            await self.store.save_queue(channel, owner=owner, over=over if is_over else None)
            return
        try:
            await self._show(channel, card, queue, owner, over, leased_until)
        except InterruptFaultError as error:
            await self._on_refused(channel, card, picture, owner, error)
        except SlackError as error:
            await self._on_trouble(channel, card, owner, error)

    async def _take_over(
        self, channel: str, card: QueueCard, owner: str, since: float, over: int | None
    ) -> None:
        """Look whether the card was posted and not noted. Until that is known the lease stays, so that nothing is posted."""
        try:
            ts = await self.slack.find_queue_card(channel, since=since, label=QueueLabel(card.name)) or ""
        except InterruptFaultError as error:
            await self._refuse_waiting(channel, error)
            if over is not None:
                await self.store.save_queue(channel, owner=owner, over=over)
        except SlackError as error:
            logger.warning("queue.not_searched", extra={"channel": channel, "reason": str(error)})
            await self._note_failure(channel, card, error)
        else:
            # What the found card shows is unknown, so the next look edits it.
            is_over = over is not None and not ts
            await self.store.save_queue(
                channel, owner=owner, ts=ts, shown=UNKNOWN, over=over if is_over else None
            )

    async def _has_to_wait(self, channel: str, ts: str) -> int:
        if ts:
            return await self.pacing.turn_to_edit("", urgent=False)
        return await self.pacing.turn_to_post(channel, "")

    async def _show(
        self,
        channel: str,
        card: QueueCard,
        queue: Queue,
        owner: str,
        over: int | None,
        leased_until: float,
    ) -> None:
        """Edit the card, or post it. For people who are to be called, the old card goes first."""
        calls = not card.ts or _calls_anew(card, queue)
        if card.ts and calls and await self._removed(channel, card.ts):
            # The next look posts. A bot that dies before it never leaves two cards.
            await self.store.save_queue(channel, owner=owner, ts="+")
            return
        if not card.ts and time.monotonic() + self.slack.within > leased_until:
            # Redis or Slack was slow. Another process may take over before this post has arrived, and would not find it.
            logger.info("queue.late", extra={"channel": channel})
            return
        picture = render_queue(queue)
        ts = await self._send(channel, card.ts, picture, QueueLabel(card.name))
        self.health.call_worked(EDIT if card.ts else POST)
        called = sorted(queue.called) if calls else None
        if not await self.store.save_queue(
            channel, owner=owner, ts=ts, shown=picture.digest, called=called, over=over
        ):
            await self._remove_second(channel, ts)
        if channel in self._told or card.shown in {"", UNKNOWN}:
            self._told.discard(channel)
            for spot in await self._spots(channel):
                await self.store.set_notice(spot.interrupt_id, "")

    async def _send(self, channel: str, ts: str, picture: QueuePicture, label: QueueLabel) -> str:
        if not ts:
            return await self.slack.post_message(
                channel, text=picture.text, blocks=picture.blocks, thread_ts=None, label=label
            )
        await self.slack.update_message(channel, ts, text=picture.text, blocks=picture.blocks, label=label)
        return ts

    async def _removed(self, channel: str, ts: str) -> bool:
        """Delete the card, so that a new one calls people. Where Slack does not allow that, the card is edited."""
        try:
            await self.slack.delete_message(channel, ts)
        except InterruptFaultError as error:
            return error.code in GONE
        return True

    async def _remove_second(self, channel: str, ts: str) -> None:
        """Delete our card if another process has posted one, or does so within a lease."""

        async def find(_besides: str) -> str | None:
            return ts

        async def note() -> bool:
            return False

        second = Second(
            ts,
            kept=partial(self._kept, channel),
            find=find,
            delete=partial(self.slack.delete_message, channel),
            note=note,
            is_unsettled=lambda: False,
        )
        await remove_second(second, every=self.lease / 1000 / LOOKS, name=f"queue {channel}")

    async def _kept(self, channel: str) -> str:
        card = await self.store.queue_card(channel)
        return card.ts if card else ""

    # --- When Slack does not take it ------------------------------------------------------------------------------

    async def _on_refused(
        self, channel: str, card: QueueCard, picture: QueuePicture, owner: str, error: InterruptFaultError
    ) -> None:
        """Post a deleted card again. If nobody can see the queue any more, refuse what waits in it."""
        if card.ts and error.code in GONE and card.gone < DELETED_AT_MOST:
            logger.warning("queue.card_deleted", extra={"channel": channel})
            await self.store.save_queue(channel, owner=owner, ts="-")
            return
        await self._refuse_waiting(channel, error)
        await self.store.save_queue(channel, owner=owner, ts=card.ts, shown=picture.digest)

    async def _refuse_waiting(self, channel: str, error: InterruptFaultError) -> None:
        for spot in await self._spots(channel):
            state = await self._readable(spot.interrupt_id)
            if state and state.is_open:
                await self.trouble.refuse_unreachable(state, error)

    async def _on_trouble(self, channel: str, card: QueueCard, owner: str, error: SlackError) -> None:
        logger.warning("queue.not_drawn", extra={"channel": channel, "reason": str(error)})
        match error:
            case SlackBusyError(retry_after=seconds) if card.ts:
                await self.pacing.hold_edits(seconds)
            case SlackBusyError(retry_after=seconds):
                await self.pacing.hold_posts(channel, seconds)
        await self._note_failure(channel, card, error)
        if isinstance(error, SlackUnclearError) and not card.ts:
            # The card may be posted all the same. The process with the next lease looks for it first.
            return
        await self.store.save_queue(channel, owner=owner)

    async def _note_failure(self, channel: str, card: QueueCard, error: SlackError) -> None:
        """Note that Slack does not take the card. While there is none, the agents that wait are told."""
        if isinstance(error, WorkspaceFaultError):
            self.health.fault("slack", str(error))
        else:
            again_in = error.retry_after if isinstance(error, SlackBusyError) else self.lease / 1000
            self.health.call_failed(EDIT if card.ts else POST, str(error), again_in=again_in)
        for spot in [] if card.ts else await self._spots(channel):
            await self.trouble.come_again_in(spot.interrupt_id, error)
            await self.trouble.say_if_nothing_is_taken(spot.interrupt_id)

    # --- What waits -----------------------------------------------------------------------------------------------

    async def _read(self, channel: str, card: QueueCard) -> Queue:
        spots = await self._spots(channel)
        waiting = [(spot, asked) for spot in spots if (asked := await self._asked(channel, spot, card.now))]
        known = self._known.get(channel, {})
        self._known[channel] = {spot.interrupt_id: known[spot.interrupt_id] for spot in spots
                                if spot.interrupt_id in known}  # fmt: skip
        if not waiting:
            return await self._empty(card)
        return Queue(
            waiting=len(waiting),
            deadline=datetime.fromtimestamp(waiting[0][0].deadline / 1000, UTC),
            is_rejected=waiting[0][1].is_rejected,
            calls=Counter(call for _, asked in waiting for call in asked.calls),
            high=frozenset(call for _, asked in waiting for call in asked.high),
            mentioned=_merged(name for _, asked in waiting for name in asked.mentioned),
            on_call={name: people for _, asked in waiting for name, people in asked.on_call.items()},
        )

    async def _spots(self, channel: str) -> list[Spot]:
        return await self.store.waiting([queue_entry(channel)], limit=MOST)

    async def _asked(self, channel: str, spot: Spot, now: int) -> _Asked | None:
        """Give what a request asks in this queue; `None` when nothing of it waits there."""
        known = self._known.get(channel, {}).get(spot.interrupt_id)
        if known and spot.deadline > now:
            return known
        state = await self._readable(spot.interrupt_id)
        if state is None or state.status != "pending":
            await self.store.drop_stale([queue_entry(channel)], [spot.interrupt_id])
            return None
        indices = state.queued_in(channel)
        if not indices:
            return None
        actions = [state.actions[index] for index in indices]
        asked = _Asked(
            tuple((state.agent, action.request.name) for action in actions),
            tuple((state.agent, action.request.name) for action in actions if action.has_code),
            state.on_expiry == "reject",
            _merged(name for action in actions for name in action.terms.mentioned),
            {name: people for action in actions for name, people in action.terms.on_call.items()},
        )
        if len(state.actions) == 1:
            # Of several calls, some may be decided before the others.
            self._known.setdefault(channel, {})[spot.interrupt_id] = asked
        return asked

    async def _empty(self, card: QueueCard) -> Queue:
        """Count how those ended that joined the queue."""
        joined, queue = self._over.get(card.name, ((), Queue(0)))
        if joined != card.joined:
            states = [await self._readable(interrupt_id) for interrupt_id in card.joined]
            found = [state for state in states if state]
            ends = Counter[str]("decided" if state.status == "pending" else state.status for state in found)
            queue = Queue(0, over=ends)
            if all(states):
                # One that is not admitted yet still comes.
                self._over[card.name] = (card.joined, queue)
        return queue

    async def _readable(self, interrupt_id: str) -> Approval | None:
        try:
            return await self.store.admitted(interrupt_id)
        except InvalidRequestError:
            return None


def _calls_anew(card: QueueCard, queue: Queue) -> bool:
    """Whether the card is to be posted anew: Slack notifies nobody of an edit."""
    comes_late = card.asked > card.drawn and card.now - card.posted >= CALL_AGAIN
    return bool(queue.waiting and (comes_late or queue.called - card.called))


def _merged(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name != "channel"))
