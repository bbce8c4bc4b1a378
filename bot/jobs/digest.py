"""Sends the weekly digest: once for each week, also with several replicas and after a restart."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.digest import HISTORY, WEEK, Digest, last_end
from bot.domain.errors import SlackError, SlackUnclearError
from bot.domain.policy import Policy
from bot.rendering.digest import digest_blocks, digest_text
from bot.runtime.health import Health
from bot.slack.client import SlackClient
from bot.store.audit import AuditStore
from bot.store.digest import SentDigests

logger = logging.getLogger(__name__)

EVERY = 300.0
"""Seconds between two looks."""
SOON = 1.0
"""The same while Slack is not there."""
READ_WITHIN = 900.0
"""Seconds that reading the trail of some weeks may take."""


@dataclass
class Digests:
    """Sends what happened in the last week to one channel.

    The week is marked as sent before it is sent. Where Slack certainly took nothing, the mark goes, and the next look tries
    again. Where Slack may have taken it, or the process dies meanwhile, the mark stays: one digest less is better than two.
    """

    audit: AuditStore
    sent: SentDigests
    slack: SlackClient
    health: Health
    policy: Callable[[], Policy]
    channel: str
    process: str
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    async def run(self, loop: Loop) -> None:
        """Look from time to time whether a week has ended, until cancelled."""
        while True:
            loop.beat(within=READ_WITHIN)
            if self.health.slack_fault:
                await asyncio.sleep(SOON)
                continue
            await self.send_if_due()
            await asyncio.sleep(EVERY)

    async def send_if_due(self) -> None:
        """Send the digest of the last week, unless that was done."""
        until = last_end(self.now())
        week = f"{until:%Y-%m-%d}"
        try:
            # A replica that keeps the trail in a folder knows more than one without.
            if await self.sent.is_taken(week) or await self.audit.has_folder_elsewhere():
                return
            channel = await self.slack.reach(self.channel)
            digest = await self._read(until)
            if await self.sent.take(week, self.process) and not digest.is_empty:
                await self._send(digest, channel, week)
        except (AgentAdapterError, SlackError, OSError, ValueError, OverflowError) as error:
            # The trail has what others wrote. What cannot be counted of it costs a digest, and never a bot.
            logger.warning("digest.not_sent", extra={"reason": str(error)})

    async def _read(self, until: datetime) -> Digest:
        digest = Digest(until - WEEK, until, self.policy())
        async for entry in self.audit.entries(until - HISTORY, until):
            digest.add(entry)
        return digest

    async def _send(self, digest: Digest, channel: str, week: str) -> None:
        try:
            await self.slack.post_message(
                channel, text=digest_text(digest), blocks=digest_blocks(digest), thread_ts=None
            )
        except SlackUnclearError as error:
            logger.error("digest.unclear", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
        except SlackError:
            await self.sent.give_back(week)
            raise
        else:
            logger.info("digest.sent", extra={"week": week})
