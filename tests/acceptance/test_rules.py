"""A company's rules, from the file to the card, the click and the agent's answer."""

import asyncio
from textwrap import dedent

import aiohttp
import pytest

from agent_adapter import InterruptRefusedError
from agent_adapter.contract.interrupt import Route
from bot.cli.doctor import examine
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt, asking, review
from tests.support.http_api import a_key, a_pause, speaking

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
"""


@pytest.fixture
async def bot(start_bot, slack, policy):
    """A bot by these rules, which is in the channel of the first one."""
    await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA", "U0NOOR"])
    return await start_bot(policy=str(policy))


async def test_a_rule_asks_in_a_direct_message_or_where_the_run_came_from(
    start_bot, slack, client, policy, erik, noor
):
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
    await start_bot(policy=str(policy))
    parent = await slack.message("U0DANA", "C0APPROVALS", "please find out")
    batch = an_action("mail"), an_action("ask_price")
    reviewing = review(client, *batch, channel="C0APPROVALS", thread_ts=parent["ts"])
    mail, price = await erik.card("billing: mail"), await noor.card("billing: ask_price")
    assert (mail["channel"], price["channel"]) == ("D0ERIK", "C0APPROVALS")
    assert price["thread_ts"] == parent["ts"]

    await erik.press(mail, "approve:0")
    await noor.press(price, "approve:1")

    assert [record.decided_by for record in (await reviewing).records] == ["U0ERIK", "U0NOOR"]


async def test_a_changed_file_holds_for_what_is_asked_later(bot, slack, client, policy, dana, noor):
    """An open card keeps the rules under which it was asked, and every record says which."""
    before = bot.policies.policy.version
    first = review(client, an_action("mail"))
    card = await dana.card()

    policy.write_text("default: {channel: C0FINANCE, approvers: [U0NOOR]}")
    bot.policies.look_now()
    await until(lambda: bot.policies.policy.version != before)
    second = review(client, an_action("mail"))
    later = await slack.wait_for_message(lambda m: bool(m.get("blocks")), channel="C0FINANCE")
    await noor.press(card, "approve:0")
    await noor.notice("Only <@U0DANA> or <@U0ERIK>")
    await noor.press(later, "approve:0")
    await dana.press(card, "approve:0")

    records = [resume.records[0] for resume in await asyncio.gather(first, second)]
    versions = [("U0DANA", before), ("U0NOOR", bot.policies.policy.version)]
    assert [(record.decided_by, record.policy) for record in records] == versions
    audit = [entry for _, entry in await bot.store._redis.xrange(bot.store.keys.audit)]
    assert {(each["by"], each["policy"]) for each in audit if each["event"] == "decided"} == {*versions}


async def test_who_is_gone_counts_for_nobody_and_the_others_decide(start_bot, client, policy, caplog, dana):
    """A bot that starts after somebody has left works on. Log, `/readyz` and `doctor` name them, and what nobody can decide."""
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0NOBODY, S0NONE, U0LEFT, U0DANA]}\n"
        "rules: [{name: old, match: {tool: delete}, channel: C0OLD, approvers: [U0LEFT]}]\n"
    )
    bot = await start_bot(policy=str(policy))
    reviewing = review(client, an_action("mail"))
    await dana.press(await dana.card(), "approve:0")

    assert (await reviewing).decisions[0].type == "approve"
    warned = "; ".join(bot.health.warnings.values())
    nobody = "nobody is left who can decide by 'old'"
    for told in ("knows no U0NOBODY", "knows no S0NONE", "U0LEFT is", nobody):
        assert told in warned
        assert told in " ".join(getattr(record, "reason", "") for record in caplog.records)
    found = [each async for each in examine(bot.settings) if each.subject in {"channel", "approvers"}]
    assert {each.sentence for each in found if each.verdict != "ok"} == {*warned.split("; ")}


async def test_a_broken_file_leaves_the_old_one_in_force_loudly(bot, client, policy, caplog, dana):
    """Cards go on as before; the log, the metric and `/readyz` say that somebody has to look."""
    policy.write_text("default: {channel: C0APPROVALS, approvers: [U0NOBODY]}")
    bot.policies.look_now()
    await until(lambda: bot.health.warnings)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{bot.http.port}") as http:
        ready = await http.get("/readyz")
        assert ready.status == 200
        assert "line 1: Slack knows no U0NOBODY" in (await ready.json())["warnings"]["policy"]
        assert "assent_policy_outdated 1.0" in await (await http.get("/metrics")).text()
        (record,) = [record for record in caplog.records if record.getMessage() == "policy.refused"]
        assert "Slack knows no U0NOBODY" in record.problems[0]
        reviewing = review(client, an_action("mail"))
        await dana.press(await dana.card(), "approve:0")
        assert (await reviewing).decisions[0].type == "approve"

        policy.write_text(RULES)
        bot.policies.look_now()
        await until(lambda: not bot.health.warnings)
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


# --- Where nobody can be asked ----------------------------------------------------------------------------------------


async def refused(client, **route):
    """Ask there, past what the library would refuse by itself, and give what the agent hears."""
    interrupt = client.interrupt(asking(an_action())).model_copy(update={"route": Route(**route)})
    with pytest.raises(InterruptRefusedError) as caught:
        async with asyncio.timeout(30), client.reviewing(interrupt):
            raise AssertionError("it was asked")
    return caught.value.code, str(caught.value)


async def test_an_agent_that_names_no_place_to_ask_is_refused_at_once(start_bot, client, dana):
    """It hears the code and the cure; the bot stays ready, and the next card comes without a pause."""
    bot = await start_bot()
    for channel, code, says in (
        (
            "U0DANA",
            "not_a_channel",
            "named the person U0DANA in place of a channel: name a channel by its id",
        ),
        ("D0DANA", "not_a_channel", "named the direct message 'D0DANA' in place of a channel"),
        ("C0NOWHERE", "channel_not_found", "C0NOWHERE: check the id"),
        ("C0OLD", "is_archived", "C0OLD: unarchive it, or ask elsewhere"),
    ):
        heard = await refused(client, channel=channel)
        assert (heard[0], says in heard[1]) == (code, True), heard
    gone = await refused(client, channel="C0APPROVALS", thread_ts="1732104000.000100")
    assert (gone[0], "C0APPROVALS: the message to answer is gone" in gone[1]) == ("thread_not_found", True)

    reviewing = review(client)
    await dana.press(await dana.card(), "approve:0")
    assert (await reviewing).status == "decided"
    assert (bot.health.ready, bot.health.slack_fault) == (True, None)


# --- Limits of an agent ------------------------------------------------------------------------------------------------

LIMITS = """\
default: {channel: C0APPROVALS, approvers: [U0ERIK]}
limits: [{agent: billing, pending: 1}, {per_minute: 2}]
"""


async def test_beyond_its_open_interrupts_an_agent_is_refused_until_one_is_decided(
    start_bot, policy, erik, client, redis_url
):
    """The error names the limit and the cure, another agent is asked as ever, and a decision makes room."""
    policy.write_text(LIMITS)
    await start_bot(policy=str(policy))
    first = await client.publish(an_interrupt(an_action("pay_rent"), run="1"))
    one = await erik.card("pay_rent")

    with pytest.raises(InterruptRefusedError) as refused:
        async with client.reviewing(an_interrupt(an_action("drop_table"), run="3")):
            pass

    assert refused.value.code == "limits"
    assert "and the policy allows 1: ask again when some of them are decided" in str(refused.value)
    async with an_agent(redis_url, "payroll") as other:
        await other.publish(an_interrupt(an_action("pay_wages"), agent="payroll", run="4"))
        await erik.card("pay_wages")

    await erik.press(one, "approve:0")
    await client.wait(first)
    await client.publish(an_interrupt(an_action("ask_bank"), run="5"))
    await erik.card("ask_bank")


async def test_over_http_it_is_429_before_anything_is_stored(start_bot, policy, slack, redis_url):
    """With the seconds to wait; asking again about what is asked already is not refused."""
    policy.write_text(LIMITS)
    bot = await start_bot(policy=str(policy))
    async with speaking(bot.http.port, await a_key(redis_url, "payroll")) as caller:
        asked = [await caller.ask(payload=a_pause(run), run=run, pause="p") for run in ("r-1", "r-2")]
        await until(lambda: all((known := bot.store.recall(each)) and known.is_shown for each in asked))

        third = {"payload": a_pause("r-3"), "run": "r-3", "pause": "p"}
        status, answer = await caller.send("POST", "/interrupts", json=third)

        assert (status, answer["error"]["code"]) == (429, "limits")
        assert "asked more than 2 times in a minute" in answer["error"]["message"]
        assert await caller.ask(payload=a_pause("r-1"), run="r-1", pause="p") == asked[0]
    assert "r-3" not in str(await slack.messages("C0APPROVALS"))
