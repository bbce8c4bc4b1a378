"""A reply in the thread of a card that mentions the app: it decides nothing, and its author may send it as a change request."""

import asyncio

import pytest

from agent_adapter.contract.arguments import decode, encode
from bot.sentences import in_answer
from tests.support.builders import an_action, review
from tests.support.faults import asking
from tests.support.people import Someone, buttons, words
from tests.support.topologies import scanned

APP = "<@U0BOT>"


@pytest.fixture
async def bot(start_bot):
    """A bot."""
    return await start_bot()


async def offered(someone, **more):
    """Wait for the message with the button that only this person sees."""
    return await someone.slack.wait_for_message(
        lambda m: m.get("ephemeral_for") == someone.user and any("send_changes" in b for b in buttons(m)),
        as_user=someone.user,
        **more,
    )


async def reply(someone, card, text):
    """Write in the thread of a card."""
    return await someone.slack.message(someone.user, card["channel"], text, thread_ts=card["ts"])


async def whispers(slack, user):
    """Give what only this person sees."""
    return [m for m in await slack.messages(as_user=user) if m.get("ephemeral_for") == user]


@pytest.mark.usefixtures("bot")
async def test_a_reply_that_mentions_the_app_is_sent_as_a_change_request_by_its_author(client, dana):
    """The reply decides nothing. The button does what the form does, with exactly the words that its author is shown."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await reply(dana, card, f"{APP} only the *half* of it &lt;please&gt;")
    message = await offered(dana)

    assert not reviewing.done()
    assert message["thread_ts"] == card["ts"]
    assert "only the *half* of it <please>" in words(message["blocks"])
    assert "has decided nothing" in words(message["blocks"])
    await dana.press(message, buttons(message)[0])
    resume = await reviewing
    assert (resume.decisions[0].type, resume.records[0].decided_by) == ("reject", "U0DANA")
    assert resume.records[0].changes == "only the *half* of it <please>"
    assert resume.decisions[0].message.endswith("The reviewer wrote:\nonly the *half* of it <please>")
    assert "Changes requested" in words((await dana.card("Changes requested"))["blocks"])


@pytest.mark.usefixtures("bot")
async def test_other_words_than_those_of_the_message_are_not_sent(client, dana, redis):
    """The words are kept in Redis until their author presses. Whoever can write there could put others in their place."""
    interrupt_id = await client.publish(client.interrupt(asking(an_action("pay"))))
    await reply(dana, await dana.card(), f"{APP} half of it")
    message = await offered(dana)
    (kept,) = await scanned(redis, "*mention*")
    found = decode(await redis.get(kept))
    await redis.set(kept, encode({**found, "words": "pay all of it to mallory"}))

    await dana.press(message, buttons(message)[0])

    await dana.notice(in_answer.ASKS_OTHERWISE)
    assert (await client.record(interrupt_id)).recorded() == [None]


@pytest.mark.usefixtures("bot")
async def test_the_message_with_the_button_goes_when_the_change_request_was_sent(client, dana, slack):
    """Otherwise it would go on offering to send what was sent."""
    reviewing = review(client, an_action("pay"))
    await reply(dana, await dana.card(), f"{APP} half of it")
    message = await offered(dana)

    await dana.press(message, buttons(message)[0])
    await reviewing

    async with asyncio.timeout(30):
        while await whispers(slack, "U0DANA"):
            await asyncio.sleep(0.02)


@pytest.mark.usefixtures("bot")
async def test_a_slack_that_does_not_take_the_message_back_changes_no_decision(client, dana, slack):
    """The change request is recorded all the same."""
    reviewing = review(client, an_action("pay"))
    await reply(dana, await dana.card(), f"{APP} half of it")
    message = await offered(dana)
    await slack.fault("response_url", "error", error="fatal_error")

    await dana.press(message, buttons(message)[0])

    assert (await reviewing).records[0].changes == "half of it"
    assert "Changes requested" in words((await dana.card("Changes requested"))["blocks"])
    assert len(await whispers(slack, "U0DANA")) == 1


@pytest.mark.usefixtures("bot")
async def test_nobody_else_sees_it_and_other_replies_are_left_alone(client, dana, erik, slack):
    """Of a conversation between people, the app reads nothing."""
    review(client, an_action("pay"))
    card = await dana.card()

    await reply(erik, card, "looks fine to me")
    await reply(dana, card, f"{APP} half of it")
    await offered(dana)

    assert not await whispers(slack, "U0ERIK")
    assert len(await whispers(slack, "U0DANA")) == 1


@pytest.mark.usefixtures("bot")
async def test_whoever_may_not_reject_is_told_so_when_they_press(client, dana, slack):
    """It is judged like the form."""
    reviewing = review(client, an_action("pay"))
    noor = Someone(slack, "U0NOOR")
    await reply(noor, await dana.card(), f"{APP} half of it")

    message = await offered(noor)
    await noor.press(message, buttons(message)[0])

    assert "<@U0DANA>" in await noor.notice("not an approver")
    assert not reviewing.done()


@pytest.mark.usefixtures("bot")
async def test_a_reply_about_what_was_decided_meanwhile_is_refused(client, dana, erik):
    """Before it is offered, and when the button is pressed later."""
    reviewing = review(client, an_action("pay"))
    card = await dana.card()
    await reply(dana, card, f"{APP} half of it")
    message = await offered(dana)
    await erik.press(card, "approve:0")
    assert (await reviewing).decisions[0].type == "approve"

    await dana.press(message, buttons(message)[0])
    assert "already approved" in await dana.notice("already approved")
    await reply(erik, card, f"{APP} or a third")

    assert "already approved" in await erik.notice("already approved")


async def test_the_same_event_is_answered_once_by_all_bots_and_after_a_restart(
    start_bot, bot, client, dana, slack
):
    """Slack repeats an event when its acknowledgement was lost."""
    review(client, an_action("pay"))
    card = await dana.card()
    await start_bot()
    event = {
        "type": "app_mention",
        "user": "U0DANA",
        "text": f"{APP} half of it",
        "channel": card["channel"],
        "ts": "1790000000.000100",
        "thread_ts": card["ts"],
    }
    for _ in range(4):
        await slack.event(event, event_id="Ev0SAME")
    await offered(dana)
    await bot.stop()

    await slack.event(event, event_id="Ev0SAME")
    await slack.event({**event, "text": f"{APP} a third"}, event_id="Ev0OTHER")
    await slack.wait_for_message(
        lambda m: m.get("ephemeral_for") == "U0DANA" and "a third" in words(m.get("blocks")), as_user="U0DANA"
    )

    assert len(await whispers(slack, "U0DANA")) == 2


@pytest.mark.usefixtures("bot")
async def test_another_app_that_mentions_this_one_is_not_answered(client, dana, slack):
    """The words of an agent are not a person's, also when it writes in Slack."""
    review(client, an_action("pay"))
    card = await dana.card()
    event = {"type": "app_mention", "user": "U0DANA", "text": f"{APP} do it", "channel": card["channel"]}
    event |= {"ts": "1790000000.000100", "thread_ts": card["ts"]}

    await slack.event({**event, "bot_id": "B0OTHER"})
    await slack.event({**event, "text": f"{APP} mine"})
    await offered(dana)

    assert "mine" in words([m["blocks"] for m in await whispers(slack, "U0DANA")])
    assert len(await whispers(slack, "U0DANA")) == 1


@pytest.mark.usefixtures("bot")
async def test_a_button_of_somebody_elses_reply_sends_nothing(client, dana, erik, slack):
    """A copy of it does not put words into the author's mouth, nor into another request."""
    first, second = review(client, an_action("pay")), review(client, an_action("transfer"))
    one, other = await dana.card("run pay"), await dana.card("run transfer")
    await reply(dana, one, f"{APP} half of it")
    name = buttons(await offered(dana))[0]
    await reply(erik, other, f"{APP} a third")
    message = await offered(erik)
    forged = {
        "actions": [{"type": "button", "action_id": name, "value": one["metadata"]["event_payload"]["id"]}]
    }

    await slack.delivery(forge=forged)
    await erik.press(message, buttons(message)[0])

    await erik.notice("nothing was recorded")
    assert not first.done()
    assert not second.done()


@pytest.mark.parametrize(
    ("text", "says"),
    [(APP, "write beside it"), (f"{APP} {'long ' * 401}", "at most 2,000 characters")],
    ids=["no words", "too long"],
)
@pytest.mark.usefixtures("bot")
async def test_a_reply_that_cannot_be_sent_whole_is_not_offered(client, dana, text, says):
    """Nothing of it is cut silently."""
    review(client, an_action("pay"))

    await reply(dana, await dana.card(), text)

    assert "Nothing was decided" in await dana.notice(says)


@pytest.mark.usefixtures("bot")
async def test_of_several_calls_the_author_says_which_one_is_meant(client, dana):
    """Each button names its call."""
    reviewing = review(client, an_action("pay"), an_action("transfer"))
    card = await dana.card()
    await reply(dana, card, f"{APP} half of it")
    message = await offered(dana)

    labels = [element["text"]["text"] for element in message["blocks"][-1]["elements"]]
    await dana.press(message, buttons(message)[1])
    await dana.card("Changes requested")
    await dana.press(card, "approve:0")

    assert labels == ["Send for action 1: pay", "Send for action 2: transfer"]
    assert [decision.type for decision in (await reviewing).decisions] == ["approve", "reject"]


@pytest.mark.usefixtures("bot")
async def test_of_many_calls_the_form_of_the_card_is_named(client, dana):
    """More than three buttons would be a guess."""
    review(client, *(an_action("pay", {"amount": n}) for n in range(4)))

    await reply(dana, await dana.card(), f"{APP} half of it")

    assert "several calls are open" in await dana.notice("several calls")


async def test_without_the_scope_only_replies_are_not_answered(slack, start_bot, client, dana):
    """The bot starts, and the card works."""
    scopes = (await slack.state())["token"]["scopes"]
    await slack.set_scopes(*(scope for scope in scopes if scope != "app_mentions:read"))
    bot = await start_bot()
    reviewing = review(client, an_action("pay"))
    card = await dana.card()

    await reply(dana, card, f"{APP} half of it")
    await dana.press(card, "approve:0")

    assert (await reviewing).decisions[0].type == "approve"
    assert bot.health.ready
    assert not await whispers(slack, "U0DANA")
