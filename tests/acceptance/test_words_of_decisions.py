"""The words that go with a decision: reasons to reject that the policy offers, and text of one's own."""

import json

import pytest

from tests.conftest import until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: mails
    match: {tool: send_email}
    reject_reasons: [wrong recipient, needs more detail]
  - name: texts
    match: {tool: send_text}
    reject_reasons: [needs more detail]
  - name: deletions
    match: {tool: drop}
    risk: high
"""


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"Reason": "wrong recipient"}, "wrong recipient"),
        ({"More": "She left in May."}, "She left in May."),
        (
            {"Reason": "wrong recipient", "More": "She left in May."},
            "wrong recipient\nShe left in May.",
        ),
        ({}, None),
    ],
)
@pytest.mark.usefixtures("bot")
async def test_a_person_chooses_a_reason_or_writes_one_or_both(client, dana, typed, message):
    """The agent gets just these words, and the card shows them."""
    reviewing = review(client)
    card = await dana.card()

    await dana.fill(await dana.opened(card, "reject:0"), **typed)

    assert (await reviewing).decisions[0].message == message
    assert (message or "Rejected") in words((await dana.card("Rejected"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_reject_all_offers_the_reasons_that_all_of_its_calls_have(client, dana):
    """A reason that the policy offers for one call only would be wrong for the other."""
    reviewing = review(client, an_action("send_email"), an_action("send_text"))
    view = await dana.opened(await dana.card(), "reject_all:0")
    assert "wrong recipient" not in json.dumps(view)

    await dana.fill(view, Reason="needs more detail")

    assert [each.message for each in (await reviewing).decisions] == ["needs more detail"] * 2


@pytest.mark.usefixtures("bot")
async def test_a_tool_without_reasons_asks_for_words_alone(client, dana):
    """As before."""
    reviewing = review(client, an_action("pay"))

    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Not this month.")

    assert (await reviewing).decisions[0].message == "Not this month."


async def test_reasons_are_those_of_the_time_when_it_was_asked(bot, client, dana, policy):
    """An open card keeps its rules."""
    await client.publish(an_interrupt())
    card, version = await dana.card(), bot.policies.policy.version
    policy.write_text(RULES.replace("wrong recipient", "too late"))
    bot.policies.look_now()
    await until(lambda: bot.policies.policy.version != version)

    view = json.dumps(await dana.opened(card, "reject:0"))

    assert "wrong recipient" in view
    assert "too late" not in view


# --- A note beside an approval --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bot")
async def test_a_note_reaches_the_agent_and_the_card(client, dana):
    """The decision itself is a plain approval; the note stands beside it."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await dana.fill(await dana.opened(card, "approve_note:0"), Note="Agreed by phone.")

    resume = await reviewing
    assert resume.decisions[0].type == "approve"
    assert resume.records[0].note == "Agreed by phone."
    assert "Agreed by phone." in words((await dana.card("Approved"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_an_approval_without_a_note_has_none(client, dana):
    """An empty field, or one of spaces, is no note."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await dana.fill(await dana.opened(card, "approve_note:0"), Note="  ")

    assert (await reviewing).records[0].note is None


@pytest.mark.usefixtures("bot")
async def test_whoever_types_the_code_of_a_high_risk_can_add_a_note(client, dana):
    """Also at the end of a reading."""
    reviewing = review(client, an_action("drop"))
    card = await dana.card()
    code = words(card["blocks"]).partition("Approve…* asks you to type *")[2][:4]

    await dana.fill(await dana.opened(card, "confirm:0"), Code=code, Note="Backup is there.")

    assert (await reviewing).records[0].note == "Backup is there."


# --- Asking for changes ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bot")
async def test_whoever_asks_for_changes_rejects_with_words_that_the_model_can_act_on(
    client, dana, playground
):
    """Nothing runs. The model reads that it is to propose the call again; the card shows the person's words alone."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await dana.fill(await dana.opened(card, "changes:0"), What="Pay the half of it.")

    resume = await reviewing
    assert resume.decisions[0].type == "reject"
    assert resume.decisions[0].message.endswith("The reviewer wrote:\nPay the half of it.")
    assert resume.records[0].changes == "Pay the half of it."
    shown = words((await dana.card("Changes requested"))["blocks"])
    assert "Pay the half of it." in shown
    assert "call the tool again" not in shown


@pytest.mark.usefixtures("bot")
async def test_changes_without_a_word_of_what_to_change_are_not_asked(client, dana):
    """The form stays, with the reason beside the field."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    answer = await dana.fill(await dana.opened(card, "changes:0"), What=" ")

    assert "errors" in json.dumps(answer)
    assert not reviewing.done()


@pytest.mark.usefixtures("bot")
async def test_who_may_not_reject_may_not_ask_for_changes(client, dana, mira):
    """It is judged like any rejection."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await mira.press(card, "changes:0")

    await mira.notice("not an approver")
    assert not reviewing.done()


@pytest.mark.unencrypted
async def test_the_audit_keeps_what_was_written(bot, client, dana):
    """A note stands in its own fact; of a request for changes the audit keeps the person's words alone."""
    noted, changed = review(client, an_action("pay")), review(client, an_action("transfer"))
    card = await dana.card("run pay")
    await dana.fill(await dana.opened(card, "approve_note:0"), Note="Agreed by phone.")
    await noted
    card = await dana.card("run transfer")
    await dana.fill(await dana.opened(card, "changes:0"), What="Pay the half of it.")
    await changed

    entries = await bot.store._redis.xrange(bot.store.keys.audit)

    facts = [json.loads(fields["facts"]) for _, fields in entries if fields["event"] == "decided"]
    assert [fact.get("note") or fact.get("reason") for fact in facts] == [
        "Agreed by phone.",
        "Pay the half of it.",
    ]


@pytest.mark.usefixtures("bot")
async def test_in_a_batch_the_form_to_reject_asks_whether_the_agent_proposes_again(client, dana):
    """A card of several calls has no room for a button of its own under each."""
    reviewing = review(client, an_action("pay"), an_action("transfer"))
    card = await dana.card()
    view = await dana.opened(card, "reject:0")

    await dana.fill(view, Reason="Pay the half of it.", What=["yes"])
    await dana.fill(await dana.opened(card, "reject:1"), Reason="No.")

    resume = await reviewing
    assert [record.changes for record in resume.records] == ["Pay the half of it.", None]
    assert resume.decisions[0].message.endswith("The reviewer wrote:\nPay the half of it.")
    assert resume.decisions[1].message == "No."
