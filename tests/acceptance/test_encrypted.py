"""With a key, nothing that agents and people write can be read in Redis, and Slack and the agents read all of it."""

import base64
import os
import threading
from contextlib import suppress
from typing import Self

import pytest
from redis.client import Monitor
from redis.exceptions import RedisError

from agent_adapter import Context, Outcome
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.errors import InvalidRequestError, LockedRecordError
from bot.app import running
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.topologies import each_primary

MARK = "zebra"
"""Part of everything that agents and people write in these tests."""
KEY, OLDER = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {match: {tool: send}, quorum: 2}
  - match: {tool: pay, args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}}
    quorum: 2
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
                kept += [
                    name.decode()
                    for name in redis.scan_iter()
                    if MARK in repr(everything(redis, name)) + name.decode()
                ]
        return [*kept, *(each[:300] for each in self._sent if MARK in each)]


def everything(redis, name):
    """Give all that a key holds."""
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


def a_call(tool, text, **given):
    return an_action(tool, {"text": f"{MARK} {text}", **given})


def asked_for_noor(name):
    return an_interrupt(a_call("pay", name), run=name, context=Context(requested_by="U0NOOR"))


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
async def test_nothing_that_anybody_writes_can_be_read_in_redis(watch, client, dana, erik, slack):
    """Through the whole life of a card: each kind of decision, votes, a proposal, a form half filled, a result, an error."""
    batch = (
        a_call("pay", "to edit"),
        a_call("ask", "to answer"),
        a_call("pay", "to reject"),
        a_call("send", "two"),
    )
    answer = review(client, *batch)
    card = await dana.card("to edit")
    await dana.fill(await dana.opened(card, "edit:0"), text=f"{MARK} edited")
    await dana.close()
    await dana.fill(await dana.opened(card, "respond:1"), Your_answer=f"{MARK} said")
    await dana.close()
    await dana.fill(await dana.opened(card, "reject:2"), Reason=f"{MARK} no")
    for person in (dana, erik):
        await person.press(await person.showing("approve:3"), "approve:3")
    edited, answered, rejected, _ = (await answer).decisions
    assert edited.edited_action.args["text"] == f"{MARK} edited"
    assert (answered.message, rejected.message) == (f"{MARK} said", f"{MARK} no")

    changed = review(client, a_call("pay", "small", amount=5), run="run-1", pauses=["a"])
    form = await dana.opened(await dana.card("small"), "edit:0")
    await dana.fill(form, text=f"{MARK} large", amount="9000")
    form = await dana.opened(await dana.card(f"{MARK} large"), "changes:0")
    await dana.fill(form, What=f"{MARK} half of it")
    assert (await changed).records[0].changes == f"{MARK} half of it"

    again = an_interrupt(
        a_call("pay", "second", amount=4), run="run-1", context=Context(requested_by="U0NOOR")
    )
    await client.publish(again)
    await dana.press(await dana.card("second"), "approve:0")
    await client.wait(again.id)
    with pytest.raises(ValueError, match=MARK):
        async with client.resuming(again.id, interrupt=again):
            raise ValueError(f"{MARK} cannot be reached")
    await slack.wait_for_message(lambda m: "could not go on" in m["text"], as_user="U0DANA")
    await client.report(again.id, 0, Outcome(status="done", text=f"{MARK} tr_1"))
    await dana.card(f"{MARK} tr_1")

    assert watch.readable() == []


async def test_a_key_is_changed_while_cards_are_open(playground, redis_url, monkeypatch, dana):
    """The new key comes first, and the old one stays until nothing needs it. What was asked without a key is read, too."""

    async def asked(keys, name):
        monkeypatch.setenv("ASSENT_RECORD_KEY", keys)
        async with an_agent(redis_url) as client:
            return await client.publish(asked_for_noor(name))

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
    """It says which setting is missing, and with the key the card is drawn."""
    locked = await client.publish(asked_for_noor("locked"))
    monkeypatch.delenv("ASSENT_RECORD_KEY")
    async with an_agent(redis_url) as other, running(settings_for(playground, redis_url)) as bot:
        await until(lambda: bot.health.ready)
        await other.publish(asked_for_noor("open"))
        await dana.press(await dana.card(f"{MARK} open"), "approve:0")
        with pytest.raises(LockedRecordError, match="ASSENT_RECORD_KEY"):
            await other.wait(locked)
    assert "is encrypted: set ASSENT_RECORD_KEY" in caplog.text

    monkeypatch.setenv("ASSENT_RECORD_KEY", KEY)
    async with running(settings_for(playground, redis_url)):
        await dana.press(await dana.card(f"{MARK} locked"), "approve:0")
        assert (await client.wait(locked)).decisions[0].type == "approve"


async def test_a_state_that_nothing_would_encrypt_is_refused_where_decisions_are_signed(
    redis_url, monkeypatch
):
    """It says what was approved."""
    for name in ("ASSENT_RECORD_KEY", "ASSENT_STATE_KEY"):
        monkeypatch.delenv(name)
    state = Continuation(framework="k", name="n", version="1", state="{}")
    async with an_agent(redis_url) as client:
        with pytest.raises(InvalidRequestError, match=r"there is a ring.+set ASSENT_STATE_KEY too"):
            await client.publish(an_interrupt(continuation=state))
