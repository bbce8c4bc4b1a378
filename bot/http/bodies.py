"""Reads the body of a request, with limits for its size and its time."""

import asyncio

from aiohttp import web

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
