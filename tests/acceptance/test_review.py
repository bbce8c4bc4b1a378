"""Batches: approved in two taps where the card shows all of it, and else at the end of a review."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.ids import MessageId, button_value
from tests.support.builders import an_action
from tests.support.faults import asking
from tests.support.people import buttons, words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - name: risky
    match: {tool: drop_table}
    risk: high
  - name: asked again
    match: {tool: transfer}
    confirm: true
  - name: together
    match: {tool: pay}
    quorum: 2
"""
REFUNDS = [("Ada Park", 64.95), ("Bo Lind", 12.0), ("Cy Marsh", 899.0), ("Di Noor", 45.5), ("Ed Stone", 7.25)]


@pytest.fixture
async def bot(start_bot, policy):
    return await start_bot(policy=str(policy), approvers="", channel=None)


def refunds(tool="refund_customer"):
    for who, amount in REFUNDS:
        yield an_action(tool, {"customer": who, "amount": amount, "currency": "EUR"})


def users(count=24, note=""):
    for number in range(1, count + 1):
        args = {"email": f"user{number}@example.com", "team": ["south", "north"][number % 2]}
        admin = {"admin": True} if number == 7 else {}
        yield an_action("create_user", {**args, **admin, **({"note": f"{number}. {note}"} if note else {})})


LONG = "new colleague " * 12


async def asked(client, bot, slack, *actions):
    """Publish these calls, wait until all of the card is there, and give its first message."""
    interrupt = client.interrupt(asking(*actions))
    await client.publish(interrupt)
    async with asyncio.timeout(30):
        while not ((state := await bot.store.admitted(interrupt.id)) and state.is_shown):
            await asyncio.sleep(0.02)
    shown = state.shown[MessageId(0)]
    return interrupt, next(m for m in await slack.messages(shown.channel) if m["ts"] == shown.ts)


async def decided(bot, interrupt):
    state = await bot.store.load(interrupt.id)
    return {
        index: (found.decision.type, found.decided_by) for index, found in enumerate(state.recorded) if found
    }


async def turned(person, before):
    """Wait until the view in front is another one."""
    async with asyncio.timeout(30):
        while (found := (await person.slack.views(person.user))[-1])["hash"] == before["hash"]:
            await asyncio.sleep(0.02)
    return found


async def to_the_end(person, view):
    """Turn page by page until the view can be submitted, and give every text on the way."""
    read = words(view["blocks"])
    pages = 1
    while not view.get("submit"):
        (following,) = [name for name in buttons(view) if name == f"turn:0.{pages + 1}"]
        await person.press_in(view, following)
        pages += 1
        view = await turned(person, view)
        read += "\n" + words(view["blocks"])
    return view, read, pages


async def test_five_refunds_are_approved_in_two_taps(bot, client, slack, dana):
    """The button, and the question that names every value."""
    interrupt, card = await asked(client, bot, slack, *refunds())

    assert buttons(card) == ["approve_all:0", "review:0", "reject_all:0"]
    await dana.press(card, "approve_all:0")

    assert await decided(bot, interrupt) == dict.fromkeys(range(5), ("approve", "U0DANA"))


async def test_a_review_approves_what_was_shown_and_not_what_a_colleague_decided_meanwhile(
    bot, client, slack, dana, erik
):
    """Twenty-four calls that no message holds: at most four pages, then one button, which says how many."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    assert buttons(card) == ["review:0", "reject_all:0"]
    view = await dana.opened(card, "review:0")
    part = await erik.showing("review:0.1")
    await erik.fill(await erik.opened(part, "reject:3"), reason="Left the company")

    end, read, pages = await to_the_end(dana, view)

    assert pages <= 5
    for number in range(1, 25):
        assert f"user{number}@example.com" in read
    assert "admin: true" in read
    assert end["submit"]["text"] == "Approve 23 calls"
    assert "Not included: call 4 (decided meanwhile)." in words(end["blocks"])
    await dana.fill(end)
    found = await decided(bot, interrupt)
    assert found.pop(3) == ("reject", "U0ERIK")
    assert found == {n: ("approve", "U0DANA") for n in range(24) if n != 3}


async def test_two_people_review_at_once_and_each_call_is_decided_once(bot, client, slack, dana, erik):
    """The second one is told that nothing is left."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    first, _, _ = await to_the_end(dana, await dana.opened(card, "review:0"))
    second, _, _ = await to_the_end(erik, await erik.opened(card, "review:0"))

    await dana.fill(first)
    await erik.fill(second)

    assert set((await decided(bot, interrupt)).values()) == {("approve", "U0DANA")}
    assert "was already approved by <@U0DANA>" in words((await erik.view())["blocks"])


async def test_a_page_that_is_pressed_twice_is_turned_once(bot, client, slack, dana):
    """The second press is on a view that Slack has replaced: nothing is skipped, and nothing is lost."""
    _, card = await asked(client, bot, slack, *users(50, note=LONG))
    view = await dana.opened(card, "review:0")

    await asyncio.gather(*(dana.press_in(view, "turn:0.2") for _ in range(2)), return_exceptions=True)
    second = await turned(dana, view)
    assert "Page 2 of " in words(second["blocks"])
    assert not second.get("submit")


async def test_a_review_is_not_opened_for_somebody_who_may_not_decide(bot, client, slack, mira):
    """They read who may."""
    _, card = await asked(client, bot, slack, *users(note=LONG))

    await mira.press(card, "review:0")

    await mira.notice("can decide this")
    assert await slack.views("U0MIRA") == []


async def test_one_is_rejected_by_itself_and_the_rest_are_approved_in_the_same_review(
    bot, client, slack, dana
):
    """Its form opens on top of the review, which is then drawn again."""
    interrupt, card = await asked(client, bot, slack, *refunds())
    view = await dana.opened(card, "review:0")
    assert [name for name in buttons(view) if name.endswith(":2")] == [
        "approve:2",
        "edit:2",
        "reject:2",
        "respond:2",
    ]

    await dana.press_in(view, "reject:2")
    await dana.fill(await dana.view(depth=2), reason="Wrong order")
    review = await dana.view("Rejected")
    assert await decided(bot, interrupt) == {2: ("reject", "U0DANA")}
    await dana.press_in(review, "approve:0")
    review = await dana.view("*Approved*")
    end, _, _ = await to_the_end(dana, review)
    assert end["submit"]["text"] == "Approve 3 calls"
    await dana.fill(end)

    kinds = [kind for kind, _ in (await decided(bot, interrupt)).values()]
    assert sorted(kinds) == ["approve"] * 4 + ["reject"]
    assert await slack.views("U0DANA") == []


async def test_the_end_of_a_review_approves_nothing_that_was_not_shown(bot, client, slack, dana):
    """The record says what this person was shown. A view that names more does not count."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    end, _, _ = await to_the_end(dana, await dana.opened(card, "review:0"))
    key = bot.store.keys.card(interrupt.id)
    await bot.store._redis.hdel(key, "seen:5:U0DANA")

    await dana.fill(end)

    assert "Not approved: call 6." in words((await dana.view())["blocks"])
    assert [n for n in range(24) if n not in await decided(bot, interrupt)] == [5]


async def test_a_proposal_at_the_last_moment_leaves_its_call_out(bot, client, slack, dana, erik):
    """Its end named the call; whoever approves it now would not know of the colleague's wish."""
    interrupt, card = await asked(client, bot, slack, *refunds("pay"))
    end, _, _ = await to_the_end(erik, await erik.opened(card, "review:0"))
    await dana.press(card, "approve_all:0")
    await dana.press_in(await dana.opened(card, "review:0"), "edit:2")
    await dana.fill(await dana.view(depth=2), amount="9.0")

    await erik.fill(end)

    assert "Not approved: call 3." in words((await erik.view())["blocks"])
    assert sorted(await decided(bot, interrupt)) == [0, 1, 3, 4]


@pytest.mark.parametrize("button", ["approve:49", "approve_all:0", "finish:0"])
async def test_a_button_in_a_review_decides_only_what_its_page_shows(
    bot, client, slack, dana, playground, button
):
    """A copy of it in another view decides nothing, and a button for several calls is in no view."""
    interrupt, card = await asked(client, bot, slack, *users(50, note=LONG))
    view = await dana.opened(card, "review:0")
    assert "approve:49" not in buttons(view)
    app = AsyncWebClient(playground.bot_token, base_url=playground.api_url)
    forged = {k: view[k] for k in ("type", "callback_id", "title", "close", "private_metadata", "blocks")}
    value = button_value(interrupt.id, range(50))
    forged["blocks"] = [
        {**block, "elements": [{**e, "action_id": button, "value": value} for e in block["elements"][:1]]}
        if block["block_id"] == "turns"
        else block
        for block in view["blocks"]
    ]
    await app.views_update(view_id=view["id"], view=forged)

    await dana.press_in(view, button)

    await dana.view("nothing was recorded")
    assert await decided(bot, interrupt) == {}
    assert ApproveDecision().type == "approve"
