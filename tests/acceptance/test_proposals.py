"""Edits that another rule is about: asked on that rule's terms, beside the call as it was asked, or refused."""

from pathlib import Path

import pytest

from agent_adapter import Context
from tests.conftest import until
from tests.support.builders import an_action, review
from tests.support.people import block_of, words

PAYMENTS = Path("docs/policies/payments.yaml")
RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], mask: [password]}
rules:
  - name: small payments
    match: {tool: pay, args: {properties: {amount: {type: number, maximum: 999}}, required: [amount]}}
  - name: verified payments
    match: {tool: pay, args: {properties: {amount: {const: 2000}}, required: [amount]}}
    agent: verified
  - name: payments for somebody
    match: {tool: pay, args: {properties: {amount: {const: 3000}}, required: [amount]}}
    requester: required
  - name: payments with a memo
    match: {tool: pay, args: {properties: {amount: {const: 4000}}, required: [amount]}}
    mask: [memo]
  - name: large payments
    match: {tool: pay}
    channel: C0FINANCE
    approvers: [U0ERIK, U0MIRA]
    quorum: 2
"""
SMALL = {"to": "al", "amount": 5, "more": {}}


@pytest.fixture
async def bot(start_bot, slack, policy):
    """A bot by these rules, which is in the channel of the second one."""
    await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA", "U0ERIK"])
    return await start_bot(policy=str(policy))


async def in_channel(person, channel, saying):
    """Wait for the card in a channel that says this."""
    return await person.slack.wait_for_message(
        lambda m: m["channel"] == channel and m["user"] == "U0BOT" and saying in words(m.get("blocks")),
        as_user=person.user,
    )


async def edits(person, **typed):
    """Open the form of an edit, submit it, and give what the person is told, with the form closed again."""
    await person.fill(await person.opened(await person.showing("edit:0"), "edit:0"), **typed)
    views = await person.slack.views(person.user)
    await person.close()
    return words(views[-1]["blocks"])


async def agrees(person, card):
    """Open what is proposed, agree with it, and give what the person is told."""
    view = await person.opened(card, "agree:0")
    await person.slack.submit(person.user, view["id"], {})
    views = await person.slack.views(person.user)
    for _ in views:
        await person.close()
    return " ".join(words(view["blocks"]) for view in views)


async def test_an_edit_into_a_rule_without_edits_is_refused_beside_the_field(start_bot, slack, client, dana):
    """With the documented policy for payments nobody of accounting makes 5 EUR into 5,000,000 to another account."""
    await slack.group("S0ACCOUNTS", users=["U0DANA"])
    await slack.group("S0FINANCE", users=["U0ERIK", "U0MIRA"])
    for channel in ("C0ACCOUNTS", "C0FINANCE"):
        await slack.channel(channel, members=["U0BOT", "U0DANA", "U0ERIK", "U0MIRA"])
    await start_bot(policy=str(PAYMENTS))
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
    edited = (await reviewing).decisions[0].edited_action.args
    assert edited == {"amount": 7, "currency": "EUR", "iban": "GB33 BUKB 2020 1555 5555 55"}


@pytest.mark.usefixtures("bot")
async def test_by_an_edit_nothing_is_asked_that_the_agent_could_not_ask(client, dana):
    """An agent that nobody verified, a requester whom only the agent names, a value that nobody would see."""
    reviewing = review(client, an_action("pay", SMALL), context=Context(requested_by="U0NOOR"))
    view = await dana.opened(await dana.showing("edit:0"), "edit:0")

    for typed, said in (
        ({"amount": "2000"}, "verified agents only"),
        ({"amount": "3000"}, "only the agent says for whom it acts"),
        ({"amount": "4000", "more": '{"memo": "evil"}'}, "it masks what you changed"),
        ({"amount": "5", "more": '{"password": "evil"}'}, "The policy masks “password”"),
    ):
        [told] = (await dana.fill(view, **typed))["errors"].values()
        assert said in told
    assert not reviewing.done()
    reviewing.cancel()


async def test_an_edit_that_another_rule_is_about_is_decided_by_whom_that_rule_names(
    bot, slack, client, dana, erik, mira
):
    """Two places: Dana proposes and does not count, Erik and Mira agree in finance, and the agent hears of both."""
    reviewing = review(client, an_action("pay", SMALL), context=Context(requested_by="U0NOOR"))
    assert (
        "“large payments” decides about these values, so your change is a proposal: 2 people have to agree in <#C0FINANCE>"
        in await edits(dana, amount="5000000")
    )

    here = await in_channel(dana, "C0APPROVALS", "<@U0DANA> changed this")
    there = await in_channel(mira, "C0FINANCE", "<@U0DANA> changed this")
    for card in (here, there):
        assert "amount: 5 → 5000000" in words(card["blocks"])
        assert "0 of 2" in words(card["blocks"])
        assert "decides about the change, by <@U0ERIK>, <@U0MIRA>" in words(card["blocks"])
    assert "<@U0DANA> or <@U0ERIK> decides" in words(here["blocks"])
    assert "needs 2 of <@U0ERIK>, <@U0MIRA> · " in words(there["blocks"])
    await slack.wait_for_message(lambda m: "it is asked in <#C0FINANCE> as well" in m["text"])
    assert "1 of 2" in await agrees(mira, there)
    await in_channel(dana, "C0APPROVALS", "1 of 2")
    await dana.press(here, "agree:0")
    await dana.notice("Only <@U0ERIK> or <@U0MIRA>")
    # The same edit completes it. Nothing is proposed any more, so nothing is said about that.
    form = await erik.opened(await erik.showing("edit:0"), "edit:0")
    assert (await erik.fill(form, amount="5000000"))["result"] == "clear"
    resume = await reviewing

    assert resume.decisions[0].edited_action.args == {**SMALL, "amount": 5000000}
    assert resume.records[0].agreed_by == ("U0MIRA", "U0ERIK")
    assert resume.records[0].policy == bot.policies.policy.version
    for channel in ("C0APPROVALS", "C0FINANCE"):
        over = await in_channel(dana, channel, 'Changed by 2 people: pay 5 → 5000000 "al"')
        assert "\n<@U0MIRA>, <@U0ERIK> <!date^" in words(over["blocks"])


async def test_an_edit_is_judged_by_the_rules_in_force_when_it_is_made(bot, client, policy, dana, erik):
    """A card that was asked of one person: since then the same values take two."""
    reviewing = review(client, an_action("pay", SMALL))
    card, before = await dana.showing("edit:0"), bot.policies.policy.version
    policy.write_text(RULES.replace("- name: small payments", "- name: small payments\n    quorum: 2"))
    bot.policies.look_now()
    await until(lambda: bot.policies.policy.version != before)
    assert "1 of 2" in await edits(dana, amount="7")
    assert not reviewing.done()

    # What it was admitted with, and what the rules say afterwards, do not count.
    newer = bot.policies.policy.version
    policy.write_text(RULES)
    bot.policies.look_now()
    await until(lambda: bot.policies.policy.version != newer)
    await erik.card("amount: 5 → 7")
    await agrees(erik, card)
    record = (await reviewing).records[0]
    assert (record.agreed_by, record.policy) == (("U0DANA", "U0ERIK"), newer)
