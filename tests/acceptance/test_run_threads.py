"""Cards of one run share a thread, where the policy says so."""

import asyncio

import pytest

from tests.conftest import an_agent, until
from tests.support.builders import an_action
from tests.support.faults import CHANNEL, asking, eventually, settled_card, watching
from tests.support.people import buttons, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  thread_per_run: true
rules:
  - {match: {tool: transfer}, thread_per_run: false}
  - {match: {tool: reply}, channel: thread}
  - {match: {tool: restart}, escalation: {after: 1s, channel: C0OTHER}}
"""


@pytest.fixture
async def watcher(slack):
    async with watching(slack) as watcher:
        yield watcher


@pytest.fixture
def start(start_bot, policy, slack):
    """Start a bot by these rules."""

    async def start(**changed):
        await slack.channel("C0OTHER", members=["U0BOT", "U0DANA", "U0ERIK"])
        return await start_bot(policy=str(policy), approvers="", channel=None, **changed)

    return start


async def ask(client, tool, *, run, pause="", **route):
    """Ask about a call of a run, and give its id."""
    asked = client.interrupt(asking(an_action(tool)), run=run, pauses=[pause or tool], **route)
    await client.publish(asked)
    return asked.id


async def test_later_cards_of_a_run_are_replies_to_its_first_card(start, client, watcher):
    """Ten steps of one run are one message in the channel. Another run begins a message of its own."""
    await start()
    first = await watcher.card(await ask(client, "pay", run="one"))
    later = [await watcher.card(await ask(client, tool, run="one")) for tool in ("mail", "book")]
    other = await watcher.card(await ask(client, "pay", run="two"))

    assert [card.get("thread_ts") for card in later] == [first["ts"]] * 2
    assert first.get("thread_ts") in {None, first["ts"]}
    assert other.get("thread_ts") is None


async def test_cards_that_two_bots_draw_at_the_same_moment_have_one_first_card(start, client, watcher):
    """Nobody has posted yet when both look, and still exactly one card stands in the channel."""
    await start()
    await start()
    ids = await asyncio.gather(*(ask(client, f"pay-{n}", run="one") for n in range(6)))
    cards = [await watcher.card(interrupt_id) for interrupt_id in ids]

    [first] = [card for card in cards if card.get("thread_ts") in {None, card["ts"]}]
    assert {card["thread_ts"] for card in cards if card is not first} == {first["ts"]}
    assert len(watcher.all_cards()) == 6


async def test_the_same_run_id_of_another_agent_is_another_run(start, client, redis_url, watcher):
    """An agent that guesses a run's name does not get into its thread."""
    await start()
    await watcher.card(await ask(client, "pay", run="one"))
    async with an_agent(redis_url, "intruder") as other:
        card = await watcher.card(await ask(other, "pay", run="one"))

    assert card.get("thread_ts") is None


async def test_a_card_of_a_rule_without_it_and_one_with_a_thread_of_its_own_stay_where_they_are(
    start, client, slack, watcher
):
    """The thread that an agent names goes before the one of the run; a rule that says nothing asks in the channel."""
    await start()
    talk = await slack.message("U0NOOR", CHANNEL, "please pay")
    await watcher.card(await ask(client, "pay", run="one"))
    apart = await watcher.card(await ask(client, "transfer", run="one"))
    named = await watcher.card(await ask(client, "reply", run="one", channel=CHANNEL, thread_ts=talk["ts"]))

    assert apart.get("thread_ts") is None
    assert named["thread_ts"] == talk["ts"]


async def test_a_decision_in_a_shared_thread_decides_the_call_that_its_card_shows(
    start, client, dana, slack, watcher
):
    """The card beside it in the same thread is untouched, and its button copied there decides nothing."""
    bot = await start()
    ids = [await ask(client, "pay", run="one")]
    await watcher.card(ids[0])
    ids += [await ask(client, tool, run="one") for tool in ("mail", "book")]
    mail = await watcher.card(ids[1])
    await watcher.card(ids[2])

    await dana.press(mail, "approve:0")

    assert (await client.wait(ids[1])).decisions[0].type == "approve"
    states = [await bot.store.admitted(interrupt_id) for interrupt_id in ids]
    assert [state.status for state in states] == ["pending", "decided", "pending"]


async def test_when_the_first_card_was_refused_the_next_one_begins_the_thread(start, client, slack, watcher):
    """It was withdrawn while Slack took no messages, so nobody ever saw it."""
    bot = await start()
    fault = await slack.fault("chat.postMessage", "error", times=None, error="internal_error")
    first = await ask(client, "pay", run="one")
    await eventually(lambda: has_begun(bot.store, first))
    second = await ask(client, "mail", run="one")
    await client.withdraw(first, "not needed")
    await eventually(lambda: is_over(bot.store, first))
    await slack.remove_fault(fault)
    card = await watcher.card(second)
    third = await watcher.card(await ask(client, "book", run="one"))

    assert card.get("thread_ts") is None
    assert third["thread_ts"] == card["ts"]


async def has_begun(store, interrupt_id):
    state = await store.admitted(interrupt_id)
    return state and state.begun


async def is_over(store, interrupt_id):
    state = await store.admitted(interrupt_id)
    return state and state.stage != "open"


async def test_when_the_first_card_was_deleted_the_next_one_begins_the_thread(
    start, client, slack, dana, watcher
):
    """The agent of a later step waits for nobody's missing message."""
    bot = await start()
    first = await ask(client, "pay", run="one")
    card = await watcher.card(first)
    await dana.press(card, "approve:0")
    await client.wait(first)
    await settled_card(bot.store, watcher, first, stage="ended")
    await slack.delete("U0DANA", CHANNEL, card["ts"])

    second = await watcher.card(await ask(client, "mail", run="one"))
    third = await watcher.card(await ask(client, "book", run="one"))

    assert second.get("thread_ts") is None
    assert third["thread_ts"] == second["ts"]


async def test_an_escalation_asks_in_the_other_channel_and_not_in_a_thread(start, client, watcher):
    """Who is called because nobody decided must not overlook it."""
    await start()
    await watcher.card(await ask(client, "pay", run="one"))
    second = await ask(client, "restart", run="one")
    await until(lambda: {card["channel"] for card in watcher.cards(second)} == {CHANNEL, "C0OTHER"})

    [elsewhere] = [card for card in watcher.cards(second) if card["channel"] == "C0OTHER"]
    assert elsewhere.get("thread_ts") is None


async def test_a_card_that_was_posted_and_not_noted_is_found_in_the_shared_thread(
    start, client, slack, watcher
):
    """Slack took it and the answer was lost: it is adopted, and is not taken for the card beside it."""
    bot = await start()
    await watcher.card(await ask(client, "pay", run="one"))
    await slack.fault("chat.postMessage", "accept_then_drop")
    second = await ask(client, "mail", run="one")
    third = await ask(client, "book", run="one")
    await until(lambda: watcher.cards(second) and watcher.cards(third))

    for interrupt_id in (second, third):
        await settled_card(bot.store, watcher, interrupt_id, stage="open")
        [card] = watcher.cards(interrupt_id)
        assert "approve:0" in buttons(card)
    assert "mail" in words(watcher.cards(second)[0]["blocks"])


async def test_a_deleted_reply_is_posted_again_in_the_same_thread(start, client, slack, watcher):
    """The bot looks for it there, and leaves the first card alone."""
    await start()
    first = await watcher.card(await ask(client, "pay", run="one"))
    second = await ask(client, "mail", run="one")
    card = await watcher.card(second)

    await slack.delete("U0DANA", CHANNEL, card["ts"])
    await until(lambda: watcher.cards(second) and watcher.cards(second)[0]["ts"] != card["ts"])

    [again] = watcher.cards(second)
    assert again["thread_ts"] == first["ts"]
