"""Approvers from an on-call schedule: PagerDuty, or a calendar."""

import logging

import pytest

from tests.support.builders import an_action, review
from tests.support.on_call import KEY, event, serving
from tests.support.people import Someone, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [oncall:payments]
rules:
  - name: both
    match: {tool: drop}
    approvers: [oncall:payments, U0MIRA]
  - name: reminded
    match: {tool: nudge}
    reminders: [1s]
  - name: with a calendar
    match: {tool: restart}
    approvers: [oncall:support]
schedules:
  payments: {pagerduty: P1A2B3C}
  support: {calendar: rota, people: {On Call - Erik: U0ERIK}}
"""
NOW = ("DTSTART:20200101T000000Z", "DTEND:20400101T000000Z")


@pytest.fixture
async def rota(slack):
    """PagerDuty and a calendar. Dana and Erik have e-mail addresses."""
    for name in ("DANA", "ERIK", "GUEST", "CONN"):
        await slack.person(f"U0{name}", email=f"{name.lower()}@example.com")
    async with serving() as found:
        found.emails = ["dana@example.com"]
        yield found


@pytest.fixture
async def bot(start_bot, policy, rota, monkeypatch):
    """A bot by these rules, which asks at every click."""
    monkeypatch.setattr("bot.slack.directory.FRESH_FOR", 0.0)
    return await start_bot(
        policy=str(policy),
        approvers="",
        channel=None,
        pagerduty_url=rota.url,
        pagerduty_token=KEY,
        calendars=f"rota={rota.calendar_url}",
    )


@pytest.mark.usefixtures("bot")
async def test_whoever_is_on_call_is_mentioned_and_decides(client, dana, erik, rota):
    """Others are told who may. The next shift decides about a card of the one before."""
    first, second = review(client, an_action("pay")), review(client, an_action("transfer"))
    one, other = await dana.card("billing: pay"), await dana.card("billing: transfer")
    assert "<@U0DANA> (on call for payments)" in words(one["blocks"])

    await erik.press(one, "approve:0")
    assert await erik.notice("can decide this") == (
        "Only the people on call for payments can decide this. "
        "The schedule does not name you now, or it does not answer."
    )
    await dana.press(one, "approve:0")
    assert (await first).records[0].decided_by == "U0DANA"
    rota.emails = ["erik@example.com"]
    await dana.press(other, "approve:0")
    await dana.notice("can decide this")
    await erik.press(other, "approve:0")

    assert (await second).records[0].decided_by == "U0ERIK"
    assert {request.path for request in rota.asked} == {"/schedules/P1A2B3C/users"}


@pytest.mark.parametrize(
    "broken",
    [
        {"status": 500},
        {"body": b'{"users": [{"id": "P1"}]}'},
        {"body": b" " * 2_000_001},
        {"emails": [f"p{n}@example.com" for n in range(51)]},
    ],
    ids=["failed", "no addresses", "very long", "very many"],
)
async def test_while_a_schedule_does_not_answer_nobody_is_on_call(
    bot, client, dana, mira, rota, broken, caplog
):
    """Those who are named themselves still decide. The log and /readyz say why."""
    reviewing = review(client, an_action("drop"))
    card = await dana.card("billing: drop")
    for name, value in broken.items():
        setattr(rota, name, value)

    with caplog.at_level(logging.WARNING):
        await dana.press(card, "approve:0")
        await dana.notice("can decide this")
    await mira.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0MIRA"
    assert "schedule payments" in bot.health.warnings
    assert any(record.message == "on_call.unanswered" for record in caplog.records)
    assert KEY not in str([record.__dict__ for record in caplog.records])
    for name in broken:
        setattr(rota, name, type(rota)().__dict__[name])
    rota.emails = ["dana@example.com"]
    await bot.directory.members("oncall:payments", "")
    assert "schedule payments" not in bot.health.warnings


async def test_a_redirect_does_not_get_the_key(bot, rota):
    """Not even on the same server: it is not followed at all."""
    async with serving() as other:
        rota.moved_to = other.url

        assert await bot.directory.members("oncall:payments", "") == frozenset()

        assert not other.asked


@pytest.mark.usefixtures("bot")
async def test_whoever_is_invited_in_a_calendar_decides(client, dana, erik, rota):
    """Its address is never shown. The policy may say who is who."""
    rota.calendar = event(*NOW, "ATTENDEE:mailto:dana@example.com")
    first = review(client, an_action("restart"))
    card = await dana.card("on call for support")
    await dana.press(card, "approve:0")
    assert (await first).records[0].decided_by == "U0DANA"

    rota.calendar = event(*NOW, "SUMMARY:On Call - Erik")
    second = review(client, an_action("restart", {"now": True}))
    await erik.press(await erik.card("<@U0ERIK> (on call for support)"), "approve:0")

    assert (await second).records[0].decided_by == "U0ERIK"


async def test_the_address_of_a_calendar_is_in_no_log(bot, rota, caplog):
    """Whoever has it reads the calendar."""
    rota.status = 404
    with caplog.at_level(logging.DEBUG):
        assert await bot.directory.members("oncall:support", "") == frozenset()

    assert "s3cret" not in str([record.__dict__ for record in caplog.records])
    assert "s3cret" not in str(bot.health.warnings)


@pytest.mark.parametrize("name", ["GUEST", "CONN"])
async def test_a_schedule_makes_no_approver_of_an_outsider(bot, client, dana, slack, rota, name):
    """Guests and people of other companies decide only where the policy names their own id."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()
    rota.emails = [f"{name.lower()}@example.com"]

    outsider = Someone(slack, f"U0{name}")
    await outsider.press(card, "approve:0")

    assert outsider.user in await bot.directory.members("oncall:payments", "")
    assert not reviewing.done()
