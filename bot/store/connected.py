"""The scripts, called for one record."""

import asyncio
from collections.abc import Awaitable
from typing import Any, cast

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys, Named
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.redis.private import RecordCipher
from agent_adapter.redis.scripts import Scripts, Value
from agent_adapter.redis.server_check import answered
from bot.domain.errors import StoreUnavailableError
from bot.domain.seal import Trust
from bot.runtime.statements import Signing
from bot.store.deliveries import WITHIN
from bot.store.refused import Refused
from bot.store.sealed import sealed_fact


class Connected:
    """The base of the store's classes: the scripts, and the names of keys."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        *,
        address: str = "",
        signing: Signing | None = None,
        cipher: RecordCipher | None = None,
    ) -> None:
        self.keys = keys
        self.signing = signing
        """Signs what people decide; `None` without a signing key."""
        self._redis = redis
        self._address = address
        self.scripts = Scripts(redis, keys, "bot.store.lua", address=address, cipher=cipher)
        self.cipher = self.scripts.cipher
        """Encrypts what agents and people write."""
        self.refused = Refused()
        """The calls that somebody refused through this process."""

    def _of(self, name: str) -> Named:
        """Name the keys that scripts take for a record or an agent."""
        return self.keys.lane_for(name).of(name)

    def _mark(self, interrupt_id: str, field: str, text: str) -> str:
        """Give the mark of what a bot writes into a field of a card; empty without a seal."""
        seal = self.signing.seal if self.signing else None
        return sealed_fact(seal, interrupt_id, field, text) if seal else ""

    @property
    def _trust(self) -> Trust | None:
        return self.signing.trust if self.signing else None

    async def _within(self, verb: str, interrupt_id: str, *, within: float = WITHIN, **given: Value) -> str:
        try:
            async with asyncio.timeout(within):
                return str(await self.scripts(verb, self._of(interrupt_id), **given))
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not take the change in time") from error

    async def _guarded(self, call: object) -> Any:
        # redis-py types commands as sync or async.
        return await answered(cast("Awaitable[Any]", call), self._redis, self.keys, self._address)
