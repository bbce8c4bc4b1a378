"""The connection to Slack: made, watched, and mended by itself."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_adapter.loops import Loop
from bot.errors import SlackError
from bot.health import Health
from bot.policy_keeper import CHECK_WITHIN, PolicyKeeper
from bot.slack_client import SlackClient
from bot.sockets import STANDBY, Sockets

logger = logging.getLogger(__name__)

CLICKS = "clicks"
"""Names the fault of a bot that draws and that no click reaches."""
LOOK_EVERY, PROBE_EVERY = 0.5, 5.0
"""Seconds between looks at what is known here, and between questions to Slack while all is well.

Three questions fit into the time after which a bot counts as away: silence approves only what Slack answered all along.
"""
ASK_AGAIN_AT_MOST = 30.0
"""Seconds between questions to Slack while something is wrong."""


@dataclass
class SlackLink:
    """Tells `health` whether calls and clicks go through, and why not."""

    slack: SlackClient
    health: Health
    policies: PolicyKeeper
    sockets: Sockets | None
    """`None` in HTTP mode."""
    mended: Callable[[], None]
    """Called whenever Slack works, so that what waited for it goes on."""
    _policy_checked: bool = field(default=False, init=False)

    async def keep(self, loop: Loop) -> None:
        """Keep the connection until cancelled.

        Raises:
            SettingsError: when Slack does not know whom or what the policy names.
        """
        delay = LOOK_EVERY
        while True:
            loop.beat(within=CHECK_WITHIN)
            reason = await self._what_is_wrong()
            if reason is None:
                self.health.mend("slack")
                self.mended()
            else:
                if self.health.slack_fault != reason:
                    logger.warning("slack.unavailable", extra={"reason": reason})
                self.health.fault("slack", reason)
            if await self._fails_soon(loop):
                # Several that stand by do not ask at the same moment.
                await asyncio.sleep(delay * random.uniform(0.7, 1.0))  # noqa: S311  # no secret
                # What passes our questions and fails in use is tried ever less often.
                delay = min(delay * 2, ASK_AGAIN_AT_MOST)
            else:
                delay = LOOK_EVERY

    async def _what_is_wrong(self) -> str | None:
        try:
            me = await self.slack.who_am_i()
        except SlackError as error:
            return str(error)
        missing = set(self.policies.scopes) - me.scopes
        if me.scopes and missing:
            scopes = ", ".join(sorted(missing))
            return f"the app lacks the scope {scopes}: add it under OAuth & Permissions, and install the app again"
        if not self._policy_checked:
            self._policy_checked = await self._check_policy()
        return await self._listen() if self.sockets else None

    async def _listen(self) -> str | None:
        """Connect for clicks. Where other bots take them, this one draws all the same."""
        assert self.sockets is not None
        reason = await self.sockets.connect()
        is_standby = reason == STANDBY
        if is_standby != (CLICKS in self.health.faults):
            logger.warning("socket.standby" if is_standby else "socket.took_over", extra={"reason": reason})
        if is_standby:
            self.health.fault(CLICKS, STANDBY)
            return None
        self.health.mend(CLICKS)
        return reason

    async def _fails_soon(self, loop: Loop) -> bool:
        """Wait for a fault, until it is time to ask Slack again."""
        for _ in range(int(PROBE_EVERY / LOOK_EVERY)):
            loop.beat(within=PROBE_EVERY)
            if self.health.slack_fault or (self.sockets and not await self.sockets.is_connected()):
                return True
            await asyncio.sleep(LOOK_EVERY)
        return False

    async def _check_policy(self) -> bool:
        try:
            await self.policies.check(self.slack)
        except SlackError:
            return False
        return True
