"""The Web API's door: token, scopes, faults and rate limits before a method runs."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from playground.errors import SlackError
from playground.faults import Fault
from playground.journal import Journal
from playground.limits import invalid_arguments
from playground.state import Credentials, State
from playground.workspace import TEAM

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method, its arguments merged from wherever the SDK puts them."""

    state: State
    base_url: str
    arguments: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A required argument that is text.

        Raises:
            SlackError: `invalid_arguments`.
        """
        value = self.arguments.get(name)
        if not isinstance(value, str) or not value:
            raise invalid_arguments(f"missing required field: {name} [json-pointer:/{name}]")
        return value

    def optional_text(self, name: str) -> str | None:
        """An argument that is text, if it is there."""
        return self.text(name) if self.arguments.get(name) not in (None, "") else None

    def flag(self, name: str) -> bool:
        """A boolean, which the SDK sends as `1`/`0` in forms and queries."""
        value = self.arguments.get(name, False)
        if value in (True, False, "1", "0", "true", "false"):
            return value in (True, "1", "true")
        raise invalid_arguments(f"must provide a boolean [json-pointer:/{name}]")

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 1.

        Raises:
            SlackError: `invalid_limit`.
        """
        value = str(self.arguments.get(name, default))
        if not value.isdecimal() or not 1 <= int(value) <= most:
            raise SlackError("invalid_limit")
        return int(value)

    def json(self, name: str) -> Any:
        """A structured argument: JSON already, or JSON in a string.

        Raises:
            SlackError: `invalid_arguments`: the string holds no JSON.
        """
        value = self.arguments.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError as error:
            raise invalid_arguments(f"must be valid JSON [json-pointer:/{name}]") from error


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the Web API."""

    run: Callable[[Call], Answer]
    takes: frozenset[str]
    """Any other argument is refused: Slack would ignore it, and a misspelling with it."""
    tier: str
    scopes: tuple[str, ...] = ()
    """One of these is needed."""
    json_body: bool = True
    """Slack reads only forms and queries for the methods that read."""
    app_level: bool = False


METHODS: dict[str, Method] = {}


def method(
    name: str, takes: str, tier: str, *scopes: str, json_body: bool = True, app_level: bool = False
) -> Callable[[Callable[[Call], Answer]], Callable[[Call], Answer]]:
    """Serve a method: its arguments, its tier, its scopes."""

    def register(run: Callable[[Call], Answer]) -> Callable[[Call], Answer]:
        METHODS[name] = Method(run, frozenset(takes.split()), tier, scopes, json_body, app_level)
        return run

    return register


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back over HTTP."""

    body: Answer
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_response(self) -> web.Response:
        if self.status >= 500:
            # Slack's edge answers these, without JSON.
            return web.Response(status=self.status, text="upstream error", headers=self.headers)
        return web.json_response(self.body, status=self.status, headers=self.headers)


class WebApi:
    """Serves `/api/<method>`."""

    def __init__(self, state: State, credentials: Credentials, journal: Journal) -> None:
        self._state = state
        self._credentials = credentials
        self._journal = journal

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, as Slack would, unless a fault is switched on for it."""
        name = request.match_info["method"]
        try:
            arguments, token, is_json = await _read(request)
        except SlackError as error:
            return Reply(error.answer()).to_response()
        faults = self._state.faults.take(name)
        await held_up(faults)
        reply = prevented(faults) or self._reply(
            name, arguments, token, str(request.url.origin()), is_json=is_json
        )
        self._journal.add_call(
            name, arguments, reply.status, ok=reply.body["ok"], error=reply.body.get("error")
        )
        cut_off(faults, request)
        return reply.to_response()

    def _reply(self, name: str, arguments: Answer, token: str | None, origin: str, *, is_json: bool) -> Reply:
        headers = {"x-oauth-scopes": ",".join(self._state.grant.scopes)}
        try:
            called = METHODS.get(name)
            if called is None:
                raise SlackError("unknown_method", req_method=name)  # noqa: TRY301 - one way out for refusals
            self._authenticate(called, token)
            if wait := self._state.rate_limits.take(name, called.tier, str(arguments.get("channel"))):
                return Reply(
                    {"ok": False, "error": "ratelimited"}, 429, {**headers, "Retry-After": str(wait)}
                )
            self._state.grant.require(*called.scopes)
            call = Call(self._state, origin, {} if is_json and not called.json_body else arguments)
            _refuse_unknown(called, call.arguments)
            return Reply({"ok": True, **called.run(call)}, headers=headers)
        except SlackError as error:
            return Reply(error.answer(), headers=headers)

    def _authenticate(self, called: Method, token: str | None) -> None:
        known = {self._credentials.bot_token: False, self._credentials.app_token: True}
        if not token:
            raise SlackError("not_authed")
        if token not in known:
            raise SlackError("invalid_auth")
        if known[token] != called.app_level:
            raise SlackError("not_allowed_token_type")
        if self._state.grant.revoked and not called.app_level:
            raise SlackError("token_revoked")


async def held_up(faults: Sequence[Fault]) -> None:
    """Wait as long as faults say."""
    for fault in faults:
        if fault.kind in ("delay", "timeout"):
            await asyncio.sleep(fault.seconds)


def cut_off(faults: Sequence[Fault], request: web.Request) -> None:
    """Close the connection without an answer, if a fault says so."""
    dropped = any(fault.kind in ("accept_then_drop", "drop", "timeout") for fault in faults)
    if dropped and request.transport:
        request.transport.abort()


def prevented(faults: Sequence[Fault]) -> Reply | None:
    """The answer that a fault gives in the method's place, if one does."""
    for fault in faults:
        if fault.kind == "error":
            return Reply({"ok": False, "error": fault.error})
        if fault.kind == "status":
            return Reply({"ok": False, "error": f"status {fault.status}"}, fault.status)
        if fault.kind == "ratelimited":
            wait = str(max(1, math.ceil(fault.seconds)))
            return Reply({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": wait})
        if fault.kind in ("drop", "timeout"):
            return Reply({"ok": False, "error": "dropped"})
    return None


_ANYWHERE = {"team_id"}
"""Bolt's client of one request adds it to every call."""


def _refuse_unknown(called: Method, arguments: Mapping[str, Any]) -> None:
    if unknown := sorted(set(arguments) - called.takes - _ANYWHERE):
        raise invalid_arguments(
            *(f"invalid additional property: {name} [json-pointer:/]" for name in unknown)
        )
    if arguments.get("team_id", TEAM["id"]) != TEAM["id"]:
        raise SlackError("team_access_not_granted")


async def _read(request: web.Request) -> tuple[dict[str, Any], str | None, bool]:
    """Merge body and query. Give the token separately, and whether the body was JSON."""
    arguments: dict[str, Any] = dict(request.query)
    is_json = request.content_type == "application/json"
    if is_json:
        arguments |= await _json_body(request)
    elif request.can_read_body:
        form = await request.post()
        arguments |= {key: value for key, value in form.items() if isinstance(value, str)}
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    given = arguments.pop("token", None)
    return arguments, token.strip() if scheme == "Bearer" else given, is_json


async def _json_body(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.text() or "{}")
    except ValueError as error:
        raise SlackError("invalid_json") from error
    if not isinstance(body, dict):
        raise SlackError("json_not_object")
    return body
