"""A company's rules, from the file to the card, the click and the agent's answer."""

import asyncio
import json
from textwrap import dedent

import aiohttp
import pytest

from agent_adapter import InterruptRefusedError
from bot.cli.doctor import examine
from tests.conftest import until
from tests.support.builders import an_action, review
from tests.support.people import Someone, buttons, words
from tests.support.topologies import scanned

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: large payments
    match:
      tool: pay
      args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}
    channel: C0FINANCE
    approvers: [U0MIRA]
  - name: deletions
    match: {tool: delete_*}
    approvers: [U0ERIK]
    decisions: [approve, reject]
  - name: own notes
    match: {tool: write_note}
    requester_may_decide: true
"""


@pytest.fixture
async def finance(slack):
    """A second channel, where the bot is."""
    return await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA", "U0NOOR"])


@pytest.fixture
async def bot(start_bot, finance, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


async def cards(slack, *, count=1):
    """Wait for so many cards, wherever they are."""
    found = []
    async with asyncio.timeout(30):
        while len(found) < count:
            found = [m for m in await slack.messages() if m["user"] == "U0BOT" and m.get("blocks")]
            await asyncio.sleep(0.02)
    return {card["channel"]: card for card in found}


async def test_one_batch_is_asked_in_two_channels_and_answered_in_order(bot, slack, client):
    """Each action is asked where its own rule says; the agent gets one answer, action by action."""
    mira, dana = Someone(slack, "U0MIRA"), Someone(slack, "U0DANA")
    large, small = an_action("pay", {"amount": 5000}), an_action("pay", {"amount": 5})
    reviewing = review(client, large, small, an_action("mail"))
    found = await cards(slack, count=2)
    assert buttons(found["C0FINANCE"]) == ["approve:0", "edit:0", "reject:0", "respond:0"]
    assert buttons(found["C0APPROVALS"]) == ["approve_all:1", "review:1", "reject_all:1"]

    await dana.press(found["C0APPROVALS"], "approve_all:1")
    waiting = await dana.card("waiting for a decision in another channel")
    assert waiting["channel"] == "C0APPROVALS"
    await dana.press(found["C0FINANCE"], "approve:0")
    assert "Only <@U0MIRA>" in await dana.notice("can decide this")
    form = await mira.opened(found["C0FINANCE"], "reject:0")
    await mira.fill(form, reason="too much")
    resume = await reviewing

    assert [decision.type for decision in resume.decisions] == ["reject", "approve", "approve"]
    assert resume.decisions[0].message == "too much"
    assert [record.decided_by for record in resume.records] == ["U0MIRA", "U0DANA", "U0DANA"]
    async with asyncio.timeout(30):
        while True:
            said = {channel: words(card["blocks"]) for channel, card in (await cards(slack)).items()}
            if "the agent has resumed" in said["C0APPROVALS"] and "it did not run" in said["C0FINANCE"]:
                break
            await asyncio.sleep(0.02)


async def test_actions_on_one_card_are_decided_by_their_own_approvers(bot, slack, client):
    """Each says by whom, and a bulk button decides what its presser may decide, and says what is left."""
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    reviewing = review(client, an_action("mail"), an_action("delete_user"))
    card = await dana.card()
    text = words(card["blocks"])
    assert "the people named at each call decide · " in text
    assert "To be decided by <@U0DANA>, <@U0ERIK>" in text
    assert "To be decided by <@U0ERIK>" in text.replace("<@U0DANA>, <@U0ERIK>", "")

    await dana.press(card, "approve_all:0")
    assert "You may not decide call 2. Only " in await dana.notice("You may not decide")
    await erik.press(await erik.card("1 of 2 open"), "approve:1")
    resume = await reviewing

    assert [record.decided_by for record in resume.records] == ["U0DANA", "U0ERIK"]


async def bot_cards(bot):
    """Give the fields of every card in the store."""
    keys = await scanned(bot.store._redis, "*:card:*")
    return {key.rpartition(":")[2]: await bot.store._redis.hgetall(key) for key in keys}


async def test_a_rule_asks_in_a_direct_message_or_where_the_run_came_from(start_bot, slack, client, policy):
    """A person's id is a conversation with them, and `thread` is the agent's own route."""
    policy.write_text(
        dedent("""\
        default: {channel: U0ERIK, approvers: [U0ERIK]}
        rules:
          - match: {tool: ask_*}
            channel: thread
            approvers: [channel]
            agent_channel_may_decide: true
        """)
    )
    await start_bot(policy=str(policy), approvers="", channel=None)
    erik, noor = Someone(slack, "U0ERIK"), Someone(slack, "U0NOOR")
    parent = await slack.message("U0DANA", "C0APPROVALS", "please find out")
    reviewing = review(
        client, an_action("mail"), an_action("ask_price"), channel="C0APPROVALS", thread_ts=parent["ts"]
    )
    found = await cards(slack, count=2)
    assert found["C0APPROVALS"]["thread_ts"] == parent["ts"]

    await erik.press(found["D0ERIK"], "approve:0")
    await noor.press(found["C0APPROVALS"], "approve:1")
    resume = await reviewing

    assert [record.decided_by for record in resume.records] == ["U0ERIK", "U0NOOR"]
    await erik.card("Approved by")


async def test_members_of_a_channel_that_the_agent_chose_do_not_decide(start_bot, slack, client):
    """Without a policy file `channel` means the operator's channel; the agent is told what to do."""
    await start_bot(approvers="channel")
    await slack.channel("C0FRIENDS", members=["U0BOT", "U0NOOR"])

    with pytest.raises(InterruptRefusedError, match="ASSENT_AGENT_CHANNEL_MAY_DECIDE") as refused:
        await review(client, an_action(), channel="C0FRIENDS")

    assert refused.value.code == "agent_channel"


async def test_a_changed_file_holds_for_what_is_asked_later(bot, slack, client, policy):
    """An open card keeps the rules under which it was asked, and every record says which."""
    dana, noor = Someone(slack, "U0DANA"), Someone(slack, "U0NOOR")
    before = bot.policies.policy.version
    first = review(client, an_action("mail"))
    card = await dana.card()

    policy.write_text("default: {channel: C0FINANCE, approvers: [U0NOOR]}")
    await until(lambda: bot.policies.policy.version != before)
    second = review(client, an_action("mail"))
    later = (await cards(slack, count=2))["C0FINANCE"]
    await noor.press(card, "approve:0")
    await noor.notice("Only <@U0DANA> or <@U0ERIK>")
    await noor.press(later, "approve:0")
    await dana.press(card, "approve:0")
    resumes = await asyncio.gather(first, second)

    assert [resume.records[0].decided_by for resume in resumes] == ["U0DANA", "U0NOOR"]
    versions = {"U0DANA": before, "U0NOOR": bot.policies.policy.version}
    assert [resume.records[0].policy for resume in resumes] == [*versions.values()]
    stored = await bot_cards(bot)
    for fields in stored.values():
        recorded = json.loads(fields["d:0"])
        assert fields["policy"] == recorded["policy"] == versions[recorded["decided_by"]]
    audit = [entry for _, entry in await bot.store._redis.xrange(bot.store.keys.audit)]
    assert {entry["by"]: entry["policy"] for entry in audit if entry["event"] == "decided"} == versions


async def test_who_is_gone_counts_for_nobody_and_the_others_decide(start_bot, slack, client, policy, caplog):
    """A bot that starts after somebody has left works on. Log, `/readyz` and `doctor` name them, and what nobody can decide."""
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0NOBODY, S0NONE, U0LEFT, U0DANA]}\n"
        "rules: [{name: old, match: {tool: delete}, channel: C0OLD, approvers: [U0LEFT]}]\n"
    )
    bot = await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("mail"))
    dana = Someone(slack, "U0DANA")
    await dana.press(await dana.card(), "approve:0")

    assert (await reviewing).decisions[0].type == "approve"
    warned = "; ".join(bot.health.warnings.values())
    for told in (
        "knows no U0NOBODY",
        "knows no S0NONE",
        "U0LEFT is",
        "nobody is left who can decide by 'old'",
    ):
        assert told in warned
        assert told in " ".join(getattr(record, "reason", "") for record in caplog.records)
    found = [each async for each in examine(bot.settings) if each.subject in {"channel", "approvers"}]
    assert {each.sentence for each in found if each.verdict != "ok"} == {*warned.split("; ")}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("default: {channel: C0APPROVALS, approvers: []}", "line 1: approvers is empty"),
        ("default: {channel: C0APPROVALS, approvers: [U0NOBODY]}", "line 1: Slack knows no U0NOBODY"),
    ],
    ids=["a mistake", "somebody unknown"],
)
async def test_a_broken_file_leaves_the_old_one_in_force_loudly(
    bot, slack, client, policy, caplog, broken, said
):
    """Cards go on as before; the log, the metric and `/readyz` say that somebody has to look."""
    policy.write_text(broken)
    bot.policies.look_now()
    await until(lambda: bot.health.warnings)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{bot.http.port}") as http:
        ready, metrics = await http.get("/readyz"), await http.get("/metrics")
        assert (ready.status, (await ready.json())["ready"]) == (200, True)
        assert said in (await ready.json())["warnings"]["policy"]
        assert "assent_policy_outdated 1.0" in await metrics.text()
        (record,) = [record for record in caplog.records if record.getMessage() == "policy.refused"]
        assert (record.levelname, said in record.problems[0]) == ("ERROR", True)

        reviewing = review(client, an_action("mail"))
        dana = Someone(slack, "U0DANA")
        await dana.press(await dana.card(), "approve:0")
        assert (await reviewing).decisions[0].type == "approve"

        policy.write_text(RULES)
        bot.policies.look_now()
        await until(lambda: not bot.health.warnings)
        assert await (await http.get("/readyz")).json() == {"ready": True, "signed": True}
        assert "assent_policy_outdated 0.0" in await (await http.get("/metrics")).text()


async def test_a_file_that_cannot_be_checked_in_slack_waits_until_it_can(bot, slack, policy, caplog):
    """Nobody knows whether the new rules would reach anybody, so the old ones stay until Slack answers."""
    before = bot.policies.policy.version
    await slack.fault("users.info", "error", error="fatal_error", times=None)
    policy.write_text("default: {channel: C0APPROVALS, approvers: [U0NOOR]}")
    bot.policies.look_now()
    await until(lambda: "policy.not_checked" in caplog.text)
    assert bot.policies.policy.version == before

    await slack.clear_faults()
    bot.policies.look_now()

    await until(lambda: bot.policies.policy.version != before)
