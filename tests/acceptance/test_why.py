"""*Why was this approved?* on a card: the record in words, in a view that only the person who asks sees."""

import asyncio
import re
from datetime import timedelta

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter import HITLRequest, Outcome
from bot.slack.manifest import WHY, build_manifest
from bot.store.audit_log import number_of
from tests.conftest import until
from tests.support.builders import an_action, review
from tests.support.faults import eventually
from tests.support.people import words
from tests.support.topologies import scanned

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  mask: [pin]
  modal_only: [essay]
rules:
  - name: large *payments*
    match: {tool: pay}
    quorum: 2
"""
ESSAY = "a long and winding text"


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
def why(slack):
    """Choose the shortcut on a message, as somebody, and give the words of the view."""

    async def ask(user, message):
        await slack.shortcut(user, message["channel"], message["ts"], WHY)
        return await answered(slack, user)

    return ask


async def answered(slack, user):
    """Wait for the words of the view, and close it."""
    text = ""
    async with asyncio.timeout(30):
        while not text or "Looking for the record" in text:
            text = words((await slack.wait_for_view(user))["blocks"])
            await asyncio.sleep(0.02)
    await slack.close_view(user, (await slack.views(user))[-1]["id"])
    return text


async def decided(client, dana, *actions):
    """Ask, and have Dana approve each action."""
    reviewing = review(client, *actions)
    card = await dana.card()
    for index in range(len(actions)):
        await dana.press(card, f"approve:{index}")
    await reviewing
    return card


async def test_the_view_says_who_decided_what_by_which_rule_and_what_became_of_it(
    bot, client, dana, erik, why
):
    """Also to somebody of the channel who may not decide, and with everybody who agreed."""
    reviewing = review(client, an_action("pay", {"amount": 5, "to": "zoe"}))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await erik.press(card, "approve:0")
    await reviewing
    await dana.card("resumed")

    text = await why("U0NOOR", card)

    assert "<@U0DANA> voted: approved it" in text
    assert "<@U0DANA> <@U0ERIK> approved it with a button" in text
    assert "after the card was there" in text
    assert f"By the rule *large *payments**, in version `{bot.policies.policy.version}` of the rules" in text
    assert "zoe" in text
    assert "What was shown is what was allowed to run." in text
    assert "The agent took the answer and went on." in text


async def test_what_the_agent_reported_stands_below_the_call(bot, client, dana, why):
    """In the agent's words, without masked values."""
    interrupt = client.interrupt(a_batch(an_action("mail", {"to": "zoe", "pin": "4711"})))
    asking = asyncio.create_task(reported(client, interrupt, Outcome.failed("no such box, pin 4711")))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await asking
    await dana.card("Failed: ")

    text = await why("U0ERIK", card)

    assert "*Failed*" in text
    assert "no such box" in text
    assert "The agent reported that it failed." in text
    assert "4711" not in text


async def reported(client, interrupt, outcome):
    """Wait for the answer, and report this outcome of the first call."""
    async with client.reviewing(interrupt):
        await client.report(interrupt.id, 0, outcome)


def a_batch(*actions):
    requests, configs = zip(*actions, strict=True)
    return HITLRequest(action_requests=requests, review_configs=configs)


async def test_what_is_masked_and_what_only_a_reading_shows_is_not_in_the_view(bot, client, dana, why, erik):
    """The view shows the call as its card does."""
    reviewing = review(client, an_action("mail", {"to": "zoe", "pin": "4711", "essay": ESSAY}))
    card = await dana.card()
    await dana.fill(await dana.opened(card, "reject:0"), reason="no")
    await reviewing

    text = await why("U0ERIK", card)

    assert "zoe" in text
    assert "rejected it in a form" in text
    assert "4711" not in text
    assert ESSAY not in text


async def test_after_the_record_is_gone_the_audit_trail_answers(bot, client, dana, why):
    """With digests, and the sentence that the arguments are not held any more."""
    card = await decided(client, dana, an_action("mail", {"to": "zoe"}))
    await forgotten(bot)

    text = await why("U0ERIK", card)

    assert "The arguments are no longer held." in text
    assert "<@U0DANA> approved it with a button" in text
    assert "`mail`" in text
    assert "Digest of what was asked and allowed to run" in text
    assert "zoe" not in text


async def forgotten(bot):
    """Remove the records. The audit trail stays."""
    redis, lane = bot.store._redis, bot.store.keys.lane_for("billing")
    for key in await scanned(redis, f"{lane.prefix}*:billing.*"):
        await redis.delete(key)
    bot.store.forget_remembered()


async def emptied(bot, redis):
    """Remove everything."""
    for key in await scanned(redis, "*"):
        await redis.delete(key)
    bot.store.forget_remembered()


async def test_after_the_record_is_gone_people_of_the_channel_still_read_the_reason(bot, client, dana, why):
    """Without what is masked."""
    reviewing = review(client, an_action("mail", {"to": "zoe", "pin": "4711"}))
    card = await dana.card()
    await dana.fill(await dana.opened(card, "reject:0"), reason="wrong person, and 4711 is *old*")
    await reviewing
    await forgotten(bot)

    text = await why("U0ERIK", card)

    assert "wrong person, and" in text
    assert "*old*" in text
    assert "4711" not in text


async def test_after_the_record_is_gone_a_reason_stays_in_the_channel_that_was_asked(
    start_bot, tmp_path, client, slack, dana, erik, why
):
    """Another channel was asked about the other call of the same request."""
    rules = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - name: elsewhere
    match: {tool: whisper}
    channel: C0SECRET
    approvers: [U0ERIK]
"""
    await slack.channel("C0SECRET", members=["U0BOT", "U0ERIK"])
    file = tmp_path / "two_places.yaml"
    file.write_text(rules)
    bot = await start_bot(policy=str(file), approvers="", channel=None)
    reviewing = review(client, an_action("mail"), an_action("whisper"))
    card = await dana.card()
    await dana.fill(await dana.opened(card, "reject:0"), reason="said in public")
    secret = await slack.wait_for_message(
        lambda m: m["channel"] == "C0SECRET" and m["user"] == "U0BOT", as_user="U0ERIK"
    )
    await erik.fill(await erik.opened(secret, "reject:1"), reason="said in secret")
    await reviewing
    await forgotten(bot)

    assert "said in secret" not in await why("U0DANA", card)
    assert "said in public" in await why("U0DANA", card)
    assert "said in secret" in await why("U0ERIK", secret)


@pytest.fixture
def show(slack):
    """Write `/approvals show` as somebody, and give the words of the view."""

    async def show(user, card):
        interrupt_id = card["metadata"]["event_payload"]["id"]
        await slack.command(user, "C0APPROVALS", "/approvals", f"show {interrupt_id}")
        return await answered(slack, user)

    return show


async def test_after_the_record_is_gone_a_request_is_still_found_by_its_id(bot, client, dana, show):
    """From the audit trail, for who reads the channel where it was asked."""
    card = await decided(client, dana, an_action("mail", {"to": "zoe"}))
    await forgotten(bot)

    text = await show("U0ERIK", card)

    assert "The arguments are no longer held." in text
    assert "<@U0DANA> approved it with a button" in text
    assert "There is no such request" in await show("U0CONN", card)


async def test_after_the_record_is_gone_what_nobody_decided_is_found_by_its_id_too(bot, client, dana, show):
    interrupt = client.interrupt(a_batch(an_action("mail", {"to": "zoe"})))
    await client.publish(interrupt)
    card = await dana.card()
    await client.withdraw(interrupt.id)
    await dana.card("Withdrawn")
    await forgotten(bot)

    assert "It ended: the agent had taken it back." in await show("U0ERIK", card)
    assert "There is no such request" in await show("U0CONN", card)


async def test_after_the_record_is_gone_a_call_of_another_channel_is_not_shown_by_its_id(
    start_bot, tmp_path, client, slack, dana, erik, show
):
    """Neither what was decided about it, nor what only a direct message asked."""
    rules = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: whisper}, channel: C0SECRET, approvers: [U0ERIK]}
  - {match: {tool: murmur}, channel: U0MIRA, approvers: [U0MIRA]}
"""
    await slack.channel("C0SECRET", members=["U0BOT", "U0ERIK"])
    file = tmp_path / "three_places.yaml"
    file.write_text(rules)
    bot = await start_bot(policy=str(file), approvers="", channel=None)
    interrupt = client.interrupt(a_batch(an_action("mail"), an_action("whisper"), an_action("murmur")))
    await client.publish(interrupt)
    card = await dana.card()
    await dana.press(card, "approve:0")
    secret = await slack.wait_for_message(
        lambda m: m["channel"] == "C0SECRET" and m["user"] == "U0BOT", as_user="U0ERIK"
    )
    await erik.fill(await erik.opened(secret, "reject:1"), reason="said in secret")
    await client.withdraw(interrupt.id)
    await dana.card("Withdrawn")
    await forgotten(bot)

    said = await show("U0DANA", card)
    assert "`mail`" in said
    assert not re.search("whisper|murmur|U0ERIK|said in secret", said)
    assert "said in secret" in await show("U0ERIK", card)
    assert "murmur" not in await show("U0MIRA", card)


async def test_when_the_trail_is_gone_as_well_that_is_said(bot, client, dana, why, redis):
    """Nothing is made up."""
    card = await decided(client, dana, an_action("mail"))

    async def is_unknown():
        # The bot may be moving the last entries of the trail.
        await emptied(bot, redis)
        return "Nothing is known about this card any more" in await why("U0ERIK", card)

    await eventually(is_unknown)


async def test_what_was_erased_is_said_to_be_erased_also_long_after_the_card(
    bot, client, dana, why, redis, monkeypatch
):
    """The trail says who did. What it said before is gone."""
    monkeypatch.setattr("bot.use_cases.why._AFTER", timedelta())
    card = await decided(client, dana, an_action("mail"))
    lane = bot.store.keys.lane_for("billing")
    ((_, first),) = await redis.xrange(lane.audit, count=1)
    await emptied(bot, redis)
    await bot.audit.note_erased(number_of(lane), first["id"], by="dana@host", places="0-2", reason="")

    said = await why("U0ERIK", card)

    assert "Entries about it were erased from the audit trail by dana@host." in said
    assert "U0DANA" not in said


async def test_a_message_that_only_looks_like_a_card_leads_nowhere(bot, client, dana, slack, playground, why):
    """Neither a person's copy, nor a message with the label of a card that is elsewhere."""
    card = await decided(client, dana, an_action("mail", {"to": "zoe"}))
    copied = await slack.message("U0NOOR", "C0APPROVALS", card["text"])
    (labelled,) = [m for m in await slack.messages() if m["ts"] == card["ts"]]
    ours = AsyncWebClient(playground.bot_token, base_url=playground.api_url)
    forged = await ours.chat_postMessage(
        channel="C0APPROVALS", text="Approved by Dana", metadata=labelled["metadata"]
    )

    for message in (copied, {"channel": "C0APPROVALS", "ts": forged["ts"]}):
        text = await why("U0ERIK", message)
        assert "is not a card of Assent" in text
        assert "zoe" not in text


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("U0GUEST", "Guests and people from outside of this workspace"),
        ("U0CONN", "Guests and people from outside of this workspace"),
        ("U0LEFT", "Only members of this channel can ask this"),
    ],
)
async def test_outsiders_see_nothing_that_their_card_does_not_show(bot, client, dana, slack, why, user, said):
    """Also where they are in the channel."""
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA", "U0ERIK", user])
    card = await decided(client, dana, an_action("mail", {"to": "zoe"}))

    text = await why(user, card)

    assert said in text
    assert "zoe" not in text


async def test_who_is_not_in_the_channel_sees_nothing(bot, client, dana, slack, why):
    """A public channel can be looked at without being in it."""
    card = await decided(client, dana, an_action("mail", {"to": "zoe"}))
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA", "U0ERIK"])
    bot.directory.forget("channel", "C0APPROVALS")

    assert "Only members of this channel can ask this" in await why("U0NOOR", card)


async def test_a_shortcut_that_slack_delivers_twice_opens_one_view(bot, client, dana, slack):
    """The second copy finds its trigger used."""
    card = await decided(client, dana, an_action("mail"))
    await slack.delivery(duplicate=True)

    await slack.shortcut("U0ERIK", card["channel"], card["ts"], WHY)
    await slack.wait_for_view("U0ERIK")

    await until(lambda: not bot.health.faults)
    assert len(await slack.views("U0ERIK")) == 1


def test_the_manifest_offers_the_shortcut():
    """On every message, by the name that the view has."""
    (shortcut,) = build_manifest()["features"]["shortcuts"]

    assert (shortcut["type"], shortcut["callback_id"], shortcut["name"]) == (
        "message",
        WHY,
        "Why was this approved?",
    )
    assert len(shortcut["description"]) <= 150
