"""What the audit keeps of each decision, for somebody who asks a year later."""

import asyncio
import json

import pytest

from agent_adapter.contract.hitl import HITLRequest
from tests.support.builders import an_action, review

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
    found = [fields for _, fields in await bot.store._redis.xrange(bot.store.keys.audit)]
    return [
        {**fields, **json.loads(fields.pop("facts", "{}"))} for fields in found if fields["event"] in events
    ]


async def test_a_click_and_a_form_say_who_decided_what_by_which_rule_and_how_long_it_took(
    bot, client, dana, erik
):
    """With the name that the person had, and with digests of what was asked and of what runs."""
    reviewing = review(client, an_action("mail", {"to": "ann"}), an_action("mail", {"to": "bob"}))
    await dana.press_one(await dana.showing("review:0"), "approve:0")
    form = await erik.opened(await erik.showing("reject:1"), "reject:1")
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


async def test_a_masked_pin_cannot_be_found_by_trying_all_pins(bot, client, dana, erik):
    """Two calls with different pins have equal digests, and no entry has a pin, also where somebody writes it."""
    asked = [
        an_action("mail", {"to": "ann", "pin": pin}, description="the pin is 4711")
        for pin in ("4711", "0815")
    ]
    reviewing = review(client, *asked)
    await dana.press_one(await dana.showing("review:0"), "approve:1")
    form = await erik.opened(await erik.showing("reject:0"), "reject:0")
    await erik.fill(form, reason="4711 is not for Ann")
    await reviewing

    approved, rejected = await entries(bot, "decided")

    assert rejected["asked"] == approved["asked"] == approved["decided"]
    assert "is not for Ann" in rejected["reason"]
    assert "4711" not in str(await bot.store._redis.xrange(bot.store.keys.audit))


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
