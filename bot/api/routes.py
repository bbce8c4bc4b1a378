"""What each address does."""

import asyncio
import logging
import re
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode
from agent_adapter.contract.hitl import HITLRequest, check_written
from agent_adapter.contract.interrupt import Interrupt, Source
from agent_adapter.contract.names import did_you_mean
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import Outcome
from agent_adapter.contract.record import decided
from agent_adapter.contract.trace import TRACEPARENT, TraceContext
from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.dialects import DIALECTS, FORMS, detect
from agent_adapter.errors import (
    ClaimLostError,
    ConsumedError,
    InvalidRequestError,
    UnknownDialectError,
    UnknownInterruptError,
)
from agent_adapter.redis.records import Record
from bot.api.agents import Agents
from bot.api.answers import ENDED, describe, events, known_by, wait_within
from bot.api.failures import MAX_BODY, STRANGERS, Handler, Rates, RefusedError, answer, as_failure
from bot.api.keys import ApiKey, KeyRing
from bot.api.messages import Ask, Claiming, Report, Resumed, read_as
from bot.http.application import read_body
from bot.runtime.offload import Received, offload
from bot.use_cases.agent_limits import Quota, TooMuch

logger = logging.getLogger(__name__)

MAX_WAIT = 60.0
"""Seconds of one long poll. Proxies cut a connection that is silent for much longer."""
ACKNOWLEDGING = timedelta(seconds=10)
"""Seconds for which an unclaimed interrupt is claimed while its end is noted."""
MAX_REASON = 500
DOCUMENT = "document"
"""The name of the only route that needs no key."""


@dataclass(frozen=True, slots=True)
class ApiSpace:
    """What the API has of the namespace."""

    ring: KeyRing
    agents: Agents
    quota: Quota


DESCRIPTION = Path(__file__).with_name("openapi.json").read_bytes()
"""The API for programs: OpenAPI 3.1."""
KEY = web.RequestKey("KEY", ApiKey)

_ID = re.compile(r"[a-z0-9-]{1,40}\.[0-9a-f]{32}")
_Model = TypeVar("_Model", bound=BaseModel)


def build_api(space: ApiSpace, rates: Rates) -> web.Application:
    """Make the application that serves `/v1`."""
    api = Api(space, rates)
    site = web.Application(middlewares=[as_failure, api.admit])
    site.add_routes(
        [
            web.get("/openapi.json", api.document, name=DOCUMENT, allow_head=False),
            web.post("/interrupts", api.ask),
            web.get("/interrupts/{id}", api.read, allow_head=False),
            web.delete("/interrupts/{id}", api.withdraw),
            web.get("/interrupts/{id}/events", api.follow, allow_head=False),
            web.post("/interrupts/{id}/claim", api.claim),
            web.post("/interrupts/{id}/resumed", api.resumed),
            web.post("/interrupts/{id}/outcome", api.report),
        ]
    )
    site.on_shutdown.append(api.end_waits)
    site.on_cleanup.append(api.close)
    return site


class Api:
    """Acts for the agent whose key a request carries."""

    def __init__(self, space: ApiSpace, rates: Rates) -> None:
        self._space = space
        self._rates = rates
        self._ended = asyncio.Event()

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in requests with a key. While no key exists, there is no API."""
        scheme, _, written = request.headers.get("Authorization", "").partition(" ")
        key = await self._space.ring.find(written.strip()) if scheme.lower() == "bearer" else None
        if key:
            request[KEY] = key
            self._rates.spend(key.id)
        else:
            await self._check_stranger(request)
        return await handler(request)

    async def _check_stranger(self, request: web.Request) -> None:
        if not await self._space.ring.exist():
            raise RefusedError(
                404, "off", "the HTTP API is off until there is a key: python -m bot keys create <agent>"
            )
        self._rates.spend(STRANGERS)
        if request.match_info.route.name != DOCUMENT:
            raise RefusedError(
                401,
                "unauthorized",
                "no valid key: send the header Authorization: Bearer ass_…, as python -m bot keys create gave it",
                WWW_Authenticate="Bearer",
            )

    async def document(self, _: web.Request) -> web.Response:
        """Describe all of this."""
        return web.Response(body=DESCRIPTION, content_type="application/json", charset="utf-8")

    async def ask(self, request: web.Request) -> web.Response:
        """Publish an interrupt. Sending the same one again changes nothing."""
        agent = await self._agent(request)
        body = await self._body(request, Ask)
        key = request[KEY]
        received = Received(agent.agent, request.content_length or MAX_BODY)
        body = _with_trace(_with_requester(body, key), request.headers.get(TRACEPARENT))
        interrupt = await offload(received, _interrupt, agent, body)
        requester = interrupt.context.requested_by
        if requester and key.vouches_for(requester):
            await self._space.ring.vouch(interrupt.id, requester)
        before = None
        with suppress(UnknownInterruptError):
            before = await agent.record(interrupt.id)
        if before is None:
            await _check_room(self._space.quota, interrupt)
        record = await agent.record(await agent.publish(interrupt))
        created = before is None or record.created_at >= before.read_at
        logger.info(
            "api.asked",
            extra={"interrupt_id": record.interrupt.id, "key": request[KEY].id, "again": not created},
        )
        return answer(
            describe(record).dump(),
            status=201 if created else 200,
            headers={"Location": f"/v1/interrupts/{record.interrupt.id}"},
        )

    async def read(self, request: web.Request) -> web.Response:
        """Give its state as soon as it has settled or the wait is over."""
        agent, interrupt_id = await self._addressed(request, "wait")
        if seconds := _seconds(request):
            with self._rates.waiting():
                await wait_within(agent.wait(interrupt_id), seconds, self._ended)
        return answer(describe(await agent.record(interrupt_id)).dump())

    async def follow(self, request: web.Request) -> web.StreamResponse:
        """Send each decision as an event."""
        agent, interrupt_id = await self._addressed(request)
        last = request.headers.get("Last-Event-ID", "")
        await agent.record(interrupt_id)
        if last == ENDED:
            # Only after this answer a browser's EventSource does not connect again.
            return web.Response(status=204)
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        with self._rates.waiting(), suppress(ConnectionError):
            await response.prepare(request)
            stream = events(agent, interrupt_id, known=known_by(last), ended=self._ended)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    await response.write(chunk)
        return response

    async def claim(self, request: web.Request) -> web.Response:
        """Take the right to resume the run, or renew it."""
        agent, interrupt_id = await self._addressed(request)
        body = await self._body(request, Claiming)
        _check_answered(await agent.record(interrupt_id))
        await agent.claim(interrupt_id, _owner(body.claim), timedelta(seconds=body.seconds))
        # What was read before may be another answer: Redis can have gone back.
        record = await agent.record(interrupt_id)
        _check_answered(record)
        return answer(describe(record).dump())

    async def resumed(self, request: web.Request) -> web.Response:
        """Note that the run went on. Final."""
        agent, interrupt_id = await self._addressed(request)
        body = await self._body(request, Resumed, empty=Resumed())
        _check_answered(await agent.record(interrupt_id))
        owner = _owner(body.claim or "")
        # A request may come again because its answer was lost, and find its work done. `finish` says who did it.
        with suppress(ConsumedError):
            await agent.claim(interrupt_id, owner, ACKNOWLEDGING)
        try:
            await agent.finish(interrupt_id, owner)
        except ClaimLostError as error:
            raise ConsumedError(
                f"{interrupt_id} was already answered and its run resumed under another claim"
            ) from error
        return answer(describe(await agent.record(interrupt_id)).dump())

    async def report(self, request: web.Request) -> web.Response:
        """Note what became of an approved call. The first outcome is kept."""
        agent, interrupt_id = await self._addressed(request)
        body = await self._body(request, Report)
        _check_answered(await agent.record(interrupt_id))
        outcome = Outcome(status=body.status, text=body.text)
        owner = _owner(body.claim) if body.claim else None
        await agent.report(interrupt_id, body.index, outcome, claim=owner, fenced=owner is not None)
        return answer(describe(await agent.record(interrupt_id)).dump())

    async def withdraw(self, request: web.Request) -> web.Response:
        """Ask the bot to end it."""
        agent, interrupt_id = await self._addressed(request, "reason")
        reason = request.query.get("reason", "")
        if len(reason) > MAX_REASON:
            raise InvalidRequestError(f"reason: {len(reason)} characters, at most {MAX_REASON}")
        await agent.withdraw(interrupt_id, reason)
        state = describe(await agent.record(interrupt_id))
        return answer(state.dump(), status=202 if state.status == "pending" else 200)

    async def end_waits(self, _: web.Application) -> None:
        """Answer all waiting requests with the current state."""
        self._ended.set()

    async def close(self, _: web.Application) -> None:
        """Close the clients of the agents."""
        await self._space.agents.close()

    async def _body(
        self, request: web.Request, model: type[_Model], *, empty: _Model | None = None
    ) -> _Model:
        raw = await read_body(request, most=MAX_BODY)
        if not raw and empty is not None:
            return empty
        if not raw:
            need = ", ".join(name for name, field in model.model_fields.items() if field.is_required())
            raise RefusedError(400, "malformed", f"body: it is empty: send a JSON object with {need}")
        try:
            value = decode(raw)
        except InvalidRequestError as error:
            raise RefusedError(400, "malformed", f"body: {error}") from error
        if isinstance(value, dict):
            # A pause keeps the text of its numbers. Our own fields become numbers that we can compute with.
            value = {name: child if name == "payload" else as_floats(child) for name, child in value.items()}
        return read_as(model, value)

    async def _agent(self, request: web.Request) -> ApprovalClient:
        return await self._space.agents.find(request[KEY].agent)

    async def _addressed(self, request: web.Request, *known: str) -> tuple[ApprovalClient, str]:
        agent, interrupt_id = await self._agent(request), request.match_info["id"]
        if not _ID.fullmatch(interrupt_id) or not interrupt_id.startswith(f"{agent.agent}."):
            raise UnknownInterruptError(
                f"agent {agent.agent} has no such interrupt: its ids are as POST gave them"
            )
        if unknown := [name for name in request.query if name not in known]:
            raise InvalidRequestError(f"{unknown[0]}: no such parameter{did_you_mean(unknown[0], known)}")
        return agent, interrupt_id


def _interrupt(agent: ApprovalClient, body: Ask) -> Interrupt:
    if (body.run is None) != (body.pause is None):
        raise InvalidRequestError("body: run and pause name a question together: send both, or neither")
    dialect = _dialect(body)
    asked = _request(body, dialect)
    interrupt = agent.interrupt(
        asked,
        run=body.run,
        pauses=[body.pause] * len(asked.action_requests) if body.pause else None,
        channel=body.channel,
        thread_ts=body.thread_ts,
        context=body.context,
        expires_in=timedelta(seconds=body.expires_in),
        on_expiry=body.on_expiry,
    )
    return interrupt.model_copy(update={"source": Source(dialect=dialect, payload=body.payload)})


def _request(body: Ask, dialect: str) -> HITLRequest:
    try:
        request = DIALECTS[dialect].to_request(body.payload)
        # Nobody can tell a pause that was typed from one of a framework. Who names the dialect says that it may be newer.
        if form := FORMS.get(dialect):
            check_written(form, body.payload, where="pause", newer=body.dialect is not None)
    except InvalidRequestError as error:
        # A dialect speaks of the pause, which a caller has sent as the payload.
        raise InvalidRequestError(re.sub(r"^pause\b", "body.payload", str(error))) from error
    return request


def _with_requester(body: Ask, key: ApiKey) -> Ask:
    """Fill in the person for whom the key acts."""
    if key.requester is None:
        return body
    if body.context.requested_by not in {None, key.requester}:
        raise RefusedError(
            403,
            "requester",
            f"this key acts for {key.requester}: leave context.requested_by out, or use a key for {body.context.requested_by}",
        )
    context = body.context.model_copy(update={"requested_by": key.requester})
    return body.model_copy(update={"context": context})


def _with_trace(body: Ask, traceparent: str | None) -> Ask:
    """Fill in where the caller stands in a trace. A wrong header is ignored, as the standard says."""
    if body.context.traceparent is not None or TraceContext.read({TRACEPARENT: traceparent}) is None:
        return body
    context = body.context.model_copy(update={"traceparent": traceparent})
    return body.model_copy(update={"context": context})


def _dialect(body: Ask) -> str:
    named = body.dialect
    if named is None:
        return detect(body.payload)
    if named not in DIALECTS:
        raise UnknownDialectError(f"body.dialect: {named!r} is none of {', '.join(DIALECTS)}")
    if not DIALECTS[named].recognises(body.payload):
        raise UnknownDialectError(
            f"body.payload: no pause of {named}: looked for {DIALECTS[named].LOOKED_FOR}"
        )
    return named


async def _check_room(quota: Quota, interrupt: Interrupt) -> None:
    """Refuse now what would be refused when the card is drawn."""
    too_much = await quota.take(interrupt.agent, size=len(dump_interrupt(interrupt).encode()))
    if isinstance(too_much, TooMuch):
        raise RefusedError(429, "limits", too_much.reason, Retry_After=str(too_much.retry_after))


def _seconds(request: web.Request) -> float:
    try:
        seconds = float(request.query.get("wait", "0"))
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= MAX_WAIT:
        raise InvalidRequestError(f"wait: seconds from 0 to {MAX_WAIT:.0f}")
    return seconds


def _check_answered(record: Record) -> None:
    resume = record.resume()
    if resume is None:
        raise RefusedError(409, "pending", f"{record.interrupt.id} is still being decided: wait for it first")
    decided(record.interrupt, resume)


def _owner(claim: str) -> str:
    return f"http:{claim}"
