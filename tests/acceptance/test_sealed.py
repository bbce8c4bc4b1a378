"""Whoever can write to Redis, and has no key of the bots, changes nothing of what was fixed when people were asked."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from agent_adapter import Context
from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.domain.messages import Remark
from bot.sentences import in_answer, on_card
from tests.conftest import until
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


def take_the_card_of_another(stored, record, other):
    """The other one is a note of low risk, which one person approves."""
    lane = KEYS
    mine = {name: text for name, text in stored.card(record).items() if "part:" in name}
    stored.redis.delete(lane.card(record))
    stored.redis.hset(lane.card(record), mapping=stored.card(other) | mine)


def take_the_terms_of_another(stored, record, other):
    names = ("approvers", "risk", "seal", "sealed", "rule")
    stored.change(record, quorum=None, **{name: stored.card(other).get(name) for name in names})


def changing(**fields):
    return lambda stored, record, _other: stored.change(record, **fields)


FORGERIES = {
    "the approvers": changing(approvers="U0MIRA"),
    "an approver more": changing(approvers="U0DANA U0ERIK U0MIRA"),
    "approvers of one action": changing(approvers_of_0="U0MIRA"),
    "approvers of one action, with a mark": lambda stored, record, _other: stored.change(
        record, **{"approvers:0": "U0MIRA", "seal:approvers:0": "x" * 32}
    ),
    "a lower quorum": changing(quorum="1"),
    "no quorum": changing(quorum=None),
    "a quorum of one action": changing(quorum_of_0="1"),
    "that the requester may approve": changing(requester="1"),
    "another requester": changing(requested_by="U0MIRA"),
    "a lower risk": changing(risk=None),
    "no mask": changing(mask=None),
    "silence": changing(silence="1", risk="low", quorum=None),
    "how long it may be used": changing(use_within=str(700 * HOUR)),
    "that it needs no reading": changing(pages="0:0"),
    "another channel": changing(place_of_0='["C0GENERAL",null,[0],[]]'),
    "the version of the rules": changing(policy="another"),
    "a step that adds an approver": changing(
        step_of_0='{"after":"PT0S","kind":"escalate","actions":[0],"approvers":["U0MIRA"]}'
    ),
    "a later deadline": changing(deadline=str(unix_now() + 100 * HOUR)),
    "an earlier deadline": changing(deadline=str(unix_now() - 1_000)),
    "an extension": changing(deadline=str(unix_now() + 100 * HOUR), extended="1"),
    "the question": swap_body,
    "the question and its digest": swap_body_and_its_digest,
    "no seal": changing(seal=None, sealed=None),
    "no list of what is sealed": changing(sealed=None),
    "a shorter list of what is sealed": changing(sealed="approvers asked", quorum=None),
    "half a seal": changing(seal="1 2"),
    "the card of another request": take_the_card_of_another,
    "the terms of another request": take_the_terms_of_another,
}


async def test_a_sealed_card_is_decided_as_ever(start_bot, ruled, client, stored, mira):
    await start_bot(**ruled)
    interrupt_id = await client.publish(asked("note"))

    await mira.press(await mira.card("note"), "approve:0")
    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
    assert {"seal", "sealed"} <= stored.card(interrupt_id).keys()


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
    changed = await dana.card(on_card.CHANGED_WHY)
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


LONG = {"script": "x = 1\n" * 4_000}


async def test_what_somebody_has_read_is_noted_by_bots_only(start_bot, ruled, client, stored, dana, erik):
    """Not by Redis, and no mark is good for another person, another call or another record."""
    bot = await start_bot(**ruled)
    ids = [await client.publish(asked("sql", run=run, **LONG)) for run in ("one", "two")]
    await until_shown(bot, *ids)
    state = await bot.store.admitted(ids[0])
    call = state.actions[0]
    assert call.pages
    await bot.store.mark_read(state, call, "U0DANA", call.pages)
    read = await bot.store.admitted(ids[0])
    assert read.has_read(read.actions[0], "U0DANA")

    text, mark = (stored.card(ids[0])[name] for name in ("seen:0:U0DANA", "seal:seen:0:U0DANA"))
    for record, person in ((ids[0], "U0ERIK"), (ids[1], "U0DANA")):
        stored.change(record, **{f"seen:0:{person}": text, f"seal:seen:0:{person}": mark})
        found = await bot.store.admitted(record)
        assert not found.has_read(found.actions[0], person)
        assert f"seen:0:{person}" not in stored.card(record)
    stored.change(ids[0], **{"seen:0:U0DANA": text.replace(f":{call.pages}", ":1")})
    found = await bot.store.admitted(ids[0])
    assert not found.pages_read(found.actions[0], "U0DANA")


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


GROUPS = """\
default: {channel: C0APPROVALS, approvers: [U0ERIK, U0MIRA], quorum: 2}
rules: [{match: {tool: pay}, approvers: [S0OPS, U0MIRA]}]
"""


async def test_a_vote_that_does_not_count_any_more_counts_for_no_call(
    start_bot, ruled, client, stored, slack, erik, mira, policy
):
    """Erik may not approve payments any more. That his vote on the other call still counts says nothing about this one."""
    policy.write_text(GROUPS)
    await slack.group("S0OPS", users=["U0ERIK"])
    await start_bot(**ruled)
    mine = an_interrupt(an_action("note"), an_action("pay", {"amount": 900}), run="both")
    interrupt_id = await client.publish(mine)
    await erik.press(await erik.card("pay"), "approve_all:0")
    await mira.card("1 of 2")
    await slack.group("S0OPS", users=["U0DANA"])
    await slack.event({"type": "subteam_members_changed", "subteam_id": "S0OPS"})
    await mira.press(await mira.card("1 of 2"), "approve_all:0")
    await until(lambda: "d:0" in stored.card(interrupt_id))
    card = stored.card(interrupt_id)
    assert "d:1" not in card
    (vote,) = card["votes:1"].split("\n")

    forged = {"d:1": vote.split(" ", 4)[4], "t:1": card["t:0"], "by:1": card["by:0"], "at:1": card["at:0"]}
    stored.change(interrupt_id, **forged, open="0", status="decided", settled=card["at:0"])

    waiting = asyncio.create_task(client.wait(interrupt_id))
    await asyncio.wait([waiting], timeout=2)
    assert not waiting.done()
    waiting.cancel()


CHANNELS = """\
default: {channel: C0APPROVALS, approvers: [channel]}
rules:
  - {match: {tool: pay, args: {properties: {amount: {type: number, maximum: 10}}, required: [amount]}}, channel: C0FINANCE}
"""


@pytest.mark.parametrize("number", ["-1", "00", "7"])
async def test_where_a_change_is_asked_is_never_where_the_call_itself_is_asked(
    start_bot, ruled, client, stored, dana, slack, policy, number
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

    forged = {f"place:{number}": card["place:1"], f"seal:place:{number}": card["seal:place:1"]}
    stored.change(interrupt_id, **forged)

    state = await bot.store.admitted(interrupt_id)
    assert state.place_of(0).channel == "C0APPROVALS"
    assert [place.channel for place in state.admission.places] == ["C0APPROVALS", "C0FINANCE"]


async def test_a_card_gives_no_reason_that_no_bot_wrote(start_bot, ruled, client, stored, dana):
    """Its words would be taken for the bot's own."""
    bot = await start_bot(**ruled)
    interrupt_id = await client.publish(asked())
    await dana.card("pay")

    stored.change(interrupt_id, status="refused", reason="the CFO has approved this on the phone")
    await bot.store.queue_drawing(interrupt_id)

    await until(lambda: "reason" not in stored.card(interrupt_id))
    card = await dana.card("pay")
    assert "CFO" not in str(card)


async def until_shown(bot, *ids):
    for each in ids:

        async def is_shown(interrupt_id=each):
            state = await bot.store.load(interrupt_id)
            return isinstance(state, Approval) and state.is_shown

        await eventually(is_shown)


async def test_when_it_was_asked_counts_as_it_was_when_people_were_asked(
    start_bot, ruled, client, stored, dana
):
    """The agent's half of the record says it too, and Redis lets the agent's user write there."""
    bot = await start_bot(**ruled)
    interrupt_id = await client.publish(asked())
    await dana.card("pay")
    before = (await bot.store.load(interrupt_id)).created_at

    stored.change_question(interrupt_id, created="1", deadline="2")

    assert (await bot.store.load(interrupt_id)).created_at == before


async def test_people_extend_a_sealed_deadline(start_bot, ruled, client, stored, dana):
    """And nobody else does: an earlier genuine deadline is all that somebody can put back."""
    bot = await start_bot(**ruled)
    interrupt_id = await client.publish(asked("deploy"))
    card = await dana.card("deploy")
    state = await bot.store.admitted(interrupt_id)
    remark = Remark(kind="extend", by="U0DANA", places=(0,))
    assert await bot.store.extend(state, remark, by=timedelta(hours=1)) == "extended"
    later = await bot.store.admitted(interrupt_id)
    assert later.deadline - state.deadline == timedelta(hours=1)

    stored.change(interrupt_id, deadline=str(round(state.deadline.timestamp() * 1000)), extended=None)
    assert (await bot.store.admitted(interrupt_id)).deadline == state.deadline
    await dana.press(card, "approve:0")
    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"


async def test_records_from_before_the_key_count_for_as_long_as_the_settings_say(
    start_bot, ruled, client, stored, mira
):
    in_two_days = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    await start_bot(**ruled, unsigned_until=in_two_days)
    interrupt_id = await client.publish(asked("note"))
    card = await mira.card("note")
    stored.change(interrupt_id, seal=None, sealed=None)

    await mira.press(card, "approve:0")

    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
