"""The slash command: it lists what holds for later calls, for whoever may revoke it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond

from agent_adapter.errors import AgentAdapterError
from bot.errors import DoneBeforeError, PersonUnknownError, SlackError
from bot.grants import Grants
from bot.rendering.notices import NOT_LISTED
from bot.rendering.sticky import render_rules_view
from bot.slack_client import SlackClient
from bot.tasks import Tasks

logger = logging.getLogger(__name__)

USAGE = "`/approvals rules` lists the sticky approvals that you may revoke: calls that run without asking."


@dataclass(frozen=True, slots=True)
class Commands:
    """Handles what people write after `/approvals`."""

    grants: Grants
    slack: SlackClient
    tasks: Tasks

    async def approvals(self, ack: AsyncAck, respond: AsyncRespond, command: Mapping[str, Any]) -> None:
        """Handle one slash command."""
        if (command.get("text") or "").strip().lower() != "rules":
            await ack(USAGE)
            return
        await ack()
        self.tasks.start(self._list(respond, command["trigger_id"], command["user_id"]))

    async def _list(self, respond: AsyncRespond, trigger_id: str, user: str) -> None:
        try:
            given = await self.grants.revocable(user)
            await self.slack.open_view(trigger_id, render_rules_view(given))
        except DoneBeforeError as error:
            logger.info("rules.listed_before", extra={"user": user, "reason": str(error)})
        except (AgentAdapterError, PersonUnknownError, SlackError) as error:
            logger.warning("rules.not_listed", extra={"user": user, "reason": str(error)})
            await respond(NOT_LISTED)
