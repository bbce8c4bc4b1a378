"""User and password of Redis from a provider, which is asked again for each new connection: they may change or expire."""

import asyncio
from functools import cache
from pkgutil import resolve_name
from typing import Any

from redis.credentials import CredentialProvider
from redis.exceptions import ConnectionError as RedisConnectionError

from agent_adapter.errors import InvalidRequestError

ASK_WITHIN = 10.0
"""Seconds that a provider may take."""


class Credentials(CredentialProvider):
    """Asks a provider, without holding up the event loop. When the provider fails, connecting is tried again."""

    def __init__(self, provider: CredentialProvider) -> None:
        self._provider = provider

    async def get_credentials_async(self) -> Any:
        """Give password, or user and password."""
        try:
            async with asyncio.timeout(ASK_WITHIN):
                if _is_asynchronous(self._provider):
                    return await self._provider.get_credentials_async()
                return await asyncio.to_thread(self._provider.get_credentials)
        except Exception as error:
            # A service fails in its own ways.
            raise RedisConnectionError(
                f"the provider of credentials failed ({type(error).__name__}: {error})"
            ) from error


def _is_asynchronous(provider: CredentialProvider) -> bool:
    """Whether it has a method of its own. redis-py's calls the blocking one, and logs a warning each time."""
    return type(provider).get_credentials_async is not CredentialProvider.get_credentials_async


@cache
def load_provider(name: str) -> CredentialProvider:
    """Load the provider that `module:attribute` names: one object, or what a function or class of this name returns."""
    try:
        found = resolve_name(name)
        provider = found if isinstance(found, CredentialProvider) else found()
    except Exception as error:
        raise InvalidRequestError(
            f"{name} did not return a CredentialProvider of redis-py ({type(error).__name__}: {error}): name one as "
            "module:attribute"
        ) from error
    if not isinstance(provider, CredentialProvider):
        raise InvalidRequestError(f"{name} is not a CredentialProvider of redis-py")
    return provider
