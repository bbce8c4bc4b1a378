"""Notices that Redis went back to an older state. Cards in Slack that show more than Redis knows are not overwritten."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bot.domain.approval import Approval, Published
from bot.domain.errors import InterruptFaultError, SlackError
from bot.domain.ids import KEPT, Label, MessageId, Shown
from bot.domain.transitions import end_standing
from bot.rendering.card.card import render_noted
from bot.runtime.health import Health
from bot.sentences import on_card
from bot.slack.client import Seen, SlackClient
from bot.store.records import ApprovalStore
from bot.store.work import Beat

logger = logging.getLogger(__name__)

CODE = "went_back"
"""The code of the refused records, of the log and of the warning in `/readyz`."""
REASON = (
    "the server went back to an older state: this was decided or over before, as its card says, and the server does not "
    "know it any more. Look at the card and at what has run, then ask again if it is still needed"
)
WARNING = "Redis went back to an older state: see docs/how-to/redis-went-back.md"
LATELY = 60.0
"""Seconds before a doubt in which a message may have been posted that the record does not know."""
CLOCKS = 60.0
"""Seconds by which the clocks of Slack, Redis and this process may differ."""
RANK = {"open": 0, "ended": 1, "resumed": 2}


@dataclass
class RestoreGuard:
    """Compares records with their messages in Slack when Redis may hold an older state."""

    store: ApprovalStore
    slack: SlackClient
    health: Health
    process: str
    doubts: int = 0
    """How often there was a reason to compare again."""
    _since: float = field(default_factory=time.time)
    _sure: set[tuple[str, str]] = field(default_factory=set)
    _last: Beat | None = None
    _beating: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def beat(self, *, quiet_for: float | None = None) -> Beat:
        """Send a heartbeat, and notice when another server answers, or one that counts fewer heartbeats than before.

        Args:
            quiet_for: As in `ApprovalStore.heartbeat`.
        """
        # One at a time: an answer that overtakes another would look as if Redis went back.
        async with self._beating:
            beat, last = await self.store.heartbeat(self.process, quiet_for=quiet_for), self._last
            self._last = beat
            if last and beat.epoch <= last.epoch:
                logger.error("store.went_back", extra={"bot": self.process})
                self.health.warnings[CODE] = WARNING
                self.doubt()
            elif last and beat.server != last.server:
                logger.warning("store.replaced", extra={"bot": self.process})
                self.doubt()
        return beat

    def hear(self, epoch: int) -> None:
        """Compare the heartbeats that Redis counts right before a message is edited. No heartbeat may have noticed yet."""
        if self._last and epoch < self._last.epoch:
            self.doubt()

    def doubt(self) -> None:
        """Have every record read, and every message compared, again: another server may answer, or an older state."""
        self.doubts += 1
        self._since = time.time()
        self._sure.clear()
        self.store.forget_remembered()

    def may_be_shown(self, state: Published) -> bool:
        """Whether a message may be in Slack that the record does not know: it was asked shortly before a doubt.

        The first doubt is the start of this process, which lost nothing.
        """
        return self.doubts > 1 and self._since - LATELY < state.created_at.timestamp() < self._since + CLOCKS

    def is_sure(self, shown: Shown) -> bool:
        """Whether a message was compared with its record since the last doubt."""
        return float(shown.ts) > self._since + CLOCKS or (shown.channel, shown.ts) in self._sure

    def note_sure(self, channel: str, ts: str) -> None:
        """Note that a message shows what its record says."""
        if float(ts) <= self._since + CLOCKS:
            self._sure.add((channel, ts))

    async def is_behind(self, state: Approval, part: MessageId, shown: Shown, thread_ts: str | None) -> bool:
        """Whether a message shows more than its record knows. If so, end the record and keep the message as it is.

        Raises:
            SlackError: when Slack does not say.
        """
        # Always compare here: the card must never say that nobody decided when somebody approved.
        is_silent_end = state.status == "expired" and shown.stage == "open"
        if self.is_sure(shown) and not is_silent_end:
            return False
        try:
            seen = await self.slack.look(shown.channel, thread_ts, shown.ts, shown.ts)
        except InterruptFaultError as error:
            logger.info("message.not_compared", extra={"interrupt_id": state.id, "reason": str(error)})
            return False
        # Read once more: another process may have edited the message since, and it knew more.
        newest = await self.store.admitted(state.id)
        return newest is not None and await self.compare(newest, part, shown, seen)

    async def compare(self, state: Approval, part: MessageId, shown: Shown, seen: Seen) -> bool:
        """Compare a message with its record, which was read later. If the record is older, end it and return true."""
        label = seen.labels.get(shown.ts)
        if label is None or (label.interrupt_id, label.part) != (state.id, part):
            return False
        if part.kind == "standing":
            return await self._end_standing(state, part.number, label)
        if not is_ahead(label, state):
            self.note_sure(shown.channel, shown.ts)
            return False
        logger.error("record.went_back", extra={"interrupt_id": state.id, "part": str(part)})
        # Before an answer is given, because an agent could start after it.
        await self.store.refuse_rewound(state, part, code=CODE, reason=REASON)
        self.health.warnings[CODE] = WARNING
        await self._note(shown.channel, seen.messages[shown.ts], label, on_card.BEHIND)
        return True

    async def _end_standing(self, state: Approval, index: int, label: Label) -> bool:
        approval = state.standing.get(index)
        # One that is not signed approves nothing, so there is nothing to end.
        if approval is None or approval.ended:
            return False
        if label.stage != "ended" and len(label.decided) <= len(approval.uses):
            return False
        logger.error("standing.went_back", extra={"interrupt_id": state.id, "index": index})
        self.health.warnings[CODE] = WARNING
        await self.store.update(state, partial(end_standing, index=index, by=CODE), is_told=False)
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
