"""What a namespace is begun with, and what its bots agree on."""

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerRefusesError, ServerUnsuitableError
from agent_adapter.redis.pool import SCHEMA, freeze_meta
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal
from bot.store.namespace import agree_on_seal


async def test_the_first_bot_writes_the_number_of_the_schema(redis: Redis):
    assert await freeze_meta(redis, "assent") == Keys()
    assert await redis.hgetall(Keys().meta) == {"schema": str(SCHEMA)}


async def test_another_schema_is_refused(redis: Redis):
    """There is one, so nothing is brought to another."""
    await redis.hset(Keys().meta, mapping={"schema": "0"})

    with pytest.raises(
        ServerUnsuitableError, match="was written with schema 0, this version reads 1: run the version"
    ):
        await freeze_meta(redis, "assent")


async def test_an_overwritten_meta_is_named(redis: Redis):
    """With the cure, as everywhere."""
    await redis.set(Keys().meta, "something else")

    with pytest.raises(ServerRefusesError, match="\\{assent\\}:meta was overwritten: it is a string"):
        await freeze_meta(redis, "assent")


OLD, NEW = b"o" * 32, b"n" * 32


async def test_a_bot_that_does_not_have_the_seal_key_of_the_others_does_not_start(redis: Redis):
    """It would refuse all that is open. With the old key behind the new one it starts, and from then on the new one counts."""
    await agree_on_seal(redis, Keys(), Seal("assent", (OLD,)))
    with pytest.raises(SettingsError, match="seal with another key"):
        await agree_on_seal(redis, Keys(), Seal("assent", (NEW,)))

    await agree_on_seal(redis, Keys(), Seal("assent", (OLD, NEW)))
    await agree_on_seal(redis, Keys(), Seal("assent", (NEW, OLD)))
    await agree_on_seal(redis, Keys(), Seal("assent", (NEW,)))
    with pytest.raises(SettingsError, match="seal with another key"):
        await agree_on_seal(redis, Keys(), Seal("assent", (OLD,)))


async def test_after_a_seal_key_was_lost_another_one_begins_anew(redis: Redis):
    await agree_on_seal(redis, Keys(), Seal("assent", (OLD,)))
    await redis.hdel(Keys().meta, "seal")

    await agree_on_seal(redis, Keys(), Seal("assent", (NEW,)))


async def test_a_bot_without_a_key_does_not_start_beside_bots_with_one(redis):
    """Nobody would believe what it writes."""
    await agree_on_seal(redis, Keys(), None)
    await agree_on_seal(redis, Keys(), Seal("assent", (OLD,)))

    with pytest.raises(SettingsError, match="ASSENT_SEAL_KEY is not set"):
        await agree_on_seal(redis, Keys(), None)
