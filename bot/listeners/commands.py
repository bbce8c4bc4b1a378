"""The slash command. It lists the standing approvals that this person may revoke."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond

from agent_adapter.errors import AgentAdapterError
from bot.domain.errors import DoneBeforeError, PersonUnknownError, SlackError
from bot.rendering.modal.standing import render_standing_list
from bot.runtime.tasks import Tasks
from bot.sentences import in_answer
from bot.slack.client import SlackClient
from bot.use_cases.standing import StandingApprovals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Commands:
    """Handles what people write after `/approvals`."""

    standing: StandingApprovals
    slack: SlackClient
    tasks: Tasks

    async def approvals(self, ack: AsyncAck, respond: AsyncRespond, command: Mapping[str, Any]) -> None:
        """Handle one slash command."""
        if (command.get("text") or "").strip().lower() != "rules":
            await ack(in_answer.USAGE)
            return
        await ack()
        self.tasks.start(self._list(respond, command["trigger_id"], command["user_id"]))

    async def _list(self, respond: AsyncRespond, trigger_id: str, user: str) -> None:
        try:
            given = await self.standing.revocable(user)
            await self.slack.open_view(trigger_id, render_standing_list(given))
        except DoneBeforeError as error:
            logger.info("standing.listed_before", extra={"user": user, "reason": str(error)})
        except (AgentAdapterError, PersonUnknownError, SlackError) as error:
            logger.warning("standing.not_listed", extra={"user": user, "reason": str(error)})
            await respond(in_answer.NOT_LISTED)
