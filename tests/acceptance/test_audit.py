"""What the audit keeps of each decision, for somebody who asks a year later."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.redis.pool import freeze_meta
from bot.domain.digest import last_end
from bot.jobs.digest import Digests
from tests.support.builders import an_action, review
from tests.support.people import words
from tests.support.topologies import opened

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  mask: [pin]
rules:
  - name: payments
    match: {tool: pay}
    quorum: 2
  - name: pings
    match: {tool: ping}
    risk: low
    standing: {same: tool, scope: run, lasts: 1h, uses: 3}
"""


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


async def entries(bot, *events):
    """Give the entries of these kinds, oldest first, each with what is known beside it."""
    found = [fields for _, fields in await bot.store._redis.xrange(bot.store.keys.lane_for("billing").audit)]
    return [
        {**fields, **json.loads(fields.pop("facts", "{}"))} for fields in found if fields["event"] in events
    ]


async def test_a_click_and_a_form_say_who_decided_what_by_which_rule_and_how_long_it_took(
    bot, client, dana, erik
):
    """With the name that the person had, and with digests of what was asked and of what runs."""
    reviewing = review(client, an_action("mail", {"to": "ann"}), an_action("mail", {"to": "bob"}))
    card = await dana.card()
    await dana.press(card, "approve:0")
    form = await erik.opened(card, "reject:1")
    await erik.fill(form, reason="wrong Bob")
    await reviewing

    approved, rejected = await entries(bot, "decided")

    assert (approved["by"], approved["name"], approved["how"], approved["decision"]) == (
        "U0DANA",
        "Dana",
        "click",
        "approve",
    )
    assert (approved["tool"], approved["rule"], approved["policy"]) == (
        "mail",
        "default",
        bot.policies.policy.version,
    )
    assert approved["asked"] == approved["decided"] != rejected["asked"]
    assert int(approved["waited"]) >= 0
    assert (rejected["name"], rejected["how"], rejected["reason"]) == ("Erik", "form", "wrong Bob")
    assert "decided" not in rejected


async def test_an_edit_has_another_digest_than_what_was_asked(bot, client, dana):
    """So an auditor sees that something else ran."""
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    form = await dana.opened(await dana.card(), "edit:0")
    await dana.fill(form, to="bob")
    await reviewing

    (edited,) = await entries(bot, "decided")

    assert (edited["decision"], edited["decided"] != edited["asked"]) == ("edit", True)


async def test_each_vote_names_its_person(bot, client, dana, erik):
    """The first is counted, the second decides."""
    reviewing = review(client, an_action("pay", {"amount": 5}))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await erik.press(card, "approve:0")
    await reviewing

    counted, decided = await entries(bot, "counted", "decided")

    assert (counted["name"], decided["name"], decided["by"]) == ("Dana", "Erik", "U0DANA U0ERIK")
    assert counted["rule"] == decided["rule"] == "payments"


async def test_the_question_is_kept_with_the_rule_about_each_call(bot, client, dana):
    """Also when nobody ever decides."""
    reviewing = review(client, an_action("mail"), an_action("ping"))
    await dana.card()

    (asked,) = await entries(bot, "admitted")

    assert [(each["tool"], each["rule"]) for each in asked["actions"]] == [
        ("mail", "default"),
        ("ping", "pings"),
    ]
    reviewing.cancel()


async def test_a_masked_pin_cannot_be_found_by_trying_all_pins(bot, client, dana, erik):
    """Two calls with different pins have equal digests, and no entry has a pin, also where somebody writes it."""
    asked = [
        an_action("mail", {"to": "ann", "pin": pin}, description="the pin is 4711")
        for pin in ("4711", "0815")
    ]
    reviewing = review(client, *asked)
    card = await dana.card()
    await dana.press(card, "approve:1")
    form = await erik.opened(card, "reject:0")
    await erik.fill(form, reason="4711 is not for Ann")
    await reviewing

    approved, rejected = await entries(bot, "decided")

    assert rejected["asked"] == approved["asked"] == approved["decided"]
    assert "is not for Ann" in rejected["reason"]
    assert "4711" not in str(await bot.store._redis.xrange(bot.store.keys.lane_for("billing").audit))


async def test_what_a_standing_approval_approves_says_so(bot, client, dana):
    """Nobody saw that call, so there is no name, and no time that it was shown."""
    ping = an_action("ping", {"host": "a"})
    first = asyncio.create_task(client.review(a_batch(ping), run="one", pauses=["1"]))
    form = await dana.opened(await dana.card(), "sticky:0")
    await dana.slack.submit("U0DANA", form["id"], {})
    await first
    await client.review(a_batch(ping), run="one", pauses=["2"])

    given, used = await entries(bot, "decided")

    assert (given["how"], given["name"]) == ("form", "Dana")
    assert (used["how"], used["rule"]) == ("standing", "pings")
    assert "name" not in used
    assert "waited" not in used


def a_batch(*actions):
    requests, configs = zip(*actions, strict=True)
    return HITLRequest(action_requests=requests, review_configs=configs)


async def test_two_bots_send_one_digest_of_the_last_week(start_bot, redis_url, policy, slack):
    """Given what happened last week, when two bots start, then the channel that wants a digest has one."""
    at = last_end(datetime.now(UTC)) - timedelta(minutes=1)
    async with opened(redis_url) as redis:
        trail = (await freeze_meta(redis, "assent")).lane(0).audit
        fields = {"event": "admitted", "id": "billing.1"}
        await redis.xadd(trail, fields, id=f"{int(at.timestamp() * 1000)}-0")
    settings = {"policy": str(policy), "approvers": "", "channel": None, "digest_channel": "C0APPROVALS"}
    bots = [await start_bot(**settings) for _ in range(2)]

    await slack.wait_for_message(lambda message: "1 request" in message["text"])
    await asyncio.sleep(1.5)

    assert len(await slack.messages("C0APPROVALS")) == 1
    assert all(bot.health.ready for bot in bots)


async def test_a_digest_counts_what_people_really_did(bot, client, dana, erik):
    """Given clicks, forms, votes, a standing approval and a deadline, then each is counted once, as what it was."""
    reviewing = review(client, an_action("mail", {"to": "a"}), an_action("mail", {"to": "b"}))
    card = await dana.card("to")
    await dana.press(card, "approve:0")
    await erik.fill(await erik.opened(card, "reject:1"), reason="No.")
    await reviewing
    reviewing = review(client, an_action("pay", {"amount": 5}))
    card = await dana.card("pay")
    await dana.press(card, "approve:0")
    await erik.press(card, "approve:0")
    await reviewing
    await review(client, an_action("late", {"n": 1}), expires_in=timedelta(seconds=1))

    end = last_end(datetime.now(UTC)) + timedelta(days=7)
    await Digests(
        bot.audit,
        bot.sent_digests,
        bot.slack,
        bot.health,
        lambda: bot.policies.policy,
        "C0APPROVALS",
        "a process",
        lambda: end,
    ).send_if_due()

    said = words((await dana.card("Agents made"))["blocks"])
    assert "Agents made *3 requests*. People decided *3 calls*." in said
    assert "Approved 2 (67 %), edited 0 (0 %), rejected 1 (33 %)." in said
    assert "*Expired:* 1 request (calls: `late` 1)." in said
