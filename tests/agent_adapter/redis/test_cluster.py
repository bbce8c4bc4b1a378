"""A Redis Cluster behind one client: where a namespace is, and what happens when its server hands over."""

import asyncio

import pytest
from redis.exceptions import RedisError, ResponseError

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerRefusesError, ServerUnreachableError, ServerUnsuitableError
from agent_adapter.redis.address import Address, address_of
from agent_adapter.redis.pool import open_blocking_redis, open_redis, place_of
from agent_adapter.redis.server_check import check_server, explained
from playground.redis_server import redis_on_a_port
from tests.conftest import until

KEYS = Keys("assent")


@pytest.fixture
async def redis(cluster):
    async with open_redis(cluster.url) as redis:
        yield redis


@pytest.mark.parametrize(
    ("url", "hosts", "server_url", "shown"),
    [
        ("redis+cluster://one", (("one", 6379),), "redis://primary/", "redis+cluster://one:6379"),
        (
            "rediss+cluster://bot:s%40cret@one:7000,two,[::1]:7002/0?ssl_ca_certs=/ca.pem",
            (("one", 7000), ("two", 6379), ("::1", 7002)),
            "rediss://bot:s%40cret@primary/?ssl_ca_certs=%2Fca.pem",
            "rediss+cluster://one:7000,two:6379,[::1]:7002",
        ),
    ],
)
def test_an_address_names_some_servers_and_shows_no_password(url, hosts, server_url, shown):
    """Which others there are, these say."""
    assert Address.of(url) == Address("cluster", server_url, hosts)
    assert address_of(url) == shown


async def test_each_namespace_is_kept_by_one_server(cluster):
    """Which one, its name decides."""
    for namespace in ("assent", "b", "c", "d"):
        key = Keys(namespace).audit_seq
        async with open_redis(cluster.url, namespace=namespace) as redis:
            await redis.set(key, namespace)
        assert cluster.ask(cluster.primary_of(key), "GET", key) == namespace


async def test_a_server_of_a_cluster_alone_is_refused(cluster, redis):
    """It would keep some namespaces only."""
    assert await check_server(redis, address_of(cluster.url)) == []
    url = f"redis://127.0.0.1:{cluster.primaries()[0]}"
    async with open_redis(url) as alone:
        with pytest.raises(ServerUnsuitableError, match="write redis\\+cluster://"):
            await check_server(alone, url)


@pytest.mark.server
async def test_a_single_server_behind_the_address_of_a_cluster_is_refused():
    """The sentence says how to write its address."""
    with redis_on_a_port(0) as server:
        url = server.replace("redis://", "redis+cluster://")
        async with open_redis(url) as redis:
            with pytest.raises(ServerRefusesError, match="is not a node of a Redis Cluster: write redis://"):
                await check_server(redis, address_of(url))


@pytest.mark.parametrize("code", ["MOVED 1 one:6379", "ASK 1 one:6379", "TRYAGAIN some", "CLUSTERDOWN it is"])
def test_what_a_cluster_says_while_slots_move_ends_by_itself(code):
    """Behind the address of a single server it never would."""
    assert type(explained("redis+cluster://one:6379", ResponseError(code))) is ServerUnreachableError
    assert type(explained("redis://one:6379", ResponseError(code))) is ServerRefusesError


async def test_commands_go_on_after_a_planned_failover_and_tell_of_it_before(cluster, redis):
    """Several commands of one connection go to the new server all of them. Who remembers what it read can look again first."""
    name, changes = KEYS.audit_seq, []
    await redis.set(name, 1)
    place_of(redis).on_change = lambda: changes.append("changed")

    await asyncio.to_thread(cluster.fail_over, cluster.primary_of(name))

    assert changes == []
    async with redis.pipeline(transaction=False) as several:
        several.incr(name)
        several.execute_command("WAIT", 1, 5_000)
        assert await several.execute(raise_on_error=False) == [2, 1]
    assert changes == ["changed"]


async def test_no_command_runs_on_a_server_that_has_only_some_keys_of_a_slot(cluster, redis):
    """A script there would take the others for keys that do not exist. It waits until the slot has moved."""
    kept, gone, new = KEYS.meta, KEYS.audit_seq, KEYS.undrawn
    source = cluster.primary_of(kept)
    slot = cluster.ask(source, "CLUSTER KEYSLOT", kept)
    target = next(port for port in cluster.primaries() if port != source)
    await redis.set(kept, "kept")
    await redis.set(gone, "gone")
    cluster.ask(target, "CLUSTER SETSLOT", slot, "IMPORTING", cluster.ask(source, "CLUSTER MYID"))
    cluster.ask(source, "CLUSTER SETSLOT", slot, "MIGRATING", cluster.ask(target, "CLUSTER MYID"))
    cluster.ask(source, "MIGRATE", "127.0.0.1", target, gone, 0, 5000)

    assert await redis.get(kept) == "kept"
    create = "return redis.call('SET', KEYS[1], redis.call('EXISTS', ARGV[1]))"
    waiting = [
        asyncio.create_task(redis.get(gone)),
        asyncio.create_task(redis.eval(create, 1, new, kept)),
    ]
    await until(
        lambda: cluster.ask(source, "INFO", "errorstats").get("errorstat_ASK", {}).get("count", 0) > 1
    )
    assert cluster.ask(target, "CLUSTER COUNTKEYSINSLOT", slot) == 1

    cluster.ask(source, "MIGRATE", "127.0.0.1", target, kept, 0, 5000)
    for port in (target, source, *cluster.primaries()):
        cluster.ask(port, "CLUSTER SETSLOT", slot, "NODE", cluster.ask(target, "CLUSTER MYID"))
    assert await asyncio.gather(*waiting) == ["gone", "OK"]
    assert await redis.mget(kept, new) == ["kept", "1"]
    assert cluster.primary_of(kept) == target


async def test_who_waits_on_a_server_that_hands_over_is_told_and_finds_the_new_one(cluster, redis):
    """What was written meanwhile is read there."""
    stream = KEYS.replies("billing.here")
    async with open_blocking_redis(cluster.url, block=30) as waiting:
        reading = asyncio.create_task(waiting.xread({stream: "0-0"}, block=30_000))
        primary = cluster.primary_of(stream)
        await until(lambda: any(each["cmd"] == "xread" for each in cluster.ask(primary, "CLIENT LIST")))
        await asyncio.to_thread(cluster.fail_over, cluster.primary_of(stream))
        with pytest.raises(RedisError) as unblocked:
            await reading
        assert type(explained(address_of(cluster.url), unblocked.value)) is ServerUnreachableError

        await redis.xadd(stream, {"id": "billing.one"})
        async with asyncio.timeout(20):
            while True:
                try:
                    assert await waiting.xread({stream: "0-0"}, block=5_000)
                    break
                except RedisError:
                    await asyncio.sleep(0.01)
