"""The words that go with a decision: reasons to reject that the policy offers, and text of one's own."""

import json

import pytest

from tests.support.builders import an_action, review
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
    assert (message or "Rejected") in words((await dana.card("Rejected by Dana"))["blocks"])


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

    await mira.notice("can decide this")
    assert not reviewing.done()
