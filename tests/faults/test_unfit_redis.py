"""A Redis that cannot keep approvals, or takes nothing for now, is named with its cure: never ready with nothing posted."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import (
    AgentAdapterError,
    ServerRefusesError,
    ServerUnreachableError,
    ServerUnsuitableError,
)
from agent_adapter.redis.pool import open_redis
from bot.app import running
from bot.cli.doctor import examine
from playground.client import Control
from playground.redis_server import RedisServer, find_executable
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, Json, eventually, settled_card, take
from tests.support.proxy import proxied

REPLICA = "is a replica, and replicas take no writes: use the address of the primary"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Start a server of this test's own: `serve("--option", …)`."""
    started: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        server = RedisServer(tmp_path / f"redis-{len(started)}", options)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def sentinel(tmp_path: Path) -> Iterator[str]:
    """A Sentinel's address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = tmp_path / "sentinel.conf"
    configuration.write_text(f"port {port}\ndir {tmp_path}\n")
    process = subprocess.Popen(
        [find_executable(), str(configuration), "--sentinel"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield f"redis://127.0.0.1:{port}/0"
    process.kill()
    process.wait(10)


@pytest.fixture
def refused(playground) -> Callable[[str], asyncio.Future]:
    """Try a Redis with every part of ours, and give the one sentence of all of them."""

    async def sentence(url: str, kind: type[AgentAdapterError] = ServerUnsuitableError) -> str:
        settings = settings_for(playground, url)
        said = set()
        with pytest.raises(kind) as of_bot:
            async with running(settings):
                pass
        said.add(str(of_bot.value))
        with pytest.raises(kind) as of_agent:
            async with an_agent(url):
                pass
        said.add(str(of_agent.value))
        said |= {found.sentence async for found in examine(settings) if found.subject == "redis"}
        [only] = said
        return only

    return sentence


async def test_a_node_of_a_cluster_is_refused_by_name(serve, refused):
    """Bot, agent and doctor say the same, whether the node has slots or not."""
    server = serve("--cluster-enabled", "yes")
    assert "is a node of a Redis Cluster: write redis+cluster://" in await refused(server.url)

    async with open_redis(server.url) as redis:
        await redis.execute_command("CLUSTER", "ADDSLOTS", *range(16_384))
    assert "is a node of a Redis Cluster: write redis+cluster://" in await refused(server.url)
    of_a_database = await refused(f"{server.url}?db=1", ServerRefusesError)
    assert "is a node of a Redis Cluster: write redis+cluster://" in of_a_database


async def test_a_sentinel_is_refused_by_name(sentinel, refused):
    """It keeps no data, so its port is never the right one."""

    async def answers() -> bool:
        with contextlib.suppress(Exception):
            async with Redis.from_url(sentinel) as redis:
                return bool(await redis.ping())
        return False

    await eventually(answers)
    assert "is a Sentinel, which keeps no data" in await refused(sentinel)


async def test_a_replica_is_refused_by_name_and_names_its_primary(serve, refused):
    """Also one that takes writes, which would be lost at its next synchronisation."""
    server = serve("--replicaof", "127.0.0.1 1", "--replica-read-only", "no")

    sentence = await refused(server.url)
    assert REPLICA in sentence
    assert "(it follows 127.0.0.1:1)" in sentence


async def test_a_database_that_does_not_exist_is_refused_by_name(serve, refused):
    """A server has sixteen databases unless it is told otherwise: the number in the address is wrong, no record is."""
    sentence = await refused(f"{serve().url}?db=99", ServerRefusesError)

    assert "has no database of the number in the address" in sentence
    assert "write redis://host:6379/0" in sentence


@pytest.fixture
def redis_url(serve) -> str:
    """All parts of the tests below use a server that is changed while they run."""
    return serve().url


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with open_redis(redis_url) as redis:
        yield redis


async def no_replicas(redis: Redis, enough: bool) -> None:
    await redis.config_set("min-replicas-to-write", "0" if enough else "1")


async def no_memory(redis: Redis, enough: bool) -> None:
    await redis.config_set("maxmemory", "0" if enough else "1mb")
    if not enough:
        # More than the limit, whatever this server needs for itself.
        await redis.config_set("maxmemory", "100kb")


async def replica(redis: Redis, primary: bool) -> None:
    await redis.replicaof(*(("NO", "ONE") if primary else ("127.0.0.1", "1")))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            no_replicas,
            "takes no writes, because fewer replicas follow it than min-replicas-to-write asks for",
        ),
        (no_memory, "has reached its maxmemory and takes nothing new: raise maxmemory"),
        (replica, REPLICA),
    ],
    ids=["NOREPLICAS", "OOM", "READONLY"],
)
async def test_a_redis_that_takes_nothing_for_now_is_named_and_waited_for(
    make, sentence, redis, start_bot, client, slack, watcher
):
    """`/readyz` and publishing say the sentence; a wait goes on, and ends with its answer when Redis takes writes again."""
    bot = await start_bot()
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)

    await make(redis, False)
    await until(lambda: sentence in bot.health.reasons.get("redis", ""))
    with pytest.raises(ServerUnreachableError, match="Redis at unix://") as refused:
        await client.publish(an_interrupt(run="another"))
    assert sentence in str(refused.value)
    assert not (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]

    await make(redis, True)
    await until(lambda: bot.health.ready)
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    resume = await asyncio.wait_for(agent, 60)
    assert [decision.type for decision in resume.decisions] == ["approve"]


@pytest.mark.parametrize("make", [no_replicas, no_memory], ids=["NOREPLICAS", "OOM"])
async def test_an_answer_that_cannot_be_taken_says_why(make, redis, start_bot, client, slack, watcher):
    """It is decided and readable, and Redis takes no writes: no silent waiting. Afterwards it is there to be taken."""
    await start_bot()
    interrupt = an_interrupt()
    waiting = asyncio.create_task(client.wait(await client.publish(interrupt)))
    await approve(slack, await watcher.card(interrupt.id))
    await waiting

    await make(redis, False)
    with pytest.raises(ServerUnreachableError, match="Redis at") as refused:
        await asyncio.wait_for(client.resuming(interrupt.id).__aenter__(), 60)
    assert refused.value.code == ("OOM" if make is no_memory else "NOREPLICAS")
    await make(redis, True)
    async with client.resuming(interrupt.id) as resume:
        assert [decision.type for decision in resume.decisions] == ["approve"]


async def test_a_card_that_was_posted_while_redis_took_nothing_shows_what_is_decided_at_once(
    redis, start_bot, client, slack, store, watcher
):
    """The bot that posted it goes on noting that. Otherwise everybody would wait until its lease ends: here ten minutes."""
    bot = await start_bot(lease_seconds=600)
    await slack.fault("chat.postMessage", "delay", seconds=3.0)
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    await eventually(lambda: was_called(slack, "chat.postMessage"))
    await no_replicas(redis, False)
    card = await watcher.card(interrupt.id)
    await until(lambda: "min-replicas-to-write" in bot.health.reasons.get("redis", ""))

    await no_replicas(redis, True)
    await approve(slack, card)

    await asyncio.wait_for(agent, 60)
    await settled_card(store, watcher, interrupt.id)


@pytest.mark.parametrize("answers", ["lease_part", "lease_work"])
async def test_a_lease_whose_answer_is_lost_holds_up_no_card(
    answers, start_bot, client, slack, store, watcher
):
    """A server takes it, and the connection ends before the answer: nobody knows of a lease that here lasts ten minutes."""
    bot = await start_bot(lease_seconds=600)
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    lost: list[object] = []
    ask = getattr(bot.store, answers)

    async def lose(*args, **given):
        answer = await ask(*args, **given)
        if answer != [] and not lost:
            lost.append(answer)
            bot.restore_guard.reconnected()
            raise ServerUnreachableError("the connection was lost")
        return answer

    setattr(bot.store, answers, lose)
    await approve(slack, card)

    await asyncio.wait_for(agent, 60)
    await settled_card(store, watcher, interrupt.id)
    assert lost


async def was_called(slack: Control, method: str) -> bool:
    """Whether the bot is waiting for the answer: the fault that delays it is used up."""
    return method not in str((await slack.state())["faults"])


RIGHTS = ("~{assent}:*", "&{assent}:*", "+@all", "-@dangerous", "+info")
"""One user for bots and agents, where nobody made users of each role."""


async def test_a_user_without_the_rights_is_named_and_no_wait_hangs(serve, playground):
    """Once it has them, all works. Taken away later, a wait ends with the sentence, and can be repeated."""
    server = serve()
    async with open_redis(server.url) as admin:
        await admin.execute_command(
            "ACL", "SETUSER", "assent", "on", ">secret", "~{assent}:*", "+@read", "+info"
        )
        url = f"{server.url.replace('unix://', 'unix://assent:secret@')}"
        with pytest.raises(ServerRefusesError, match="does not allow this user what is needed"):
            async with running(settings_for(playground, url)):
                pass
        wrong = server.url.replace("unix://", "unix://assent:wrong@")
        with pytest.raises(ServerRefusesError, match="refuses the user or the password of this address"):
            async with an_agent(wrong):
                pass

        await admin.execute_command("ACL", "SETUSER", "assent", *RIGHTS)
        async with running(settings_for(playground, url)) as bot, an_agent(url) as client:
            await until(lambda: bot.health.ready)
            interrupt_id = await client.publish(an_interrupt())
            waiting = asyncio.create_task(client.wait(interrupt_id))
            await asyncio.sleep(0.1)
            await admin.execute_command("ACL", "SETUSER", "assent", "resetkeys", "~another:*")
            await until(lambda: "does not allow this user" in bot.health.reasons.get("redis", ""))
            with pytest.raises(ServerRefusesError, match="does not allow this user what is needed"):
                await client.wait(interrupt_id)
            waiting.cancel()
            await admin.execute_command("ACL", "SETUSER", "assent", *RIGHTS)
            await until(lambda: bot.health.ready)


async def test_a_password_that_was_changed_ends_a_wait(redis_url, redis, start_bot, client):
    """Agent and `/readyz` say what to correct, and go on when the password is the one of the address again."""
    bot = await start_bot()
    interrupt = an_interrupt()
    await client.publish(interrupt)
    waiting = asyncio.create_task(client.wait(interrupt.id))
    await asyncio.sleep(0.1)
    async with open_redis(redis_url.replace("unix://", "unix://:changed@"), retries=0) as admin:
        await redis.config_set("requirepass", "changed")
        # What connects first after that is refused.
        await admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

        with pytest.raises(ServerRefusesError, match="wants a user and a password"):
            await asyncio.wait_for(waiting, 60)
        await until(lambda: "wants a user and a password" in bot.health.reasons.get("redis", ""))

        await admin.config_set("requirepass", "")
    await until(lambda: bot.health.ready)
    await client.publish(an_interrupt(run="another"))


@pytest.mark.parametrize("command", ["hset", "zadd", "xadd", "hincrby"])
async def test_a_user_without_one_command_loses_no_decision(
    command, redis_url, redis, playground, slack, watcher
):
    """Scripts end in their middle: who clicks is told, and a second click is enough once the user has the right again."""
    await redis.execute_command("ACL", "SETUSER", "assent", "on", ">secret", *RIGHTS)
    of_bot = redis_url.replace("unix://", "unix://assent:secret@")
    async with running(settings_for(playground, of_bot)) as bot, an_agent(redis_url) as client:
        await until(lambda: bot.health.ready)
        asked, meanwhile = an_interrupt(), an_interrupt(run="meanwhile")
        agents = [asyncio.create_task(take(client, asked))]
        card = await watcher.card(asked.id)

        await redis.execute_command("ACL", "SETUSER", "assent", f"-{command}")
        agents.append(asyncio.create_task(take(client, meanwhile)))
        is_stored = await approve(slack, card)
        if not is_stored:
            await until(lambda: "may *not* be recorded" in "".join(watcher.notices("U0ERIK")))
        await asyncio.sleep(0.5)
        await redis.execute_command("ACL", "SETUSER", "assent", f"+{command}")

        assert is_stored or await approve(slack, card)
        assert await approve(slack, await watcher.card(meanwhile.id))
        async with asyncio.timeout(120):
            answers = await asyncio.gather(*agents)
        assert [decision.type for resume in answers for decision in resume.decisions] == ["approve"] * 2


@pytest.mark.parametrize("command", ["hmget", "zrem", "hdel"])
async def test_a_user_who_lacks_what_every_card_needs_turns_the_bot_red(
    command, redis_url, redis, playground, watcher
):
    """`/readyz` says the sentence while no card can be drawn or noted, and is green again once the user has the right."""
    await redis.execute_command("ACL", "SETUSER", "assent", "on", ">secret", *RIGHTS, f"-{command}")
    of_bot = redis_url.replace("unix://", "unix://assent:secret@")
    async with running(settings_for(playground, of_bot)) as bot, an_agent(redis_url) as client:
        await until(lambda: bot.health.ready)
        interrupt = an_interrupt()
        await client.publish(interrupt)
        await until(
            lambda: "does not allow this user what is needed" in bot.health.reasons.get("drawing", "")
        )

        await redis.execute_command("ACL", "SETUSER", "assent", f"+{command}")
        await until(lambda: bot.health.ready)
        await watcher.card(interrupt.id)


async def approve(slack: Control, card: Json) -> bool:
    """Press Approve, and tell whether Slack shows it as accepted."""
    return bool((await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"])


async def test_a_failover_behind_one_name_is_followed_without_a_restart(
    serve, tmp_path, redis_url, redis, playground, slack, watcher
):
    """The server of before is a replica now and is still there: bot and agent leave it for the one the name leads to."""
    async with (
        proxied(redis_url) as name,
        running(settings_for(playground, name.url)) as bot,
        an_agent(name.url) as client,
    ):
        await until(lambda: bot.health.ready)
        interrupt = an_interrupt()
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        await eventually(lambda: no_lease(redis))

        shutil.copytree(tmp_path / "redis-0", tmp_path / "redis-1", ignore=shutil.ignore_patterns("*.sock"))
        promoted = serve()
        await replica(redis, False)
        name.lead_to(promoted.url)
        async with open_redis(promoted.url) as new:
            await eventually(lambda: bot_reads_from(new))
        await until(lambda: bot.health.ready)
        await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")

        resume = await asyncio.wait_for(agent, 60)
        assert [decision.type for decision in resume.decisions] == ["approve"]


async def no_lease(redis: Redis) -> bool:
    return not await redis.zcard("{assent}:undrawn")


async def bot_reads_from(redis: Redis) -> bool:
    """Whether what only wakes leads to this server, too: the bot listens here, and the agent blocks."""
    ((_, listening),) = await redis.pubsub_numsub("{assent}:inbox")
    return listening == 1 and (await redis.info("clients"))["blocked_clients"] == 1
