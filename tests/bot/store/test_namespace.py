"""What a namespace is begun with, and what its bots agree on."""

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal
from bot.runtime.bot_keys import agree_on_seal

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


async def test_a_bot_without_a_key_does_not_start_beside_bots_with_one(redis):
    """Nobody would believe what it writes."""
    await agree_on_seal(redis, Keys(), None)
    await agree_on_seal(redis, Keys(), Seal("assent", (OLD,)))

    with pytest.raises(SettingsError, match="ASSENT_SEAL_KEY is not set"):
        await agree_on_seal(redis, Keys(), None)
