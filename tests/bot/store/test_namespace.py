"""A namespace of the version before: the first bot of this version renames its keys, and then writes the new number."""

import asyncio

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.identity import pause_digest
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerRefusesError, ServerUnsuitableError
from agent_adapter.redis.pool import SCHEMA, freeze_meta
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal
from bot.store.namespace import agree_on_seal, open_namespace

DIGEST = pause_digest("billing", "run", "pause")
LANE = Keys()
OLD_PAUSE, NEW_PAUSE = f"{LANE.prefix}pause:{DIGEST}", LANE.pause("billing", DIGEST)
OLD_THREAD, NEW_THREAD = f"{LANE.prefix}thread:{DIGEST}", LANE.thread(f"billing.{DIGEST}")


@pytest.fixture
async def before(redis: Redis) -> Redis:
    """What the version before has written: a record that is asked, one that has ended, and a thread that runs."""
    await redis.hset(Keys().meta, mapping={"schema": SCHEMA - 1, "lanes": "1"})
    await redis.set(OLD_PAUSE, "billing.5a0c")
    await redis.set(f"{LANE.prefix}pause:ended", "hr.77", px=60_000)
    await redis.set(OLD_THREAD, "billing.process:owner", px=60_000)
    await redis.hset(LANE.req("billing.5a0c"), "pauses", DIGEST)
    await redis.xadd(f"{LANE.prefix}wake", {"id": "billing.5a0c"})
    return redis


async def test_a_bot_that_was_ended_in_the_middle_does_no_harm(before: Redis):
    """The next one begins again, and finds some of the keys renamed."""
    await before.rename(OLD_PAUSE, NEW_PAUSE)

    await open_namespace(before, "assent")

    assert await before.get(NEW_PAUSE) == "billing.5a0c"
    assert await before.get(NEW_THREAD) == "billing.process:owner"


async def test_two_bots_that_start_at_once_do_no_harm(before: Redis):
    """Thousands of keys keep their names and values, whoever renames them."""
    for number in range(3_000):
        await before.set(f"{LANE.prefix}pause:{number:032x}", f"billing.{number}")

    await asyncio.gather(open_namespace(before, "assent"), open_namespace(before, "assent"))

    found = [await before.get(LANE.pause("billing", f"{number:032x}")) for number in range(3_000)]
    assert found == [f"billing.{number}" for number in range(3_000)]
    assert [key async for key in before.scan_iter(f"{LANE.prefix}pause:*") if ":billing." not in key] == [
        LANE.pause("hr", "ended")
    ]


async def test_a_pause_that_was_asked_again_leads_to_the_newer_record(before: Redis):
    """The new name is there already, and the old one is deleted."""
    await before.set(NEW_PAUSE, "billing.newer")

    await open_namespace(before, "assent")

    assert await before.get(NEW_PAUSE) == "billing.newer"
    assert not await before.exists(OLD_PAUSE)


async def test_other_namespaces_are_left_alone(before: Redis):
    """They may have another version, and other bots."""
    await before.set("other:{00}:pause:d", "billing.5a0c")

    await open_namespace(before, "assent")

    assert await before.get("other:{00}:pause:d") == "billing.5a0c"


async def test_an_agent_does_not_start_before_a_bot_of_its_version(before: Redis):
    """It says what to do, and writes nothing."""
    with pytest.raises(
        ServerUnsuitableError, match="this version reads 2: start a bot of this version first"
    ):
        await freeze_meta(before, "assent")

    assert await before.exists(OLD_PAUSE)


async def test_a_new_namespace_has_nothing_to_rename(redis: Redis):
    """The bot writes the number at once."""
    assert await open_namespace(redis, "assent") == Keys()
    assert await redis.hgetall(Keys().meta) == {"schema": str(SCHEMA)}


async def test_an_overwritten_meta_is_named(redis: Redis):
    """With the cure, as everywhere."""
    await redis.set(Keys().meta, "something else")

    with pytest.raises(ServerRefusesError, match="\\{assent\\}:meta was overwritten: it is a string"):
        await open_namespace(redis, "assent")


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
