"""What people see and may do on a card."""

import asyncio
import json
from datetime import timedelta

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter import Context, HITLRequest
from agent_adapter.errors import InterruptWithdrawnError
from tests.support.builders import an_action
from tests.support.people import Someone, buttons, words

pytestmark = pytest.mark.usefixtures("bot")


@pytest.fixture
async def bot(start_bot):
    return await start_bot()


@pytest.fixture
def people(slack):
    return {
        name: Someone(slack, f"U0{name.upper()}")
        for name in ("dana", "erik", "noor", "guest", "conn", "left")
    }


def asking(*actions):
    requests, configs = zip(*actions, strict=True)
    return HITLRequest(action_requests=requests, review_configs=configs)


async def turned(slack, page):
    """Have Dana turn a page, and wait for the next one."""
    following = int(page["private_metadata"].split('"page":')[1].split(",")[0]) + 1
    await slack.click_view("U0DANA", page["id"], f"page:{following}")
    return await slack.wait_for_view("U0DANA", lambda v: f'"page":{following},' in v["private_metadata"])


def review(client, *actions, **asked):
    return asyncio.create_task(client.review(asking(*(actions or (an_action(),))), **asked))


async def test_a_card_offers_just_what_the_agent_allows(client, people):
    """In the review each action has the buttons of its own `allowed_decisions`, and bulk buttons act on what allows them."""
    review(
        client,
        an_action("pay", allowed=("approve", "reject")),
        an_action("mail", allowed=("approve", "edit", "new_kind")),
        an_action("ask", allowed=("respond",)),
    )
    card = await people["dana"].showing("review:0")
    page = await people["dana"].opened(card, "review:0")

    assert buttons(card) == ["approve_all:0", "review:0", "respond:2"]
    assert buttons(page) == [
        "approve:0", "reject:0", "approve:1", "edit:1", "respond:2", "turn:0.2",
    ]  # fmt: skip


async def test_an_offered_answer_is_one_press_and_reaches_the_agent_to_the_letter(
    client, people, slack, playground
):
    """Its number is in the click, its text in the record. A number that the question does not offer records nothing."""
    action = an_action("ask", {"question": "How much?", "options": ["no", "10 EUR"]}, allowed=("respond",))
    reviewing = review(client, action)
    card = await people["dana"].showing("option:0.1")
    app = AsyncWebClient(playground.bot_token, base_url=playground.api_url)
    forged = json.loads(json.dumps(card["blocks"]).replace("option:0.0", "option:0.7"))
    await app.chat_update(channel=card["channel"], ts=card["ts"], text="forged", blocks=forged)
    await people["dana"].press(card, "option:0.7")
    await people["dana"].notice("nothing was recorded")

    await people["dana"].press(card, "option:0.1")

    [decision] = (await reviewing).decisions
    assert (decision.type, decision.message) == ("respond", "10 EUR")


async def test_the_second_of_two_people_reads_who_was_first(client, people):
    """A late click changes nothing and is answered privately with who decided what and when."""
    reviewing = review(client)
    card = await people["dana"].card()
    await people["dana"].press(card, "approve:0")
    await people["erik"].press(card, "reject:0")

    assert "already approved by <@U0DANA>" in await people["erik"].notice("already")
    assert (await reviewing).decisions[0].type == "approve"


async def test_a_form_submitted_after_somebody_else_decided_says_so(client, people):
    """The form is replaced by a notice that closes; nothing is recorded."""
    reviewing = review(client)
    card = await people["dana"].card()
    form = await people["dana"].opened(card, "reject:0")
    await people["erik"].press(card, "approve:0")
    answer = await people["dana"].fill(form, reason="no")

    assert answer["result"] == "update"
    assert "already approved by <@U0ERIK>" in words(answer["views"][-1]["blocks"])
    assert (await reviewing).decisions[0].type == "approve"


async def test_pressing_twice_is_recorded_once_and_says_nothing_new(client, people, slack):
    """The same person pressing the same button again is no loser of a race."""
    reviewing = review(client)
    card = await people["dana"].card()
    # The card keeps its buttons for a moment.
    await slack.fault("chat.update", "delay", seconds=1.0)
    assert (await people["dana"].press(card, "approve:0"))["ack"]["ok"]
    assert (await people["dana"].press(card, "approve:0"))["ack"]["ok"]
    await reviewing
    await people["dana"].card("has resumed")

    assert not [m for m in await slack.messages(as_user="U0DANA") if m.get("ephemeral_for")]


async def test_an_edit_shows_errors_beside_the_field_and_then_before_and_after(client, people):
    """A value that the schema refuses keeps the form open; the corrected one is shown as a change on the card."""
    schema = {
        "type": "object",
        "properties": {"amount": {"type": "integer", "maximum": 100}, "to": {"type": "string"}},
        "required": ["amount", "to"],
    }
    reviewing = review(client, an_action("pay", {"amount": 10, "to": "al"}, schema=schema))
    card = await people["dana"].card()
    form = await people["dana"].opened(card, "edit:0")

    wrong = await people["dana"].fill(form, amount="1000")
    assert wrong["result"] == "errors"
    right = await people["dana"].fill(form, amount="50")
    assert right["result"] in {"clear", "closed"}

    edited = (await reviewing).decisions[0].edited_action
    assert (edited.name, edited.args) == ("pay", {"amount": 50, "to": "al"})
    done = words((await people["dana"].card("resumed"))["blocks"])
    assert done.startswith("Changed by Dana: pay 10 → 50")
    assert "amount 10 → 50" in done
    assert "<@U0DANA> " in done


async def test_an_approval_for_the_whole_run_reaches_the_agent(client, people):
    """Its form shows the call. Who approves for this run says so on the card, and the agent hears it."""
    reviewing = review(client, an_action(allow_always=True))
    dana = people["dana"]
    form = await dana.opened(await dana.card(), "for_run:0")
    assert "dana@example.com" in words(form["blocks"])
    await dana.slack.submit("U0DANA", form["id"])

    assert (await reviewing).decisions[0].always
    assert "Approved for this run" in words((await people["dana"].card("has resumed"))["blocks"])


async def test_all_are_approved_at_once(client, people):
    """Approve all decides what is open and allows it."""
    reviewing = review(client, an_action("a"), an_action("b"), an_action("c"))
    card = await people["dana"].card()
    await people["dana"].press(card, "approve_all:0")

    assert [d.type for d in (await reviewing).decisions] == ["approve"] * 3


async def test_all_are_rejected_with_one_reason(client, people):
    """Reject all asks for a reason first, and gives it to each."""
    reviewing = review(client, an_action("a"), an_action("b"))
    card = await people["dana"].card()
    await people["dana"].fill(await people["dana"].opened(card, "reject_all:0"), reason="not today")

    assert [d.message for d in (await reviewing).decisions] == ["not today"] * 2


@pytest.mark.parametrize(
    ("who", "sentence"),
    [
        ("noor", "can decide this"),
        ("guest", "Guests may not decide here"),
        ("conn", "People of other workspaces may not decide here"),
    ],
)
async def test_a_person_who_may_not_decide_reads_why(client, people, slack, who, sentence):
    """A click of somebody else is refused privately, and the action stays open."""
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA", "U0NOOR", "U0GUEST", "U0CONN"])
    reviewing = review(client)
    card = await people["dana"].card()
    await people[who].press(card, "approve:0")

    await people[who].notice(sentence)
    await people["dana"].press(card, "approve:0")
    assert (await reviewing).records[0].decided_by == "U0DANA"


async def test_the_requester_may_not_approve_but_may_reject(client, people):
    """The person for whom the agent acts needs somebody else's yes."""
    reviewing = review(client, context=Context(requested_by="U0DANA"))
    card = await people["dana"].card()
    await people["dana"].press(card, "approve:0")
    await people["dana"].notice("The agent acts for you here")
    await people["dana"].fill(await people["dana"].opened(card, "reject:0"))

    assert (await reviewing).decisions[0].type == "reject"


async def test_an_expired_card_says_so_and_has_no_buttons(client, people):
    """At the deadline open actions are rejected, and a late click is told so."""
    reviewing = review(client, expires_in=timedelta(seconds=1))
    card = await people["dana"].card()
    resume = await reviewing

    assert (resume.status, resume.decisions[0].type) == ("expired", "reject")
    gone = await people["dana"].card("nobody decided by")
    assert buttons(gone) == []
    assert card["ts"] == gone["ts"]


async def test_a_withdrawn_card_says_so_and_the_agent_hears_it(client, people):
    """The agent takes its question back; the card loses its buttons."""
    interrupt = client.interrupt(asking(an_action()))
    reviewing = asyncio.create_task(_enter(client.reviewing(interrupt)))
    await people["dana"].card()
    await client.withdraw(interrupt.id, "the customer called")

    with pytest.raises(InterruptWithdrawnError, match="the customer called"):
        await reviewing
    assert buttons(await people["dana"].card("the customer called")) == []


async def _enter(context):
    async with context:
        pass


async def test_long_arguments_are_approved_at_the_end_of_reading_them(client, people, slack):
    """60 KB of arguments: no Approve on the card, all of it in pages, Approve below the last line. Its view says so then."""
    text = "".join(f"line {number}: transfer\n" for number in range(2_600))
    reviewing = review(client, an_action("run", {"script": text}))
    dana = people["dana"]
    card = await dana.card("characters in all")
    assert buttons(card) == ["read:0", "reject:0", "respond:0", "changes:0"]

    page, seen = await dana.opened(card, "read:0"), ""
    while "finish:0" not in buttons(page):
        seen += words(page["blocks"])
        page = await turned(slack, page)
    seen += words(page["blocks"])
    assert all(f"line {number}: transfer" in seen for number in range(2_600))
    await dana.press_in(page, "finish:0")

    await dana.view("You have approved what you read.")
    assert (await reviewing).decisions[0].type == "approve"


async def test_nobody_approves_what_only_another_person_has_read(client, people, slack):
    """Reading is per person: a forged approve without having read is refused."""
    review(client, an_action("run", {"script": "x" * 9_000}))
    card = await people["dana"].card("characters in all")
    await people["dana"].opened(card, "read:0")
    with pytest.raises(Exception, match="approve:0"):
        await people["erik"].press(card, "approve:0")


async def test_fifty_actions_take_a_parent_and_parts_in_its_thread(client, people, slack):
    """A batch of any size is reachable; one click edits the part that it was made on and the count above."""
    reviewing = review(client, *(an_action(f"tool_{n}", {"text": "word " * 60}) for n in range(50)))
    parent = await people["dana"].card("billing: tool_0")
    await people["dana"].card("tool_49`")
    first = await people["dana"].card("tool_0`")
    assert first["thread_ts"] == parent["ts"]
    await asyncio.sleep(0.3)

    before = len(await slack.calls("chat.update"))
    await people["dana"].press_one(first, "approve:0")
    await people["dana"].card("*Approved* by")
    await asyncio.sleep(0.5)
    edits = [call["args"]["ts"] for call in (await slack.calls("chat.update"))[before:]]
    assert edits == [first["ts"], parent["ts"]]
    found = await slack.messages(parent["channel"])
    parts = sorted((m for m in found if m.get("thread_ts") == parent["ts"] != m["ts"]), key=lambda m: m["ts"])
    for number, part in enumerate(parts, 1):
        await people["dana"].press(part, f"approve_all:0.{number}")
    assert [d.type for d in (await reviewing).decisions] == ["approve"] * 50


async def test_a_deleted_card_of_an_open_question_is_asked_again(client, people, playground, slack):
    """Somebody deleted the message; the next change finds it gone and posts the question anew."""
    reviewing = review(client, an_action("a"), an_action("b"))
    card = await people["dana"].card()
    await slack.fault("chat.update", "error", error="message_not_found", times=1)
    await people["dana"].press_one(card, "approve:0")
    again = await slack.wait_for_message(
        lambda m: bool(m.get("blocks")) and m["user"] == "U0BOT" and m["ts"] != card["ts"]
    )
    await people["erik"].press(again, "approve:1")

    assert [d.type for d in (await reviewing).decisions] == ["approve", "approve"]
