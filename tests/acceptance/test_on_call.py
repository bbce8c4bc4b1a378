"""Approvers from an on-call schedule: PagerDuty, or a calendar."""

import logging

import pytest

from tests.support.builders import an_action, review
from tests.support.on_call import KEY, event, serving
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [oncall:payments]
rules:
  - {name: both, match: {tool: drop}, approvers: [oncall:payments, U0MIRA]}
  - {name: with a calendar, match: {tool: restart}, approvers: [oncall:support]}
schedules:
  payments: {pagerduty: P1A2B3C}
  support: {calendar: rota, people: {On Call - Erik: U0ERIK}}
"""
NOW = ("DTSTART:20200101T000000Z", "DTEND:20400101T000000Z")


@pytest.fixture
async def rota(slack):
    """PagerDuty and a calendar. Dana and Erik have e-mail addresses."""
    for name in ("DANA", "ERIK", "CONN"):
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


@pytest.mark.usefixtures("bot")
async def test_whoever_is_invited_in_a_calendar_decides(client, dana, erik, rota):
    """Its address is never shown. The policy may say who is who."""
    rota.calendar = event(*NOW, "ATTENDEE:mailto:dana@example.com")
    first = review(client, an_action("restart"))
    await dana.press(await dana.card("on call for support"), "approve:0")
    assert (await first).records[0].decided_by == "U0DANA"

    rota.calendar = event(*NOW, "SUMMARY:On Call - Erik")
    second = review(client, an_action("restart", {"now": True}))
    await erik.press(await erik.card("<@U0ERIK> (on call for support)"), "approve:0")
    assert (await second).records[0].decided_by == "U0ERIK"


async def test_while_a_schedule_does_not_answer_nobody_is_on_call(bot, client, dana, mira, rota, caplog):
    """Those who are named themselves still decide. The log and /readyz say why, without the key or a secret address."""
    reviewing = review(client, an_action("drop"))
    card = await dana.card("billing: drop")
    rota.status = 500
    with caplog.at_level(logging.DEBUG):
        await dana.press(card, "approve:0")
        await dana.notice("can decide this")
        assert await bot.directory.members("oncall:support", "") == frozenset()
    await mira.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0MIRA"
    assert "schedule payments" in bot.health.warnings
    assert any(record.message == "on_call.unanswered" for record in caplog.records)
    for secret in (KEY, "s3cret"):
        assert secret not in str([record.__dict__ for record in caplog.records]) + str(bot.health.warnings)
    rota.status = 200
    assert await bot.directory.members("oncall:payments", "") == {"U0DANA"}
    assert "schedule payments" not in bot.health.warnings


@pytest.mark.parametrize(
    "answers",
    [
        {"body": b'{"users": [{"id": "P1"}]}'},
        {"body": b" " * 2_000_001},
        {"emails": [f"p{n}@example.com" for n in range(51)]},
    ],
    ids=["no addresses", "very long", "very many"],
)
async def test_an_answer_that_cannot_be_meant_names_nobody(bot, rota, answers):
    for name, value in answers.items():
        setattr(rota, name, value)

    assert await bot.directory.members("oncall:payments", "") == frozenset()


async def test_a_redirect_does_not_get_the_key(bot, rota):
    """Not even on the same server: it is not followed at all."""
    async with serving() as other:
        rota.moved_to = other.url

        assert await bot.directory.members("oncall:payments", "") == frozenset()
        assert not other.asked
