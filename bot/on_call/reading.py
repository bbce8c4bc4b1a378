"""Reads an address that the operator has set, within bounds. Nothing of the address or the answer is in an error."""

import asyncio
from collections.abc import Mapping

import aiohttp

from bot.domain.errors import BotError

WITHIN = 5.0
"""Seconds for the whole answer."""
MOST = 2_000_000
"""Bytes of an answer."""


class UnansweredError(BotError):
    """A schedule does not say who is on call. The message says why."""


async def read(
    session: aiohttp.ClientSession,
    address: str,
    *,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> bytes:
    """Read what is at an address. A redirect is not followed, since the other host would get the key.

    Raises:
        UnansweredError: when there is no whole answer in time.
    """
    try:
        async with (
            asyncio.timeout(WITHIN),
            session.get(address, headers=headers, params=query, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise UnansweredError(f"it answers with status {response.status}")
            return await _bounded(response.content)
    except TimeoutError as error:
        raise UnansweredError(f"no whole answer within {WITHIN:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The text of some of these errors has the address in it, and the address of a calendar is enough to read it.
        raise UnansweredError(type(error).__name__) from None


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    found = bytearray()
    async for chunk in content.iter_chunked(65_536):
        found += chunk
        if len(found) > MOST:
            raise UnansweredError(f"its answer has more than {MOST:,} bytes")
    return bytes(found)
