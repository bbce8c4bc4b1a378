"""Which Redis will do, what is said about one that will not, and what a namespace agrees on."""

import asyncio
import gc
import socket
from contextlib import suppress
from functools import partial

import pytest
from redis.exceptions import BusyLoadingError, MovedError, NoPermissionError, ReadOnlyError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from agent_adapter import ApprovalClient
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import (
    ServerFailedError,
    ServerRefusesError,
    ServerUnreachableError,
    ServerUnsuitableError,
    WrongArgumentError,
)
from agent_adapter.redis import pool as connection
from agent_adapter.redis.address import address_of
from agent_adapter.redis.change import read_hashes
from agent_adapter.redis.pool import freeze_meta, open_blocking_redis, open_redis, place_of
from agent_adapter.redis.scripts import Scripts
from agent_adapter.redis.server_check import check_server, explained, judge_server, unsaid

SAFE = {
    "redis_version": "7.2.5",
    "maxmemory": 0,
    "maxmemory_policy": "noeviction",
    "aof_enabled": 1,
    "redis_mode": "standalone",
}


async def test_a_command_that_is_cancelled_at_any_moment_ends_as_cancelled(redis_url):
    """Python 3.11 alone would lose a cancellation that comes as the command has been written."""
    async with open_redis(redis_url) as redis:
        await redis.ping()
        for steps in range(8):
            command = asyncio.create_task(redis.blpop("nothing", timeout=30))
            for _ in range(steps):
                await asyncio.sleep(0)
            command.cancel()
            await asyncio.wait([command], timeout=60)

            assert command.cancelled(), steps
        assert await redis.ping()


@pytest.mark.parametrize("service", ["sentinels", "cluster"])
def test_a_loop_that_ends_at_any_moment_of_looking_for_the_primary_leaves_nothing_open(service, request):
    """Who has asked for the primary may be gone by then. Python would complain of the connection later, in another test."""
    url = request.getfixturevalue(service).url

    async def asked(steps: int) -> None:
        place = place_of(open_redis(url))
        asking = asyncio.create_task(place.find())
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()

    # The last loops end after the answer.
    for steps in range(300):
        asyncio.run(asked(steps))
    gc.collect()


async def test_a_connection_that_is_closed_at_any_moment_of_a_command_is_a_lost_connection(redis_url):
    async with open_redis(redis_url) as redis:
        for steps in range(8):
            connection = redis.connection_pool.make_connection()
            await connection.connect()
            sending = asyncio.create_task(connection.send_command("PING"))
            for _ in range(steps):
                await asyncio.sleep(0)

            await connection.disconnect(nowait=True)

            with suppress(RedisConnectionError):
                await sending
            await connection.disconnect(nowait=True)


async def test_a_task_that_ctrl_c_cancels_while_it_runs_goes_no_further_than_its_next_command(redis_url):
    """Python 3.11 alone would lose such a cancellation while the command is written."""
    went_on = []

    async def cancelled_while_it_runs(command):
        asyncio.current_task().cancel()
        await command()
        went_on.append(command)

    async with open_redis(redis_url) as redis:
        await redis.ping()
        scripts = Scripts(redis, Keys(), "agent_adapter.redis.lua")
        for command in (redis.ping, partial(read_hashes, scripts, Keys().of("billing.none"), "req")):
            await asyncio.wait([asyncio.create_task(cancelled_while_it_runs(command))], timeout=60)

        assert await redis.ping()
    assert went_on == []


async def test_commands_that_wait_for_their_turn_are_all_answered(redis_url, monkeypatch):
    """Ten thousand waits that begin at once take longer than one command may, and nobody is told that Redis is away."""
    monkeypatch.setattr(connection, "COMMAND_TIMEOUT", 0.5)
    async with open_redis(redis_url, connections=1) as crowded:
        answers = await asyncio.gather(*(crowded.blpop(["nothing"], timeout=0.2) for _ in range(5)))

    assert answers == [None] * 5


@pytest.mark.parametrize(
    ("info", "sentence"),
    [
        ({"redis_version": "6.0.16"}, "Redis at here is 6.0.16; 6.2 or newer (or Valkey) is needed: upgrade it"),
        ({"redis_version": "5.0"}, "Redis at here is 5.0; 6.2 or newer (or Valkey) is needed: upgrade it"),
        ({"role": "slave", "master_host": "db1", "master_port": 6379},
         "Redis at here is a replica, and replicas take no writes: use the address of the primary"),
        ({"cluster_enabled": 1}, "Redis at here is a node of a Redis Cluster: write redis+cluster://"),
        ({"maxmemory": 100, "maxmemory_policy": "allkeys-lru"},
         "Redis at here evicts pending approvals (maxmemory-policy allkeys-lru): set maxmemory-policy noeviction"),
        ({"maxmemory": 100, "maxmemory_policy": "allkeys-random"},
         "Redis at here evicts pending approvals (maxmemory-policy allkeys-random)"),
    ],
    ids=["6.0", "5.0", "a replica", "a node of a cluster", "allkeys-lru", "allkeys-random"],
)  # fmt: skip
def test_a_redis_that_cannot_keep_approvals_is_refused(info, sentence):
    """The sentence says what to change."""
    with pytest.raises(ServerUnsuitableError) as caught:
        judge_server(SAFE | info, "here")
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("info", "warnings"),
    [
        ({}, []),
        ({"redis_version": "6.2.0"}, []),
        ({"redis_version": "10.0.1"}, []),
        ({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1"}, []),
        *(({"maxmemory": limit, "maxmemory_policy": policy},
           [f"Redis at here evicts approvals once it is full (maxmemory-policy {policy}): set maxmemory-policy noeviction"])
          for limit, policy in [(0, "allkeys-lru"), (100, "volatile-lru")]),
        ({"aof_enabled": 0},
         ["Redis at here keeps no append-only file: a crash loses approvals; set appendonly yes"]),
    ],
    ids=["safe", "6.2", "10", "valkey", "allkeys without a limit", "volatile", "no AOF"],
)  # fmt: skip
def test_a_redis_that_may_lose_something_is_used_with_a_warning(info, warnings):
    """What is only a risk is said at the start, and the process goes on."""
    assert judge_server(SAFE | info, "here") == warnings


@pytest.mark.parametrize(
    ("missing", "what"),
    [
        ("redis_version", "its version"),
        ("aof_enabled", "whether it keeps an append-only file"),
        ("maxmemory_policy", "what it evicts"),
    ],
)
def test_a_redis_that_does_not_say_something_is_used_and_that_is_said(missing, what):
    """A managed server says less. That is no sign of a fault."""
    info = {name: value for name, value in SAFE.items() if name != missing}

    assert judge_server(info, "here") == []
    [sentence] = unsaid(info, "here")
    assert sentence.startswith(f"Redis at here does not say {what}, so this was not checked")
    assert unsaid(SAFE, "here") == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("redis://:secret@cache:6380/2", "redis://cache:6380/2"),
        ("rediss://user:secret@cache.example.com/1?ssl_cert_reqs=none", "rediss://cache.example.com:6379/1"),
        ("redis://cache/?password=secret", "redis://cache:6379/"),
        ("redis://:secret@[::1]:6380/2", "redis://[::1]:6380/2"),
        ("unix://user:secret@/run/redis.sock?db=1&password=secret", "unix:///run/redis.sock"),
        (
            "redis+sentinel://user:secret@one,two:26380,[::1]/pay/2?sentinel_password=secret",
            "redis+sentinel://one:26379,two:26380,[::1]:26379/pay",
        ),
        ("rediss+sentinel://one/pay?ssl_ca_certs=/ca.pem", "rediss+sentinel://one:26379/pay"),
    ],
)
def test_an_address_never_shows_a_password(url, address):
    """Logs and errors name the server, and nothing that opens it."""
    assert address_of(url) == address


OF_ONE, OF_DATABASE = "write redis://host:6379/0", "is not the number of a database: write redis://host"
OF_SENTINELS = "write redis+sentinel://host1:26379,host2:26379/service"
OF_CLUSTER = "write redis+cluster://"
WRONG = {
    OF_ONE: ["localhost:6379", "http://s3cret", "redis://s3cret:port/0", "redis://[::1", ""],
    OF_DATABASE: ["redis://cache/s3cret", "redis://cache:6379/0/1", "rediss://cache/-1"],
    OF_SENTINELS: [
        f"redis+sentinel://{rest}"
        for rest in (
            "s3cret",
            "/pay",
            "one/pay/x",
            "one/pay/1/2",
            "one:word/pay",
            "one,,two/pay",
            "one:0/pay",
        )
    ],
    OF_CLUSTER: ["redis+cluster://", "redis+cluster://one/1", "redis+cluster://:s3cret@one:x"],
    "has an option to correct or to leave out: Invalid value for 'socket_timeout'": [
        f"redis{rest}?socket_timeout=s3cret"
        for rest in ("://cache/0", "+sentinel://one/pay", "+cluster://one")
    ],
    "unexpected keyword argument 'socket_timout'": ["redis://:s3cret@cache/0?socket_timout=1"],
    "Invalid SSL Certificate Requirements": ["rediss://:s3cret@cache/0?ssl_cert_reqs=maybe"],
}


@pytest.mark.parametrize(("says", "url"), [(says, url) for says, urls in WRONG.items() for url in urls])
def test_a_wrong_address_is_not_repeated_in_the_error(says, url):
    """A misspelt address may hold a password, so only the right form is told."""
    with pytest.raises(WrongArgumentError) as caught:
        address_of(url)

    assert says in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_sentinels_that_do_not_answer_are_one_sentence():
    """It names them, and no password."""
    url = "redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:2/pay"
    async with open_redis(url, retries=0) as redis:
        with pytest.raises(ServerUnreachableError) as caught:
            await check_server(redis, address_of(url))
    assert str(caught.value) == (
        "The Sentinels 127.0.0.1:1,127.0.0.1:2 name no primary of 'pay' that is up: are they running, do they let this "
        "client in, and is this the name that `sentinel monitor` has? In a failover, wait for its end"
    )


async def test_a_server_that_does_not_answer_is_one_sentence(tmp_path):
    """It names the server and what to look at, whichever way it is asked."""
    async with open_redis(f"unix://{tmp_path}/nobody.sock", retries=0) as redis:
        scripts = Scripts(redis, Keys(), "agent_adapter.redis.lua", address="redis://cache:6379")
        for asking in (
            check_server(redis, "redis://cache:6379"),
            read_hashes(scripts, NOTHING, "req"),
        ):
            with pytest.raises(
                ServerUnreachableError,
                match=r"Redis at redis://cache:6379 does not answer \(.+is this the right address",
            ):
                await asking


async def test_a_server_that_accepts_and_says_nothing_is_given_up(monkeypatch):
    """What is tried again is tried for so long in all, and not so often at each of its steps."""
    monkeypatch.setattr(connection, "COMMAND_TIMEOUT", 0.2)
    monkeypatch.setattr(connection, "REPEAT_WITHIN", 0.5)

    # The system answers for a port that nobody takes connections from.
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        with pytest.raises(ServerUnreachableError, match="is it running"):
            async with (
                asyncio.timeout(30),
                ApprovalClient.from_url(f"redis://{host}:{port}/0", agent="billing"),
            ):
                pass
        server.setblocking(False)
        tries = 0
        with suppress(BlockingIOError):
            while True:
                server.accept()[0].close()
                tries += 1

    assert 1 < tries < 6


async def test_the_first_to_come_fixes_the_data_model(redis):
    """Its version is noted when a namespace is first used."""
    assert await freeze_meta(redis, "assent", begins=True) == Keys("assent")
    assert await redis.hgetall(Keys("assent").meta) == {"schema": str(connection.SCHEMA)}


async def test_a_namespace_of_another_schema_is_refused(redis):
    """Two versions that disagree never write beside each other."""
    await redis.hset(Keys("assent").meta, mapping={"schema": "7"})

    with pytest.raises(
        ServerUnsuitableError, match="written with schema 7, this version reads 2: run the version that"
    ):
        await freeze_meta(redis, "assent")


async def test_a_quiet_wait_is_not_cut_by_the_socket(redis_url):
    """A blocking read ends by its own limit, with nothing, and not by an error."""
    async with open_blocking_redis(redis_url, block=0.1) as redis:
        assert not await redis.xread({"nothing": "$"}, block=100)


NOTHING = Keys().of("nothing")


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (ReadOnlyError("You can't write against a read only replica."), ServerUnreachableError,
         "is a replica"),
        (ResponseError("Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write"),
         ServerUnreachableError, "is a replica"),
        (ResponseError("Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed"),
         ServerUnreachableError, "has reached its maxmemory"),
        (ResponseError("NOREPLICAS Not enough good replicas to write."), ServerUnreachableError, "takes no writes"),
        (ResponseError("MISCONF Redis is configured to save RDB snapshots"), ServerUnreachableError, "its own disk"),
        (BusyLoadingError("Redis is loading the dataset in memory"), ServerUnreachableError, "is still loading"),
        (MovedError("3999 127.0.0.1:6381"), ServerRefusesError, "is a node of a Redis Cluster"),
        (NoPermissionError("this user has no permissions to run the 'evalsha' command"),
         ServerRefusesError, "does not allow this user"),
        (ResponseError("The user executing the script can't run this command or subcommand script: 1"),
         ServerRefusesError, "does not allow this user"),
        (RedisConnectionError("invalid username-password pair or user is disabled."), ServerRefusesError,
         "refuses the user or the password"),
        (ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"), ServerFailedError,
         "failed at a command"),
        (RedisConnectionError("Connection refused"), ServerUnreachableError, "does not answer"),
        (TimeoutError(), ServerUnreachableError, "does not answer (TimeoutError)"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, Exception) else "",
)  # fmt: skip
def test_each_refusal_has_its_own_sentence(error, kind, sentence):
    """It says what Redis is, what to do, and in brackets Redis's own words; what kind it is says whether asking again helps."""
    said = explained("here", error)

    assert type(said) is kind
    assert str(said).startswith("Redis at here ")
    assert sentence in str(said)
    assert (str(error) or type(error).__name__) in str(said)
