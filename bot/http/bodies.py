"""Reads the bodies of requests, with limits for their size, their time and all of them together."""

import asyncio

from aiohttp import web

READ_WITHIN = 5.0
"""Seconds from the headers of a request to the end of its body."""
AT_ONCE = 64 << 20
"""Bytes of all unfinished bodies in one process. Beyond it, the oldest one is dropped."""


class BodyError(Exception):
    """A body that is not read; the message says why."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


class Bodies:
    """Reads bodies. When there are too many bytes, the one that has been sent for the longest is dropped."""

    def __init__(self, *, within: float = READ_WITHIN, at_once: int = AT_ONCE) -> None:
        self._within = within
        self._at_once = at_once
        self._unfinished: dict[asyncio.Timeout, int] = {}

    async def read(self, request: web.BaseRequest, *, most: int) -> bytes:
        """Give the bytes of a body.

        Raises:
            BodyError: for one that is compressed, has more than `most` bytes, or does not arrive in time.
            aiohttp.web.RequestPayloadError: when it is not framed as its headers say.
        """
        check_head(request, most=most)
        if request.content.is_eof():
            # All of it is here.
            body = request.content.read_nowait()
            if len(body) > most:
                raise _too_large(most)
            return body
        try:
            async with asyncio.timeout(self._within) as limit:
                try:
                    return await self._collect(request, limit, most)
                finally:
                    self._unfinished.pop(limit, None)
        except TimeoutError as error:
            raise BodyError(408, "too_slow", "the body did not arrive in time: send it again") from error

    async def _collect(self, request: web.BaseRequest, limit: asyncio.Timeout, most: int) -> bytes:
        body = bytearray()
        while chunk := await request.content.readany():
            body += chunk
            if len(body) > most:
                raise _too_large(most)
            self._unfinished[limit] = len(body)
            while sum(self._unfinished.values()) > self._at_once and len(self._unfinished) > 1:
                oldest = next(iter(self._unfinished))
                del self._unfinished[oldest]
                oldest.reschedule(asyncio.get_running_loop().time())
        return bytes(body)


def check_head(request: web.BaseRequest, *, most: int) -> None:
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
