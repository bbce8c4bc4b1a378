"""Keys of the HTTP API: each belongs to one agent; only a hash of its secret is stored."""

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import moment, reading
from agent_adapter.contract.wire import MAX_LIFE
from agent_adapter.errors import UnreadableRecordError
from agent_adapter.redis.scripts import answered
from bot.domain.seal import Seal

logger = logging.getLogger(__name__)

NOTED_EVERY = 60.0
"""Seconds until another use of a key is noted again."""
VOUCHED_FOR = (MAX_LIFE + timedelta(days=1)) // timedelta(milliseconds=1)
"""Milliseconds for which it is kept what a key says about requesters: until its interrupts are admitted or over."""
_SEAL = "seal"
_WRITTEN = re.compile(r"ass_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is stored about a key. Only its holder knows the secret."""

    id: str
    agent: str
    created_at: datetime
    used_at: datetime | None = None
    """When it was last used, to the minute."""
    requester: str | None = None
    """The one person for whom this agent acts."""
    may_name_requesters: bool = False
    """Whether its holder may name the person for whom the agent acts."""
    sealed: bool = True
    """Whether bots take it. Otherwise somebody without their seal key made it."""

    def vouches_for(self, person: str) -> bool:
        """Whether this key may say that the agent acts for this person."""
        return self.may_name_requesters or person == self.requester


class KeyRing:
    """The keys of one namespace. They are never kept in memory, so a change has effect at once in every replica.

    Every verb raises ServerUnreachableError when Redis does not answer.
    """

    def __init__(self, redis: Redis, keys: Keys, *, address: str = "", seal: Seal | None = None) -> None:
        """Prepare the keys. Errors name the `address` of Redis. With a seal, every key needs its mark."""
        self._redis = redis
        self._seal = seal
        self._keys = keys
        self._address = address
        self._noted: dict[str, float] = {}

    async def create(
        self, agent: str, *, requester: str | None = None, may_name_requesters: bool = False
    ) -> str:
        """Make a key for this agent and return it. It is not shown again.

        Args:
            agent: The agent that uses it.
            requester: The only person for whom the agent acts.
            may_name_requesters: Whether the agent may name the person for whom it acts.
        """
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        entry = {"agent": agent, "secret": _hashed(secret), "created": await self._now()}
        if requester:
            entry["requester"] = requester
        if may_name_requesters:
            entry["may_name_requesters"] = True
        mark = {_SEAL: self._seal.mark(key_id, "key", (encode(entry),))} if self._seal else {}
        await self._ask(self._redis.hset(self._keys.api_keys, key_id, encode({**entry, **mark})))
        return f"ass_{key_id}_{secret}"

    async def list(self) -> list[ApiKey]:
        """Give the keys, oldest first."""
        entries = await self._ask(self._redis.hgetall(self._keys.api_keys))
        used = await self._ask(self._redis.hgetall(self._keys.api_keys_used))
        found = (
            _read(key_id, entry, used.get(key_id), sealed=self._is_sealed(key_id, entry))
            for key_id, entry in ((key_id, decode(text)) for key_id, text in entries.items())
        )
        return sorted(found, key=lambda key: key.created_at)

    async def revoke(self, key_id: str) -> bool:
        """Revoke a key. False when there was no such key."""
        await self._ask(self._redis.hdel(self._keys.api_keys_used, key_id))
        return bool(await self._ask(self._redis.hdel(self._keys.api_keys, key_id)))

    async def exist(self) -> bool:
        """Whether there is any key. Without one, the API is off."""
        return bool(await self._ask(self._redis.exists(self._keys.api_keys)))

    async def find(self, written: str) -> ApiKey | None:
        """Give the key with this secret and note its use. `None` when there is none or it was revoked."""
        match = _WRITTEN.fullmatch(written)
        text = await self._ask(self._redis.hget(self._keys.api_keys, match[1])) if match else None
        if match is None or text is None:
            return None
        try:
            with reading(match[1]):
                entry = decode(text)
                # 256 random bits cannot be guessed, so a fast hash protects them as well as a slow one.
                is_its_secret = hmac.compare_digest(entry["secret"], _hashed(match[2]))
                key = _read(match[1], entry, sealed=self._is_sealed(match[1], entry))
        except UnreadableRecordError as error:
            logger.warning("api.key_unreadable", extra={"key": match[1], "reason": str(error)})
            return None
        if not is_its_secret:
            return None
        if not key.sealed:
            logger.warning("api.key_not_sealed", extra={"key": key.id})
            return None
        now = time.monotonic()
        if now >= self._noted.get(key.id, now):
            self._noted[key.id] = now + NOTED_EVERY
            await self._ask(self._redis.hset(self._keys.api_keys_used, key.id, str(await self._now())))
        return key

    async def vouch(self, interrupt_id: str, person: str) -> None:
        """Note that a key says for whom the agent acts with this interrupt. Call it before the interrupt is published."""
        name = self._keys.vouched(interrupt_id)
        mark = self._seal.mark(interrupt_id, "vouched", (person,)) if self._seal else ""
        await self._ask(self._redis.sadd(name, f"{person} {mark}".strip()))
        await self._ask(self._redis.pexpire(name, VOUCHED_FOR))

    def _is_sealed(self, key_id: str, entry: Mapping[str, Any]) -> bool:
        """Whether a bot or an operator with the seal key made this entry."""
        mark, rest = str(entry.get(_SEAL, "")), {name: entry[name] for name in entry if name != _SEAL}
        return self._seal is None or self._seal.holds(mark, key_id, "key", (encode(rest),))

    async def _now(self) -> int:
        seconds, microseconds = await self._ask(self._redis.time())
        return int(seconds) * 1000 + int(microseconds) // 1000

    async def _ask(self, command: Any) -> Any:
        return await answered(command, self._redis, self._address)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(key_id: str, entry: Mapping[str, Any], used: str | None = None, *, sealed: bool = True) -> ApiKey:
    return ApiKey(
        key_id,
        entry["agent"],
        moment(entry["created"]),
        moment(used) if used else None,
        entry.get("requester"),
        entry.get("may_name_requesters", False),
        sealed,
    )
