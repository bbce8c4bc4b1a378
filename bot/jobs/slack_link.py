"""The connection to Slack: opened, watched, and repaired by itself."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_adapter.loops import Loop
from bot.domain.errors import SettingsError, SlackError
from bot.jobs.policy_watch import CHECK_WITHIN, PolicyKeeper
from bot.runtime.bot_keys import BotKeys
from bot.runtime.health import Health
from bot.slack.client import SlackClient
from bot.slack.socket_mode import Sockets

logger = logging.getLogger(__name__)

SIGNING = "signing"
"""The name of the warning when the ring no longer accepts the bot's key."""
LOOK_EVERY, PROBE_EVERY = 0.5, 5.0
"""Seconds between two looks at the connections, and between two questions to Slack while everything works.

Three questions fit into the time after which a bot counts as away. Silence approves only while Slack answers.
"""
ASK_AGAIN_AT_MOST = 30.0
"""Seconds between questions to Slack while something is wrong."""


@dataclass
class SlackLink:
    """Notes in `health` whether calls and clicks work, and why not."""

    slack: SlackClient
    health: Health
    policies: PolicyKeeper
    sockets: Sockets | None
    """`None` in HTTP mode."""
    recovered: Callable[[], None]
    """Called whenever Slack works, so that waiting work continues."""
    bot_keys: BotKeys | None = None
    _policy_checked: bool = field(default=False, init=False)

    async def keep(self, loop: Loop) -> None:
        """Keep the connection until cancelled.

        Raises:
            SettingsError: when nobody is left who can decide, or the signing key is for another workspace.
        """
        delay = LOOK_EVERY
        while True:
            loop.beat(within=CHECK_WITHIN)
            reason = await self._what_is_wrong()
            if reason is None:
                self.health.recover("slack")
                self.recovered()
            else:
                if self.health.slack_fault != reason:
                    logger.warning("slack.unavailable", extra={"reason": reason})
                self.health.fault("slack", reason)
            if await self._fails_soon(loop):
                # Several bots should not all ask at the same moment.
                await asyncio.sleep(delay * random.uniform(0.7, 1.0))  # noqa: S311  # no secret
                # A connection that passes the check and fails in use is tried less and less often.
                delay = min(delay * 2, ASK_AGAIN_AT_MOST)
            else:
                delay = LOOK_EVERY

    async def _what_is_wrong(self) -> str | None:
        try:
            me = await self.slack.who_am_i()
        except SlackError as error:
            return str(error)
        if self.bot_keys:
            self._look_at_keys(self.bot_keys, me.team_id)
        missing = set(self.policies.scopes) - me.scopes
        if me.scopes and missing:
            scopes = ", ".join(sorted(missing))
            return f"the app lacks the scope {scopes}: add it under OAuth & Permissions, and install the app again"
        if not self._policy_checked:
            self._policy_checked = await self._check_policy()
        return await self.sockets.connect() if self.sockets else None

    def _look_at_keys(self, keys: BotKeys, team: str) -> None:
        if problem := keys.wrong_team(team):
            raise SettingsError(problem)
        # The ring may have changed since the start, or the time of the key has ended. Clicks are refused then.
        problem = keys.problem
        self.health.signed = not problem
        if problem and self.health.warnings.get(SIGNING) != problem:
            logger.error("receipts.key_ended", extra={"reason": problem})
        self.health.warn(SIGNING, problem)

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
