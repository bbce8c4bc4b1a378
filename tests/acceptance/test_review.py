"""Batches: approved in two taps where the card shows all of it, and else at the end of a review."""

import asyncio
import json

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter import Outcome
from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.ids import MessageId, button_value
from tests.support.builders import an_action
from tests.support.faults import asking, eventually
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


@pytest.mark.unencrypted
async def test_a_note_at_the_end_of_a_review_goes_with_every_call_that_it_approves(bot, client, slack, dana):
    """It reaches the agent and the audit, also where each call has its own buttons on the card."""
    for calls in ([*refunds()], [an_action("ping", {}), an_action("restart", {})]):
        interrupt, card = await asked(client, bot, slack, *calls)
        await dana.press(card, "review:0")
        end, _, _ = await to_the_end(dana, await slack.wait_for_view("U0DANA"))
        await dana.fill(end, Note="Agreed by phone.")

        resume = await client.wait(interrupt.id)
        assert [decision.type for decision in resume.decisions] == ["approve"] * len(calls)
        assert {record.note for record in resume.records} == {"Agreed by phone."}
        entries = await bot.store._redis.xrange(bot.store.keys.audit)
        facts = [json.loads(fields["facts"]) for _, fields in entries if fields["event"] == "decided"]
        assert [fact["note"] for fact in facts[-len(calls) :]] == ["Agreed by phone."] * len(calls)


async def test_one_call_of_a_review_is_approved_with_a_note_of_its_own(bot, client, slack, dana):
    """In the menu of the call. The others stay open."""
    interrupt, card = await asked(client, bot, slack, *refunds())
    await dana.press(card, "review:0")
    view = await slack.wait_for_view("U0DANA")
    await dana.press_in(view, "approve_note:2")
    form = await turned(dana, view)
    assert "Cy Marsh" in words(form["blocks"])
    await dana.fill(form, Note="Agreed by phone.")

    state = await bot.store.load(interrupt.id)
    assert [found.note if found else None for found in state.recorded] == [
        None, None, "Agreed by phone.", None, None,
    ]  # fmt: skip
    assert "3. Agreed by phone." in words((await dana.card("4 of 5 open"))["blocks"])


async def test_twenty_four_users_are_one_message_that_names_the_odd_one(bot, client, slack, dana):
    """In its row and below the rows, for whoever does not read all of them."""
    interrupt, card = await asked(client, bot, slack, *users())

    state = await bot.store.admitted(interrupt.id)
    assert [*state.shown] == [MessageId(0)]
    text = words(card["blocks"])
    assert " 7 user7@example.com   north\n   admin: true\n" in text
    assert "\n*Not like the others:*\n7. user7@example.com: admin: true\n" in text
    assert text.count("admin") == 2
    await dana.press(card, "approve_all:0")
    assert len(await decided(bot, interrupt)) == 24


async def test_a_review_approves_what_was_shown_and_not_what_a_colleague_decided_meanwhile(
    bot, client, slack, dana, erik
):
    """Twenty-four calls that no message holds: at most two pages, then one button, which says how many."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    assert buttons(card) == ["review:0", "reject_all:0"]
    view = await dana.opened(card, "review:0")
    part = await erik.showing("approve:3")
    await erik.fill(await erik.opened(part, "reject:3"), reason="Left the company")

    end, read, pages = await to_the_end(dana, view)

    assert pages <= 3
    for number in range(1, 25):
        assert f"user{number}@example.com" in read
    assert "admin: true" in read
    assert end["submit"]["text"] == "Approve 23 calls"
    assert "Not among them: call 4, decided meanwhile." in words(end["blocks"])
    await dana.fill(end)
    found = await decided(bot, interrupt)
    assert found.pop(3) == ("reject", "U0ERIK")
    assert found == {n: ("approve", "U0DANA") for n in range(24) if n != 3}


async def test_what_is_decided_at_the_last_moment_stays_as_it_was_decided(bot, client, slack, dana, erik):
    """Between the end of a review and its button: the person is told."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    end, _, _ = await to_the_end(dana, await dana.opened(card, "review:0"))
    assert end["submit"]["text"] == "Approve 24 calls"
    part = await erik.showing("approve:3")
    await erik.fill(await erik.opened(part, "reject:3"))

    answer = await dana.fill(end)

    assert answer["result"] == "update", answer
    assert "Action 4 was already rejected by <@U0ERIK>" in words((await dana.view())["blocks"])
    found = await decided(bot, interrupt)
    assert found[3] == ("reject", "U0ERIK")
    assert len(found) == 24


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


async def test_a_page_stays_when_only_the_answer_of_slack_was_lost(bot, client, slack, dana, caplog):
    """The person has the second page, and is not taken back to the first."""
    _, card = await asked(client, bot, slack, *users(50, note=LONG))
    view = await dana.opened(card, "review:0")
    await slack.fault("views.update", "accept_then_drop", times=None)

    await dana.press_in(view, "turn:0.2")
    second = await turned(dana, view)
    assert "Page 2 of " in words(second["blocks"])

    async def could_not_say_so_either():
        return "background.ended" in caplog.messages

    await eventually(could_not_say_so_either)
    assert "form.not_opened" in caplog.messages
    assert (await dana.view())["hash"] == second["hash"]


async def test_a_review_whose_calls_were_all_decided_approves_nothing(bot, client, slack, dana, erik):
    """Its end says so, and has no button."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    view = await dana.opened(card, "review:0")
    await erik.fill(await erik.opened(card, "reject_all:0"), reason="Not today")

    await dana.press_in(view, "turn:0.2")

    found = await dana.view("decided")
    assert not found.get("submit")
    assert set((await decided(bot, interrupt)).values()) == {("reject", "U0ERIK")}


async def test_a_review_is_not_opened_for_somebody_who_may_not_decide(bot, client, slack, mira):
    """They read who may."""
    _, card = await asked(client, bot, slack, *users(note=LONG))

    await mira.press(card, "review:0")

    assert "You are not an approver of this" in await mira.notice("not an approver")
    assert await slack.views("U0MIRA") == []


async def test_one_is_rejected_by_itself_and_the_rest_are_approved_in_the_same_review(
    bot, client, slack, dana
):
    """Its form opens on top of the review, which is then drawn again."""
    interrupt, card = await asked(client, bot, slack, *refunds())
    view = await dana.opened(card, "review:0")
    assert {"approve:2", "edit:2", "reject:2", "respond:2"} <= {*buttons(view)}

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


async def test_what_is_decided_is_read_by_anybody_and_decided_no_more(bot, client, slack, dana, mira):
    """A decided card is short, and shows all of it in a view without buttons that decide."""
    _, card = await asked(client, bot, slack, *users())
    await dana.press(card, "approve_all:0")
    closed = await mira.card("Show all 24")

    view = await mira.opened(closed, "review:0")
    read = words(view["blocks"])
    assert all(f'"user{n}@example.com"' in read for n in range(1, 25))
    assert not view.get("submit")
    assert view["title"]["text"] == "24 calls"
    assert buttons(view) == []


async def test_what_became_of_each_call_is_read_where_all_of_them_are_shown(bot, client, slack, dana):
    """Which one failed, and why, in the agent's words; no page says only that all is decided."""
    interrupt, card = await asked(client, bot, slack, *users())
    await dana.press(card, "approve_all:0")
    async with client.resuming(interrupt.id, interrupt=interrupt):
        pass
    await client.report(interrupt.id, 1, Outcome.done("tr_1"))
    await client.report(interrupt.id, 4, Outcome.failed("the *card* expired"))
    closed = await dana.card("Show all 24")

    view = await dana.opened(closed, "review:0")

    by_id = {block["block_id"]: words([block]) for block in view["blocks"]}
    assert "*Done*" in by_id["ran:1"]
    assert "*Failed*" in by_id["ran:4"]
    assert (by_id["ran:1:text"], by_id["ran:4:text"]) == ("tr_1", "the *card* expired")
    assert "ran:0" not in by_id


async def test_the_end_of_a_review_adds_up_the_headline(start_bot, policy, client, slack, dana):
    """Of the calls that its button approves, and in no block of the bot's own words."""
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], headline: [amount, currency]}\n",
        encoding="utf-8",
    )
    bot = await start_bot(policy=str(policy), approvers="", channel=None)
    _, card = await asked(client, bot, slack, *refunds())
    view = await dana.opened(card, "review:0")
    assert view["title"]["text"] == "Review 5 calls"
    await dana.press_in(view, "reject:2")
    await dana.fill(await dana.view(depth=2), reason="Wrong order")

    end, _, _ = await to_the_end(dana, await dana.view("Rejected"))

    assert "In all:" in words(end["blocks"])
    (sums,) = [block for block in end["blocks"] if block["block_id"] == "totals"]
    assert words([sums]) == "amount 129.70 EUR"
    assert ", 4 times: calls 1, 2, 4, 5, as you were shown them." in words(end["blocks"])


async def test_one_is_edited_by_itself_in_the_review(bot, client, slack, dana):
    """With the same form as on a card."""
    interrupt, card = await asked(client, bot, slack, *refunds())
    view = await dana.opened(card, "review:0")

    await dana.press_in(view, "edit:0")
    await dana.fill(await dana.view(depth=2), amount="49.95")

    await dana.view("Approved with changes")
    assert await decided(bot, interrupt) == {0: ("edit", "U0DANA")}


async def test_what_a_review_cannot_approve_is_said_at_its_end(bot, client, slack, dana):
    """High risk takes its own form; long calls are read in the review, page by page."""
    long = an_action("run", {"script": "x " * 15_000})
    interrupt, card = await asked(
        client, bot, slack, *users(2), long, an_action("drop_table", {"table": "invoices"})
    )
    assert "review:0" in buttons(card)

    end, read, _ = await to_the_end(dana, await dana.opened(card, "review:0"))

    assert read.count("x ") >= 15_000 - 200
    assert end["submit"]["text"] == "Approve 3 calls"
    assert "Not among them: call 4, of high risk, approved one by one." in words(end["blocks"])
    await dana.fill(end)
    assert [*await decided(bot, interrupt)] == [0, 1, 2]


async def test_the_end_of_a_review_approves_nothing_that_was_not_shown(bot, client, slack, dana):
    """The record says what this person was shown. A view that names more does not count."""
    interrupt, card = await asked(client, bot, slack, *users(note=LONG))
    end, _, _ = await to_the_end(dana, await dana.opened(card, "review:0"))
    key = bot.store.keys.card(interrupt.id)
    await bot.store._redis.hdel(key, "seen:5:U0DANA")

    await dana.fill(end)

    assert "Not approved: action 6." in words((await dana.view())["blocks"])
    assert [n for n in range(24) if n not in await decided(bot, interrupt)] == [5]


async def test_where_several_people_have_to_agree_the_button_counts_a_vote(bot, client, slack, dana, erik):
    """It says so before and after; the calls are approved when the second person agrees."""
    interrupt, card = await asked(client, bot, slack, *refunds("pay"))
    (agree, *_) = [e for b in card["blocks"] if b["type"] == "actions" for e in b["elements"]]
    assert agree["text"]["text"] == "Agree to all 5"

    await dana.press(card, "approve_all:0")
    assert await decided(bot, interrupt) == {}
    await dana.notice("1 more person has")
    end, _, _ = await to_the_end(erik, await erik.opened(card, "review:0"))
    assert end["submit"]["text"] == "Approve 5 calls"
    await erik.fill(end)

    assert [kind for kind, _ in (await decided(bot, interrupt)).values()] == ["approve"] * 5


async def test_a_proposal_at_the_last_moment_leaves_its_call_out(bot, client, slack, dana, erik):
    """Its end named the call; whoever approves it now would not know of the colleague's wish."""
    interrupt, card = await asked(client, bot, slack, *refunds("pay"))
    end, _, _ = await to_the_end(erik, await erik.opened(card, "review:0"))
    await dana.press(card, "approve_all:0")
    await dana.press_in(await dana.opened(card, "review:0"), "edit:2")
    await dana.fill(await dana.view(depth=2), amount="9.0")

    await erik.fill(end)

    assert "Not approved: action 3." in words((await erik.view())["blocks"])
    assert sorted(await decided(bot, interrupt)) == [0, 1, 3, 4]


async def test_where_the_policy_asks_once_more_the_end_of_a_review_does(bot, client, slack, dana):
    """Approve all has Slack's question; the end of a review has a box to tick."""
    interrupt, card = await asked(client, bot, slack, *refunds("transfer"))
    end, _, _ = await to_the_end(dana, await dana.opened(card, "review:0"))

    answer = await slack.submit("U0DANA", end["id"], {})
    assert [*answer["errors"]] == ["confirm"]
    assert await decided(bot, interrupt) == {}
    await slack.submit("U0DANA", end["id"], {"confirm": ["yes"]})

    assert len(await decided(bot, interrupt)) == 5


@pytest.mark.parametrize("button", ["approve:49", "approve_all:0"])
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
