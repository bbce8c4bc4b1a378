"""Every error of the API in one form, `{"error": {"code": …, "message": …}}`, and how many requests a key may send."""

import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.wire import MAX_ENVELOPE_BYTES
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InterruptEndedError,
    InvalidRequestError,
    UnknownDialectError,
    UnknownInterruptError,
    UnreadableRecordError,
)
from agent_adapter.redis.acts import UnsureError
from bot.http.application import BodyError

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY = MAX_ENVELOPE_BYTES
"""The most bytes of a request."""
TOO_LARGE = (
    f"the body has more than {MAX_BODY:,} bytes: pass references to large content, or ask in several batches"
)

KINDS: tuple[tuple[type[AgentAdapterError], int, str], ...] = (
    (UnreadableRecordError, 409, "unreadable"),
    (UnknownDialectError, 422, "unknown_dialect"),
    (InvalidRequestError, 422, "invalid"),
    (UnknownInterruptError, 404, "not_found"),
    (ConflictError, 409, "conflict"),
    (ConsumedError, 409, "consumed"),
    # Nobody may hold it: the caller should ask again, and not take it for done by somebody else.
    (UnsureError, 503, "unavailable"),
    (ClaimedError, 409, "claimed"),
    (ClaimLostError, 409, "claimed"),
    (InterruptEndedError, 409, "ended"),
    (DecisionNotAllowedError, 409, "not_allowed"),
    (AgentAdapterError, 503, "unavailable"),
)
"""The HTTP status of each error of the library. The first entry that fits counts."""

PLAIN = {
    400: ("malformed", "the request cannot be read: send a body as its headers say"),
    404: ("not_found", "no such address: see /v1/openapi.json"),
    405: ("method_not_allowed", "this address does not take that method: see /v1/openapi.json"),
}
"""The sentences for requests that aiohttp itself refuses."""


class RefusedError(Exception):
    """A request that the API refuses with an error of its own."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@web.middleware
async def as_failure(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every error in the same form."""
    try:
        return await handler(request)
    except RefusedError as error:
        return failure(error.status, error.code, str(error), error.headers)
    except AgentAdapterError as error:
        status, value = problem(error)
        return answer(value, status=status)
    except BodyError as error:
        return failure(error.status, error.code, TOO_LARGE if error.status == 413 else str(error))
    except web.HTTPException as error:
        code, message = PLAIN.get(error.status, ("malformed", error.reason))
        allowed = {name: value for name, value in error.headers.items() if name == "Allow"}
        return failure(error.status, code, message, allowed)
    except web.RequestPayloadError:
        return failure(400, *PLAIN[400])
    except Exception:
        logger.exception("api.failed", extra={"method": request.method, "path": request.path})
        return failure(500, "internal", "the bot failed; its log says why")


def problem(error: AgentAdapterError) -> tuple[int, dict[str, Any]]:
    """Give the status and the words of an error of the library."""
    status, code = next((status, code) for kind, status, code in KINDS if isinstance(error, kind))
    return status, _written(code, str(error))


def failure(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Write an error."""
    return answer(_written(code, message), status=status, headers=headers)


def _written(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Write JSON, with the exact digits of numbers."""
    return web.Response(
        body=encode(value).encode(),
        status=status,
        # An answer can contain an agent's arguments, so no cache may keep it.
        headers={"Content-Type": "application/json", "Cache-Control": "no-store", **(headers or {})},
    )


MAX_WAITING = 500
"""Requests that wait at the same time. Each holds a connection, which is one of the open files that a process may have."""
STRANGERS = ""
"""The name of the bucket that all requests without a valid key share."""


class Rates:
    """A token bucket for each key. It holds the requests of a minute and fills evenly."""

    def __init__(self, per_minute: int) -> None:
        self._most = per_minute
        self._buckets: dict[str, tuple[float, float]] = {}
        self._waiting = 0

    def spend(self, key_id: str) -> None:
        """Take one request from a key's allowance.

        Raises:
            RefusedError: 429, with the seconds until the next one.
        """
        now = time.monotonic()
        left, since = self._buckets.get(key_id, (float(self._most), now))
        left = min(float(self._most), left + (now - since) * self._most / 60)
        if left < 1:
            seconds = math.ceil((1 - left) * 60 / self._most)
            cure = f"go on after {seconds} s, and wait with ?wait=60 rather than ask often"
            raise _limited(f"more than {self._most} requests a minute: {cure}", seconds)
        self._buckets[key_id] = (left - 1, now)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a request that waits.

        Raises:
            RefusedError: 429, when too many do.
        """
        if self._waiting >= MAX_WAITING:
            cure = "ask again without waiting, or ask another bot"
            raise _limited(f"{MAX_WAITING} requests wait at this bot already: {cure}", 1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


def _limited(sentence: str, seconds: int) -> RefusedError:
    return RefusedError(429, "rate_limited", sentence, Retry_After=str(seconds))
