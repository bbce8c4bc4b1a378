"""The Home tab, the same lists in a view, and the slash command that opens them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond

from agent_adapter.errors import AgentAdapterError
from bot.domain.errors import DoneBeforeError, PersonUnknownError, SlackError
from bot.domain.ids import parse_action_id
from bot.domain.waiting import HomePage, Look
from bot.rendering.home import GO, load_look, render_home, render_home_notice, render_list
from bot.rendering.modal.view import render_notice_view
from bot.runtime.offload import Tasks
from bot.sentences import in_answer, in_home
from bot.slack.client import SlackClient
from bot.use_cases.home import Home

logger = logging.getLogger(__name__)
_LISTS = {"": Look(), "mine": Look("asked"), "rules": Look("standing")}
"""What people write after `/approvals`."""


@dataclass(frozen=True, slots=True)
class HomeTab:
    """Shows people their lists."""

    home: Home
    slack: SlackClient
    tasks: Tasks

    async def opened(self, event: Mapping[str, Any]) -> None:
        """Handle `app_home_opened`."""
        if event.get("tab") == "home":
            self.tasks.start(self._open(event["user"], Look()))

    async def command(self, ack: AsyncAck, respond: AsyncRespond, command: Mapping[str, Any]) -> None:
        """Handle what people write after `/approvals`."""
        trigger_id, user = command.get("trigger_id", ""), command["user_id"]
        said = (command.get("text") or "").lower().strip()
        if said not in _LISTS:
            await ack(in_answer.USAGE)
            return
        await ack()
        self.tasks.start(self._open_list(respond, trigger_id, user, _LISTS[said]))

    async def _open_list(self, respond: AsyncRespond, trigger_id: str, user: str, look: Look) -> None:
        # Slack waits three seconds for a view, and to look may take longer.
        waiting = render_notice_view(in_home.TITLE, in_home.LOOKING)
        try:
            await self._update(user, look, await self.slack.open_view(trigger_id, waiting))
        except DoneBeforeError as error:
            logger.info("home.opened_before", extra={"user": user, "reason": str(error)})
        except SlackError as error:
            logger.warning("home.not_opened", extra={"user": user, "reason": str(error)})
            await respond(in_answer.LIST_NOT_OPENED)

    def press(self, body: Mapping[str, Any]) -> None:
        """Handle a click on a way to another list or page, or on a link."""
        view, user, pressed = body["view"], body["user"]["id"], body["actions"][0]
        # Slack opens a link itself.
        if parse_action_id(pressed["action_id"])[1].partition(".")[0] != GO:
            return
        look = load_look(pressed.get("value", ""))
        acting = self._open(user, look) if view["type"] == "home" else self._update(user, look, view["id"])
        self.tasks.start(acting)

    def refresh_list(self, user: str, look: str, view_id: str) -> None:
        """Write a list in a view again, as somebody looked at it."""
        self.tasks.start(self._update(user, load_look(look), view_id))

    async def _open(self, user: str, look: Look) -> None:
        page = await self._page(user, look)
        notice = render_home_notice(in_home.NOT_NOW)
        view = render_home(page, url=self.slack.me.url) if page else notice
        try:
            await self.slack.publish_home(user, view)
        except SlackError as error:
            logger.warning("home.not_written", extra={"user": user, "reason": str(error)})

    async def _update(self, user: str, look: Look, view_id: str) -> None:
        page, not_now = await self._page(user, look), render_notice_view(in_home.TITLE, in_home.NOT_NOW)
        view = render_list(page, url=self.slack.me.url) if page else not_now
        try:
            await self.slack.update_view(view_id, None, view)
        except SlackError as error:
            logger.warning("home.not_written", extra={"user": user, "reason": str(error)})

    async def _page(self, user: str, look: Look) -> HomePage | None:
        try:
            return await self.home.page(user, look)
        except (AgentAdapterError, PersonUnknownError, SlackError) as error:
            logger.warning("home.not_read", extra={"user": user, "reason": str(error)})
            return None
