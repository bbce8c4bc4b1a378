"""Bolt's app, which receives everything from Slack over HTTP and Socket Mode. Payloads for another app are refused.

A click and a form go directly to what handles them. Bolt's middleware has nothing to do for them: who sent them is verified,
and whose app this is, is known.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.domain.errors import NotToldError, StoreUnavailableError
from bot.listeners.payloads import Origin, malformed, parse_origin
from bot.slack.client import Identity, SlackClient
from bot.slack.directory import Directory

logger = logging.getLogger(__name__)

Handle: TypeAlias = Callable[[AsyncAck, Mapping[str, Any]], Awaitable[None]]
"""Handles one payload, and acknowledges it."""


class BoltApp(AsyncApp):
    """Bolt's app. It first checks the app and the workspace that each payload names."""

    def __init__(self, slack: SlackClient, directory: Directory, **bolt: Any) -> None:
        # Without a name, Bolt looks through the stack of calls for one.
        super().__init__(name="assent", **bolt)
        self._slack = slack
        self._directory = directory
        self.direct: dict[str, Handle] = {}
        """What handles payloads of a type without Bolt."""

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        """Hand a payload to its listener. A refused click is not acknowledged, so Slack shows the person that it failed."""
        kind, origin = str(req.body.get("type", "command")), parse_origin(req.body)
        if fault := foreign(origin, self._slack.me, is_event=kind == "event_callback"):
            logger.error("delivery.refused", extra={"type": kind, "user": origin.user, "reason": fault})
            return BoltResponse(status=403, body=json.dumps({"error": fault}))
        if fault := malformed(req.body):
            return BoltResponse(status=400, body=json.dumps({"error": fault}))
        if origin.user:
            self._directory.came_from(origin.user, origin.user_team)
        handle = self.direct.get(kind)
        if handle is None:
            return await super().async_dispatch(req)
        ack = AsyncAck()  # type: ignore[no-untyped-call]  # Bolt does not type it
        try:
            await handle(ack, req.body)
        except Exception as error:  # noqa: BLE001  # whatever it is, Slack shows the person that it failed
            return failed(error)
        return ack.response or BoltResponse(status=404)


def failed(error: Exception) -> BoltResponse:
    """Answer a payload that could not be handled. Only status 200 acknowledges: Slack shows the person that the click failed."""
    if isinstance(error, NotToldError):
        logger.warning("click.not_told", extra={"reason": str(error)})
    elif not isinstance(error, StoreUnavailableError):
        logger.error("listener.failed", exc_info=error)
    return BoltResponse(status=503)


def foreign(origin: Origin, me: Identity, *, is_event: bool) -> str:
    """Say why a payload is not for this bot; empty when it is."""
    if not me.app_id:
        return "Slack has not said yet which app and workspace this bot serves"
    if origin.app != me.app_id:
        return f"this bot serves the app {me.app_id}, not {origin.app or 'one without an id'}"
    # An event in a shared channel can name the workspace of the other side. Events decide nothing.
    if is_event:
        return ""
    named = origin.organisation if me.enterprise_id else origin.team
    if named != me.home:
        kind = "organisation" if me.enterprise_id else "workspace"
        return f"this bot serves the {kind} {me.home}, not {named or 'one without an id'}"
    return ""
