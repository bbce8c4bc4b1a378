"""`response_url`: five answers within half an hour, where a person acted."""

import json
from typing import Any

from aiohttp import web

from playground.errors import SlackError
from playground.interactions import Interactions
from playground.journal import Journal
from playground.limits import check_message
from playground.state import State
from playground.tickets import ResponseUrl
from playground.web_api import cut_off, held_up, prevented

_TAKES = {
    "text",
    "blocks",
    "response_type",
    "replace_original",
    "delete_original",
    "thread_ts",
    "unfurl_links",
    "unfurl_media",
}


class ResponseUrls:
    """Serves `/response/<key>`."""

    def __init__(self, state: State, interactions: Interactions, journal: Journal) -> None:
        self._state = state
        self._interactions = interactions
        self._journal = journal

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one post to a `response_url`."""
        faults = self._state.faults.take("response_url")
        await held_up(faults)
        reply = prevented(faults)
        answer = reply.to_response() if reply else await self._reply(request)
        cut_off(faults, request)
        return answer

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        said: dict[str, Any] = {}
        try:
            said = await _read(request)
            self._answer(self._state.tickets.use(request.match_info["key"]), said)
        except SlackError as error:
            status = 404 if error.code in ("used_url", "expired_url") else 400
            self._journal.add_call("response_url", said, status, ok=False, error=error.code)
            return web.json_response(error.answer(), status=status)
        self._journal.add_call("response_url", said, 200, ok=True)
        return web.Response(text="ok")

    def _answer(self, ticket: ResponseUrl, said: dict[str, Any]) -> None:
        message = ticket.message
        if said.get("delete_original") is True and message:
            self._state.delete(message)
        elif said.get("replace_original") is True and message:
            check_message(said.get("text"), said.get("blocks"))
            self._state.edit(message, said.get("text"), said.get("blocks"))
        else:
            thread_ts = message.thread_ts if message else None
            self._interactions.say(ticket.user, ticket.channel, said, thread_ts)


async def _read(request: web.Request) -> dict[str, Any]:
    try:
        said = json.loads(await request.text())
    except ValueError as error:
        raise SlackError("invalid_payload") from error
    if not isinstance(said, dict) or not set(said) <= _TAKES:
        raise SlackError("invalid_payload")
    if said.get("response_type", "ephemeral") not in ("ephemeral", "in_channel"):
        raise SlackError("invalid_payload")
    return said
