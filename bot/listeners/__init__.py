"""The listeners for what Slack sends. The table of `table` says what each button and form does."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bot.domain.ids import record_of
from bot.listeners.commands import Commands
from bot.listeners.deliveries import log_failure
from bot.listeners.home import HomeTab
from bot.slack.directory import Directory
from bot.slack.manifest import COMMAND, GROUP_CHANGED, HOME_OPENED, LEFT_CHANNEL

_ANYTHING = re.compile(r".*")


def bind(
    bolt: AsyncApp,
    commands: Commands,
    home: HomeTab,
    directory: Directory,
    deleted: Callable[[str, str, str], Awaitable[None]],
) -> None:
    """Bind the listeners for the command and for events."""
    bolt.command(COMMAND)(commands.approvals)

    @bolt.event(HOME_OPENED)
    async def home_opened(event: Mapping[str, Any]) -> None:
        await home.opened(event)

    @bolt.event(GROUP_CHANGED)
    async def group_changed(event: Mapping[str, Any]) -> None:
        directory.forget("group", event["subteam_id"])

    @bolt.event(LEFT_CHANNEL)
    async def member_left(event: Mapping[str, Any]) -> None:
        directory.forget("channel", event["channel"])

    @bolt.event({"type": "message", "subtype": "message_deleted"})
    async def message_deleted(event: Mapping[str, Any]) -> None:
        if interrupt_id := record_of(event.get("previous_message") or {}):
            await deleted(event["channel"], event["deleted_ts"], interrupt_id)

    @bolt.event(_ANYTHING)
    async def other_event() -> None:
        """Slack also sends events that the app subscribes to and that we do not use."""

    @bolt.error
    async def not_handled(error: Exception) -> BoltResponse:
        log_failure(error)
        return BoltResponse(status=503)
