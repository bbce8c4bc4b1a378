"""What Slack delivers, over HTTP and over Socket Mode. What is for another app or workspace is refused.

A click and a form go directly to what handles them. Bolt's middleware has nothing to do for them: who sent them is verified,
and whose app this is, is known.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.domain.errors import NotToldError, StoreUnavailableError
from bot.domain.ids import record_of
from bot.listeners.actions import Buttons
from bot.listeners.home import HomeTab
from bot.listeners.pressed import MalformedError, id_of, team_of_person
from bot.slack.client import Identity, SlackClient
from bot.slack.directory import Directory
from bot.slack.manifest import COMMAND, GROUP_CHANGED, HOME_OPENED, LEFT_CHANNEL

logger = logging.getLogger(__name__)
_ANYTHING = re.compile(r".*")


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Takes everything that Slack delivers."""

    bolt: AsyncApp
    slack: SlackClient
    directory: Directory
    buttons: Buttons

    async def take(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        """Handle one payload. Give the status, and what Slack is told beside it.

        Only status 200 acknowledges: with any other, Slack shows the person that the click failed.
        """
        kind = body.get("type", "command")
        if fault := why_foreign(body, self.slack.me):
            user = id_of(body, "user")
            logger.error("delivery.refused", extra={"type": str(kind), "user": user, "reason": fault})
            return 403, {"error": fault}
        if user := id_of(body, "user"):
            self.directory.came_from(user, team_of_person(body))
        try:
            match kind:
                case "block_actions":
                    await self.buttons.press(body)
                    return 200, None
                case "view_submission":
                    return 200, await self.buttons.submit(body) or None
                case "view_closed":
                    return 200, None
            return _answer(await self.bolt.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode")))
        except MalformedError as error:
            return 400, {"error": str(error)}
        except Exception as error:  # noqa: BLE001  # whatever it is, Slack shows the person that it failed
            log_failure(error)
            return 503, None


def _answer(of_bolt: BoltResponse) -> tuple[int, dict[str, Any] | None]:
    body = of_bolt.body or ""
    return of_bolt.status, orjson.loads(body) if body.startswith("{") else {"text": body} if body else None


def log_failure(error: Exception) -> None:
    """Log why a payload could not be handled."""
    if isinstance(error, NotToldError):
        logger.warning("click.not_told", extra={"reason": str(error)})
    elif not isinstance(error, StoreUnavailableError):
        logger.error("listener.failed", exc_info=error)


def why_foreign(body: Mapping[str, Any], me: Identity) -> str:
    """Say why a payload is not for this bot; empty when it is."""
    if not me.app_id:
        return "Slack has not said yet which app and workspace this bot serves"
    app = body.get("api_app_id")
    if app != me.app_id:
        return f"this bot serves the app {me.app_id}, not {app or 'one without an id'}"
    # An event in a shared channel can name the workspace of the other side. Events decide nothing.
    if body.get("type") == "event_callback":
        return ""
    named = id_of(body, "enterprise" if me.enterprise_id else "team")
    if named != me.home:
        kind = "organisation" if me.enterprise_id else "workspace"
        return f"this bot serves the {kind} {me.home}, not {named or 'one without an id'}"
    return ""


def bind(
    bolt: AsyncApp,
    home: HomeTab,
    directory: Directory,
    deleted: Callable[[str, str, str], Awaitable[None]],
) -> None:
    """Bind the listeners for the command and for events."""
    bolt.command(COMMAND)(home.command)

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
