"""Buttons that decide several calls at once: they approve what their own message shows, and nothing else."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.ids import MessageId, button_value
from bot.domain.question import question
from tests.support.builders import an_action
from tests.support.faults import asking
from tests.support.people import buttons, words


@pytest.fixture
def app(playground):
    """Slack's own client with the bot's token: it puts buttons on messages that this version would not put there."""
    return AsyncWebClient(playground.bot_token, base_url=playground.api_url)


def users(count=24):
    """So many new users, the seventh of them with a right that the others do not have."""
    for number in range(1, count + 1):
        admin = {"admin": True} if number == 7 else {}
        name = f"user{number}@example.com"
        yield an_action(
            "create_user", {"email": name, "note": f"{number}. " + "new colleague " * 12, **admin}
        )


async def decided(bot, interrupt):
    state = await bot.store.load(interrupt.id)
    return [index for index, recorded in enumerate(state.recorded) if recorded]


async def asked(client, bot, *actions):
    """Publish these actions and wait until all of the card is there."""
    interrupt = client.interrupt(asking(*actions))
    await client.publish(interrupt)
    async with asyncio.timeout(30):
        while not ((state := await bot.store.admitted(interrupt.id)) and state.is_shown):
            await asyncio.sleep(0.02)
    return interrupt, state


async def part(slack, state, number, place=0):
    """Give the message of a card's numbered part."""
    shown = state.shown[MessageId.stored(place, number)]
    return next(m for m in await slack.messages(shown.channel) if m["ts"] == shown.ts)


async def test_approve_all_is_on_each_part_for_the_calls_of_that_part(start_bot, client, slack, dana):
    """Above 24 calls in parts there is a review, and Reject all; a part approves what it shows, and names it before."""
    bot = await start_bot()
    interrupt, state = await asked(client, bot, *users())
    parts = state.places[0].parts
    parent, first, second = [await part(slack, state, number) for number in range(3)]

    assert buttons(parent) == ["review:0", "reject_all:0"]
    assert words(parent["blocks"][0]) == "billing: create_user, 24 times, one with admin true"
    assert "admin" not in words(parent["blocks"][1:])
    assert "admin true" in words(next(m for m in (first, second) if "user7@" in words(m["blocks"]))["blocks"])
    bulk = [e for b in first["blocks"] if b["block_id"] == "bulk" for e in b["elements"]]
    assert [(e["action_id"], e["text"]["text"]) for e in bulk] == [
        ("approve_all:0.1", f"Approve all {len(parts[0])}…"),
        ("review:0.1", "Open…"),
    ]
    assert bulk[0]["confirm"]["title"]["text"] == f"Approve {len(parts[0])} calls?"
    assert f"Calls 1 to {len(parts[0])}: create_user" in bulk[0]["confirm"]["text"]["text"]

    await dana.press(first, "approve_all:0.1")
    assert await decided(bot, interrupt) == list(parts[0])
    await dana.press(second, "approve_all:0.2")
    assert await decided(bot, interrupt) == [*parts[0], *parts[1]]


@pytest.mark.parametrize(
    "forged", ["approve_all:0.2", "approve_all:0", "approve_all:1", "approve_all:0.99", "approve:23"]
)
async def test_a_button_on_another_message_than_its_own_approves_nothing(
    start_bot, client, slack, dana, app, forged
):
    """What a click acts on is what the pressed message shows, whatever its button says."""
    bot = await start_bot()
    interrupt, state = await asked(client, bot, *users())
    first = await part(slack, state, 1)
    await with_button(app, first, forged, interrupt)

    await dana.press(first, forged)

    await dana.notice("nothing was recorded")
    assert await decided(bot, interrupt) == []


async def with_button(app, message, action_id, interrupt, named=(), asks=""):
    """Edit a message so that it carries this button, too."""
    button = {
        "type": "button",
        "action_id": action_id,
        "value": button_value(interrupt.id, named, asks),
        "text": {"type": "plain_text", "text": "?"},
    }
    blocks = [*message["blocks"][:2], {"type": "actions", "block_id": "forged", "elements": [button]}]
    await app.chat_update(channel=message["channel"], ts=message["ts"], text="forged", blocks=blocks)


async def test_what_has_to_be_read_first_is_not_approved_by_the_button_of_its_part(
    start_bot, client, slack, dana, app
):
    """Its part has a review instead, and a button that somebody else drew leaves it out."""
    bot = await start_bot()
    long = an_action("run", {"script": "x" * 9_000})
    interrupt, state = await asked(client, bot, *users(), long, *users(4))
    number, shown = next((n, p) for n, p in enumerate(state.places[0].parts, 1) if 24 in p)
    message = await part(slack, state, number)
    assert f"review:0.{number}" in buttons(message)
    assert not any(name.startswith("approve_all") for name in buttons(message))
    forged = f"approve_all:0.{number}"
    await with_button(app, message, forged, interrupt, shown, question(state, shown))

    await dana.press(message, forged)

    assert await decided(bot, interrupt) == [index for index in shown if index != 24]
