"""Notices that Redis went back to an older state. Cards in Slack that show more than Redis knows are not overwritten."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agent_adapter.contract.wire import MAX_LIFE
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.loops import Loop
from agent_adapter.redis.journal import COMES_WITHIN
from bot.domain.approval import Approval, Published
from bot.domain.errors import InterruptFaultError, SlackError, UnsettledError
from bot.domain.ids import KEPT, Label, MessageId
from bot.domain.messages import Shown
from bot.jobs.readings import CLOCKS, Readings
from bot.rendering.card.lost_records import render_noted
from bot.runtime.health import Health
from bot.sentences import on_card
from bot.slack.client import Seen, SlackClient
from bot.store.bots import Beat
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

CODE = "went_back"
"""The code of the refused records, of the log and of the warning in `/readyz`."""
REASON = (
    "the server went back to an older state: this was decided or over before, as its card says, and the server does not "
    "know it any more. Look at the card, then ask again if it is still needed"
)
WARNING = (
    "Redis went back to an older state: see 'Lost decisions' in docs/how-to/operate.md after a failover, and "
    "'After Redis went back' there after a restore"
)
AGAIN_AFTER = 30.0
"""Seconds until a search starts again after Slack or Redis interrupted it."""
ROUND_WITHIN = 3600.0
"""Seconds that one search may take. With very many channels, Slack's limits make it long."""
LOOKS_EVERY = 0.25
"""Seconds between two looks whether there is a reason to write again."""
RANK = {"open": 0, "ended": 1, "resumed": 2}


@dataclass
class RestoreGuard:
    """Compares records with their messages in Slack when Redis may hold an older state."""

    store: ApprovalStore
    slack: SlackClient
    health: Health
    process: str
    is_known: Callable[[str], Awaitable[bool]] | None = None
    """Whether a record is stored in any namespace that this bot serves. Without it, only this one is looked at.

    The messages of version 0.1 do not say in which one theirs is."""
    doubts: int = 0
    """How often there was a reason to compare again."""
    changes: int = 0
    """How often another server answered, or an older state of the same one."""
    outages: int = 0
    """How often servers answered again after the connection was lost."""
    written_again: int = 0
    """How many of these have passed, with everything written again that is kept for that."""
    lost_since: float | None = None
    """Since when there can be cards without a record, in unix seconds; `None` when they were searched for."""
    servers: tuple[str, ...] = ()
    """The identities of the servers that answer; empty when they do not say it."""
    readings: Readings = field(init=False)
    _since: float = field(default_factory=time.time)
    _sure: set[tuple[str, str]] = field(default_factory=set)
    _has_met: bool = False
    _told: tuple[str, ...] = ()
    _settled: tuple[str, ...] = ()
    _epochs: tuple[int, ...] = ()
    _beating: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.readings = Readings(self.slack)

    async def begin(self) -> None:
        """Note the last event that Redis knows, before this process adds one, and whether a failover can have lost others."""
        self.lost_since = await self.store.lived_until()
        await self.store.begin_journal()

    async def beat(self, *, quiet_for: float | None = None) -> Beat:
        """Send a heartbeat, and notice when Redis counts fewer heartbeats than before.

        Args:
            quiet_for: As in `ApprovalStore.heartbeat`.
        """
        # One at a time: an answer that overtakes another would look as if Redis went back.
        async with self._beating:
            beat = await self.store.heartbeat(self.process, quiet_for=quiet_for)
            if any(now <= then for now, then in zip(beat.epochs, self._epochs, strict=False)):
                logger.error("store.went_back", extra={"bot": self.process})
                self.health.warnings[CODE] = WARNING
                self.lost_since = beat.before / 1000
                self.changes += 1
                self.doubt()
            self._epochs = beat.epochs
        return beat

    def hear(self, interrupt_id: str, epoch: int) -> None:
        """Compare the heartbeats that Redis counts right before a message is edited. No heartbeat may have noticed yet."""
        lane = self.store.keys.lane_of(interrupt_id)
        if self._epochs and epoch < self._epochs[lane]:
            self.doubt()

    def meet(self, servers: tuple[str, ...], *, is_new: bool) -> None:
        """Note which servers answer after a connection was lost, or for the first time.

        Args:
            servers: Their identities; empty when they do not say it.
            is_new: Whether they are others than those that answered before.
        """
        journal = self.store.scripts.journal
        if journal.meet(servers) and journal.kept and not self._has_met:
            # Since this process began, another server has taken over. Without a journal, it has not asked before.
            journal.note_outage()
        self.changes += is_new
        self.doubt(is_certain=is_new)
        self.outages += self._has_met
        self.servers, self._has_met = servers, True

    def doubt(self, *, is_certain: bool = True) -> None:
        """Have every message compared again before it is edited: the connection to Redis was lost, or its state is older.

        Args:
            is_certain: As in `Journal.note_outage`.
        """
        if self.doubts:
            # Before the first one, this process had no connection that it could lose.
            self.store.scripts.journal.note_outage(is_certain=is_certain)
            self.store.doubt()
        self.doubts += 1
        self._since = time.time()
        self._sure.clear()
        self.readings.begin()
        self.store.forget_remembered()

    def note_same(self) -> None:
        """Note that the same servers answer as before: only a connection was lost."""
        self.store.scripts.journal.note_same()

    @property
    def is_unsettled(self) -> bool:
        """Whether bots may still write again what Redis has lost."""
        return self.store.scripts.journal.is_unsettled

    def may_be_shown(self, state: Published) -> bool:
        """Whether a message may be in Slack that the record does not know: it was asked shortly before a failover."""
        return self.store.scripts.journal.may_have_lost((state.now - state.created_at).total_seconds())

    def was_asked_before(self, state: Published) -> bool:
        """Whether a request was asked before the last doubt, so that a failover can have lost what became of it."""
        age = (state.now - state.created_at).total_seconds()
        return self.may_be_shown(state) and age > self.store.scripts.journal.lost_for

    def is_sure(self, shown: Shown) -> bool:
        """Whether a message was compared with its record since the last doubt."""
        return float(shown.ts) > self._since + CLOCKS or (shown.channel, shown.ts) in self._sure

    def note_sure(self, channel: str, ts: str) -> None:
        """Note that a message shows what its record says."""
        if float(ts) <= self._since + CLOCKS:
            self._sure.add((channel, ts))
        self.readings.forget(channel, ts)

    async def is_behind(self, state: Approval, part: MessageId, shown: Shown, thread_ts: str | None) -> bool:
        """Whether a message shows more than its record knows. If so, end the record and keep the message as it is.

        Raises:
            SlackError: when Slack does not say.
        """
        # Always compare here: the card must never say that nobody decided when somebody approved.
        is_silent_end = state.status == "expired" and shown.stage == "open"
        if self.is_sure(shown) and not is_silent_end:
            return False
        if not is_silent_end and await self._showed_no_more(state, part, shown):
            return False
        try:
            seen = await self.slack.look(shown.channel, thread_ts, shown.ts, shown.ts)
        except InterruptFaultError as error:
            logger.info("message.not_compared", extra={"interrupt_id": state.id, "reason": str(error)})
            return False
        # Read once more: another process may have edited the message since, and it knew more.
        newest = await self.store.admitted(state.id)
        return newest is not None and await self.compare(newest, part, shown, seen)

    async def learn(self, shown: Shown, turn: Callable[[], Awaitable[int]]) -> int:
        """Read what a card in a channel shows, together with others, so that `is_behind` need not. As in `Readings`."""
        return 0 if self.is_sure(shown) else await self.readings.learn(shown, turn)

    async def _showed_no_more(self, state: Approval, part: MessageId, shown: Shown) -> bool:
        """Whether a message that was read with others showed only what its record knows."""
        label = self.readings.label(shown.channel, shown.ts)
        # What a standing approval shows is compared with its uses, and ends it.
        if label is None or part.kind == "standing" or (label.interrupt_id, label.part) != (state.id, part):
            return False
        doubts = self.doubts
        newest = await self.store.admitted(state.id)
        if newest is None or is_ahead(label, newest) or doubts != self.doubts:
            # It may have been drawn since, so it is read once more.
            return False
        self.note_sure(shown.channel, shown.ts)
        return True

    async def compare(self, state: Approval, part: MessageId, shown: Shown, seen: Seen) -> bool:
        """Compare a message with its record, which was read later. If the record is older, end it and return true.

        Raises:
            UnsettledError: when the record may still be written again.
        """
        label = seen.labels.get(shown.ts)
        if label is None or (label.interrupt_id, label.part) != (state.id, part):
            return False
        if part.kind == "standing":
            return await self._end_standing(state, part.number, label)
        if not is_ahead(label, state):
            self.note_sure(shown.channel, shown.ts)
            return False
        if self.is_unsettled or self.store.scripts.journal.owes(state.id):
            raise UnsettledError
        logger.error("record.went_back", extra={"interrupt_id": state.id, "part": str(part)})
        # Before an answer is given, because an agent could start after it.
        await self.store.refuse_rewound(state.id, part, code=CODE, reason=REASON)
        self.health.warnings[CODE] = WARNING
        await self._note(shown.channel, seen.messages[shown.ts], label, on_card.BEHIND)
        return True

    async def run(self, may_read: Callable[[], Awaitable[None]], loop: Loop) -> None:
        """Search for cards without a record, whenever there is a reason, until cancelled."""
        while True:
            loop.beat(within=ROUND_WITHIN)
            await asyncio.sleep(1)
            if self.lost_since is None or self.health.slack_fault or self.is_unsettled:
                continue
            try:
                await self.look_for_lost(may_read)
            except InterruptFaultError as error:
                # Slack will not say it later either, and the other channels still have to be searched.
                logger.warning("lost.not_looked_for", extra={"reason": str(error)})
                self.lost_since = None
            except (SlackError, ServerUnreachableError) as error:
                logger.warning("lost.not_seen", extra={"reason": str(error)})
                await asyncio.sleep(AGAIN_AFTER)

    async def write_again(self, loop: Loop) -> None:
        """After each doubt, write again what this process has accepted lately, until cancelled."""
        while True:
            loop.beat(within=2 * COMES_WITHIN)
            await asyncio.sleep(LOOKS_EVERY)
            doubts = self.doubts
            try:
                if self.store.scripts.journal.is_owed:
                    await self.store.scripts.write_again()
                    self.store.forget_remembered()
                await self._note_settled()
                if not self.store.scripts.journal.is_owed:
                    self.written_again = doubts
            except ServerUnreachableError as error:
                loop.hinder(str(error))

    async def _note_settled(self) -> None:
        """Tell agents on these servers for how long to keep what they write, and later that nothing is written again there."""
        journal, servers = self.store.scripts.journal, self.servers
        if journal.kept and servers != self._told:
            await self.store.note_kept()
            self._told = servers
        if journal.kept and servers != self._settled and not (journal.is_owed or journal.is_looked_into):
            await self.store.note_settled(servers)
            self._settled = servers

    async def look_for_lost(self, may_read: Callable[[], Awaitable[None]]) -> None:
        """Remove the buttons from cards that Redis does not know any more.

        Args:
            may_read: Waits for a turn to read a history.

        Raises:
            SlackError: when Slack does not say which channels there are.
        """
        if self.lost_since is None:
            return
        oldest = max(self.lost_since, time.time() - MAX_LIFE.total_seconds()) - CLOCKS
        await may_read()
        for channel in await self.slack.own_channels():
            try:
                await self._look_for_lost_in(channel, None, f"{oldest:.6f}", may_read)
            except SlackError as error:
                logger.warning("lost.not_seen", extra={"channel": channel, "reason": str(error)})
        self.lost_since = None

    async def _look_for_lost_in(
        self, channel: str, thread_ts: str | None, oldest: str, may_read: Callable[[], Awaitable[None]]
    ) -> None:
        latest = f"{time.time() + CLOCKS:.6f}"
        while True:
            await may_read()
            seen = await self.slack.look(channel, thread_ts, oldest, latest)
            for ts, label in seen.labels.items():
                if (
                    label.digest == KEPT
                    # Another bot serves it, or this one serves it beside this namespace.
                    or label.namespace not in {"", self.store.keys.namespace}
                    or label.stage == "resumed"
                    or await (self.is_known or self.store.is_stored)(label.interrupt_id)
                ):
                    continue
                logger.error("record.lost", extra={"interrupt_id": label.interrupt_id, "channel": channel})
                self.health.warnings[CODE] = WARNING
                await self._note(channel, seen.messages[ts], label, on_card.LOST)
                if seen.messages[ts].get("reply_count") and not thread_ts:
                    await self._look_for_lost_in(channel, ts, ts, may_read)
            if thread_ts or seen.oldest in {oldest, latest}:
                return
            latest = seen.oldest

    async def _end_standing(self, state: Approval, index: int, label: Label) -> bool:
        approval = state.standing.get(index)
        # One that is not signed approves nothing, so there is nothing to end.
        if approval is None or approval.ended:
            return False
        if label.stage != "ended" and len(label.decided) <= len(approval.uses):
            return False
        logger.error("standing.went_back", extra={"interrupt_id": state.id, "index": index})
        self.health.warnings[CODE] = WARNING
        await self.store.end_standing(state.id, index, by=CODE)
        return True

    async def _note(self, channel: str, message: Mapping[str, Any], label: Label, note: str) -> None:
        """Write on a message what became of its record. Keep what it shows, and remove its buttons."""
        text, blocks = render_noted(message, note)
        kept = replace(label, digest=KEPT)
        try:
            await self.slack.update_message(channel, str(message["ts"]), text=text, blocks=blocks, label=kept)
        except SlackError as error:
            logger.warning("card.not_noted", extra={"interrupt_id": label.interrupt_id, "reason": str(error)})


def is_ahead(label: Label, state: Approval) -> bool:
    """Whether a message shows more than its record knows."""
    # A decision that does not count, because it is not signed, is still there.
    stored = state.decided | state.unsigned
    return RANK.get(label.stage, 0) > RANK[state.stage] or not label.decided <= stored
