"""Batches: approved in two taps where the card shows all of it, and else part by part or at the end of a review."""

from bot.domain.ids import MessageId
from tests.support.builders import an_action, asking
from tests.support.faults import shown_card
from tests.support.people import buttons, words

RULES = "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}"
REFUNDS = [("Ada Park", 64.95), ("Bo Lind", 12.0), ("Cy Marsh", 899.0), ("Di Noor", 45.5), ("Ed Stone", 7.25)]


def refunds():
    for who, amount in REFUNDS:
        yield an_action("refund_customer", {"customer": who, "amount": amount, "currency": "EUR"})


def users():
    """Twenty-four new users that no message holds, the seventh of them with a right that the others do not have."""
    for number in range(1, 25):
        args = {"email": f"user{number}@example.com", "note": f"{number}. " + "new colleague " * 12}
        yield an_action("create_user", args | ({"admin": True} if number == 7 else {}))


async def asked(client, bot, slack, *actions):
    """Publish these calls, wait until all of the card is there, and give its messages."""
    interrupt = client.interrupt(asking(*actions))
    await client.publish(interrupt)
    state = await shown_card(bot.store, interrupt.id)
    messages = {message["ts"]: message for message in await slack.messages("C0APPROVALS")}
    numbers = range(1 + len(state.places[0].parts))
    return interrupt, [messages[state.shown[MessageId.stored(0, number)].ts] for number in numbers]


async def decided(bot, interrupt):
    state = await bot.store.load(interrupt.id)
    return {n: (each.decision.type, each.decided_by) for n, each in enumerate(state.recorded) if each}


async def to_the_end(person, view):
    """Turn page by page until the view can be submitted, and give every text on the way."""
    read, page = words(view["blocks"]), 1
    while not view.get("submit"):
        page += 1
        await person.press_in(view, f"turn:0.{page}")
        view = await person.view(f"Page {page} of")
        read += "\n" + words(view["blocks"])
    return view, read


async def test_five_refunds_are_approved_in_two_taps(bot, client, slack, dana):
    """The button, and the question that names every value."""
    interrupt, [card] = await asked(client, bot, slack, *refunds())

    assert buttons(card) == ["approve_all:0", "review:0", "reject_all:0"]
    await dana.press(card, "approve_all:0")

    assert await decided(bot, interrupt) == dict.fromkeys(range(5), ("approve", "U0DANA"))


async def test_a_review_approves_what_was_shown_and_not_what_a_colleague_decided_meanwhile(
    bot, client, slack, dana, erik, mira
):
    """At most five pages, then one button, which says how many. Whoever may not decide does not get so far."""
    interrupt, [card, *_] = await asked(client, bot, slack, *users())
    assert buttons(card) == ["review:0", "reject_all:0"]
    await mira.press(card, "review:0")
    await mira.notice("can decide this")
    view = await dana.opened(card, "review:0")
    part = await erik.showing("review:0.1")
    await erik.fill(await erik.opened(part, "reject:3"), reason="Left the company")

    end, read = await to_the_end(dana, view)

    assert all(f"user{number}@example.com" in read for number in range(1, 25))
    assert "admin: true" in read
    assert end["submit"]["text"] == "Approve 23 calls"
    assert "Not included: call 4 (decided already)." in words(end["blocks"])
    await dana.fill(end)
    found = await decided(bot, interrupt)
    assert found.pop(3) == ("reject", "U0ERIK")
    assert found == {n: ("approve", "U0DANA") for n in range(24) if n != 3}


async def test_one_is_rejected_by_itself_and_the_rest_are_approved_in_the_same_review(
    bot, client, slack, dana
):
    """Its form opens on top of the review, which is then drawn again."""
    interrupt, [card] = await asked(client, bot, slack, *refunds())
    view = await dana.opened(card, "review:0")
    await dana.press_in(view, "reject:2")
    await dana.fill(await dana.view(depth=2), reason="Wrong order")
    review = await dana.view("Rejected")
    await dana.press_in(review, "approve:0")
    end, _ = await to_the_end(dana, await dana.view("*Approved*"))
    assert end["submit"]["text"] == "Approve 3 calls"
    await dana.fill(end)

    kinds = [kind for kind, _ in (await decided(bot, interrupt)).values()]
    assert sorted(kinds) == ["approve"] * 4 + ["reject"]
    assert await slack.views("U0DANA") == []


async def test_the_end_of_a_review_approves_nothing_that_was_not_shown(bot, client, slack, dana):
    """The record says what this person was shown. A view that names more does not count."""
    interrupt, [card, *_] = await asked(client, bot, slack, *users())
    end, _ = await to_the_end(dana, await dana.opened(card, "review:0"))
    await bot.store._redis.hdel(bot.store.keys.card(interrupt.id), "seen:5:U0DANA")

    await dana.fill(end)

    assert "Not approved: call 6." in words((await dana.view())["blocks"])
    assert [n for n in range(24) if n not in await decided(bot, interrupt)] == [5]
