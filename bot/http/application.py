"""The one aiohttp application: Slack's route, the HTTP API, health, metrics. A body has limits for its size and its time."""

import asyncio
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any, TypeAlias

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CollectorRegistry
from yarl import URL

from bot.runtime.health import Health
from bot.runtime.metrics import written

SIGNED_WITHIN = 300
"""Seconds for which a signature is valid, as Slack's documentation says."""

Deliver: TypeAlias = Callable[[dict[str, Any]], Awaitable[tuple[int, dict[str, Any] | None]]]
"""Handles a payload. Gives the status, and what Slack is told beside it."""

logger = logging.getLogger(__name__)

_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_TIMESTAMP = re.compile(r"[0-9]{10}")


class Malformed(logging.Filter):
    """Logs one line for bytes that are not an HTTP request, or with a head that is too long. Anybody can send these."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every other line of aiohttp."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError):
            return True
        logger.info("request.malformed", extra={"reason": type(error).__name__})
        return False


def build_site(
    health: Health,
    registry: CollectorRegistry,
    *,
    deliver: Deliver,
    signing_secret: str | None,
    api: web.Application,
) -> web.Application:
    """Make the application. Without a signing secret there is no route for Slack."""
    site = web.Application(client_max_size=MAX_BODY)

    async def alive(_: web.Request) -> web.Response:
        if stuck := health.stuck:
            return web.json_response({"alive": False, "stuck": stuck}, status=503)
        return web.Response(text="ok")

    async def ready(_: web.Request) -> web.Response:
        reasons = health.reasons
        if not reasons:
            warned = {"warnings": health.warnings} if health.warnings else {}
            return web.json_response({"ready": True, "signed": health.signed, **warned})
        return web.json_response({"ready": False, "faults": reasons}, status=503)

    async def metrics(request: web.Request) -> web.Response:
        body, content_type = written(registry, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    site.add_routes([web.get("/healthz", alive), web.get("/readyz", ready), web.get("/metrics", metrics)])
    site.add_subapp("/v1", api)
    if signing_secret:
        site.add_routes([web.post("/slack/events", SlackRoute(deliver, signing_secret).handle)])
    return site


class SlackRoute:
    """Verifies and reads what Slack sends, and hands it on as a dictionary, as it comes over Socket Mode.

    Bolt's own form parser takes a third of a click's time, so the form is read here. The listeners trust it, so nothing
    is handed on unverified.
    """

    def __init__(self, deliver: Deliver, signing_secret: str) -> None:
        self._deliver = deliver
        self._secret = signing_secret.encode()

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request of Slack."""
        try:
            check_head(request)
            # A body without a possible signature is not read, and nothing is parsed before the signature is checked.
            signed = _signature(request.headers)
            body = await read_body(request) if signed else b""
        except BodyError as error:
            return _refused(error.status, str(error))
        except web.RequestPayloadError:
            return _refused(400, "the body is not encoded as its headers say")
        if not signed or not is_signed(self._secret, body, *signed):
            return _refused(401, "the signature is missing, old or wrong")
        try:
            payload = read_payload(body, request.content_type)
        except UnicodeDecodeError:
            return _refused(400, "the body is not UTF-8")
        except ValueError as error:
            return _refused(400, str(error))
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": payload.get("challenge")})
        status, answer = await self._deliver(payload)
        if answer is None:
            return web.Response(status=status)
        return web.Response(status=status, body=orjson.dumps(answer), content_type="application/json")


def is_signed(secret: bytes, body: bytes, timestamp: str, signature: str) -> bool:
    """Whether Slack's signature is right: https://docs.slack.dev/authentication/verifying-requests-from-slack."""
    made = hmac.digest(secret, b"v0:%b:%b" % (timestamp.encode(), body), "sha256").hex()
    return hmac.compare_digest(f"v0={made}", signature)


def _signature(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Give timestamp and signature if they have Slack's form and are of now."""
    timestamp = headers.get("X-Slack-Request-Timestamp", "")
    signature = headers.get("X-Slack-Signature", "")
    if not (_TIMESTAMP.fullmatch(timestamp) and _SIGNATURE.fullmatch(signature)):
        return None
    return (timestamp, signature) if abs(time() - int(timestamp)) <= SIGNED_WITHIN else None


def read_payload(body: bytes, content_type: str) -> dict[str, Any]:
    """Read a JSON body, or a form: interactivity carries JSON in `payload`, a command is the form itself.

    Raises:
        ValueError: with what is wrong.
    """
    try:
        if content_type == "application/json":
            payload = orjson.loads(body)
        elif content_type == "application/x-www-form-urlencoded":
            # yarl reads a form of 7 KB in 15 us, where urllib takes 215.
            form = URL(f"?{body.decode()}", encoded=True).query
            payload = orjson.loads(form["payload"]) if "payload" in form else dict(form)
        else:
            raise ValueError(f"content type {content_type} is not Slack's")
    except orjson.JSONDecodeError as error:
        raise ValueError("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise ValueError("the payload is not an object")  # noqa: TRY004  # one kind of error for the caller
    return payload


def _refused(status: int, reason: str) -> web.Response:
    return web.json_response({"error": reason}, status=status)


LINGER = 1.0
"""Seconds for which the rest of a refused body is read and dropped before its connection is closed."""
CLOSE_WITHIN = 5
"""Seconds that open requests have when the server stops. Then they are cut off: a client that waits asks again."""


class HttpServer:
    """Serves the application on one port."""

    def __init__(self, site: web.Application, host: str, port: int) -> None:
        http = logging.getLogger("aiohttp.server")
        if not any(isinstance(known, Malformed) for known in http.filters):
            http.addFilter(Malformed())
        self._runner = web.AppRunner(
            site,
            handle_signals=False,
            access_log=None,
            logger=http,
            shutdown_timeout=CLOSE_WITHIN,
            auto_decompress=False,
            lingering_time=LINGER,
        )
        self._address = host, port

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before it does."""
        return int(self._runner.addresses[0][1]) if self._runner.addresses else 0

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._address).start()

    async def stop(self) -> None:
        """Stop listening, and finish the requests that have begun."""
        await self._runner.cleanup()


MAX_BODY = 1 << 20
"""The most bytes of a request: a view of 250 KB fits, escaped for a form."""
READ_WITHIN = 5.0
"""Seconds from the headers of a request to the end of its body."""


class BodyError(Exception):
    """A body that is not read; the message says why."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


async def read_body(request: web.Request, *, most: int = MAX_BODY) -> bytes:
    """Give the bytes of a body.

    Raises:
        BodyError: for one that is compressed, has more than `most` bytes, or does not arrive in time.
        aiohttp.web.RequestPayloadError: when it is not framed as its headers say.
    """
    check_head(request, most=most)
    try:
        async with asyncio.timeout(READ_WITHIN):
            body = await request.read()
    except TimeoutError as error:
        raise BodyError(408, "too_slow", "the body did not arrive in time: send it again") from error
    except web.HTTPRequestEntityTooLarge as error:
        raise _too_large(most) from error
    if len(body) > most:
        raise _too_large(most)
    return body


def check_head(request: web.Request, *, most: int = MAX_BODY) -> None:
    """Judge a body by its headers, before any of it is read.

    Raises:
        BodyError: for one that is compressed, or announces more than `most` bytes.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        # Unpacking a body costs a thousand times as much as sending it.
        raise BodyError(415, "encoded", "the body has a Content-Encoding: send it as it is")
    if (request.content_length or 0) > most:
        raise _too_large(most)


def _too_large(most: int) -> BodyError:
    return BodyError(413, "too_large", f"the body has more than {most:,} bytes")
