"""A card speaks the language of its place; what one person sees, the language of their Slack."""

import pytest

from agent_adapter import Context
from bot.sentences import in_answer, in_form, on_button, on_card
from bot.sentences.language import speaking
from tests.support.builders import an_action, review
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  tell_requester: direct
rules:
  - name: in German
    match: {tool: [pay, write]}
    language: de
agents:
  billing: {requester: agent}
"""
PAY = an_action("pay", {"to": "ann", "amount": 900})


@pytest.fixture
async def bot(start_bot, policy):
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
async def erik(slack, erik):
    """He has set his Slack to German."""
    await slack.person("U0ERIK", locale="de-DE")
    return erik


def labels(message):
    return [
        element["text"]["text"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["type"] == "button"
    ]


def title_of(view):
    return view["title"]["text"]


@pytest.mark.usefixtures("bot")
async def test_a_card_is_german_where_its_rule_says_so(client, dana):
    """Its title, its buttons, what notifications say, and how it ended."""
    reviewing = review(client, PAY)
    with speaking("de"):
        card = await dana.card(on_card.wants("billing", "pay"))
        assert labels(card) == [on_button.LABELS[verb] for verb in ("approve", "edit", "reject")]
        assert card["text"].startswith(on_card.wants("billing", 'pay mit to: "ann", amount: 900'))
        await dana.press(card, "approve:0")
        resume = await reviewing
        ended = await dana.card(on_card.RESUMED)
        assert ended["ts"] == card["ts"]
    assert resume.decisions[0].type == "approve"


@pytest.mark.usefixtures("bot")
async def test_a_form_is_in_the_language_of_the_person_who_opens_it(client, dana, erik):
    """On the same German card, one reads German and the other English. What is decided is the same."""
    reviewing = review(client, PAY)
    card = await erik.card("pay")
    # Slack says who somebody is while their first click is handled.
    assert title_of(await dana.opened(card, "reject:0")) == in_form.reject_title(None)
    form = await erik.opened(card, "reject:0")
    with speaking("de"):
        assert title_of(form) == in_form.reject_title(None)
        await erik.fill(form, **{in_form.REASON: "Falsches Konto."})
    resume = await reviewing
    assert resume.decisions[0].message == "Falsches Konto."


@pytest.mark.usefixtures("bot")
async def test_an_answer_is_in_the_language_of_the_person_who_clicked(client, slack, mira):
    """Also for a person who may not decide."""
    await slack.person("U0MIRA", locale="de-AT")
    reviewing = review(client, an_action("send", {"to": "ann"}))
    card = await mira.card("send")
    await mira.press(card, "approve:0")
    with speaking("de"):
        beginning = in_answer.not_an_approver(["<@U0DANA>", "<@U0ERIK>"])
    assert await mira.notice(beginning) == beginning
    reviewing.cancel()


@pytest.mark.usefixtures("bot")
async def test_who_has_another_language_reads_english(client, slack, dana):
    """A language that the bot does not speak is no reason to say nothing."""
    await slack.person("U0DANA", locale="fr-FR")
    reviewing = review(client, an_action("send", {"to": "ann"}))
    form = await dana.opened(await dana.card("send"), "reject:0")
    assert title_of(form) == "Reject this call"
    reviewing.cancel()


@pytest.mark.usefixtures("bot")
async def test_a_card_keeps_its_language_when_the_rules_change(client, bot, dana, policy):
    """It is drawn from the record: half a card in each language would be hard to read."""
    reviewing = review(client, PAY)
    with speaking("de"):
        card = await dana.card(on_card.wants("billing", "pay"))
        policy.write_text(RULES.replace("language: de", "language: en"))
        await dana.press(card, "approve:0")
        await reviewing
        assert (await dana.card(on_card.RESUMED))["ts"] == card["ts"]


@pytest.mark.usefixtures("bot")
async def test_the_requester_is_told_in_their_own_language(client, slack, erik, dana):
    """Nobody else reads a direct message."""
    reviewing = review(client, an_action("send", {"to": "ann"}), context=Context(requested_by="U0ERIK"))
    card = await dana.card("send")
    await dana.press(card, "approve:0")
    await reviewing
    with speaking("de"):
        told = on_card.ended("", "send")
    message = await slack.wait_for_message(
        lambda m: m["channel"].startswith("D") and "send" in words(m["blocks"]), as_user="U0ERIK"
    )
    assert "on your behalf" not in words(message["blocks"])
    assert told.strip() in words(message["blocks"])


@pytest.mark.usefixtures("bot")
async def test_everybody_reads_the_same_pages(client, dana, erik):
    """A long call on a German card: the pages that count as read have the same lines for every reader."""
    long = "\n".join(f"line {number}: {'word ' * 30}" for number in range(400))
    reviewing = review(client, an_action("write", {"text": long, "gap": " " * 90}))
    card = await dana.card("write")

    def lines(view):
        return [block for block in view["blocks"] if block["type"] == "rich_text"]

    english, german = await dana.opened(card, "read:0"), await erik.opened(card, "read:0")
    assert lines(english) == lines(german)
    assert title_of(english) != title_of(german)
    reviewing.cancel()
