"""A Redis Cluster behind one client: where commands go, and what happens when servers die or hand over."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from redis.exceptions import RedisError, ResponseError

from agent_adapter.contract.keys import IN_CLUSTER, Keys, slot_of
from agent_adapter.errors import ServerRefusesError, ServerUnreachableError, ServerUnsuitableError
from agent_adapter.redis.cluster import ClusterAddress, ClusterRedis, in_one_go, primaries_of
from agent_adapter.redis.pool import address_of, freeze_meta, open_blocking_redis, open_redis
from agent_adapter.redis.server_check import check_server, explained
from playground.redis_server import redis_on_a_port
from tests.support.faults import eventually

KEYS = Keys("assent", IN_CLUSTER)


@pytest.fixture
async def redis(cluster) -> AsyncIterator[ClusterRedis]:
    async with open_redis(cluster.url) as redis:
        assert isinstance(redis, ClusterRedis)
        yield redis


@pytest.mark.parametrize(
    ("url", "hosts", "server_url", "shown"),
    [
        ("redis+cluster://one", (("one", 6379),), "redis://server", "redis+cluster://one:6379"),
        (
            "rediss+cluster://bot:s%40cret@one:7000,two,[::1]:7002/0?ssl_ca_certs=/ca.pem",
            (("one", 7000), ("two", 6379), ("::1", 7002)),
            "rediss://bot:s%40cret@server?ssl_ca_certs=%2Fca.pem",
            "rediss+cluster://one:7000,two:6379,[::1]:7002",
        ),
    ],
)
def test_an_address_names_some_servers_and_shows_no_password(url, hosts, server_url, shown):
    """Which others there are, these say."""
    assert ClusterAddress.of(url) == ClusterAddress(hosts, server_url)
    assert address_of(url) == shown


@pytest.mark.parametrize(
    "url", ["redis+cluster://", "redis+cluster://one/1", "redis+cluster://:s3cret@one:x"]
)
def test_an_address_with_a_database_or_without_a_host_is_refused_without_its_password(url):
    """A cluster has no other databases."""
    with pytest.raises(ServerUnreachableError, match="write redis\\+cluster://") as refused:
        address_of(url)
    assert "s3cret" not in str(refused.value)


async def test_each_key_is_kept_by_the_server_that_has_its_slot(cluster, redis):
    """Lanes lie on all of them, and single commands and scripts find each."""
    names = [lane.prefix + "try" for lane in KEYS.all_lanes()]
    for name in names:
        await redis.set(name, "here")
        script = "return {redis.call('GET', KEYS[1])}"
        assert await redis.eval(script, 1, name) == ["here"]

    assert {cluster.primary_of(name) for name in names} == set(cluster.primaries())
    for name in names:
        assert cluster.ask(cluster.primary_of(name), "GET", name) == "here"
        assert cluster.ask(cluster.primary_of(name), "CLUSTER KEYSLOT", name) == slot_of(name)


async def test_commands_about_many_lanes_are_answered_in_order(redis):
    """An error is the answer to its own command."""
    names = [lane.audit_seq for lane in KEYS.all_lanes()]
    for number, name in enumerate(names):
        await redis.set(name, number)

    *answers, wrong = await in_one_go(redis, [*(("GET", name) for name in names), ("HGETALL", names[0])])

    assert answers == [str(number) for number in range(IN_CLUSTER)]
    assert isinstance(wrong, RedisError)


async def test_a_namespace_begins_with_sixteen_lanes_and_keeps_them(cluster, redis):
    """Another number is refused, and the sentence names the setting."""
    assert await freeze_meta(redis, "assent", address=cluster.url) == KEYS
    assert await freeze_meta(redis, "assent", address=cluster.url, lanes=IN_CLUSTER) == KEYS
    with pytest.raises(ServerUnsuitableError, match="16 for good, and ASSENT_LANES is 4"):
        await freeze_meta(redis, "assent", address=cluster.url, lanes=4)


async def test_all_primaries_are_checked_and_none_as_a_single_server(cluster, redis):
    """A server of a cluster alone would take some approvals only."""
    assert len(await primaries_of(redis)) == 3
    assert await check_server(redis, address_of(cluster.url)) == []
    url = f"redis://127.0.0.1:{cluster.primaries()[0]}"
    async with open_redis(url) as alone:
        with pytest.raises(ServerUnsuitableError, match="write redis\\+cluster://"):
            await check_server(alone, url)


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


async def answered(redis: ClusterRedis, name: str) -> str:
    """Read a key as soon as its server answers: one that comes back takes no commands for some seconds."""

    async def read() -> str | None:
        with contextlib.suppress(RedisError):
            found: str | None = await redis.get(name)
            return found
        return None

    return await eventually(read)


async def test_commands_go_on_after_a_planned_failover_and_tell_of_it_before(cluster, redis):
    """Who remembers what it read can look again first."""
    name, changes = KEYS.lane(0).audit_seq, []
    await redis.set(name, "before")
    redis.on_change = changes.append

    await asyncio.to_thread(cluster.fail_over, cluster.primary_of(name))

    assert changes == []
    assert await redis.get(name) == "before"
    assert True in changes


async def test_a_connection_that_is_made_again_says_that_it_may_be_the_same_server(cluster, redis):
    """Servers close idle connections, which is not a failover."""
    name, changes = KEYS.lane(0).audit_seq, []
    await redis.set(name, "before")
    redis.on_change = changes.append

    for server in redis._servers.values():
        await server.connection_pool.disconnect()

    assert await redis.get(name) == "before"
    assert changes == [False]


async def test_commands_go_to_the_replica_of_a_server_that_was_killed(cluster, redis):
    """The server that was killed is still in the list of servers that were asked first."""
    name, changes = KEYS.lane(0).audit_seq, []
    await redis.set(name, "before")
    await asyncio.to_thread(cluster.replicate)
    redis.on_change = lambda _: changes.append("changed")

    await asyncio.to_thread(cluster.kill, cluster.primary_of(name))

    assert changes == []
    assert await answered(redis, name) == "before"
    assert changes


async def test_a_part_that_hangs_holds_up_no_other_and_is_found_again(cluster, redis):
    """A primary and its replica. While nobody answers for it, what is for it fails, and so does no other command."""
    name = KEYS.lane(0).audit_seq
    gone = cluster.primary_of(name)
    other = next(key for lane in KEYS.all_lanes() if cluster.primary_of(key := lane.audit_seq) != gone)
    for key in (name, other):
        await redis.set(key, "kept")
    await asyncio.to_thread(cluster.replicate)
    hanging = [cluster.servers[port] for port in (cluster.replica_of(gone), gone)]
    _cover_all(cluster, "no")
    for server in hanging:
        server.freeze()
    try:
        for _ in range(2):
            with pytest.raises(RedisError):
                await redis.get(name)
            assert await redis.get(other) == "kept"
    finally:
        for server in hanging:
            server.thaw()
        _cover_all(cluster, "yes")

    assert await eventually(lambda: _value(redis, name)) == "kept"


def _cover_all(cluster, value) -> None:
    for port in cluster.servers:
        cluster.ask(port, "CONFIG", "SET", "cluster-require-full-coverage", value)


async def _value(redis, name) -> str | None:
    with contextlib.suppress(RedisError):
        return await redis.get(name)
    return None


async def test_a_server_that_came_back_with_an_older_state_is_told_of_before_it_answers(cluster, redis):
    """No replica took over, so nothing else shows it."""
    name, answers = KEYS.lane(0).audit_seq, []
    await redis.set(name, "before")
    redis.on_change = lambda _: answers.append("changed")
    server = cluster.servers[cluster.primary_of(name)]

    server.kill()
    server.start()
    answers.append(await answered(redis, name))

    assert answers[0] == "changed"
    assert answers[-1] == "before"


async def test_no_command_runs_on_a_server_that_has_only_some_keys_of_a_slot(cluster, redis):
    """A script there would take the others for keys that do not exist. It waits until the slot has moved."""
    kept, gone, slot = "{00}kept", "{00}gone", slot_of("{00}")
    source = cluster.primary_of(kept)
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
        asyncio.create_task(redis.eval(create, 1, "{00}new", kept)),
    ]
    await asyncio.sleep(0.2)
    assert cluster.ask(target, "CLUSTER COUNTKEYSINSLOT", slot) == 1

    cluster.ask(source, "MIGRATE", "127.0.0.1", target, kept, 0, 5000)
    for port in (target, source, *cluster.primaries()):
        cluster.ask(port, "CLUSTER SETSLOT", slot, "NODE", cluster.ask(target, "CLUSTER MYID"))
    assert await asyncio.gather(*waiting) == ["gone", "OK"]
    assert await in_one_go(redis, [("GET", kept), ("GET", "{00}new")]) == ["kept", "1"]
    assert cluster.primary_of(kept) == target


async def test_what_a_script_publishes_is_heard_through_any_server(cluster, redis):
    """So one connection listens to all lanes."""
    heard = set()
    async with redis.pubsub() as listening:
        await listening.subscribe(*(lane.channel("wake") for lane in KEYS.all_lanes()))
        for lane in KEYS.all_lanes():
            await redis.eval("redis.call('PUBLISH', ARGV[1], 'now')", 1, lane.undrawn, lane.channel("wake"))
        async with asyncio.timeout(10):
            while len(heard) < IN_CLUSTER:
                if (message := await listening.get_message(timeout=1)) and message["type"] == "message":
                    heard.add(message["channel"])
    assert heard == {lane.channel("wake") for lane in KEYS.all_lanes()}


async def test_who_waits_on_a_server_that_hands_over_is_told_and_finds_the_new_one(cluster, redis):
    """What was written meanwhile is read there."""
    stream = KEYS.lane(0).replies("billing.here")
    async with open_blocking_redis(cluster.url, block=30) as waiting:
        reading = asyncio.create_task(waiting.xread({stream: "0-0"}, block=30_000))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(cluster.fail_over, cluster.primary_of(stream))
        with pytest.raises(RedisError) as unblocked:
            await reading
        failure = explained(address_of(cluster.url), unblocked.value)
        assert type(failure) is ServerUnreachableError

        await redis.xadd(stream, {"id": "billing.one"})
        async with asyncio.timeout(20):
            while True:
                try:
                    assert await waiting.xread({stream: "0-0"}, block=5_000)
                    break
                except RedisError:
                    await asyncio.sleep(0.1)
