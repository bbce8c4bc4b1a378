"""A click counts only for what its button asked: whatever Redis says meanwhile, and whichever bot drew the card."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter import Context
from agent_adapter.contract.arguments import decode, encode
from bot.domain.codec import body_digest
from bot.domain.ids import MessageId, button_value
from bot.rendering.buttons import value_of
from bot.rendering.card.card import render_card
from bot.sentences import in_answer
from tests.support.builders import an_action, an_interrupt
from tests.support.people import words
from tests.support.signing import unsigned
from tests.support.topologies import KEYS

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK, U0MIRA]}
rules:
  - {match: {tool: wire}, quorum: 2}
  - {match: {tool: drop}, risk: high}
  - match:
      tool: refund
      args: {properties: {amount: {type: number, maximum: 999}}, required: [amount]}
  - {name: large refunds, match: {tool: refund}, quorum: 2}
"""
LONG = "new colleague " * 400


@pytest.fixture
async def bot(start_bot, policy):
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
def app(playground):
    """Slack's own client with the bot's token: it puts buttons on messages that this version would not put there."""
    return AsyncWebClient(playground.bot_token, base_url=playground.api_url)


async def asked(client, dana, tool="pay", *, more=(), saying="rejected at", **args):
    """Publish this call and wait for its card."""
    call = an_action(tool, {"to": "al", "amount": 100, **args})
    interrupt_id = await client.publish(
        an_interrupt(call, *more, run=tool, context=Context(requested_by="U0NOOR"))
    )
    return interrupt_id, await dana.card(saying)


async def stored(redis, interrupt_id):
    return await redis.hgetall(KEYS.card(interrupt_id))


async def decided(redis, interrupt_id):
    """Give every trace of a decision."""
    fields = await stored(redis, interrupt_id)
    return [name for name in fields if name.partition(":")[0] in {"d", "votes", "signed", "proposal"}]


async def forge(bot, redis, interrupt_id, **fields):
    """Write into the bot's half of a record, and have the bot forget what it read before."""
    await redis.hset(KEYS.card(interrupt_id), mapping=fields)
    bot.store.forget_remembered()


async def swap(bot, redis, interrupt_id, **args):
    """Have a record ask something else, with everything in Redis that says what it asks."""
    req = KEYS.req(interrupt_id)
    body = decode(await redis.hget(req, "body"))
    body["request"]["action_requests"][0]["args"] |= args
    await redis.hset(req, "body", encode(body))
    await forge(bot, redis, interrupt_id, asked=body_digest(encode(body)))


FORGED = {
    "who decides": {"approvers": "U0DANA U0MALLORY"},
    "how many people": {"quorum": "1"},
    "the risk": {"risk": "low"},
    "how long it may be used": {"use_within": str(30 * 24 * 3_600_000)},
    "for whom it is": {"requested_by": "U0MIRA"},
    "the rules": {"policy": "of-mallory"},
    "the place": {"place:0": encode(["C0FINANCE", None, [0], []])},
}


@unsigned
@pytest.mark.parametrize("what", FORGED)
async def test_a_click_on_terms_that_are_not_those_of_the_card_decides_nothing(
    bot, client, redis, dana, what
):
    interrupt_id, card = await asked(client, dana, "wire")
    await forge(bot, redis, interrupt_id, **FORGED[what])

    await dana.press(card, "approve:0")

    assert await dana.notice("not the one that you saw") == in_answer.ASKS_OTHERWISE
    assert await decided(redis, interrupt_id) == []
    # Somebody tried to decide, so silence approves nothing.
    assert "missed" in await stored(redis, interrupt_id)


@unsigned
async def test_a_click_on_another_call_than_that_of_the_card_decides_nothing_and_draws_the_card_again(
    bot, client, redis, dana
):
    """Also when everything in Redis agrees, and says that the card shows the other call already."""
    interrupt_id, card = await asked(client, dana)
    await swap(bot, redis, interrupt_id, amount=100_000)
    state = await bot.store.admitted(interrupt_id)
    shown = state.shown[MessageId(0)]
    picture = f"{shown.channel} {shown.ts} open {render_card(state)[0].digest}"
    await forge(bot, redis, interrupt_id, **{"part:0:0": picture})

    await dana.press(card, "approve:0")

    await dana.notice(in_answer.ASKS_OTHERWISE)
    assert await decided(redis, interrupt_id) == []
    again = await dana.card("100000")
    assert again["ts"] == card["ts"]
    await dana.press(again, "approve:0")
    assert "d:0" in await decided(redis, interrupt_id)


async def test_a_click_counts_for_the_call_of_the_card_while_the_bot_remembers_it(bot, client, redis, dana):
    """Whatever was written into Redis meanwhile, the decision names the call that was shown."""
    interrupt_id, card = await asked(client, dana)
    fingerprint = (await bot.store.admitted(interrupt_id)).actions[0].fingerprint
    req = KEYS.req(interrupt_id)
    body = decode(await redis.hget(req, "body"))
    body["request"]["action_requests"][0]["args"]["amount"] = 100_000
    await redis.hset(req, "body", encode(body))

    await dana.press(card, "approve:0")

    recorded = decode((await stored(redis, interrupt_id))["d:0"])
    assert recorded["fingerprint"] == fingerprint


async def test_two_people_who_click_at_once_on_the_same_card_both_count(bot, client, redis, dana, erik):
    interrupt_id, card = await asked(client, dana, "wire")

    await asyncio.gather(dana.press(card, "approve:0"), erik.press(card, "approve:0"))

    await dana.card("Approved by")
    assert decode((await stored(redis, interrupt_id))["d:0"])["decision"]["type"] == "approve"


async def with_button(app, card, action_id, value):
    """Edit a message so that it carries this button, too."""
    text = {"type": "plain_text", "text": "?"}
    button = {"type": "button", "action_id": action_id, "value": value, "text": text}
    blocks = [*card["blocks"][:2], {"type": "actions", "block_id": "forged", "elements": [button]}]
    await app.chat_update(channel=card["channel"], ts=card["ts"], text="forged", blocks=blocks)


def value_in(card, name):
    return next(
        (
            e["value"]
            for b in card.get("blocks") or ()
            for e in b.get("elements", ())
            if e.get("action_id") == name
        ),
        "",
    )


async def test_the_value_of_a_button_decides_nothing_under_the_name_of_another_action(
    bot, client, redis, dana, app
):
    interrupt_id, card = await asked(client, dana, more=[an_action("note")])
    await with_button(app, card, "approve:1", value_of(await bot.store.admitted(interrupt_id), [0]))

    await dana.press(card, "approve:1")

    await dana.notice(in_answer.ASKS_OTHERWISE)
    assert await decided(redis, interrupt_id) == []


async def test_the_question_of_another_record_decides_nothing(bot, client, redis, dana, app):
    first, card = await asked(client, dana)
    _, other = await asked(client, dana, "note", saying="note")
    question = value_in(other, "approve:0").partition("~")[2]
    await with_button(app, card, "approve:0", button_value(first, question=question))

    await dana.press(card, "approve:0")

    await dana.notice(in_answer.ASKS_OTHERWISE)
    assert await decided(redis, first) == []


@unsigned
@pytest.mark.parametrize(
    ("tool", "button", "typed"),
    [
        ("pay", "reject:0", {}),
        ("pay", "approve_note:0", {}),
        ("pay", "respond:0", {"your_answer": "no"}),
        ("drop", "confirm:0", {"to_approve": "AAAA"}),
    ],
)
async def test_a_form_about_another_call_than_it_was_opened_for_decides_nothing(
    bot, client, redis, dana, tool, button, typed
):
    interrupt_id, card = await asked(client, dana, tool)
    form = await dana.opened(card, button)
    await swap(bot, redis, interrupt_id, amount=100_000)

    answer = await dana.submit(form, **typed)

    assert in_answer.ASKS_OTHERWISE in words(answer["views"][-1]["blocks"])
    assert await decided(redis, interrupt_id) == []
    assert "100000" in words((await dana.card("100000"))["blocks"])


@unsigned
async def test_the_last_step_of_an_edit_decides_nothing_about_another_call(bot, client, redis, dana):
    interrupt_id, card = await asked(client, dana)
    form = await dana.opened(card, "edit:0")
    check = (await dana.submit(form, amount="7"))["views"][-1]
    await swap(bot, redis, interrupt_id, to="mallory")

    answer = await dana.submit(check)

    assert in_answer.ASKS_OTHERWISE in words(answer["views"][-1]["blocks"])
    assert await decided(redis, interrupt_id) == []


async def test_who_agrees_agrees_with_the_change_that_the_form_showed(
    start_bot, client, redis, dana, erik, policy
):
    """An older vote of the same person is signed as well. It cannot be put in the place of the newer one."""
    bot = await start_bot(policy=str(policy), approvers="", channel=None)
    interrupt_id, card = await asked(client, dana, "wire")
    await dana.fill(await dana.opened(card, "edit:0"), amount="1000")
    await dana.close()
    older = (await stored(redis, interrupt_id))[f"vote:0:{dana.user}"]
    proposed = await dana.card("changed this")
    await dana.fill(await dana.opened(proposed, "edit:0"), amount="1")
    newer = (await stored(redis, interrupt_id))[f"vote:0:{dana.user}"]
    form = await erik.opened(await erik.showing("agree:0"), "agree:0")
    assert "1000" not in words(form["blocks"])
    at, said = newer.split(" ", 1)[0], older.split(" ", 1)[1]
    await forge(bot, redis, interrupt_id, **{f"vote:0:{dana.user}": f"{at} {said}"})

    answer = await erik.submit(form)

    assert in_answer.ASKS_OTHERWISE in words(answer["views"][-1]["blocks"])
    assert "d:0" not in await decided(redis, interrupt_id)


@unsigned
async def test_a_review_decides_nothing_about_another_call_than_it_shows(bot, client, redis, dana):
    interrupt_id, card = await asked(client, dana, more=[an_action("note", {"text": LONG})])
    review = await dana.opened(card, "review:0")
    await swap(bot, redis, interrupt_id, amount=100_000)

    await dana.press_in(review, "approve:0")

    again = await dana.view("not the one that you saw")
    assert await decided(redis, interrupt_id) == []
    assert "100000" in words(again["blocks"])


@unsigned
async def test_a_review_that_goes_on_to_the_next_page_counts_no_page_of_another_call(
    bot, client, redis, dana
):
    """Whoever read the first page has read that of the call before. The other one is read from its beginning."""
    interrupt_id, card = await asked(client, dana, more=[an_action("note", {"text": LONG})], note=LONG)
    review = await dana.opened(card, "review:0")
    await swap(bot, redis, interrupt_id, amount=100_000)

    await dana.press_in(review, "turn:0.2")

    await dana.view("not the one that you saw")
    assert not [name for name in await stored(redis, interrupt_id) if name.startswith("seen:")]
