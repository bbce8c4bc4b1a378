"""The namespace in Redis, brought to the data model of this version by the first bot that starts."""

import logging
from typing import Any

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import SCHEMA, freeze_meta
from agent_adapter.redis.scripts import Scripts
from agent_adapter.redis.server_check import check_keys, explaining
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal

logger = logging.getLogger(__name__)


async def open_namespace(redis: Redis, namespace: str, *, address: str = "") -> Keys:
    """Return the names of the keys. What the version before has written gets its new names first.

    It may be ended at any moment, and several bots may do it at once.

    Args:
        redis: The client.
        namespace: The beginning of all keys.
        address: Where this is, for errors.

    Raises:
        ServerUnreachableError: when Redis does not answer, or something else has overwritten a key.
        ServerUnsuitableError: when the namespace was written with a version that this one does not know.
    """
    keys = Keys(namespace)
    await check_keys(redis, keys, address)
    with explaining(address):
        stored: Any = await redis.hgetall(keys.meta)
        if stored.get("schema") == str(SCHEMA - 1):
            await _rename_keys(redis, keys, address)
            # Last: if this bot is ended before it, the next one begins again.
            await redis.hset(keys.meta, "schema", str(SCHEMA))
            logger.info("redis.upgraded", extra={"schema": SCHEMA})
        await redis.hsetnx(keys.meta, "schema", str(SCHEMA))
    return await freeze_meta(redis, namespace, address=address)


async def find_old(redis: Redis, namespace: str, *, address: str = "") -> None:
    """Make sure that an old namespace is there. It is never begun.

    Raises:
        ServerUnreachableError: when Redis does not answer.
        SettingsError: when it is not there.
    """
    with explaining(address):
        is_there = await redis.exists(Keys(namespace).meta)
    if not is_there:
        raise SettingsError(
            f"ASSENT_NAMESPACE_OLD: there is no namespace {namespace!r} in Redis at {address}: correct the name or REDIS_URL, "
            "or remove the setting"
        )


async def agree_on_seal(redis: Redis, keys: Keys, seal: Seal | None, *, address: str = "") -> None:
    """Make sure that this bot has the key with which the others seal: it would refuse their requests otherwise.

    A bot without a key starts where no bot has one.

    Raises:
        ServerUnreachableError: when Redis does not answer.
        SettingsError: when it does not have that key.
    """
    with explaining(address):
        known: Any = await redis.hget(keys.meta, "seal")
        if seal is None:
            if known:
                raise SettingsError(
                    "ASSENT_SEAL_KEY is not set, and the bots of this namespace have one: give this one the same keys; if "
                    f"none of them shall have keys any more, first remove the field `seal` of {keys.meta} in Redis"
                )
            return
        own = seal.mark("", "meta", ())
        if known and not seal.holds(known, "", "meta", ()):
            raise SettingsError(
                "ASSENT_SEAL_KEY: the bots of this namespace seal with another key, so this one would refuse their requests: "
                "write that key behind yours, after a comma; if it was lost or given away, first remove the field "
                f"`seal` of {keys.meta} in Redis"
            )
        if known != own:
            await redis.hset(keys.meta, "seal", own)


async def _rename_keys(redis: Redis, keys: Keys, address: str) -> None:
    scripts, cursor = Scripts(redis, keys, "bot.store.lua", address=address), "0"
    while (cursor := await scripts("rename_keys", keys.of(), cursor=cursor)) != "0":
        pass
    # The stream that woke the bots, which a channel does now.
    await redis.delete(keys.channel("wake"))
