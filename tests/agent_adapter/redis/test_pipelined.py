"""Many scripts go over one connection. Whatever happens to it, each of them is answered as it would be without it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import ANY

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import UnreadableRecordError
from agent_adapter.redis import pipelined as module
from agent_adapter.redis.change import read_hashes
from agent_adapter.redis.pipelined import Pipelined
from agent_adapter.redis.pool import open_redis, pipelined, place_of
from agent_adapter.redis.scripts import AGENT_LUA, Scripts
from playground.redis_server import RedisServer
from tests.conftest import until
from tests.support.failover import Failover
from tests.support.proxy import Proxy, proxied

KEYS = Keys("assent")
NOBODY = KEYS.of("billing.none")
NOTHING = ([{}, {}], ANY)
"""What `read` answers where there is no record."""


async def opened(redis: Redis) -> Pipelined:
    """Give the connection once it is there."""
    found = pipelined(redis)
    assert found
    await until(lambda: found.send("PING"))
    return found


def scripts_over(redis: Redis) -> Scripts:
    return Scripts(redis, KEYS, AGENT_LUA, pipelined=pipelined(redis))


@pytest.fixture
async def link(redis_server: RedisServer) -> AsyncIterator[Proxy]:
    """A way to one empty server that a test can break, wherever the other tests run."""
    async with open_redis(redis_server.url) as redis:
        await redis.flushall()
    async with proxied(redis_server.url) as link:
        yield link


async def connections(redis: Redis) -> int:
    return int((await redis.info("clients"))["connected_clients"])


async def test_many_at_once_take_one_connection_and_are_answered_in_order(redis):
    """Also answers that come in several pieces, and the one whose caller has gone."""
    line = await opened(redis)
    before = await connections(redis)
    said = [str(n) * (n % 7) * 20_000 for n in range(60)]

    asked = [line.send("ECHO", each) for each in said]
    asked[30].cancel()
    answers = await asyncio.gather(*asked[:30], *asked[31:])

    assert answers == [*said[:30], *said[31:]]
    assert await connections(redis) == before


async def test_a_cancelled_caller_ends_and_the_others_are_answered(redis):
    await opened(redis)
    scripts = scripts_over(redis)
    await read_hashes(scripts, NOBODY, "req", "card")
    reading = [asyncio.create_task(read_hashes(scripts, NOBODY, "req", "card")) for _ in range(3)]
    await asyncio.sleep(0)

    reading[1].cancel()
    await asyncio.wait(reading)

    assert [each.cancelled() or each.result() for each in reading] == [NOTHING, True, NOTHING]
    assert scripts.pipelined.is_open


async def test_it_is_told_the_password_the_database_and_the_name(redis_server, tmp_path):
    """Whatever an address or a provider says of the connections of the pool holds for this one."""
    with_name = "?client_name=bot&db=3"
    async with open_redis(redis_server.url) as admin:
        await admin.execute_command("ACL", "SETUSER", "wire", "on", ">secret", "~*", "&*", "+@all")
        async with open_redis(
            redis_server.url.replace("unix://", "unix://wire:secret@") + with_name
        ) as redis:
            line = await opened(redis)
            assert await line.send("ACL", "WHOAMI") == "wire"
            said = await line.send("CLIENT", "INFO")
        await admin.execute_command("ACL", "DELUSER", "wire")
    assert " name=bot " in said
    assert " db=3 " in said


async def test_it_ends_with_the_pool(redis_server):
    async with open_redis(redis_server.url) as watching:
        before = await connections(watching)
        async with open_redis(redis_server.url) as redis:
            line = await opened(redis)
            assert await connections(watching) == before + 1
        assert not line.is_open

        async def is_as_before() -> bool:
            return await connections(watching) == before

        while not await is_as_before():
            await asyncio.sleep(0.01)


async def test_what_is_in_flight_when_it_is_lost_is_sent_again(link):
    """Those who wait learn nothing of it, and the connection comes back."""
    async with open_redis(link.url) as redis:
        line = await opened(redis)
        scripts = scripts_over(redis)
        link.fall_silent()
        reading = [asyncio.create_task(read_hashes(scripts, NOBODY, "req", "card")) for _ in range(5)]
        await asyncio.sleep(0)

        await link.reset()

        assert await asyncio.gather(*reading) == [NOTHING] * 5
        await until(lambda: line.send("PING"))


async def test_a_server_that_says_nothing_is_given_up(link, monkeypatch):
    """Otherwise every click would wait for it until its own time has passed."""
    monkeypatch.setattr(module, "ANSWERS_WITHIN", 0.1)
    async with open_redis(link.url) as redis:
        line = await opened(redis)
        link.fall_silent()

        assert await read_hashes(scripts_over(redis), NOBODY, "req", "card") == NOTHING

        await until(lambda: line.send("PING"))


@pytest.fixture
async def failover(tmp_path: Path) -> AsyncIterator[Failover]:
    failover = Failover(tmp_path)
    failover.proxy.start()
    yield failover
    await failover.proxy.close()
    failover.first.stop()
    failover.second.stop()


async def test_another_server_is_noticed_before_the_first_script_on_it(failover):
    """Who remembers what the former one said can look again first."""
    changes = list[str]()
    async with open_redis(failover.proxy.url) as redis:
        place_of(redis).on_change = lambda: changes.append("changed")
        line = await opened(redis)
        assert await line.send("SET", "name", "first") == "OK"
        assert changes == []

        await failover.happen()
        await until(lambda: not line.is_open)
        await opened(redis)

        assert changes == ["changed"]
        assert await line.send("GET", "name") is None


async def test_a_former_server_is_left_when_another_connection_meets_the_new_one(failover):
    """It still answers, with what it knew then."""
    changes = list[str]()
    async with open_redis(failover.proxy.url) as redis:
        place_of(redis).on_change = lambda: changes.append("changed")
        line = await opened(redis)
        assert await line.send("SET", "name", "first") == "OK"

        failover.proxy.lead_to(failover.second.url)
        assert changes == []
        await redis.ping()

        assert changes == ["changed"]
        assert not line.is_open
        await until(lambda: line.send("PING"))
        assert await line.send("GET", "name") is None


async def test_a_server_that_takes_no_writes_any_more_is_left(failover):
    """It may have become a replica. What is wrong with the command itself is no reason."""
    async with open_redis(failover.first.url) as redis:
        line = await opened(redis)
        assert "wrong number of arguments" in str(await line.send("HGET"))
        assert line.is_open

        await redis.execute_command("REPLICAOF", "127.0.0.1", "1")

        assert str(await line.send("SET", "name", "lost")).startswith("READONLY")
        assert not line.is_open


async def test_a_script_that_the_server_has_forgotten_is_loaded(redis):
    """It costs one more request, and not the connection."""
    line, scripts = await opened(redis), scripts_over(redis)
    name = await line.send("CLIENT", "ID")
    for _ in range(2):
        await redis.script_flush()
        assert await read_hashes(scripts, NOBODY, "req", "card") == NOTHING
    assert await line.send("CLIENT", "ID") == name

    await redis.config_resetstat()
    assert await read_hashes(scripts, NOBODY, "req", "card") == NOTHING
    counted = await redis.info("commandstats")
    assert sum(counted[name]["calls"] for name in counted if "eval" in name) == 1


async def test_text_that_is_no_utf_8_is_an_unreadable_record(redis):
    """Here as there; and nothing else of the answers is lost."""
    await redis.hset(NOBODY["req"], "body", b"\xff")
    line, scripts = await opened(redis), scripts_over(redis)

    with pytest.raises(UnreadableRecordError):
        await read_hashes(scripts, NOBODY, "req", "card")

    assert await line.send("ECHO", "next") == "next"
