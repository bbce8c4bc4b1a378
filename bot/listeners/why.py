"""*Why was this approved?*, on a message and for a request: it opens a view that only the person who asks sees."""

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.errors import AgentAdapterError
from bot.domain.errors import DoneBeforeError, PersonUnknownError, SlackError
from bot.rendering.blocks import Block
from bot.rendering.modal.view import render_notice_view
from bot.rendering.modal.why import render_why_view
from bot.runtime.tasks import Tasks
from bot.sentences import in_why
from bot.slack.client import SlackClient
from bot.use_cases.why import Reasons, Why

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WhyShortcut:
    """Handles the shortcut on any message, and shows requests by their id."""

    reasons: Reasons
    slack: SlackClient
    tasks: Tasks

    async def ask(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `message_action` payload."""
        await ack()
        message, user = body.get("message") or {}, body["user"]["id"]
        thread_ts, ts = message.get("thread_ts"), str(body.get("message_ts") or message.get("ts") or "")
        find = partial(
            self.reasons.find, user, body["channel"]["id"], ts, thread_ts if thread_ts != ts else None
        )
        self.tasks.start(self._show(user, body["trigger_id"], find, self.slack.open_view))

    async def show(self, user: str, trigger_id: str, interrupt_id: str, *, above: bool = False) -> None:
        """Show the request of this id; above the view in which the person clicked, if there is one."""
        find = partial(self.reasons.of, user, interrupt_id)
        await self._show(user, trigger_id, find, self.slack.push_view if above else self.slack.open_view)

    async def _show(
        self,
        user: str,
        trigger_id: str,
        find: Callable[[], Coroutine[Any, Any, Why | str]],
        open_view: Callable[[str, Block], Coroutine[Any, Any, str]],
    ) -> None:
        try:
            # Slack waits three seconds for a view, and the record may take longer.
            view_id = await open_view(trigger_id, _saying(in_why.LOOKING))
            await self.slack.update_view(view_id, None, await self._view(user, find))
        except DoneBeforeError as error:
            logger.info("why.opened_before", extra={"user": user, "reason": str(error)})
        except SlackError as error:
            logger.warning("why.not_shown", extra={"user": user, "reason": str(error)})

    async def _view(self, user: str, find: Callable[[], Coroutine[Any, Any, Why | str]]) -> Block:
        try:
            found = await find()
        except (AgentAdapterError, PersonUnknownError) as error:
            logger.warning("why.not_found", extra={"user": user, "reason": str(error)})
            return _saying(in_why.NOT_FOUND_NOW)
        if isinstance(found, str):
            return _saying(found)
        names = await self.reasons.names_now(found.entries)
        return render_why_view(
            found.interrupt_id, found.state, found.indices, found.entries, found.channels, names
        )


def _saying(sentence: str) -> Block:
    return render_notice_view(in_why.VIEW_TITLE, sentence)
