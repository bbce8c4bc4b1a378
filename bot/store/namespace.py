"""What the bots of a namespace agree on."""

from typing import Any

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.server_check import explaining
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal


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
