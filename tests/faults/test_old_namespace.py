"""A bot serves a new namespace and the old one until nothing waits there."""

import asyncio
import base64
import os
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from redis import Redis as PlainRedis

from agent_adapter import ApprovalClient
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import InterruptExpiredError, InterruptRefusedError
from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from agent_adapter.redis.pool import open_redis
from bot.api.keys import KeyRing
from bot.app import running
from bot.cli.acl import users_of
from bot.cli.doctor import examine
from bot.domain.errors import SettingsError
from bot.runtime.settings import load_settings
from playground.workspace import TEAM
from tests.conftest import settings_for, until
from tests.support.builders import an_action, an_interrupt
from tests.support.faults import CHANNEL, take
from tests.support.http_api import speaking
from tests.support.lanes import require
from tests.support.people import Someone, buttons, words
from tests.support.redis_users import has_users

OLD, NEW = "assent", "assent2"
MOVED = {"namespace": NEW, "namespace_old": OLD}
"""Settings of a bot that has moved."""
EMPTY = "nothing waits in namespace 'assent' any more"


@pytest.fixture
async def agents(redis_url):
    """An agent of each namespace: `agents(OLD)`, `agents(NEW, "payroll")`."""
    async with AsyncExitStack() as stack:

        async def enter(namespace, agent="billing", url=redis_url):
            second = timedelta(seconds=1)
            return await stack.enter_async_context(
                ApprovalClient.from_url(
                    url,
                    agent=agent,
                    namespace=namespace,
                    grace=second,
                    claim_lease=second,
                    reconcile_every=second,
                )
            )

        yield enter


@pytest.fixture
def start(playground, redis_url):
    """Run a bot that can be stopped: `async with start(setting=…) as bot`."""
    return lambda **changed: running(settings_for(playground, redis_url, **changed))


@pytest.fixture
async def asked_before(start, agents, watcher):
    """Ask in the old namespace while its own bot runs, and give the interrupt and the waiting agent."""

    async def ask(*actions, **fields):
        async with start() as bot:
            await until(lambda: bot.health.ready)
            interrupt = an_interrupt(*(actions or (an_action(),)), **fields)
            waiting = asyncio.create_task(take(await agents(OLD), interrupt))
            await watcher.card(interrupt.id)
        return interrupt, waiting

    return ask


async def press(slack, card, button, user="U0ERIK"):
    """Press a button, and give whether Slack shows that it was taken."""
    return (await slack.click(user, CHANNEL, card["ts"], button))["ack"]["ok"]


async def decided(waiting):
    """Give the kinds of the decisions that an agent goes on with."""
    return [decision.type for decision in (await asyncio.wait_for(waiting, 30)).decisions]


async def test_a_card_of_the_old_namespace_is_decided_beside_those_of_the_new_one(
    start, agents, asked_before, redis_url, slack, watcher, caplog
):
    """Each agent goes on with just its own decision, and in the end the bot says that the old namespace is empty."""
    before, waiting = await asked_before(an_action("pay", {"to": "alice"}))

    async with start(**MOVED) as bot:
        await until(lambda: bot.health.ready)
        after = an_interrupt(an_action("mail"), agent="payroll", run="run-2")
        newcomer = asyncio.create_task(take(await agents(NEW, "payroll"), after))
        card = await watcher.card(after.id)
        assert "namespace_old" not in bot.health.warnings

        assert await press(slack, watcher.cards(before.id)[0], "approve:0")
        assert await press(slack, card, "reject:0")
        await Someone(slack, "U0ERIK").fill(await slack.wait_for_view("U0ERIK"), reason="Not today.")

        assert (await decided(waiting), await decided(newcomer)) == (["approve"], ["reject"])
        await until(lambda: all("resumed" in str(watcher.cards(each.id)) for each in (before, after)))
        await until(lambda: EMPTY in bot.health.warnings.get("namespace_old", ""))
        assert bot.health.ready
    assert [record.namespace for record in caplog.records if record.message == "namespace.empty"] == [OLD]


async def test_a_bot_leaves_the_cards_of_a_namespace_that_it_does_not_serve(
    start, agents, asked_before, slack, watcher
):
    """Somebody removed ASSENT_NAMESPACE_OLD too early. Once it is back, the card is decided as if nothing had happened."""
    interrupt, waiting = await asked_before()
    [card] = watcher.cards(interrupt.id)

    async with start(namespace=NEW) as bot:
        await until(lambda: bot.health.ready)
        assert buttons(watcher.cards(interrupt.id)[0]) == buttons(card) != []

    async with start(**MOVED) as bot:
        await until(lambda: bot.health.ready)
        await Someone(slack, "U0ERIK").press(watcher.cards(interrupt.id)[0], "approve:0")
        assert await decided(waiting) == ["approve"]


async def test_an_agent_that_still_asks_in_the_old_namespace_is_served(start, agents, slack, watcher):
    """Its card is drawn, its form is filled, and its edit reaches it; the bot takes back that nothing waits there."""
    async with start():
        pass
    async with start(**MOVED) as bot:
        await until(lambda: "namespace_old" in bot.health.warnings)
        interrupt = an_interrupt(an_action("pay", {"to": "alice"}), expires_in=timedelta(minutes=5))
        waiting = asyncio.create_task(take(await agents(OLD), interrupt))
        card = await watcher.card(interrupt.id)
        await until(lambda: "namespace_old" not in bot.health.warnings)
        erik = Someone(slack, "U0ERIK")

        form = await erik.opened(card, "edit:0")
        await erik.fill(form, to="bob")

        [decision] = (await asyncio.wait_for(waiting, 30)).decisions
        assert decision.edited_action.args == {"to": "bob"}
        await until(lambda: "namespace_old" in bot.health.warnings)


async def test_a_deadline_in_the_old_namespace_ends_a_request(start, asked_before, watcher):
    """The agent hears it, and the card loses its buttons."""
    interrupt, waiting = await asked_before(expires_in=timedelta(seconds=8), on_expiry="raise")

    async with start(**MOVED) as bot:
        with pytest.raises(InterruptExpiredError):
            await asyncio.wait_for(waiting, 30)
        await until(lambda: not buttons(watcher.cards(interrupt.id)[0]))
        await until(lambda: "namespace_old" in bot.health.warnings)


async def test_a_person_finds_what_waits_in_both_namespaces(start, agents, asked_before, slack, watcher):
    """The list of what waits has both, and each is decided there."""
    before, waiting = await asked_before(an_action("transfer"))
    async with start(**MOVED) as bot:
        await until(lambda: bot.health.ready)
        after = an_interrupt(an_action("announce"), agent="payroll", run="run-2")
        newcomer = asyncio.create_task(take(await agents(NEW, "payroll"), after))
        await watcher.card(after.id)
        # Dana asked for both, so Erik may decide them.
        await slack.command("U0ERIK", CHANNEL, "/approvals")
        shown = words((await Someone(slack, "U0ERIK").view("payroll"))["blocks"])
        assert all(name in shown for name in ("transfer", "announce"))

        for interrupt in (before, after):
            assert await press(slack, watcher.cards(interrupt.id)[0], "approve:0")
        assert [await decided(waiting), await decided(newcomer)] == [["approve"], ["approve"]]


async def test_a_run_that_was_asked_about_in_the_old_namespace_is_not_asked_again(
    start, agents, asked_before, slack, watcher
):
    """Its agent is refused in the new one, so that the call cannot run twice. The old card still decides it."""
    interrupt, waiting = await asked_before()
    async with start(**MOVED) as bot:
        await until(lambda: bot.health.ready)

        with pytest.raises(InterruptRefusedError, match="in namespace 'assent' before") as refused:
            await asyncio.wait_for(take(await agents(NEW), interrupt), 30)

        assert refused.value.code == "namespace"
        [card] = watcher.cards(interrupt.id)
        assert await press(slack, card, "approve:0")
        assert await decided(waiting) == ["approve"]


async def test_an_old_namespace_that_is_not_there_is_named_and_nothing_is_begun(start, redis_url):
    """The bot does not start, and leaves no trace of either namespace."""
    with pytest.raises(SettingsError, match="ASSENT_NAMESPACE_OLD: there is no namespace 'asent'"):
        async with start(**{**MOVED, "namespace_old": "asent"}):
            pass
    async with open_redis(redis_url) as redis:
        assert not await redis.exists("asent:meta", "assent2:meta")


async def test_a_key_of_the_http_api_says_in_which_namespace_its_agent_asks(start, redis_url, slack, watcher):
    """An agent moves when it gets a key of the new namespace. Until then it asks, waits and reads in the old one."""
    async with start():
        pass
    async with start(**MOVED) as bot, AsyncExitStack() as stack:
        await until(lambda: bot.health.ready)
        async with open_redis(redis_url) as redis:
            keys = [await KeyRing(redis, Keys(each)).create("billing") for each in (OLD, NEW)]
        before, after = [await stack.enter_async_context(speaking(bot.port, key)) for key in keys]

        asked = await before.ask(run="1", pause="1")
        moved = await after.ask(run="2", pause="2")
        for each in (asked, moved):
            card = await watcher.card(each)
            assert await press(slack, card, "approve:0")

        for caller, own, other in ((before, asked, moved), (after, moved, asked)):
            _, state = await caller.send("GET", f"/interrupts/{own}", params={"wait": 20})
            assert state["status"] == "decided"
            assert (await caller.send("GET", f"/interrupts/{other}"))[0] == 404


async def test_a_standing_approval_of_the_old_namespace_answers_no_call_in_the_new_one(
    start, agents, asked_before, tmp_path, slack, watcher
):
    """It answers a further call there, and can be revoked in the list."""
    rules = tmp_path / "policy.yaml"
    rules.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], standing: {scope: agent}}\n"
    )
    erik = Someone(slack, "U0ERIK")
    async with start(policy=str(rules)) as bot:
        await until(lambda: bot.health.ready)
        first = asyncio.create_task(take(await agents(OLD), given := an_interrupt()))
        await erik.fill(await erik.opened(await watcher.card(given.id), "sticky:0"), Where="agent")
        assert await decided(first) == ["approve"]
    async with start(**MOVED, policy=str(rules)) as bot:
        await until(lambda: bot.health.ready)
        assert await decided(take(await agents(OLD), an_interrupt(run="2"))) == ["approve"]

        asked = an_interrupt(run="3")
        waiting = asyncio.create_task(take(await agents(NEW), asked))
        assert "approve:0" in buttons(await watcher.card(asked.id))

        await slack.command("U0ERIK", CHANNEL, "/approvals", "rules")
        shown = await erik.view("send_email")
        await erik.press_in(shown, next(name for name in buttons(shown) if name.startswith("revoke:")))
        again = an_interrupt(run="4")
        asking = asyncio.create_task(take(await agents(OLD), again))
        assert "approve:0" in buttons(await watcher.card(again.id))
        assert not waiting.done()
        waiting.cancel()
        asking.cancel()


async def test_each_namespace_is_signed_and_sealed_with_its_own_keys(
    start, agents, signing, tmp_path, monkeypatch, slack, watcher
):
    """Both agents check what they get with one ring, and each trail goes on in its own folder."""
    monkeypatch.setenv("ASSENT_RING", str(signing.ring_path))
    monkeypatch.setenv("ASSENT_STATE_KEY", base64.b64encode(os.urandom(32)).decode())
    new = make_signing(signing.ring_path.parent, team=TEAM["id"], namespace=NEW, name="new.pem")
    of_old, of_new = (
        {"audit_dir": str(tmp_path / name), "log_key": log_key(signing, name), "signing_key": text}
        for name, text in ((OLD, signing.key_path.read_text()), (NEW, new.key_path.read_text()))
    )
    shared = {"ring": str(signing.ring_path), "seal_key": signing.seal_path.read_text()}
    async with start(**shared, **of_old) as bot:
        await until(lambda: bot.health.ready)
        before = an_interrupt()
        waiting = asyncio.create_task(take(await agents(OLD), before))
        await watcher.card(before.id)

    with pytest.raises(SettingsError, match=r"ASSENT_NAMESPACE_OLD: .*ASSENT_SIGNING_KEY_OLD is not"):
        async with start(**MOVED, **shared, **of_new, audit_dir_old=of_old["audit_dir"]):
            pass
    async with start(**MOVED, **shared, **of_new, **{f"{name}_old": of_old[name] for name in of_old}) as bot:
        await until(lambda: bot.health.ready)
        after = an_interrupt(agent="payroll", run="2")
        newcomer = asyncio.create_task(take(await agents(NEW, "payroll"), after))
        await watcher.card(after.id)
        for each in (before, after):
            assert await press(slack, watcher.cards(each.id)[0], "approve:0")
        assert [await decided(waiting), await decided(newcomer)] == [["approve"], ["approve"]]

        await until(lambda: all("resumed" in str(watcher.cards(each.id)) for each in (before, after)))
        for served, interrupt in zip(bot.served, (after, before), strict=True):
            events = [entry["event"] async for entry in served.audit.entries(about=interrupt.id)]
            assert {"published", "admitted", "decided"} <= {*events}
            assert not served.audit.broken
        assert not {*bot.health.warnings} - {"namespace_old"}


async def test_users_of_redis_that_the_command_makes_reach_both_namespaces(
    start, agents, asked_before, redis_url, playground, slack, watcher
):
    """The bot serves both with its user, and doctor sees both with that of an operator."""
    require("Redis with users", has_users(redis_url), "this server is older than 7.0", possible=False)
    interrupt, waiting = await asked_before()
    users = {user.name: user for user in users_of(Keys(NEW, 4), [], [], old=Keys(OLD))}
    with PlainRedis.from_url(redis_url) as redis:
        for name, user in users.items():
            redis.execute_command("ACL", "SETUSER", name, "on", ">secret", *user.rules)
    bots, operators = (redis_url.replace("://", f"://{NEW}-{role}:secret@") for role in ("bot", "operator"))

    async with start(**MOVED, REDIS_URL=bots) as bot:
        await until(lambda: bot.health.ready)
        assert findings(await doctor(playground, operators)) == [
            "ok    old namespace: namespace 'assent' is served until nothing waits there: 1 left"
        ]
        assert await press(slack, watcher.cards(interrupt.id)[0], "approve:0")
        assert await decided(waiting) == ["approve"]
        await until(lambda: EMPTY in bot.health.warnings.get("namespace_old", ""))
        [said] = findings(await doctor(playground, operators))
        assert said.startswith(f"warn  old namespace: {EMPTY}")
        [said] = findings(await doctor(playground, redis_url, namespace_old="asent"))
        assert said.startswith("fail  old namespace: ASSENT_NAMESPACE_OLD: there is no namespace 'asent'")


def log_key(signing, namespace):
    """Make a key that seals the trail of a namespace, and put it on the ring."""
    signer = LocalSigner.generate()
    key = RingKey.of(signer.public, "log", namespace=namespace)
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return signer.private_pem()


async def doctor(playground, redis_url, **changed):
    """Give the lines of the doctor for a bot that has moved."""
    settings = settings_for(playground, redis_url, **{**MOVED, **changed})
    return [str(finding) async for finding in examine(settings)]


def findings(lines):
    """Give those about the old namespace that are no part of every check."""
    return [line for line in lines if "old namespace:" in line]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"NAMESPACE_OLD": "assent"}, "ASSENT_NAMESPACE_OLD and ASSENT_NAMESPACE are both 'assent'"),
        ({"LOG_KEY_OLD": "x"}, "ASSENT_LOG_KEY_OLD does nothing without ASSENT_NAMESPACE_OLD"),
        ({"NAMESPACE_OLD": "a", "AUDIT_DIR": "/a"}, "name the folder of the old one in ASSENT_AUDIT_DIR_OLD"),
        (
            {"NAMESPACE_OLD": "a", "AUDIT_DIR": "/a", "AUDIT_DIR_OLD": "/a"},
            "and a new folder in ASSENT_AUDIT_DIR",
        ),
    ],
)
def test_settings_that_would_mix_two_namespaces_are_refused(monkeypatch, given, said):
    """The sentence says what to set instead."""
    for name, value in given.items():
        monkeypatch.setenv(f"ASSENT_{name}", value)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")
    monkeypatch.setenv("ASSENT_APPROVERS", "U0DANA")

    with pytest.raises(SettingsError, match=said):
        load_settings(None)
