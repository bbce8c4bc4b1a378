"""With a key, nothing that agents and people write can be read in Redis, and Slack and the agents read all of it."""

import asyncio
import base64
import os
import threading
from contextlib import suppress
from datetime import timedelta
from typing import Self

import pytest
from redis.client import Monitor
from redis.exceptions import RedisError

from agent_adapter import ApprovalClient, Context, Outcome
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.errors import InvalidRequestError, LockedRecordError
from bot.app import running
from bot.jobs.quarantine import opened
from tests.conftest import settings_for, until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.people import words
from tests.support.redis_users import address_for
from tests.support.topologies import each_primary

MARK = "zebra"
"""Part of everything that agents and people write in these tests."""
KEY, OLDER = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  standing: {scope: agent, lasts: 8h, uses: 20}
rules:
  - match: {tool: send}
    quorum: 2
  - match: {tool: pay, args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}}
    quorum: 2
  - match: {tool: nudge}
    risk: low
    on_timeout: approve
    time_limit: 4s
"""


class Watch:
    """Everything that is sent to Redis and kept there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._sent: list[str] = []

    def __enter__(self) -> Self:
        self._servers = each_primary(self.url, decode_responses=True)
        for server in self._servers:
            monitor = server.monitor().__enter__()
            threading.Thread(target=self._listen, args=[monitor], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    def _listen(self, monitor: Monitor) -> None:
        # It ends with the connection.
        with suppress(RedisError, OSError):
            for command in monitor.listen():
                self._sent.append(command["command"])

    def readable(self) -> list[str]:
        """Give where the mark can be read: in commands, and in keys of every type."""
        kept = []
        for server in each_primary(self.url):
            with server as redis:
                redis.ping()
                kept += [
                    name.decode()
                    for name in redis.scan_iter()
                    if MARK.encode() in (redis.dump(name) or b"") + name
                ]
                kept += [name.decode() for name in redis.scan_iter() if MARK in repr(everything(redis, name))]
        return [*kept, *(each[:300] for each in self._sent if MARK in each)]


def everything(redis, name):
    """Give all that a key holds: `DUMP` compresses long texts."""
    match redis.type(name).decode():
        case "hash":
            return redis.hgetall(name)
        case "stream":
            return redis.xrange(name)
        case "zset":
            return redis.zrange(name, 0, -1)
        case "set":
            return redis.smembers(name)
        case _:
            return redis.get(name)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ASSENT_RECORD_KEY", KEY)


@pytest.fixture
def watch(redis_url):
    with Watch(redis_url) as watching:
        yield watching


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules, with the key."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


def asked_about(*actions, **fields):
    """Build an interrupt of somebody who does not decide."""
    return an_interrupt(*actions, context=Context(requested_by="U0NOOR"), **fields)


def the_input(form):
    """Name the first input of a form."""
    return next(block["label"]["text"] for block in form["blocks"] if block["type"] == "input")


def a_call(tool, text, **given):
    return an_action(tool, {"text": f"{MARK} {text}", **given})


async def test_without_a_key_nothing_is_encrypted(start_bot, watch, monkeypatch, dana):
    """And the watch of the other tests sees it: what is sent, and what is kept."""
    monkeypatch.delenv("ASSENT_RECORD_KEY")
    await start_bot()
    async with an_agent(watch.url) as plain:
        answer = review(plain, a_call("pay", "to approve"))
        await dana.press(await dana.card("to approve"), "approve:0")
        await answer

    found = watch.readable()
    assert any(":req:" in each for each in found)
    assert any("EVALSHA" in each for each in found)


@pytest.mark.usefixtures("bot")
async def test_nothing_that_anybody_writes_can_be_read_in_redis(redis_url, watch, client, dana, erik):
    """Through the whole life of a card: each kind of decision, votes, a form half filled, a result, an error."""
    answer = review(client, a_call("pay", "to approve"), a_call("pay", "to edit"), a_call("ask", "to answer"))
    card = await dana.card("to approve")
    assert f"{MARK} to edit" in words(card["blocks"])
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(card, "edit:1"), text=f"{MARK} edited")
    await dana.close()
    form = await dana.opened(await dana.showing("respond:2"), "respond:2")
    await dana.fill(form, **{the_input(form): f"{MARK} said"})
    decisions = (await answer).decisions
    assert decisions[1].edited_action.args["text"] == f"{MARK} edited"
    assert decisions[2].message == f"{MARK} said"
    await dana.card(f"{MARK} said")

    rejected = review(client, a_call("pay", "to reject"))
    form = await dana.opened(await dana.card("to reject"), "reject:0")
    await dana.fill(form, **{the_input(form): f"{MARK} no"})
    assert MARK in (await rejected).decisions[0].message

    assert watch.readable() == []


@pytest.mark.usefixtures("bot")
async def test_votes_proposals_and_what_follows_from_them_cannot_be_read_either(watch, client, dana, erik):
    """What several people have to agree on, an edit that another rule is about, and a request for changes."""
    voted = review(client, a_call("send", "to vote on"))
    card = await dana.card("to vote on")
    await dana.press(card, "approve:0")
    await dana.card("1 of 2")
    await dana.press(await dana.card("1 of 2"), "approve:0")
    await erik.press(await erik.card("1 of 2"), "approve:0")
    assert (await voted).records[0].agreed_by == ("U0DANA", "U0ERIK")

    changed = review(client, a_call("pay", "small", amount=5), run="run-1", pauses=["a"])
    form = await dana.opened(await dana.card("small"), "edit:0")
    await dana.fill(form, text=f"{MARK} large", amount="9000")
    await dana.card(f"{MARK} large")
    form = await dana.opened(await dana.card("small"), "changes:0")
    await dana.fill(form, What=f"{MARK} half of it")
    assert (await changed).records[0].changes == f"{MARK} half of it"

    again = review(client, a_call("pay", "second", amount=4), run="run-1", pauses=["b"])
    assert f'"{MARK} small" → "{MARK} second"' in words((await dana.card("2nd proposal"))["blocks"])
    await dana.press(await dana.card("2nd proposal"), "approve:0")
    await again

    assert watch.readable() == []


async def test_what_an_agent_reports_cannot_be_read_either(bot, watch, client, dana, slack):
    """Its card says it. The same goes for why a run could not go on."""
    done, stuck = (asked_about(a_call("note", name), run=name) for name in ("done", "stuck"))
    await client.publish(done)
    waiting = asyncio.create_task(client.wait(done.id))
    await dana.press(await dana.card("done"), "approve:0")
    await waiting
    async with client.resuming(done.id, interrupt=done):
        reported = await client.report(done.id, 0, Outcome(status="done", text=f"{MARK} tr_1"))
        again = await client.report(done.id, 0, Outcome(status="failed", text="later"))
    assert reported.outcome == again.outcome
    await dana.card(f"{MARK} tr_1")
    assert [e["outcome"] async for e in bot.audit.entries() if e["event"] == "reported"] == ["done"]

    await client.publish(stuck)
    await dana.press(await dana.card("stuck"), "approve:0")
    await client.wait(stuck.id)
    with pytest.raises(ValueError, match=MARK):
        async with client.resuming(stuck.id, interrupt=stuck):
            raise ValueError(f"{MARK} cannot be reached")
    await slack.wait_for_message(lambda m: "could not go on" in m["text"], as_user="U0DANA")

    assert watch.readable() == []


async def test_a_key_is_changed_while_cards_are_open(playground, redis_url, monkeypatch, dana):
    """The new key comes first, and the old one stays until nothing needs it. What was asked without a key is read, too."""

    async def asked(keys, name):
        monkeypatch.setenv("ASSENT_RECORD_KEY", keys)
        async with an_agent(redis_url) as client:
            return await client.publish(asked_about(a_call("pay", name), run=name))

    plain, older = await asked("", "plain"), await asked(OLDER, "older")
    monkeypatch.setenv("ASSENT_RECORD_KEY", f"{KEY},{OLDER}")
    async with running(settings_for(playground, redis_url)) as bot, an_agent(redis_url) as client:
        await until(lambda: bot.health.ready)
        for name, interrupt_id in (("plain", plain), ("older", older)):
            await dana.press(await dana.card(name), "approve:0")
            assert (await client.wait(interrupt_id)).decisions[0].type == "approve"


async def test_a_bot_without_the_key_ends_nothing_and_goes_on_with_other_records(
    playground, redis_url, monkeypatch, client, dana, caplog
):
    """It says which setting is missing, sets the record aside, and with the key the card is drawn."""
    locked = await client.publish(asked_about(a_call("pay", "locked"), run="locked"))
    monkeypatch.delenv("ASSENT_RECORD_KEY")
    async with an_agent(redis_url) as other, running(settings_for(playground, redis_url)) as bot:
        await until(lambda: bot.health.ready)
        await other.publish(asked_about(a_call("pay", "open"), run="open"))
        await dana.press(await dana.card(f"{MARK} open"), "approve:0")
        await until(lambda: "work.set_aside" in caplog.text, within=60)
        with pytest.raises(LockedRecordError, match="ASSENT_RECORD_KEY"):
            await other.wait(locked)
    assert "is encrypted: set ASSENT_RECORD_KEY" in caplog.text

    monkeypatch.setenv("ASSENT_RECORD_KEY", KEY)
    settings = settings_for(playground, redis_url)
    async with running(settings) as bot, opened(settings) as quarantine:
        await until(lambda: bot.health.ready)
        assert await quarantine.release(locked)
        await dana.press(await dana.card(f"{MARK} locked"), "approve:0")
        assert (await client.wait(locked)).decisions[0].type == "approve"


async def test_a_state_that_nothing_would_encrypt_is_refused(redis_url, monkeypatch):
    """The question would be encrypted, and the state, which holds the same arguments, would not."""
    monkeypatch.delenv("ASSENT_STATE_KEY")
    interrupt = asked_about(
        a_call("pay", "later"), continuation=Continuation(framework="k", name="n", version="1", state="{}")
    )

    async with an_agent(redis_url) as client:
        with pytest.raises(InvalidRequestError, match="set ASSENT_STATE_KEY too"):
            await client.publish(interrupt)


def an_agent(redis_url):
    second = timedelta(seconds=1)
    return ApprovalClient.from_url(
        address_for(redis_url, "agent", "billing"),
        agent="billing",
        grace=second,
        claim_lease=second,
        reconcile_every=second,
    )
