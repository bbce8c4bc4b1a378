"""What the audit keeps of each decision and each click in vain, and the log that others can check."""

import json
import subprocess
import sys

import pytest

from bot.jobs.audit_mover import FULL, AuditMover
from tests.conftest import until
from tests.support.builders import an_action, review
from tests.support.faults import eventually
from tests.support.topologies import scanned

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], mask: [pin]}
rules:
  - name: pings
    match: {tool: ping}
    risk: low
    standing: {same: tool, scope: agent, lasts: 1h, uses: 3}
"""


async def entries(bot, event):
    """Wait for the entries of a kind, oldest first, each with what is known beside it."""

    async def found():
        trail = [fields for _, fields in await bot.store._redis.xrange(bot.store.keys.audit)]
        return [{**f, **json.loads(f.pop("facts", "{}"))} for f in trail if f["event"] == event]

    return await eventually(found)


async def test_a_click_and_a_form_say_who_decided_what_by_which_rule_and_how_long_it_took(
    bot, client, dana, erik
):
    """With the name that the person had, and with digests that say nothing of a masked pin: all pins have the same."""
    asked = [
        an_action("mail", {"to": "ann", "pin": pin}, description="it is 4711") for pin in ("4711", "0815")
    ]
    reviewing = review(client, *asked)
    await dana.press_one(await dana.showing("review:0"), "approve:1")
    form = await erik.opened(await erik.showing("reject:0"), "reject:0")
    await erik.fill(form, reason="4711 is not for Ann")
    await reviewing

    approved, rejected = await entries(bot, "decided")

    known = {"by": "U0DANA", "name": "Dana", "how": "click", "decision": "approve", "tool": "mail"}
    known |= {"rule": "default", "policy": bot.policies.policy.version}
    assert {name: approved[name] for name in known} == known
    assert rejected["asked"] == approved["asked"] == approved["decided"]
    assert int(approved["waited"]) >= 0
    assert (rejected["name"], rejected["how"]) == ("Erik", "form")
    assert "is not for Ann" in rejected["reason"]
    assert "decided" not in rejected
    assert "4711" not in str(await bot.store._redis.xrange(bot.store.keys.audit))


async def test_who_pressed_in_vain_is_entered_once_with_why_and_without_what_the_call_is_about(
    bot, client, slack, dana, mira
):
    """The record is judged twice, from memory and anew. So is a click that an error kept from being stored."""
    reviewing = review(client, an_action("pay", {"iban": "DE44"}))
    card = await dana.card()
    await mira.press(card, "approve:0")
    [refused] = await entries(bot, "click_refused")
    refused = {name: text for name, text in refused.items() if name not in {"event", "id", "seq"}}
    assert refused == {"index": "0", "by": "U0MIRA", "button": "approve", "code": "not_allowed"}

    await slack.fault("users.info", "error", times=None, error="internal_error")
    await slack.click("U0ERIK", card["channel"], card["ts"], "approve:0")
    [failed] = await entries(bot, "click_failed")
    assert (failed["by"], failed["button"], failed["code"][-5:]) == ("U0ERIK", "approve", "Error")
    reviewing.cancel()


# --- The log ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def logging_bot(start_bot, tmp_path):
    """A bot with a folder for its log. It signs with the key with which it signs decisions."""
    return await start_bot(audit_dir=str(tmp_path / "trail"))


def verify(folder, *options):
    """Check a copy of the log as an auditor does. Gives the exit code and what is said."""
    command = [sys.executable, "verifiers/assent_log.py", str(folder), *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


async def test_what_people_decided_is_in_a_log_that_others_can_check(
    logging_bot, client, dana, signing, tmp_path
):
    """A bot writes and signs it by itself."""
    bot, folder, heads = logging_bot, tmp_path / "trail", tmp_path / "heads.txt"
    await until(lambda: "audit" in {loop.name for loop in bot.health.loops})
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    await dana.press(await dana.card(), "approve:0")
    await reviewing
    await AuditMover(bot.audit, bot.health, bot.process, 10**9, 365).tidy()

    (day,) = bot.audit.log.days()
    assert [entry["event"] for entry in bot.audit.log.read(day)][:3] == ["published", "admitted", "decided"]
    heads.write_text((folder / f"{day}.jsonl").read_text().splitlines()[-1])
    code, told = verify(folder, "--key", signing.ring_path, "--against", heads)
    assert code == 0, told


async def test_while_too_much_is_not_in_the_log_nobody_is_asked_and_the_agent_learns_why(
    logging_bot, client, dana
):
    """Open cards can still be decided. New ones come once the log can be written."""
    bot = logging_bot
    first = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    bot.health.fault(FULL, "the log cannot be written")
    second = review(client, an_action("pay", {"to": "bob"}))

    async def is_told():
        redis = bot.store._redis
        cards = [await redis.hgetall(key) for key in await scanned(redis, "*:card:*")]
        return "the audit trail is full" in str(cards)

    await eventually(is_told)
    await dana.press(card, "approve:0")
    assert (await first).decisions[0].type == "approve"
    assert not second.done()
    bot.health.recover(FULL)
    await dana.press(await dana.card("pay"), "approve:0")

    assert (await second).decisions[0].type == "approve"
