"""What people see and may do on a card: they approve, reject, answer and ask for changes, or read why they may not."""

import asyncio

import pytest

from agent_adapter import Context
from agent_adapter.errors import InterruptWithdrawnError
from tests.support.builders import an_action, an_interrupt, asking, review
from tests.support.faults import eventually, settled_card, watching
from tests.support.people import buttons, words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {name: mails, match: {tool: send_email}, reject_reasons: [wrong recipient, needs more detail]}
  - {name: transfers, match: {tool: transfer}, confirm: true}
  - {name: tables, match: {tool: drop_table}, risk: high, type: table}
  - name: logins
    match: {tool: connect, args: {properties: {step: {const: 1}}, required: [step]}}
    mask: [password]
  - {name: other logins, match: {tool: connect}, modal_only: [notes]}
  - {name: quiet, match: {tool: remind}, approvers: [U0DANA, U0ERIK, S0OPS], notify: [U0DANA]}
"""


@pytest.mark.usefixtures("bot")
async def test_whoever_comes_second_reads_who_was_first(client, dana, erik):
    """A late click changes nothing and is answered privately; a late form is replaced by a notice that closes."""
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    await erik.press(card, "approve:0")
    await dana.press(card, "approve:0")
    answer = await dana.fill(form, reason="wrong recipient")

    assert "already approved by <@U0ERIK>" in await dana.notice("already")
    assert "already approved by <@U0ERIK>" in words(answer["views"][-1]["blocks"])
    assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.usefixtures("bot")
async def test_a_rejection_gives_the_agent_the_reason_that_was_chosen_and_the_words_beside_it(client, dana):
    """The card shows them, too."""
    reviewing = review(client)
    form = await dana.opened(await dana.card(), "reject:0")
    await dana.fill(form, Reason="wrong recipient", More="She left in May.")

    assert (await reviewing).decisions[0].message == "wrong recipient\nShe left in May."
    assert "wrong recipient\nShe left in May." in words((await dana.card("Rejected by Dana"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_a_note_reaches_the_agent_and_the_card_beside_a_plain_approval(client, dana):
    reviewing = review(client, an_action("pay"))
    await dana.fill(await dana.opened(await dana.card(), "approve_note:0"), Note="Agreed by phone.")

    resume = await reviewing
    assert (resume.decisions[0].type, resume.records[0].note) == ("approve", "Agreed by phone.")
    assert "Agreed by phone." in words((await dana.card("Approved"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_whoever_asks_for_changes_rejects_with_words_that_the_model_can_act_on(client, dana):
    """The card shows the person's words alone. Without words, the form stays open."""
    reviewing = review(client, an_action("pay"))
    form = await dana.opened(await dana.card(), "changes:0")
    assert (await dana.fill(form, What=" "))["result"] == "errors"
    await dana.fill(form, What="Pay the half of it.")

    resume = await reviewing
    assert resume.decisions[0].message.endswith("The reviewer wrote:\nPay the half of it.")
    assert resume.records[0].changes == "Pay the half of it."
    shown = words((await dana.card("Changes requested"))["blocks"])
    assert "Pay the half of it." in shown
    assert "call the tool again" not in shown


@pytest.mark.usefixtures("bot")
async def test_an_offered_answer_is_one_press_and_reaches_the_agent_to_the_letter(client, dana):
    """Its number is in the click, its text in the record."""
    question = {"question": "How much?", "options": ["no", "10 EUR"]}
    reviewing = review(client, an_action("ask", question, allowed=("respond",)))
    await dana.press(await dana.showing("option:0.1"), "option:0.1")

    [decision] = (await reviewing).decisions
    assert (decision.type, decision.message) == ("respond", "10 EUR")


async def test_a_withdrawn_card_says_so_and_the_agent_hears_it(bot, client, dana):
    """The agent takes its question back; the card loses its buttons."""
    interrupt = an_interrupt(context=Context())
    reviewing = asyncio.create_task(client.reviewing(interrupt).__aenter__())
    await dana.card()
    await client.withdraw(interrupt.id, "the customer called")

    with pytest.raises(InterruptWithdrawnError, match="the customer called"):
        await reviewing
    assert buttons(await dana.card("the customer called")) == []


@pytest.mark.usefixtures("bot")
async def test_long_arguments_are_approved_at_the_end_of_reading_them(client, dana, slack):
    """No Approve on the card, all of it in pages, Approve below the last line. Its view says so then."""
    text = "".join(f"line {number}: transfer\n" for number in range(2_600))
    reviewing = review(client, an_action("run", {"script": text}))
    card = await dana.card("characters in all")
    assert buttons(card) == ["read:0", "reject:0", "respond:0", "changes:0"]

    page, seen, number = await dana.opened(card, "read:0"), "", 1
    while "finish:0" not in buttons(page):
        seen += words(page["blocks"])
        number += 1
        await slack.click_view("U0DANA", page["id"], f"page:{number}")
        page = await dana.view(f"Page {number} of")
    seen += words(page["blocks"])
    assert all(f"line {each}: transfer" in seen for each in range(2_600))
    await dana.press_in(page, "finish:0")

    await dana.view("You have approved what you read.")
    assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.usefixtures("bot")
async def test_what_is_of_high_risk_is_approved_by_typing_a_value_of_the_call(client, dana):
    """A wrong one is an error beside the field, and what was typed stays."""
    reviewing = review(client, an_action("drop_table", {"table": "invoices_2019", "cascade": True}))
    card = await dana.card("To approve, type `invoices_2019`")
    assert "approve:0" not in buttons(card)
    form = await dana.opened(card, "confirm:0")
    answer = await dana.fill(form, To_approve="invoices_2018")
    assert answer["errors"] == {"typed": "Type it exactly. Nothing was recorded."}

    await dana.fill(form, To_approve="invoices_2019 ")
    assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.usefixtures("bot")
async def test_where_the_rule_says_so_slack_asks_once_more_and_a_form_has_a_box_to_tick(client, slack, dana):
    """Slack insists on the box, and so does the bot."""
    reviewing = review(client, an_action("transfer", {"amount": 5}, allow_always=True))
    card = await dana.showing("for_run:0")
    asks = [e.get("confirm") for b in card["blocks"] for e in b.get("elements", ()) if "action_id" in e]
    assert asks[0]["title"]["text"] == "Run transfer?"
    form = await dana.opened(card, "for_run:0")

    answer = await slack.submit("U0DANA", form["id"], {})
    assert (answer["result"], list(answer["errors"])) == ("invalid", ["confirm"])
    await slack.submit("U0DANA", form["id"], {"confirm": ["yes"]})
    assert (await reviewing).decisions[0].always


async def test_decisions_that_come_one_after_the_other_share_an_edit(start_bot, slack, client, dana):
    """The person who clicks first sees it on the card, and whoever clicks last does not wait for the others."""
    bot = await start_bot(pace=True)
    async with watching(slack) as watcher:
        asked = client.interrupt(asking(*(an_action(f"pay-{n}") for n in range(5))))
        await client.publish(asked)
        card = await watcher.card(asked.id)
        shown = await dana.opened(card, "review:0")
        await dana.press_in(shown, "approve:0")
        first = await eventually(lambda: slack.calls("chat.update"))
        for index in range(1, 5):
            await dana.press_in(shown, f"approve:{index}")
            # Longer than what happens at the same moment, which was one edit before.
            await asyncio.sleep(0.2)
        await settled_card(bot.store, watcher, asked.id, stage="ended")

        assert len(first) == 1
        assert len(await slack.calls("chat.update")) <= 3


# --- Who may ----------------------------------------------------------------------------------------------------------


async def test_while_slack_does_not_say_who_somebody_is_they_decide_nothing(start_bot, slack, client, dana):
    """A click is refused and can be repeated, and a form keeps what was typed."""
    await start_bot(approvers="S0OPS")
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    await slack.event({"type": "subteam_members_changed", "subteam_id": "S0OPS"})
    await slack.fault("usergroups.users.list", "error", error="fatal_error", times=None)
    await dana.press(card, "approve:0")
    await dana.notice("Slack did not say in time who you are")
    assert (await dana.fill(form, reason="no"))["result"] == "errors"
    await slack.clear_faults()
    await dana.fill(form, reason="no")

    assert (await reviewing).decisions[0].message == "no"


@pytest.mark.usefixtures("bot")
async def test_a_card_names_whom_it_does_not_notify_and_they_decide(client, slack, dana, erik):
    """Only Dana's phone makes a sound. Erik's name is text of his, and Slack takes nothing in it as a mention."""
    await slack.person("U0ERIK", name="<!channel>")
    reviewing = review(client, an_action("remind"))
    shown = words((card := await dana.card())["blocks"])
    for name in ("<@U0DANA>", "@ops", "&lt;!channel&gt;"):
        assert name in shown
    for mention in ("<@U0ERIK>", "<!subteam", "<!channel>"):
        assert mention not in shown + card["text"]

    await erik.press(card, "approve:0")
    assert (await reviewing).records[0].decided_by == "U0ERIK"
