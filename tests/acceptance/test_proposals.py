"""Edits that another rule is about: asked on that rule's terms, beside the call as it was asked."""

from pathlib import Path

import pytest

from agent_adapter import Context
from bot.app import running
from tests.conftest import settings_for, until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.people import Someone, block_of, buttons, words
from tests.support.topologies import KEYS, opened

PAYMENTS = Path("docs/policies/payments.yaml")
RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: small payments
    match:
      tool: pay
      args: {properties: {amount: {type: number, maximum: 999}}, required: [amount]}
  - name: large payments
    match: {tool: pay}
    channel: C0FINANCE
    approvers: [U0ERIK, U0MIRA]
    quorum: 2
"""
SMALL = {"to": "al", "amount": 5}


@pytest.fixture
async def finance(slack):
    """A second channel, where the bot is."""
    return await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA", "U0ERIK"])


@pytest.fixture
async def bot(start_bot, finance, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


async def in_channel(person, channel, saying):
    """Wait for the card in a channel that says this."""
    return await person.slack.wait_for_message(
        lambda m: m["channel"] == channel and m["user"] == "U0BOT" and saying in words(m.get("blocks")),
        as_user=person.user,
    )


async def edits(person, *, card=None, **typed):
    """Open the form of an edit, submit it, and give what the person is told, with the form closed again."""
    view = await person.opened(card or await person.showing("edit:0"), "edit:0")
    answer = await person.fill(view, **typed)
    while answer["result"] == "failed":
        # Slack shows that a stalled machine did not answer in time, and leaves the form as it is.
        answer = await person.fill(view, **typed)
    views = await person.slack.views(person.user)
    is_told = views and views[-1]["callback_id"] == "notice"
    said = f"{views[-1]['title']['text']}: {words(views[-1]['blocks'])}" if is_told else ""
    while await person.slack.views(person.user):
        await person.close()
    return answer, said


async def agrees(person, card, button="agree:0", **typed):
    """Open what is proposed, agree with it, and give what the person is told."""
    view = await person.opened(card, button)
    answer = await person.slack.submit(person.user, view["id"], typed)
    views = await person.slack.views(person.user)
    while await person.slack.views(person.user):
        await person.close()
    return answer, " ".join(words(v["blocks"]) for v in views)


async def test_an_edit_into_a_rule_without_edits_is_refused_beside_the_field(start_bot, slack, client, dana):
    """With the documented policy for payments nobody of accounting makes 5 EUR into 5,000,000 to another account."""
    await slack.group("S0ACCOUNTS", users=["U0DANA"])
    await slack.group("S0FINANCE", users=["U0ERIK", "U0MIRA"])
    for channel in ("C0ACCOUNTS", "C0FINANCE"):
        await slack.channel(channel, members=["U0BOT", "U0DANA", "U0ERIK", "U0MIRA"])
    await start_bot(policy=str(PAYMENTS), approvers="", channel=None)
    args = {"amount": 5, "currency": "EUR", "iban": "DE02 1203 0000 0000 2020 51"}
    reviewing = review(client, an_action("pay_invoice", args), context=Context(requested_by="U0NOOR"))
    view = await dana.opened(await dana.showing("edit:0"), "edit:0")

    answer = await dana.fill(view, amount="5000000", iban="GB33 BUKB 2020 1555 5555 55")
    assert answer["errors"].keys() == {block_of(view, "amount")}
    [said] = answer["errors"].values()
    assert "“all other payments” decides about these values, and it does not offer edits" in said
    assert not reviewing.done()

    # The same form, with values that the first rule is about, too.
    await dana.fill(view, amount="7", iban="GB33 BUKB 2020 1555 5555 55")
    resume = await reviewing
    assert resume.decisions[0].edited_action.args == {
        "amount": 7,
        "currency": "EUR",
        "iban": "GB33 BUKB 2020 1555 5555 55",
    }


async def test_an_edit_that_another_rule_is_about_is_decided_by_whom_that_rule_names(
    bot, slack, client, dana, erik, mira
):
    """Two places: Dana proposes and does not count, Erik and Mira agree in finance, and the agent hears of both."""
    reviewing = review(client, an_action("pay", SMALL), context=Context(requested_by="U0NOOR"))
    _, said = await edits(dana, amount="5000000")
    assert said.startswith("Recorded: ")
    assert (
        "“large payments” decides about these values, so your change is a proposal: 2 people have to agree in <#C0FINANCE>"
        in said
    )

    here = await in_channel(dana, "C0APPROVALS", "<@U0DANA> changed this")
    there = await in_channel(mira, "C0FINANCE", "<@U0DANA> changed this")
    for card in (here, there):
        assert "amount 5 → 5000000" in words(card["blocks"])
        assert "0 of 2" in words(card["blocks"])
    by_finance = "as <@U0DANA> proposes, needs 2 of <@U0ERIK>, <@U0MIRA>"
    assert f"as asked, <@U0DANA> or <@U0ERIK> decides · {by_finance}" in words(here["blocks"])
    elsewhere = "as asked, the people named in <#C0APPROVALS> decide"
    assert f"{by_finance} · {elsewhere}" in words(there["blocks"])
    await slack.wait_for_message(lambda m: "it is asked in <#C0FINANCE> as well" in m["text"])
    _, said = await agrees(mira, there)
    assert "1 of 2" in said
    await in_channel(dana, "C0APPROVALS", "1 of 2")
    await dana.press(here, "agree:0")
    await dana.notice("Only <@U0ERIK> or <@U0MIRA>")
    await agrees(erik, there)
    resume = await reviewing

    assert resume.decisions[0].edited_action.args == {"to": "al", "amount": 5000000}
    assert resume.records[0].agreed_by == ("U0MIRA", "U0ERIK")
    assert resume.records[0].policy == bot.policies.policy.version
    for channel in ("C0APPROVALS", "C0FINANCE"):
        over = await in_channel(dana, channel, 'Changed by 2 people: pay 5 → 5000000 "al"')
        assert "\n<@U0MIRA>, <@U0ERIK> <!date^" in words(over["blocks"])


@pytest.mark.usefixtures("bot")
async def test_the_call_as_it_was_asked_stays_decidable_on_its_own_terms(client, dana, erik, mira):
    """Approving it says that it is the old value, and is not what the primary button does."""
    reviewing = review(client, an_action("pay", SMALL))
    await edits(dana, amount="4000")
    card = await in_channel(mira, "C0FINANCE", "changed this")
    shown = {e["action_id"]: e for b in card["blocks"] if b["type"] == "actions" for e in b["elements"]}
    assert shown["agree:0"]["style"] == "primary"
    assert shown["approve:0"]["text"]["text"] == "Approve 5"
    assert "style" not in shown["approve:0"]

    await mira.press(card, "approve:0")
    await mira.notice("Only <@U0DANA> or <@U0ERIK>")
    await agrees(mira, card)
    await erik.press(await in_channel(erik, "C0APPROVALS", "1 of 2"), "approve:0")
    resume = await reviewing

    assert (resume.decisions[0].type, resume.records[0].decided_by) == ("approve", "U0ERIK")


@pytest.mark.usefixtures("bot")
async def test_a_newer_proposal_takes_the_place_of_the_older_and_its_votes(client, slack, dana, erik, mira):
    """Whoever reads the older one while it is replaced agrees with nothing."""
    reviewing = review(client, an_action("pay", SMALL))
    await edits(erik, amount="4000")
    card = await in_channel(mira, "C0FINANCE", "amount 5 → 4000")
    view = await mira.opened(card, "agree:0")
    await edits(dana, amount="6000")
    newer = await in_channel(mira, "C0FINANCE", "amount 5 → 6000")
    assert "0 of 2" in words(newer["blocks"])
    assert "4000" not in words(newer["blocks"])

    await slack.submit("U0MIRA", view["id"], {})
    assert "was withdrawn or decided" in words((await slack.views("U0MIRA"))[-1]["blocks"])
    await mira.close()
    await agrees(mira, newer)
    assert not reviewing.done()
    await agrees(erik, newer)

    resume = await reviewing
    assert resume.decisions[0].edited_action.args == {"to": "al", "amount": 6000}
    assert resume.records[0].agreed_by == ("U0MIRA", "U0ERIK")


async def test_an_agent_cannot_have_a_proposal_asked_of_a_person_that_it_names(
    start_bot, slack, client, policy, dana
):
    """The rule asks where the run came from; direct messages are for the policy to choose."""
    policy.write_text(RULES.replace("channel: C0FINANCE", "channel: thread"))
    await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("pay", SMALL), channel="U0NOOR")
    answer, _ = await edits(dana, amount="4000")

    assert "the agent named the person U0NOOR" in next(iter(answer["errors"].values()))
    assert not reviewing.done()
    assert not await slack.calls("conversations.open")


# --- Reloads, restarts, parts -----------------------------------------------------------------------------------------


async def reload(bot, policy, rules):
    """Put other rules into force."""
    before = bot.policies.policy.version
    policy.write_text(rules)
    await until(lambda: bot.policies.policy.version != before)


async def test_an_edit_is_judged_by_the_rules_in_force_when_it_is_made(bot, client, policy, dana, erik):
    """A card that was asked of one person: since then the same values take two."""
    reviewing = review(client, an_action("pay", SMALL))
    card = await dana.showing("edit:0")
    newer = RULES.replace("- name: small payments", "- name: small payments\n    quorum: 2")
    await reload(bot, policy, newer)
    _, said = await edits(dana, amount="7")
    assert "1 of 2" in said
    assert not reviewing.done()

    # What it was admitted with, and what the rules say afterwards, do not count.
    await reload(bot, policy, RULES)
    await erik.card("amount 5 → 7")
    await agrees(erik, card)
    resume = await reviewing
    assert resume.records[0].agreed_by == ("U0DANA", "U0ERIK")
    assert resume.records[0].policy != bot.policies.policy.version


async def test_an_edit_cannot_get_fewer_people_than_the_call_took(bot, client, mira, erik):
    """From a rule of two people into a rule of one: it still takes two, of those whom that rule names."""
    reviewing = review(client, an_action("pay", {"to": "al", "amount": 5000}))
    _, said = await edits(erik, amount="5")
    assert "2 people have to agree" in said
    assert "1 of 2" in said
    assert not reviewing.done()
    card = await in_channel(erik, "C0APPROVALS", "<@U0ERIK> changed this")
    await mira.press(card, "agree:0")
    await mira.notice("Only <@U0DANA> or <@U0ERIK>")
    await agrees(Someone(mira.slack, "U0DANA"), card)

    assert (await reviewing).records[0].agreed_by == ("U0ERIK", "U0DANA")


async def test_a_proposal_outlives_the_bot_that_asked_it(
    start_bot, finance, client, policy, erik, mira, playground, redis_url
):
    """Its terms, its place and its votes are in the record; another bot goes on, whatever its rules are."""
    asked_by = {"policy": str(policy), "approvers": "", "channel": None}
    async with running(settings_for(playground, redis_url, **asked_by)):
        reviewing = review(client, an_action("pay", SMALL))
        await edits(erik, amount="4000")
        await in_channel(mira, "C0FINANCE", "1 of 2")
    policy.write_text(RULES.replace("quorum: 2", "quorum: 1"))
    await start_bot(policy=str(policy), approvers="", channel=None)
    await agrees(mira, await in_channel(mira, "C0FINANCE", "1 of 2"))

    assert (await reviewing).records[0].agreed_by == ("U0ERIK", "U0MIRA")


# --- With how much care -----------------------------------------------------------------------------------------------


MASKED = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  quorum: %s
  mask: [password]
  modal_only: [body]
"""


@pytest.mark.parametrize("quorum", [1, 2])
@pytest.mark.parametrize(
    "typed",
    [
        {"opts": '{"password": "evil"}'},
        {"items": "[1, 2]", "user": "bo", "opts": '{"password": "old"}'},
    ],
)
async def test_an_edit_never_brings_in_what_the_same_rule_masks(
    start_bot, slack, client, policy, dana, typed, quorum
):
    """Nobody else would see it, so it is refused beside the field, and what was typed stays."""
    policy.write_text(MASKED % quorum)
    await start_bot(policy=str(policy), approvers="", channel=None)
    args = {"user": "al", "opts": {}, "items": [], "kept": {"password": "old"}}
    reviewing = review(client, an_action("login", args))
    view = await dana.opened(await dana.showing("edit:0"), "edit:0")
    answer = await dana.fill(view, **typed)

    [(block, said)] = answer["errors"].items()
    assert block in {block_of(view, name) for name in typed}
    assert "The policy masks “password”, and what is masked is never edited" in said
    assert "changed this" not in words((await dana.showing("edit:0"))["blocks"])
    assert not reviewing.done()

    # The same form without it is decided as ever, and runs with what the agent wrote where it is masked.
    emptied = {name: "{}" if name == "opts" else "[]" for name in typed if name != "user"}
    await dana.fill(view, **{**emptied, "user": "cy"})
    if quorum == 2:
        await agrees(Someone(slack, "U0ERIK"), await dana.card("changed this"))
    assert (await reviewing).decisions[0].edited_action.args == {**args, "user": "cy"}


CARE = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: tests
    match:
      tool: run_sql
      args: {properties: {database: {const: test}}, required: [database]}
    risk: low
    on_timeout: approve
    time_limit: 8s
  - name: production
    match: {tool: run_sql}
    risk: high
    mask: [password]
"""


@pytest.fixture
async def care(start_bot, policy):
    """A bot by rules about risks."""
    policy.write_text(CARE)
    return await start_bot(policy=str(policy), approvers="", channel=None)


async def test_what_is_typed_is_that_of_the_proposal(start_bot, policy, client, dana, erik):
    """From high risk into high risk: the author typed the value of their edit, which counts for nothing else."""
    policy.write_text(CARE.replace("risk: low\n    on_timeout: approve\n    time_limit: 8s", "risk: high"))
    await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("run_sql", {"database": "test", "sql": "drop"}))
    card = await dana.card("High risk")
    assert "To approve, type `drop`" in words(card["blocks"])
    _, said = await edits(dana, database="live", sql="delete", To_approve="delete")
    assert "press *Agree to …*" in said
    assert not reviewing.done()

    changed = await erik.card("0 of 1")
    assert "To agree, type `delete`" in words(changed["blocks"])
    answer, _ = await agrees(erik, changed, typed="drop")
    assert set(answer["errors"]) == {"typed"}
    await agrees(dana, changed, typed="delete")
    resume = await reviewing
    assert (resume.decisions[0].edited_action.args["database"], resume.records[0].decided_by) == (
        "live",
        "U0DANA",
    )


@pytest.mark.usefixtures("care")
async def test_silence_approves_nothing_while_a_proposal_is_open(client, dana):
    """A rule of low risk would have approved the call at its deadline; somebody wants another one."""
    reviewing = review(
        client, an_action("run_sql", {"database": "test"}), an_action("run_sql", {"database": "test"})
    )
    await edits(dana, card=await dana.card("*approved* at <!date^"), database="live")
    card = await dana.card("changed this")
    assert words(card["blocks"]).count("*Approved at the deadline*") == 1
    resume = await reviewing

    assert [decision.type for decision in resume.decisions] == ["reject", "approve"]


async def test_a_proposal_that_does_not_fit_a_card_is_read_to_its_end(
    start_bot, slack, policy, client, dana, erik
):
    """Who has read the call as it was asked has not read what is proposed, and the other way around."""
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}\n"
        "rules:\n"
        "  - {name: drafts, match: {tool: mail, args: {properties: {to: {const: me}}, required: [to]}}}\n"
        "  - {name: mails, match: {tool: mail}, quorum: 2}\n"
    )
    await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("mail", {"to": "me", "body": "long\n" * 9_000}))
    card = await dana.showing("read:0")
    await to_the_end(erik, await erik.opened(card, "read:0"))
    await erik.close()
    view = await to_the_end(dana, await dana.opened(card, "read:0"))
    await slack.click_view("U0DANA", view["id"], "edit:0")
    form = await slack.wait_for_view("U0DANA", lambda v: v["callback_id"] == "edit")
    await dana.fill(form, to="all")
    assert "press *Agree to …*" in words((await slack.views("U0DANA"))[-1]["blocks"])
    changed = await erik.card("0 of 2")

    view = await erik.opened(changed, "agree:0")
    assert "finish:0" not in buttons(view)
    assert 'to:   "all"' in words(view["blocks"])
    view = await to_the_end(erik, view)
    await erik.press_in(view, "finish:0")
    await erik.view("1 of 2")
    await erik.close()
    view = await erik.opened(changed, "read:0")
    assert 'to:   "me"' in words(view["blocks"])
    assert "finish:0" not in buttons(view)
    await erik.close()
    assert not reviewing.done()
    while await slack.views("U0DANA"):
        await dana.close()
    await dana.press_in(await to_the_end(dana, await dana.opened(changed, "agree:0")), "finish:0")

    assert (await reviewing).decisions[0].edited_action.args["to"] == "all"


async def to_the_end(person, view):
    """Turn the pages of a reading, and give the last one."""
    last = int(words(view["blocks"]).partition("Page 1 of ")[2].split()[0])
    for number in range(2, last + 1):
        await person.slack.click_view(person.user, view["id"], f"page:{number}")
        view = await person.slack.wait_for_view(
            person.user, lambda v, number=number: f'"page":{number},' in v["private_metadata"]
        )
    return view


# --- Judged again -----------------------------------------------------------------------------------------------------


@pytest.mark.unencrypted
async def test_nobody_agrees_with_arguments_that_were_put_into_a_proposal(
    start_bot, finance, policy, redis_url, client, dana, erik
):
    """Somebody who can write to Redis changes what is proposed while the form is open. It is not the proposal of this name."""
    await start_bot(policy=str(policy), approvers="", channel=None)
    interrupt_id = await client.publish(
        an_interrupt(an_action("pay", SMALL), context=Context(requested_by="U0NOOR"))
    )
    await edits(dana, amount="9317")
    card = await in_channel(erik, "C0FINANCE", "9317")
    view = await erik.opened(card, "agree:0")

    async with opened(redis_url) as redis:
        key = KEYS.card(interrupt_id)
        proposal = await redis.hget(key, "proposal:0")
        await redis.hset(key, "proposal:0", proposal.replace("9317", "9999317"))
    await erik.slack.submit(erik.user, view["id"], {})

    async with opened(redis_url) as redis:
        found = await redis.hgetall(key)
    assert "d:0" not in found
    assert "vote:0:U0ERIK" not in found
