"""The listeners for what Slack sends. The table of `table` says what each button and form does."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.response import BoltResponse

from bot.domain.ids import record_of
from bot.listeners.actions import Buttons
from bot.listeners.bolt_app import BoltApp, failed
from bot.listeners.commands import Commands
from bot.listeners.home import HomeTab
from bot.listeners.views import Forms
from bot.slack.directory import Directory
from bot.slack.manifest import COMMAND, GROUP_CHANGED, HOME_OPENED, LEFT_CHANNEL

_ANYTHING = re.compile(r".*")


def bind(
    app: BoltApp,
    buttons: Buttons,
    forms: Forms,
    commands: Commands,
    home: HomeTab,
    directory: Directory,
    deleted: Callable[[str, str, str], Awaitable[None]],
) -> None:
    """Bind all listeners."""
    app.direct = {"block_actions": buttons.press, "view_submission": forms.submit, "view_closed": _nothing}
    app.command(COMMAND)(commands.approvals)

    @app.event(HOME_OPENED)
    async def home_opened(event: Mapping[str, Any]) -> None:
        await home.opened(event)

    @app.event(GROUP_CHANGED)
    async def group_changed(event: Mapping[str, Any]) -> None:
        directory.forget("group", event["subteam_id"])

    @app.event(LEFT_CHANNEL)
    async def member_left(event: Mapping[str, Any]) -> None:
        directory.forget("channel", event["channel"])

    @app.event({"type": "message", "subtype": "message_deleted"})
    async def message_deleted(event: Mapping[str, Any]) -> None:
        if interrupt_id := record_of(event.get("previous_message") or {}):
            await deleted(event["channel"], event["deleted_ts"], interrupt_id)

    @app.event(_ANYTHING)
    async def other_event() -> None:
        """Slack also sends events that the app subscribes to and that we do not use."""

    @app.error
    async def not_handled(error: Exception) -> BoltResponse:
        return failed(error)


async def _nothing(ack: AsyncAck, _: Mapping[str, Any]) -> None:
    await ack()
