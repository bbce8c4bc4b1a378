"""A primary, two replicas and three Sentinels: the bot and its agents follow the primary."""

import asyncio
import gc
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from agent_adapter.background import in_background
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.redis.pool import address_of, known_replicas, open_redis
from agent_adapter.redis.sentinel import Primary, SentinelAddress
from agent_adapter.redis.server_check import check_server
from playground.sentinels import SERVICE, Sentinels
from tests.conftest import until
from tests.faults.flow import Flow, breaking
from tests.support.builders import an_action
from tests.support.faults import (
    asking,
    eventually,
    nothing_owed,
    pressed_until_accepted,
    pressed_until_decided,
    rounds,
    settled_card,
    take,
)
from tests.support.properties import FULL


@pytest.fixture
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    """A service of this test's own."""
    service = Sentinels(Path(tmp_path_factory.mktemp("s")))
    try:
        service.start()
        yield service
    finally:
        service.stop()


@pytest.fixture
def unguarded(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sentinels]:
    """Likewise, of servers that take writes without a replica, for bots and agents that keep what they write."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "120")
    service = Sentinels(Path(tmp_path_factory.mktemp("u")), min_replicas=0)
    try:
        service.start()
        yield service
    finally:
        service.stop()


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """All parts of these tests use it."""
    name = "unguarded" if "unguarded" in request.fixturenames else "sentinels"
    return request.getfixturevalue(name).url


async def has_all(sentinels: Sentinels) -> None:
    """Wait until the replicas have what the primary has."""

    async def is_replicated() -> bool:
        return await asyncio.to_thread(sentinels.replicated)

    await eventually(is_replicated)


async def test_a_service_that_the_sentinels_do_not_know_is_named(sentinels, caplog):
    """They are asked for the primary by the name that their configuration has. Whoever asks gets the error, so no log has it."""
    url = sentinels.url.rpartition("/")[0] + "/another"
    async with open_redis(url, retries=0) as redis:
        with pytest.raises(ServerUnreachableError) as caught:
            await check_server(redis, address_of(url))

    assert str(caught.value) == (
        "The Sentinels know no service 'another': write the name that `sentinel monitor` has."
    )
    assert "background.ended" not in caplog.messages


@pytest.mark.parametrize("word", ["SHUTDOWN", "kill -9"])
async def test_a_server_that_was_stopped_comes_back_with_the_command_that_is_told(sentinels, word):
    """It is written for a shell, so that it can be pasted."""
    lines = [line.strip() for line in sentinels.told().splitlines()]
    at = next(n for n, line in enumerate(lines) if word in line)
    before = sentinels.primary()
    server, replicaof = (
        next(line for line in lines if line.startswith(begin)) for begin in (f"{before}: ", "--replicaof")
    )

    await asyncio.to_thread(subprocess.run, "\n".join(lines[at - 1 : at + 1]), shell=True, check=True)
    await eventually(lambda: changed(sentinels, before))
    command = server.partition(": ")[2]
    returned = await asyncio.create_subprocess_shell(f"exec {command} {replicaof}")
    try:
        await has_all(sentinels)
    finally:
        returned.kill()
        await returned.wait()


async def test_a_planned_failover_ends_at_once_with_the_commands_that_are_told(sentinels):
    """After the last one, the former primary is a replica. Otherwise a Sentinel would make it one ten seconds later."""
    lines = sentinels.told().splitlines()
    first, last = (next(n for n, line in enumerate(lines) if word in line) for word in ("former=", "UNPAUSE"))
    before = sentinels.primary()

    planned = "\n".join(["set -e", *map(str.strip, lines[first : last + 1])])
    await asyncio.to_thread(subprocess.run, planned, shell=True, check=True)

    async with open_redis(f"redis://127.0.0.1:{before}") as at_former:
        role, *_ = await at_former.execute_command("ROLE")
    assert await changed(sentinels, before)
    assert role == "slave"
    await has_all(sentinels)


async def changed(sentinels: Sentinels, before: int) -> bool:
    """Whether another server is the primary."""
    return await asyncio.to_thread(sentinels.primary) != before


@pytest.mark.timeout(300)
async def test_what_was_asked_is_decided_after_the_primary_was_killed(
    sentinels, start_bot, client, slack, store, watcher
):
    """Twice: the bot edits the card that is there, and the waiting agent gets the decision."""
    await start_bot()
    for _ in range(2):
        interrupt = client.interrupt(asking(an_action()))
        waiting = asyncio.create_task(take(client, interrupt))
        await watcher.card(interrupt.id)
        await has_all(sentinels)

        killed = await asyncio.to_thread(sentinels.kill_primary)
        await asyncio.to_thread(sentinels.bring_back, killed)
        await pressed_until_decided(slack, watcher, interrupt.id)

        async with asyncio.timeout(300):
            resume = await waiting
        assert resume.decisions == (ApproveDecision(),)
        await settled_card(store, watcher, interrupt.id)
        assert len(watcher.cards(interrupt.id)) == 1
    await nothing_owed(store)


@pytest.mark.timeout(300)
async def test_a_planned_failover_is_followed_by_connections_that_stay_open(
    sentinels, start_bot, client, slack, store, watcher
):
    """The former primary still answers, as a replica. Who writes to it is led to the new one."""
    await start_bot()
    interrupt = client.interrupt(asking(an_action()))
    waiting = asyncio.create_task(take(client, interrupt))
    await watcher.card(interrupt.id)
    await has_all(sentinels)

    await asyncio.to_thread(sentinels.fail_over)
    await pressed_until_decided(slack, watcher, interrupt.id)

    async with asyncio.timeout(300):
        resume = await waiting
    assert resume.decisions == (ApproveDecision(),)
    await settled_card(store, watcher, interrupt.id)
    await nothing_owed(store)


async def test_connections_leave_a_former_primary_that_still_takes_writes(sentinels):
    """A Sentinel makes it a replica ten seconds later. What is written there until then is lost."""
    former = await asyncio.to_thread(sentinels.primary)
    async with open_redis(sentinels.url) as redis, open_redis(f"redis://127.0.0.1:{former}") as at_former:

        async def has_left() -> bool:
            return (await redis.config_get("port"))["port"] != str(former)

        assert not await has_left()
        handing_over = asyncio.create_task(asyncio.to_thread(sentinels.fail_over))
        await eventually(has_left)
        role, *_ = await at_former.execute_command("ROLE")
        await handing_over

    assert role == "master"


async def test_a_service_whose_servers_are_all_down_has_no_primary(sentinels):
    """Whoever starts a bot then reads what the Sentinels see, and not that some address refuses."""
    for server in sentinels.servers.values():
        server.kill()

    async def is_said() -> bool:
        async with open_redis(sentinels.url, retries=0) as redis:
            try:
                await check_server(redis, address_of(sentinels.url))
            except ServerUnreachableError as error:
                return "see no primary" in str(error)
        return False

    await eventually(is_said)


async def test_the_newest_answer_of_the_sentinels_counts(sentinels, tmp_path_factory):
    """One of them was cut off before the failover, and names the primary that it knew. It is the first in the address."""
    await asyncio.to_thread(sentinels.fail_over)
    cut_off = Sentinels(Path(tmp_path_factory.mktemp("o")))
    try:
        await asyncio.to_thread(cut_off.start)
        other = cut_off.url.partition("://")[2].partition("/")[0]
        async with open_redis(sentinels.url.replace("://", f"://{other},")) as redis:
            found = (await redis.config_get("port"))["port"]
    finally:
        cut_off.stop()

    assert found == str(sentinels.primary())


async def test_a_sentinel_that_hangs_holds_nobody_up(sentinels):
    """Its machine is gone, perhaps together with the primary. Twenty commands need new connections at the same moment."""
    process = list(sentinels.sentinels.values())[-1]
    process.send_signal(signal.SIGSTOP)
    try:
        async with open_redis(sentinels.url) as redis, asyncio.timeout(10):
            assert all(await asyncio.gather(*(redis.ping() for _ in range(20))))
    finally:
        process.send_signal(signal.SIGCONT)


async def test_a_sentinel_that_stays_at_a_dead_server_is_not_believed(sentinels):
    """It led a failover whose new primary died before the end, so it names that one for good, with the number of the next failover."""
    leader, *others = sentinels.sentinels
    former = sentinels.primary()
    async with open_redis(f"redis://127.0.0.1:{leader}") as sentinel:
        await sentinel.execute_command("SENTINEL", "FAILOVER", SERVICE)
    await eventually(lambda: named(others, lambda port: port != former))
    promoted = sentinels.primary()
    [other] = sentinels.servers.keys() - {former, promoted}
    sentinels.servers[promoted].kill()
    # The leader waits for this one, and notices first that the new primary is gone: its failover never ends.
    await asyncio.sleep(0.3)
    sentinels.servers[other].freeze()
    try:
        await eventually(lambda: named(others, lambda port: port == former))
    finally:
        sentinels.servers[other].thaw()
    assert await port_of(leader) == promoted

    primary = Primary(SentinelAddress.of(sentinels.url), {})
    assert {await primary.find() for _ in range(20)} == {("127.0.0.1", former)}

    sentinels.servers[promoted].start()
    with Redis(port=promoted) as returned:
        returned.replicaof("127.0.0.1", former)
    # Its failover ends, and it names that server as if that were so for all.
    await eventually(lambda: is_settled(leader))
    assert await port_of(leader) == promoted
    assert {await primary.find() for _ in range(20)} == {("127.0.0.1", former)}

    # Where one of the others is away, it hears within ten seconds that its server is a replica.
    with away(sentinels.sentinels[others[0]]):
        await eventually(lambda: find_anew(sentinels, ("127.0.0.1", former)))


@contextmanager
def away(sentinel: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop a Sentinel for a while: it does not answer."""
    sentinel.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        sentinel.send_signal(signal.SIGCONT)


async def find_anew(sentinels: Sentinels, server: tuple[str, int]) -> bool:
    """Whether processes that start now, and know no primary from before, find this server."""
    address = SentinelAddress.of(sentinels.url)
    return {await Primary(address, {}).find() for _ in range(5)} == {server}


async def is_settled(sentinel: int) -> bool:
    """Whether a Sentinel is not in the middle of a failover."""
    async with open_redis(f"redis://127.0.0.1:{sentinel}") as asked:
        state = await asked.execute_command("SENTINEL", "MASTER", SERVICE)
    return "failover_in_progress" not in str(state)


async def port_of(sentinel: int) -> int:
    """Give the port that a Sentinel names."""
    async with open_redis(f"redis://127.0.0.1:{sentinel}") as asked:
        _, port = await asked.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
    return int(port)


async def named(sentinels: Iterable[int], is_it: Callable[[int], bool]) -> bool:
    """Whether all of these Sentinels name such a port."""
    return all([is_it(await port_of(each)) for each in sentinels])


def test_a_process_that_ends_while_it_asks_leaves_no_connection_to_a_sentinel_open(sentinels, recwarn):
    """At whichever step of a question the event loop ends."""
    address = SentinelAddress.of(sentinels.url)

    async def ask(steps: int) -> None:
        primary = Primary(address, {})
        await primary.find()
        asking = in_background(primary.find())
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()

    gc.collect()
    recwarn.clear()
    for steps in range(120):
        asyncio.run(ask(steps))
    gc.collect()

    assert [str(each.message) for each in recwarn] == []


async def test_a_sentinel_that_refuses_to_answer_does_not_hide_the_others(sentinels):
    """Its user may not ask. The next one is asked."""
    first = next(iter(sentinels.sentinels))
    async with open_redis(f"redis://127.0.0.1:{first}") as sentinel:
        await sentinel.execute_command("ACL", "SETUSER", "default", "-sentinel")

    async with open_redis(sentinels.url) as redis:
        assert await redis.ping()


@pytest.mark.skipif(
    not FULL, reason="Sentinels take a busy machine for a dead one: `make faults` runs it by itself"
)
@pytest.mark.parametrize("is_planned", [True, False], ids=["planned", "the primary is killed"])
@pytest.mark.timeout(900)
async def test_failovers_lose_nothing_that_was_accepted(
    is_planned, unguarded, start_bot, client, slack, store, watcher
):
    """The servers wait for no replica. Every click that Slack shows as accepted is in the record and reaches its agent."""
    for _ in range(2):
        await start_bot()

    async def fail_over():
        if is_planned:
            await asyncio.to_thread(unguarded.fail_over)
        else:
            killed = await asyncio.to_thread(unguarded.kill_primary)
            await asyncio.to_thread(unguarded.bring_back, killed)

    # Agents take no decision until ten seconds after a failover.
    async with breaking(fail_over, pauses=(12.0, 16.0)) as broken:
        await Flow(client, slack, store, watcher).run(rounds(30, 300), at_once=10)

    await nothing_owed(store)
    assert broken


@pytest.mark.timeout(300)
async def test_a_click_that_the_replicas_confirmed_outlives_the_primary_that_is_killed_right_then(
    sentinels, start_bot, client, slack, store, watcher
):
    """Nobody waits for the replicas but the click itself. Behind Sentinels it waits for all, also for one that is away."""
    bot = await start_bot(durability="replica")
    assert bot.store.durability.replicas == len(sentinels.servers) - 1
    for _ in range(rounds(1, 5)):
        interrupt = client.interrupt(asking(an_action()))
        waiting = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        # The failover of the round before is over for this bot.
        await until(lambda: not bot.store.unlooked)
        await pressed_until_accepted(slack, card)

        killed = await asyncio.to_thread(sentinels.kill_primary)

        async with asyncio.timeout(60):
            assert (await waiting).decisions == (ApproveDecision(),)
        async with open_redis(sentinels.url) as redis:
            assert await known_replicas(redis) == len(sentinels.servers) - 1
        await asyncio.to_thread(sentinels.bring_back, killed)
        await settled_card(store, watcher, interrupt.id)
