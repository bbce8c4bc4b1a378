"""A Redis that cannot keep approvals, or takes nothing for now, is named with its cure: never ready with nothing posted."""

import asyncio
import shutil

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import ServerRefusesError, ServerUnreachableError
from agent_adapter.redis.pool import open_redis
from bot.app import running
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, eventually, is_accepted, take
from tests.support.proxy import proxied

REPLICA = "is a replica, and replicas take no writes: use the address of the primary"


@pytest.fixture
def redis_url(serve) -> str:
    """All parts of the tests below use a server that is changed while they run."""
    return serve().url


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
    assert not await is_accepted(slack, card, by="U0ERIK")

    await make(redis, True)
    await until(lambda: bot.health.ready)
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    resume = await asyncio.wait_for(agent, 60)
    assert [decision.type for decision in resume.decisions] == ["approve"]


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


@pytest.mark.parametrize("command", ["hset", "zadd", "xadd"])
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
        is_stored = await is_accepted(slack, card, by="U0ERIK")
        if not is_stored:
            await until(lambda: "may *not* be recorded" in "".join(watcher.notices("U0ERIK")))
        await asyncio.sleep(0.5)
        await redis.execute_command("ACL", "SETUSER", "assent", f"+{command}")

        assert is_stored or await is_accepted(slack, card, by="U0ERIK")
        assert await is_accepted(slack, await watcher.card(meanwhile.id), by="U0ERIK")
        async with asyncio.timeout(120):
            answers = await asyncio.gather(*agents)
        assert [decision.type for resume in answers for decision in resume.decisions] == ["approve"] * 2


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
