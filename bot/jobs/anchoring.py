"""Anchors the logs from time to time, at each target once, also with several replicas and after a restart."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from agent_adapter.loops import Loop
from bot.domain.errors import BotError
from bot.jobs.anchor_targets import WITHIN, Sender
from bot.runtime.health import Health
from bot.tlog.anchors import Anchor, Target, is_due, mark_of
from bot.tlog.storage import Storage

logger = logging.getLogger(__name__)

EVERY = 300.0
"""Seconds between two looks."""
WARNING = "anchor"


@dataclass
class Anchoring:
    """Sends the checkpoints of all logs to each target.

    A file beside the logs says when a target last got an anchor. It is written first, and taken back when the target did
    not take the anchor. When the process dies meanwhile, the next anchor covers what this one would have.
    """

    gather: Callable[[], Anchor | None]
    """Reads the checkpoints. It blocks."""
    marks: Storage
    targets: Sequence[Target]
    sender: Sender
    health: Health
    every: timedelta
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    of: str = ""
    """What the names of its warnings end with, where a bot serves two namespaces."""

    async def run(self, loop: Loop) -> None:
        """Look from time to time whether an anchor is due, until cancelled."""
        while True:
            loop.beat(within=EVERY + len(self.targets) * (WITHIN + 10.0))
            await self.send_if_due()
            await asyncio.sleep(EVERY)

    async def send_if_due(self) -> None:
        """Send an anchor to each target that got none for a while."""
        problems = []
        for number, target in enumerate(self.targets, 1):
            try:
                await self._send_if_due(target)
            except (BotError, OSError, ValueError) as error:
                problems.append(f"target {number} of ASSENT_ANCHOR ({target.kind}) did not get one: {error}")
                logger.warning(
                    "anchor.not_sent", extra={"target": number, "kind": target.kind, "reason": str(error)}
                )
        if problems:
            self.health.warnings[WARNING + self.of] = "; ".join(problems)
        else:
            self.health.warnings.pop(WARNING + self.of, None)

    async def _send_if_due(self, target: Target) -> None:
        before, now = await asyncio.to_thread(self.marks.read, target.mark), self.now()
        if not is_due(before, now, self.every):
            return
        anchor = await asyncio.to_thread(self.gather)
        after = mark_of(now)
        if anchor is None or not await asyncio.to_thread(self.marks.swap, target.mark, before, after):
            return
        try:
            await self.sender.send(target, anchor, now)
        except Exception:
            await asyncio.to_thread(self.marks.swap, target.mark, after, before or b"")
            raise
        logger.info("anchor.sent", extra={"kind": target.kind, "entries": anchor.entries})
