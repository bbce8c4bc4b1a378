"""A Redis that somebody else runs: it does not say how it is set up, has no CONFIG, and takes passwords that expire."""

import asyncio

import pytest
from redis import Redis

from agent_adapter import ApprovalClient
from bot.app import running
from bot.cli.doctor import examine
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import pressed_until_decided, take
from tests.support.redis_credentials import NAME, changing

pytestmark = pytest.mark.nightly

RIGHTS = ("~{assent}:*", "&{assent}:*", "+@all", "-@dangerous", "-info", "-config")
UNSAID = "does not say its version, whether it keeps an append-only file, what it evicts"


def by_rights(serve) -> str:
    """A user who may use neither command, as on most services."""
    server = serve()
    with Redis.from_url(server.url) as admin:
        admin.acl_setuser("assent", enabled=True, passwords=["+secret"])
        admin.execute_command("ACL", "SETUSER", "assent", *RIGHTS)
    return server.url.replace("unix://", "unix://assent:secret@")


def by_name(serve) -> str:
    """Commands that are gone."""
    return serve("--rename-command", "CONFIG", "", "--rename-command", "INFO", "").url


async def approved(slack, watcher, agent, interrupt) -> bool:
    """Press Approve, and say whether the agent got it. While a connection is lost, a person reads to press again."""
    await watcher.card(interrupt.id)
    await pressed_until_decided(slack, watcher, interrupt.id, by="U0ERIK")
    resume = await asyncio.wait_for(agent, 60)
    return [decision.type for decision in resume.decisions] == ["approve"]


@pytest.mark.parametrize("restrict", [by_rights, by_name])
async def test_a_redis_that_does_not_say_how_it_is_set_up_is_used(
    restrict, serve, playground, slack, watcher, caplog
):
    """Bot and agent each say once what they could not check. The doctor notes it, and refuses nothing."""
    url = restrict(serve)
    settings = settings_for(playground, url)
    async with running(settings) as bot, an_agent(url) as client:
        await until(lambda: bot.health.ready and bot.store.scripts.pipelined.is_open)
        interrupt = an_interrupt()
        agent = asyncio.create_task(take(client, interrupt))

        assert await approved(slack, watcher, agent, interrupt)

        said = [record.name for record in caplog.records if UNSAID in record.getMessage()]
        assert said == ["bot.app", "agent_adapter.client"]
        # It has listened all the time, and not only swept.
        assert "loop.hindered" not in caplog.text
        found = [finding async for finding in examine(settings)]
    assert [finding.verdict for finding in found if UNSAID in finding.sentence] == ["note"]
    assert [finding.sentence for finding in found if finding.verdict == "fail"] == []


# --- Passwords that change -------------------------------------------------------------------------------------------


class Rotating:
    """A server on which the password of a user can be changed."""

    def __init__(self, url: str) -> None:
        self.url = url
        changing.password, changing.fails = "first", None
        self.change("first")

    def change(self, password: str) -> None:
        """Take this password only, and disconnect who has connected with another one."""
        with Redis.from_url(self.url) as admin:
            admin.execute_command("ACL", "SETUSER", "assent", "on", "resetpass", f">{password}", *RIGHTS[:3])
            admin.execute_command("CLIENT", "KILL", "USER", "assent")


@pytest.fixture
def rotating(serve) -> Rotating:
    return Rotating(serve().url)


@pytest.fixture
def settings(rotating, playground):
    return settings_for(playground, rotating.url, redis_credentials=NAME)


async def test_a_password_that_changes_costs_nothing(rotating, settings, slack, watcher):
    """Every connection of bot and agent asks the provider again: no restart, no answer lost."""
    agents = ApprovalClient.from_url(rotating.url, agent="billing", credentials=changing)
    async with running(settings) as bot, agents as client:
        await until(lambda: bot.health.ready and bot.store.scripts.pipelined.is_open)
        for password in ("second", "third"):
            interrupt = an_interrupt(run=password)
            agent = asyncio.create_task(take(client, interrupt))
            await watcher.card(interrupt.id)

            changing.password = password
            rotating.change(password)

            assert await approved(slack, watcher, agent, interrupt)
        await until(lambda: bot.health.ready and bot.store.scripts.pipelined.is_open)
        assert [found async for found in examine(settings) if found.verdict == "fail"] == []
