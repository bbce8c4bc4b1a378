"""The slash command: a person's lists, and the standing approvals that this person may revoke."""

import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond

from agent_adapter.errors import AgentAdapterError
from bot.domain.errors import DoneBeforeError, PersonUnknownError, SlackError
from bot.domain.home import Look
from bot.listeners.home import HomeTab
from bot.rendering.modal.forms import render_standing_list
from bot.runtime.tasks import Tasks
from bot.sentences import in_answer
from bot.slack.client import SlackClient
from bot.use_cases.standing import StandingApprovals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Commands:
    """Handles what people write after `/approvals`."""

    standing: StandingApprovals
    home: HomeTab
    slack: SlackClient
    tasks: Tasks

    async def approvals(self, ack: AsyncAck, respond: AsyncRespond, command: Mapping[str, Any]) -> None:
        """Handle one slash command."""
        trigger_id, user = command.get("trigger_id", ""), command["user_id"]
        opening = self._opening(respond, trigger_id, user, (command.get("text") or "").lower().split())
        if opening is None:
            await ack(in_answer.USAGE)
            return
        await ack()
        self.tasks.start(opening)

    def _opening(
        self, respond: AsyncRespond, trigger_id: str, user: str, words: list[str]
    ) -> Coroutine[Any, Any, None] | None:
        """Give what opens a view; `None` for words that nothing is behind."""
        match words:
            case []:
                return self._lists(respond, trigger_id, user, Look())
            case ["mine"]:
                return self._lists(respond, trigger_id, user, Look("asked"))
            case ["rules"]:
                return self._list(respond, trigger_id, user)
        return None

    async def _lists(self, respond: AsyncRespond, trigger_id: str, user: str, look: Look) -> None:
        try:
            await self.home.open(user, trigger_id, look)
        except DoneBeforeError as error:
            logger.info("home.opened_before", extra={"user": user, "reason": str(error)})
        except SlackError as error:
            logger.warning("home.not_opened", extra={"user": user, "reason": str(error)})
            await respond(in_answer.LIST_NOT_OPENED)

    async def _list(self, respond: AsyncRespond, trigger_id: str, user: str) -> None:
        try:
            given = await self.standing.revocable(user)
            await self.slack.open_view(trigger_id, render_standing_list(given))
        except DoneBeforeError as error:
            logger.info("standing.listed_before", extra={"user": user, "reason": str(error)})
        except (AgentAdapterError, PersonUnknownError, SlackError) as error:
            logger.warning("standing.not_listed", extra={"user": user, "reason": str(error)})
            await respond(in_answer.NOT_LISTED)
