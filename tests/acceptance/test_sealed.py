"""Whoever can write to Redis, and has no key of the bots, changes nothing of what was fixed when people were asked."""

import asyncio
from datetime import UTC, datetime

import pytest

from agent_adapter import Context
from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.sentences import in_answer
from tests.support.builders import an_action, an_interrupt
from tests.support.faults import eventually
from tests.support.people import Someone, buttons
from tests.support.topologies import KEYS, connected

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], quorum: 2, risk: high, mask: [iban]}
rules:
  - {match: {tool: note}, risk: low, approvers: [U0MIRA], quorum: 1}
  - {match: {tool: deploy}, risk: low, approvers: [U0DANA], quorum: 1, extend: {by: 1h, times: 1}}
  - {match: {tool: release}, risk: low, approvers: [U0DANA], quorum: 1, escalation: {after: 30m, approvers: [U0MIRA]}}
"""
HOUR = 3_600_000


@pytest.fixture
def ruled(policy):
    """The settings of a bot by these rules."""
    return {"policy": str(policy), "approvers": "", "channel": None}


@pytest.fixture
def stored(redis_url):
    with connected(redis_url, decode_responses=True) as redis:
        yield Stored(redis)


class Stored:
    """What is in Redis, for somebody who may write there whatever they like."""

    def __init__(self, redis):
        self.redis = redis

    def card(self, interrupt_id):
        return self.redis.hgetall(KEYS.card(interrupt_id))

    def change(self, interrupt_id, **fields):
        """Write fields of the card; `None` removes one."""
        name = KEYS.card(interrupt_id)
        for written, value in fields.items():
            field = written.replace("_of_", ":")
            self.redis.hset(name, field, value) if value is not None else self.redis.hdel(name, field)

    def change_question(self, interrupt_id, **fields):
        self.redis.hset(KEYS.req(interrupt_id), mapping=fields)

    def body(self, interrupt_id):
        return self.redis.hget(KEYS.req(interrupt_id), "body")

    def audited(self, interrupt_id):
        entries = (fields for _, fields in self.redis.xrange(KEYS.audit))
        return [entry for entry in entries if entry["id"] == interrupt_id]


def asked(tool="pay", run="", **more):
    args = {"to": "al", "amount": 900, "iban": "DE02", **more}
    return an_interrupt(an_action(tool, args), run=run or tool, context=Context(requested_by="U0NOOR"))


def unix_now():
    return round(datetime.now(UTC).timestamp() * 1000)


def swap_body(stored, record, other):
    stored.change_question(record, body=stored.body(record).replace("900", "9"))


def swap_body_and_its_digest(stored, record, other):
    swap_body(stored, record, other)
    stored.change(record, asked=stored.card(other)["asked"])


def changing(**fields):
    return lambda stored, record, _other: stored.change(record, **fields)


FORGERIES = {
    "an approver more": changing(approvers="U0DANA U0ERIK U0MIRA"),
    "a later deadline": changing(deadline=str(unix_now() + 100 * HOUR)),
    "the question and its digest": swap_body_and_its_digest,
    "no seal": changing(seal=None),
}


@pytest.mark.parametrize("what", FORGERIES)
async def test_a_request_whose_terms_somebody_changed_is_refused(
    what, start_bot, ruled, client, stored, slack, dana, caplog
):
    """Nobody can decide it, its card says why, and the audit trail has one entry about it."""
    bot = await start_bot(**ruled)
    other = await client.publish(asked("note"))
    await dana.card("note")
    interrupt_id = await client.publish(asked())
    card = await dana.card("pay")
    waiting = asyncio.create_task(client.wait(interrupt_id))
    # As in a bot that has not read the record before.
    bot.store.forget_remembered()

    FORGERIES[what](stored, interrupt_id, other)
    await dana.press(card, "reject:0")

    await dana.notice(in_answer.CHANGED)
    changed = await dana.card(in_answer.CHANGED)
    assert (changed["ts"], buttons(changed)) == (card["ts"], [])
    resume = await waiting
    assert resume.status in {"refused", "expired"}
    assert all(each is None or each.type == "reject" for each in resume.decisions)
    refused = [entry for entry in stored.audited(interrupt_id) if entry["event"] == "refused"]
    assert [entry["code"] for entry in refused] == ["seal"]
    assert [each.message for each in caplog.records].count("record.changed") == 1


async def test_a_step_that_no_bot_noted_lets_nobody_decide(start_bot, ruled, client, stored, mira):
    """A rule lets more people decide after a time. Somebody writes that this time has come."""
    bot = await start_bot(**ruled)
    interrupt_id = await client.publish(asked("release"))
    card = await mira.card("release")

    of_the_terms = stored.card(interrupt_id)["seal"].split()[2]
    for mark in (None, of_the_terms):
        stored.change(interrupt_id, reached_of_0=str(unix_now()), **{"seal:reached:0": mark})
        bot.store.forget_remembered()
        await mira.press(card, "approve:0")
        await mira.notice("")

        state = await bot.store.admitted(interrupt_id)
        assert (state.reached, state.decided) == ({}, frozenset())
        assert "U0MIRA" not in state.admission.terms[0].approvers
    assert [entry["fields"] for entry in stored.audited(interrupt_id) if entry["event"] == "forged"] == [
        "reached:0",
        "reached:0",
    ]


async def test_a_message_that_no_bot_posted_is_not_taken_for_its_card(start_bot, ruled, client, stored, dana):
    """Otherwise nobody would be asked, and the bot would write over the card of another request."""
    bot = await start_bot(**ruled)
    other = await client.publish(asked("note"))
    interrupt_id = await client.publish(asked("deploy"))
    before = [await dana.card("note"), await dana.card("deploy")]
    await until_shown(bot, other, interrupt_id)
    elsewhere, mark = (stored.card(other)[name] for name in ("part:0:0", "seal:part:0:0"))

    stored.change(interrupt_id, **{"part:0:0": elsewhere, "seal:part:0:0": mark})
    assert (await bot.store.admitted(interrupt_id)).shown == {}

    async def is_asked_anew():
        state = await bot.store.admitted(interrupt_id)
        return state.shown.get(MessageId(0))

    again = await eventually(is_asked_anew)
    assert again.ts not in {each["ts"] for each in before}
    await dana.slack.click("U0DANA", again.channel, again.ts, "approve:0")
    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
    assert "note" in str(await dana.card("note"))


CHANNELS = """\
default: {channel: C0APPROVALS, approvers: [channel]}
rules:
  - {match: {tool: pay, args: {properties: {amount: {type: number, maximum: 10}}, required: [amount]}}, channel: C0FINANCE}
"""


async def test_where_a_change_is_asked_is_never_where_the_call_itself_is_asked(
    start_bot, ruled, client, stored, dana, slack, policy
):
    """Redis has a genuine mark for that place, and its members may decide about small amounts only."""
    policy.write_text(CHANNELS)
    await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA"])
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA"])
    bot = await start_bot(**ruled)
    interrupt_id = await client.publish(asked())
    form = await dana.opened(await dana.card("pay"), "edit:0")
    await dana.fill(form, amount="5")
    await Someone(slack, "U0MIRA").card("pay")
    card = stored.card(interrupt_id)

    forged = {"place:-1": card["place:1"], "seal:place:-1": card["seal:place:1"]}
    stored.change(interrupt_id, **forged)

    state = await bot.store.admitted(interrupt_id)
    assert state.place_of(0).channel == "C0APPROVALS"
    assert [place.channel for place in state.admission.places] == ["C0APPROVALS", "C0FINANCE"]


async def until_shown(bot, *ids):
    for each in ids:

        async def is_shown(interrupt_id=each):
            state = await bot.store.load(interrupt_id)
            return isinstance(state, Approval) and state.is_shown

        await eventually(is_shown)
