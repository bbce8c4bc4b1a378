"""A burst of requests becomes one card, with a queue behind it. Nothing is decided that was not shown."""

import asyncio
import json
import re

import pytest

from agent_adapter import Context
from agent_adapter.contract.interrupt import Link
from bot.app import Bot
from bot.domain.queue import QueueLabel
from bot.jobs import queues
from bot.runtime import health
from bot.slack.manifest import WHY
from tests.conftest import settings_for
from tests.support.builders import an_action
from tests.support.faults import CHANNEL, asking, eventually, watching
from tests.support.home import Home
from tests.support.people import Someone, buttons, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  burst: 2 in 1h
  mask: [password]
rules:
  - {match: {tool: drop}, risk: high, type: table}
  - {match: {tool: wipe}, risk: high}
  - {match: {tool: pair}, quorum: 2}
  - {match: {tool: dana}, approvers: [U0DANA]}
  - {match: {tool: Pair}, quorum: 2}
  - {match: {tool: tidy}, risk: low, time_limit: 2s, on_timeout: approve}
  - {match: {tool: erik}, approvers: [U0ERIK]}
  - {match: {tool: restart}, escalation: {after: 1s, channel: C0OTHER}}
"""
LOOK = "home:go.queue"


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


async def ask(client, *actions, **route):
    """Ask one request after the other, each about one call, and give their ids."""
    ids = []
    for action in actions:
        asked = client.interrupt(asking(action), **route)
        await client.publish(asked)
        ids.append(asked.id)
    return ids


async def flood(client, watcher, *actions, **route):
    """Ask so much before that these requests join the queue, and give their ids."""
    for interrupt_id in await ask(client, an_action("first"), an_action("second")):
        await watcher.card(interrupt_id)
    return await ask(client, *actions, **route)


async def queue_card(slack, saying):
    """Wait for the card of the queue to say this."""
    return await slack.wait_for_message(
        lambda m: m["user"] == "U0BOT" and saying in words(m.get("blocks") or []), within=60
    )


async def posted(slack, channel=CHANNEL):
    found = [call for call in await slack.calls("chat.postMessage") if call["ok"]]
    return [call for call in found if call["args"]["channel"] == channel]


def row_button(view, verb, saying):
    """Give the button of the row that says this."""
    blocks = view["blocks"]
    at = next(n for n, block in enumerate(blocks) if saying in words([block]))
    row = next(block for block in blocks[at:] if block["type"] == "actions")
    return next(e["action_id"] for e in row["elements"] if e["action_id"].startswith(f"{verb}:"))


async def looked_at(person, card, tool):
    """Open a call from the queue, in the review that shows all of it."""
    while await person.slack.views(person.user):
        await person.close()
    await person.press(card, LOOK)
    listed = await person.view(tool)
    await person.press_in(listed, row_button(listed, "review", tool))
    return await person.view(tool, depth=2)


async def decide(person, card, tool):
    """Approve a call from the queue, in the review that shows all of it."""
    await person.press_in(await looked_at(person, card, tool), "approve:0")


async def test_after_a_few_requests_further_ones_share_one_card(start, client, slack, dana, watcher):
    """Eight requests are two cards and the card of the queue. It counts them by agent and tool, and decides nothing."""
    await start()
    ids = await flood(client, watcher, *[an_action("pay")] * 4, an_action("m a\u202eil"), an_action("book"))
    card = await queue_card(slack, "6 requests wait")

    assert len(await posted(slack)) == 3
    assert "`pay` 4 times, `book` once, a tool with an unusual name once" in words(card["blocks"]).replace(
        "a tool with an unusual name once, `book` once", "`book` once, a tool with an unusual name once"
    )
    assert "Can decide: <@U0DANA>, <@U0ERIK>" in words(card["blocks"])
    assert buttons(card) == [LOOK]
    assert not any(watcher.cards(interrupt_id) for interrupt_id in ids)


async def test_a_queued_call_is_approved_in_a_review_that_shows_all_of_it(
    start, client, slack, dana, watcher
):
    """The agent gets exactly that decision, and the card of the queue counts one less."""
    await start()
    first, second = await flood(
        client, watcher, an_action("pay", {"amount": 71}), an_action("mail", {"to": "x@y.z"})
    )
    card = await queue_card(slack, "2 requests wait")
    review = await looked_at(dana, card, "pay")
    assert "71" in words(review["blocks"])
    await dana.press_in(review, "approve:0")

    resume = await client.wait(first)
    assert (resume.decisions[0].type, resume.records[0].decided_by) == ("approve", "U0DANA")
    await queue_card(slack, "1 request waits")
    await decide(dana, card, "mail")
    assert (await client.wait(second)).decisions[0].type == "approve"
    over = await queue_card(slack, "Nothing waits in this queue")
    assert "2 decided" in words(over["blocks"])
    assert buttons(over) == []


async def test_after_a_decision_the_list_is_there_again_without_that_call(
    start, client, slack, dana, watcher
):
    """So one person looks through a queue without opening it for each call."""
    await start()
    ids = await flood(client, watcher, an_action("pay"), an_action("mail"), an_action("book"))
    await dana.press(await queue_card(slack, "3 requests wait"), LOOK)
    for tool, before in (("pay", "none"), ("mail", "pay"), ("book", "mail")):
        listed = await eventually(lambda tool=tool, before=before: listing(slack, tool, before))
        await dana.press_in(listed, row_button(listed, "review", tool))
        await dana.press_in(await dana.view(tool, depth=2), "approve:0")
        await dana.view("*Approved* by", depth=2)
        await dana.close()
    await dana.view("Nothing waits in this queue any more")

    assert [(await client.wait(each)).status for each in ids] == ["decided"] * 3


async def listing(slack, tool, before):
    """Give the list in front of Dana, once it has one tool and not the other any more."""
    stack = await slack.views("U0DANA")
    said = words(stack[-1]["blocks"]) if len(stack) == 1 else ""
    return stack[-1] if f"run {tool}" in said and f"run {before}" not in said else None


async def test_somebody_who_is_no_approver_sees_the_queue_and_decides_nothing(
    start, client, slack, noor, watcher
):
    """As on a card, everybody reads what is asked. The review does not open for them."""
    bot = await start()
    [interrupt_id] = await flood(client, watcher, an_action("pay"))
    card = await queue_card(slack, "1 request waits")
    await noor.press(card, LOOK)
    listed = await noor.view("pay")
    await noor.press_in(listed, row_button(listed, "review", "pay"))

    refused = await noor.view(depth=2)
    assert refused["callback_id"] == "notice"
    assert "U0DANA" in words(refused["blocks"])
    assert (await bot.store.admitted(interrupt_id)).recorded == (None,)


async def test_the_code_of_a_queued_call_is_in_its_review_and_approves_it(
    start, client, slack, dana, watcher
):
    """There is no card that has it."""
    bot = await start()
    [interrupt_id] = await flood(client, watcher, an_action("wipe", {"n": 5}))
    review = await looked_at(dana, await queue_card(slack, "1 request waits"), "wipe")
    code = (await bot.store.admitted(interrupt_id)).actions[0].code
    assert code in words(review["blocks"])

    await dana.press_in(review, "confirm:0")
    form = await dana.view("wipe", depth=3)
    assert "on the card" not in str(form)
    await dana.fill(form, Code=code)

    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"


@pytest.mark.parametrize(
    ("button", "typed", "kind"),
    [("reject:0", {}, "reject"), ("respond:0", {"Answer_in_the_tool's_place": "Later."}, "respond")],
)
async def test_a_queued_call_has_all_its_buttons_in_its_review(
    start, client, slack, dana, watcher, button, typed, kind
):
    """Each does what it does on a card."""
    await start()
    [interrupt_id] = await flood(client, watcher, an_action("pay"))
    review = await looked_at(dana, await queue_card(slack, "1 request waits"), "pay")

    await dana.press_in(review, button)
    await dana.fill(await dana.view("pay", depth=3), **typed)

    assert (await client.wait(interrupt_id)).decisions[0].type == kind


async def test_the_review_of_a_queued_call_says_what_its_card_would_say(start, client, slack, dana, watcher):
    """For whom, who decides, until when, the agent's words about the run, each warning, and what Reject really does."""
    await start()
    odd = an_action(
        "Pair",
        {"amount": 71, "extra": "zz"},
        description="the agent explains this call",
        schema={"type": "object", "properties": {"amount": {"type": "number"}}},
        effects=("reject_drops_batch",),
    )
    run = Context(
        title="Month end run",
        requested_by="U0MIRA",
        subagent="helper-7",
        links=(Link(label="the ticket", url="https://example.com/t/1"),),
    )
    on_a_card = client.interrupt(asking(odd), context=run)
    await client.publish(on_a_card)
    said = words((await watcher.card(on_a_card.id))["blocks"])
    [other] = await ask(client, an_action("second"))
    await watcher.card(other)
    await client.publish(client.interrupt(asking(odd), context=run))

    review = words((await looked_at(dana, await queue_card(slack, "1 request waits"), "Pair"))["blocks"])

    for line in (
        "billing wants to run Pair",
        "Month end run",
        "the ticket",
        "helper-7",
        "the agent explains this call",
        "For <@U0MIRA>",
        "2 people",
        "schema does not have",
        "zz",
    ):
        assert line in said, line
        assert line in review, line
    effects = [line for line in said.splitlines() if "batch" in line]
    assert effects
    assert all(line in review for line in effects)


@pytest.fixture
def noor(slack):
    return Someone(slack, "U0NOOR")


async def test_nothing_on_the_card_or_in_the_list_approves_by_itself(start, client, slack, dana, watcher):
    """Each button there opens a review or another list. One that a list has not decides nothing, and opens no form."""
    bot = await start()
    [interrupt_id] = await flood(client, watcher, an_action("pay"))
    card = await queue_card(slack, "1 request waits")
    await dana.press(card, LOOK)
    listed = await dana.view("pay")

    assert {name.partition(":")[0] for name in buttons(listed)} <= {"home", "review"}
    assert (await bot.store.admitted(interrupt_id)).recorded == (None,)


async def test_masked_values_stay_masked_in_the_queue(start, client, slack, dana, watcher):
    """Neither the card, the list nor the review has them."""
    await start()
    await flood(client, watcher, an_action("pay", {"password": "hunter-22", "amount": 5}))
    card = await queue_card(slack, "1 request waits")
    await dana.press(card, LOOK)
    listed = await dana.view("pay")
    await dana.press_in(listed, row_button(listed, "review", "pay"))
    review = await dana.view("pay", depth=2)

    assert "5" in words(review["blocks"])
    assert "hunter-22" not in json.dumps([card, listed, review])


async def test_two_people_who_decide_the_same_queued_call_have_one_winner(
    start, client, slack, dana, erik, watcher
):
    """The other one reads that it is decided."""
    await start()
    [interrupt_id] = await flood(client, watcher, an_action("pay"))
    card = await queue_card(slack, "1 request waits")
    people = (dana, erik)
    reviews = [await looked_at(person, card, "pay") for person in people]

    await asyncio.gather(
        *(person.press_in(view, "approve:0") for person, view in zip(people, reviews, strict=True))
    )

    assert (await client.wait(interrupt_id)).records[0].decided_by in {"U0DANA", "U0ERIK"}
    assert len((await client.record(interrupt_id)).recorded()) == 1


async def test_a_high_risk_in_the_queue_is_typed_and_two_people_are_two_people(
    start, client, slack, dana, erik, watcher
):
    """The rules of a call do not depend on whether it has a card."""
    await start()
    drop, pair = await flood(client, watcher, an_action("drop", {"table": "invoices"}), an_action("pair"))
    card = await queue_card(slack, "2 requests wait")
    await dana.press_in(await looked_at(dana, card, "drop"), "confirm:0")
    form = await dana.view("invoices", depth=3)
    assert (await dana.submit(form))["result"] == "invalid"

    await decide(dana, card, "pair")
    await decide(erik, card, "pair")
    assert (await client.wait(pair)).status == "decided"
    assert (await client.record(drop)).recorded() == [None]


async def test_silence_never_approves_what_is_in_a_queue(start, client, slack, watcher):
    """Nobody was shown it. With a card of its own it would be approved."""
    await start()
    [interrupt_id] = await flood(client, watcher, an_action("tidy"))

    resume = await client.wait(interrupt_id)

    assert resume.status == "expired"
    assert [decision.type for decision in resume.decisions] == ["reject"]
    over = await queue_card(slack, "1 expired")
    assert buttons(over) == []


async def test_an_escalation_of_a_queued_request_has_a_card(start, client, slack, dana, watcher):
    """It is asked in the other channel as always, and the queue counts it until it is decided there."""
    await start()
    [interrupt_id] = await flood(client, watcher, an_action("restart"))
    await queue_card(slack, "1 request waits")
    card = await watcher.card(interrupt_id)
    assert card["channel"] == "C0OTHER"

    await dana.press(card, "approve:0")

    assert (await client.wait(interrupt_id)).status == "decided"
    await queue_card(slack, "Nothing waits in this queue")
    assert {message["channel"] for message in watcher.cards(interrupt_id)} == {"C0OTHER"}


async def test_several_calls_of_a_queued_request_are_reviewed(start, client, slack, dana, watcher):
    """They are shown one after the other, and approved at the end, since no card shows them."""
    await start()
    await flood(client, watcher)
    asked = client.interrupt(asking(an_action("pay", {"amount": 71}), an_action("mail", {"to": "x@y.z"})))
    await client.publish(asked)
    card = await queue_card(slack, "1 request (2 calls) waits")
    assert "Decide the first by" in words(card["blocks"])
    await dana.press(card, LOOK)
    listed = await dana.view("run")
    assert "on their card" not in words(listed["blocks"])
    await dana.press_in(listed, row_button(listed, "review", "run"))
    page = await dana.view("71", depth=2)
    assert "x@y.z" in words(page["blocks"])
    await dana.press_in(page, next(name for name in buttons(page) if name.startswith("turn:")))
    end = await eventually(lambda: ready_to_submit(slack))
    await dana.submit(end)

    assert [decision.type for decision in (await client.wait(asked.id)).decisions] == ["approve"] * 2


async def ready_to_submit(slack):
    view = (await slack.views("U0DANA"))[-1]
    return view if view.get("submit") else None


async def test_what_an_approver_looks_for_is_also_in_their_lists(start, client, slack, dana, watcher):
    """`/approvals` has it with those that have a card."""
    await start()
    await flood(client, watcher, an_action("book"))
    await queue_card(slack, "1 request waits")
    await slack.command("U0DANA", CHANNEL, "/approvals")

    listed = await dana.view("book")

    assert all(f"run {tool}" in words(listed["blocks"]) for tool in ("first", "second", "book"))


async def test_every_request_of_a_long_queue_is_offered(start, client, slack, dana, watcher):
    """The card says how many wait, and the pages have each of them once, the first deadline first."""
    await start()
    await flood(client, watcher, *(an_action(f"pay-{n:02}") for n in range(23)))
    card = await queue_card(slack, "23 requests wait")
    await dana.press(card, LOOK)
    pages = [await eventually(lambda: page_unlike(slack, ""))]
    while "home:go.further" in buttons(pages[-1]):
        await dana.press_in(pages[-1], "home:go.further")
        before = words(pages[-1]["blocks"])
        pages.append(await eventually(lambda before=before: page_unlike(slack, before)))
    found = [name for page in pages for name in re.findall(r"run (pay-\d\d)", words(page["blocks"]))]

    assert len(pages) == 3
    assert sorted(found) == [f"pay-{n:02}" for n in range(23)]


async def page_unlike(slack, before):
    """Give the list in front of Dana, once it shows other requests."""
    view = (await slack.views("U0DANA") or [{"blocks": []}])[-1]
    shown = words(view["blocks"])
    return view if "run pay" in shown and shown != before else None


async def test_the_edits_of_a_burst_are_few(start, client, slack, dana, watcher):
    """Twenty requests that join one after the other are one post and at most a few edits."""
    await start()
    await flood(client, watcher, *(an_action(f"pay-{n}") for n in range(20)))
    await queue_card(slack, "20 requests wait")

    assert len(await posted(slack)) == 3
    assert len(await slack.calls("chat.update")) <= 3


async def test_two_bots_post_one_card_of_a_queue(start, client, slack, watcher):
    """Whoever leases it first posts it."""
    await start()
    await start()
    await flood(client, watcher, *[an_action("pay")] * 5)
    await queue_card(slack, "5 requests wait")

    assert len(await posted(slack)) == 3


async def test_a_card_of_a_queue_that_was_posted_and_not_noted_is_adopted(start, client, slack, watcher):
    """Slack took it and the answer was lost: the next one finds it by its metadata."""
    await start()
    await flood(client, watcher)
    await slack.fault("chat.postMessage", "accept_then_drop")
    await ask(client, an_action("pay"))
    await queue_card(slack, "1 request waits")
    await ask(client, an_action("mail"))
    await queue_card(slack, "2 requests wait")

    cards = [m for m in await slack.messages(CHANNEL) if "queue" in words(m.get("blocks") or [])]
    assert len(cards) == 1


async def test_a_deleted_card_of_a_queue_is_posted_again(start, client, slack, dana, watcher):
    """Otherwise what waits there would be found in the lists only."""
    await start()
    await flood(client, watcher, an_action("pay"))
    card = await queue_card(slack, "1 request waits")

    await slack.delete("U0DANA", CHANNEL, card["ts"], event=True)

    again = await slack.wait_for_message(
        lambda m: m["ts"] != card["ts"] and "1 request waits" in words(m.get("blocks") or []), within=60
    )
    assert buttons(again) == [LOOK]


async def test_where_slack_refuses_the_card_the_requests_are_refused(start, client, slack, watcher):
    """No agent waits for something that nobody is asked."""
    await start()
    await flood(client, watcher)
    await slack.fault("chat.postMessage", "error", times=None, error="is_archived")
    [interrupt_id] = await ask(client, an_action("pay"))

    resume = await client.wait(interrupt_id)

    assert (resume.status, resume.code) == ("refused", "is_archived")


async def test_a_request_that_two_bots_admit_joins_the_queue_once(start, client, slack, redis_url, watcher):
    """Whichever bot looks first, the answer is the same and the count is right."""
    bot = await start()
    await flood(client, watcher, an_action("pay"))
    await queue_card(slack, "1 request waits")
    burst = bot.policies.policy.default.burst

    answers = {await bot.store.joins_queue("billing.again", CHANNEL, burst) for _ in range(3)}

    assert answers == {True}
    assert len((await bot.store.queue_card(CHANNEL)).joined) == 2


async def test_when_a_queue_is_over_the_next_burst_has_a_card_of_its_own(
    start, client, slack, dana, watcher, monkeypatch
):
    """The card of the first stays as it ended, and nothing is kept of it."""
    monkeypatch.setattr(queues, "LINGER", 1_500)
    bot = await start()
    await flood(client, watcher, an_action("pay"))
    await decide(dana, first := await queue_card(slack, "1 request waits"), "pay")
    await queue_card(slack, "1 decided")
    await eventually(lambda: is_forgotten(bot.store))

    await ask(client, an_action("mail"))
    second = await queue_card(slack, "1 request waits")

    assert second["ts"] != first["ts"]
    assert "1 decided" in words(next(m for m in await slack.messages() if m["ts"] == first["ts"])["blocks"])


async def is_forgotten(store):
    return not await store.queues() and await store.queue_card(CHANNEL) is None


async def killed_after_the_post(settings, client, watcher):
    """Have a bot post the card of a queue of three requests, and die before it notes that."""
    mortal = Bot(settings)
    await mortal.start()
    died = asyncio.Event()

    async def die(*_, **__):
        died.set()
        await asyncio.Event().wait()

    mortal.store.save_queue = die
    await flood(client, watcher, *[an_action("pay")] * 3)
    await died.wait()
    await mortal.stop()


async def cards_of_queues(slack):
    return [m for m in await slack.messages(CHANNEL) if "queue" in words(m.get("blocks") or [])]


@pytest.mark.parametrize(
    "fault",
    [
        None,
        ("conversations.history", "ratelimited", {"seconds": 1}),
        ("conversations.history", "timeout", {}),
        ("chat.update", "ratelimited", {"seconds": 1}),
    ],
)
async def test_a_killed_bot_leaves_one_card_of_a_queue(
    start, client, slack, playground, redis_url, watcher, policy, fault
):
    """It posted the card and died before it noted that: the next one finds it, even if Slack does not answer at first."""
    await slack.channel("C0OTHER", members=["U0BOT", "U0DANA", "U0ERIK"])
    settings = settings_for(playground, redis_url, policy=str(policy), approvers="", channel=None)
    await killed_after_the_post(settings, client, watcher)
    if fault:
        await slack.fault(fault[0], fault[1], times=1, **fault[2])

    await start()
    await ask(client, an_action("mail"))
    await queue_card(slack, "4 requests wait")

    assert len(await cards_of_queues(slack)) == 1


async def test_a_bot_that_was_held_up_beyond_its_lease_posts_no_card_of_a_queue(
    start, client, slack, watcher
):
    """Another one has taken over meanwhile, so not even for a moment are there two cards."""
    quick = {"lease_seconds": 0.9, "slack_timeout_seconds": 0.5}
    held_up = await start(**quick)
    reached, go_on = asyncio.Event(), asyncio.Event()
    lease = held_up.store.lease_queue

    async def lease_late(*args, **kwargs):
        taken = await lease(*args, **kwargs)
        reached.set()
        await go_on.wait()
        return taken

    held_up.store.lease_queue = lease_late
    await flood(client, watcher, an_action("pay"))
    await reached.wait()
    other = await start(**quick)
    post = other.slack.post_message

    async def let_go_and_post(*args, **kwargs):
        go_on.set()
        # Long enough for the other bot to post, and shorter than the lease.
        await asyncio.sleep(0.3)
        return await post(*args, **kwargs)

    other.slack.post_message = let_go_and_post
    await queue_card(slack, "1 request waits")
    await ask(client, an_action("mail"))
    await queue_card(slack, "2 requests wait")

    assert len(await posted(slack)) == 3


async def test_a_late_card_of_a_queue_is_taken_away(start, client, slack, watcher):
    """Also when the other bot is still posting its own card."""
    patient = {"lease_seconds": 3, "slack_timeout_seconds": 2}
    late = await start(**patient)
    reached, searched, arrived, looked = (asyncio.Event() for _ in range(4))
    post, read = late.slack.post_message, late.store.queue_card

    async def post_late(channel, **message):
        if not isinstance(message["label"], QueueLabel):
            return await post(channel, **message)
        reached.set()
        await searched.wait()
        ts = await post(channel, **message)
        late.store.queue_card = read_and_say_so
        arrived.set()
        return ts

    async def read_and_say_so(channel):
        card = await read(channel)
        looked.set()
        return card

    late.slack.post_message = post_late
    await flood(client, watcher, an_action("pay"))
    await reached.wait()
    other = await start(**patient)
    search, post_other = other.slack.find_queue_card, other.slack.post_message

    async def search_first(*args, **kwargs):
        found = await search(*args, **kwargs)
        searched.set()
        await arrived.wait()
        return found

    async def post_meanwhile(*args, **kwargs):
        await looked.wait()
        return await post_other(*args, **kwargs)

    other.slack.find_queue_card, other.slack.post_message = search_first, post_meanwhile
    await looked.wait()

    async def is_alone():
        return len(await cards_of_queues(slack)) == 1 and await slack.calls("chat.delete")

    await eventually(is_alone)


@pytest.mark.parametrize("restarts", [True, False])
async def test_a_card_that_was_deleted_unnoticed_is_posted_again(
    start, client, slack, dana, watcher, monkeypatch, restarts
):
    """Slack may not say that it was deleted: a bot that starts looks, and so does one that has not edited it for a while."""
    if not restarts:
        monkeypatch.setattr(queues, "SURE_FOR", 6_000)
    bot = await start()
    await flood(client, watcher, an_action("pay"))
    card = await queue_card(slack, "1 request waits")
    if restarts:
        await bot.stop()
    await slack.delete("U0DANA", CHANNEL, card["ts"], event=False)
    if restarts:
        await start()

    again = await slack.wait_for_message(
        lambda m: m["ts"] != card["ts"] and "1 request waits" in words(m.get("blocks") or []), within=60
    )
    assert buttons(again) == [LOOK]


async def test_people_who_join_a_queue_are_called_by_a_new_card(start, client, slack, dana, watcher):
    """Slack notifies nobody of an edit, so the card of before goes, and one that mentions them is posted."""
    await start()
    await flood(client, watcher, an_action("dana"))
    old = await queue_card(slack, "1 request waits")
    assert "<@U0ERIK>" not in words(old["blocks"])

    await ask(client, an_action("erik"))

    new = await queue_card(slack, "2 requests wait")
    assert new["ts"] != old["ts"]
    assert "Can decide: <@U0DANA>, <@U0ERIK>" in words(new["blocks"])
    assert len(await cards_of_queues(slack)) == 1


async def test_a_request_that_joins_an_old_queue_is_posted_anew(start, client, slack, watcher, monkeypatch):
    """Nobody looks at a card of long ago; a decision only edits it."""
    bot = await start()
    await flood(client, watcher, an_action("pay"))
    old = await queue_card(slack, "1 request waits")
    await ask(client, an_action("mail"))
    assert (await queue_card(slack, "2 requests wait"))["ts"] == old["ts"]
    monkeypatch.setattr(queues, "CALL_AGAIN", 0)

    [booked] = await ask(client, an_action("book"))
    new = await queue_card(slack, "3 requests wait")
    await bot.store.settle(booked, "withdrawn")
    edited = await queue_card(slack, "2 requests wait")

    assert new["ts"] != old["ts"]
    assert edited["ts"] == new["ts"]
    assert len(await cards_of_queues(slack)) == 1


async def test_a_bot_that_dies_while_it_renews_the_card_leaves_one(
    start, client, slack, playground, redis_url, watcher, policy
):
    """It deleted the card and did not note that: the next one posts."""
    await slack.channel("C0OTHER", members=["U0BOT", "U0DANA", "U0ERIK"])
    settings = settings_for(playground, redis_url, policy=str(policy), approvers="", channel=None)
    mortal = Bot(settings)
    await mortal.start()
    await flood(client, watcher, an_action("dana"))
    await queue_card(slack, "1 request waits")
    save, died = mortal.store.save_queue, asyncio.Event()

    async def die(*args, **fields):
        if fields.get("ts") == "+":
            died.set()
            await asyncio.Event().wait()
        return await save(*args, **fields)

    mortal.store.save_queue = die
    await ask(client, an_action("erik"))
    await died.wait()
    await mortal.stop()

    await start()
    await queue_card(slack, "2 requests wait")

    assert len(await cards_of_queues(slack)) == 1


async def test_where_a_card_cannot_be_deleted_it_is_edited(start, client, slack, watcher):
    """Workspaces can forbid that messages are deleted. Nothing is refused for it."""
    bot = await start()
    await flood(client, watcher, an_action("dana"))
    old = await queue_card(slack, "1 request waits")
    await slack.fault("chat.delete", "error", times=None, error="cant_delete_message")

    [asked] = await ask(client, an_action("erik"))

    assert (await queue_card(slack, "2 requests wait"))["ts"] == old["ts"]
    assert (await bot.store.admitted(asked)).is_open


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ratelimited", "seconds": 1},
        {"kind": "status", "status": 500},
        {"kind": "error", "error": "ekm_access_denied"},
    ],
    ids=lambda fault: fault["kind"],
)
async def test_the_agent_hears_that_slack_takes_no_card_of_a_queue(
    start, client, slack, watcher, monkeypatch, fault
):
    """As for a request with a card of its own. Once the card is posted, the agent hears that nothing is wrong."""
    monkeypatch.setattr(health, "LASTING", 1.0)
    bot = await start()
    await flood(client, watcher)
    await slack.fault("chat.postMessage", times=None, **fault)
    [asked] = await ask(client, an_action("pay"))
    notice = await eventually(lambda: notice_of(bot.store, asked), within=60)
    assert "Slack" in notice

    await slack.clear_faults()
    await queue_card(slack, "1 request waits")

    assert await eventually(lambda: is_quiet(bot.store, asked), within=10)


async def notice_of(store, interrupt_id):
    state = await store.admitted(interrupt_id)
    return state.notice if state else ""


async def is_quiet(store, interrupt_id):
    return not await notice_of(store, interrupt_id)


async def test_a_call_of_high_risk_is_named_first_on_the_card(start, client, slack, watcher):
    """However many others wait, its tool is not among those that are only counted."""
    await start()
    await flood(client, watcher, an_action("pay"), an_action("pay"), an_action("drop", {"table": "invoices"}))
    card = await queue_card(slack, "3 requests wait")

    assert "`drop` once, `pay` 2 times" in words(card["blocks"])


async def test_two_bots_renew_the_card_of_a_queue_once(start, client, slack, watcher):
    """One deletes the old card and either posts the new one. No moment leaves two."""
    await start()
    await start()
    await flood(client, watcher, an_action("dana"))
    await queue_card(slack, "1 request waits")
    before = len(await posted(slack))

    await ask(client, an_action("erik"), an_action("erik"))
    await queue_card(slack, "3 requests wait")

    assert len(await posted(slack)) == before + 1
    assert len(await cards_of_queues(slack)) == 1


@pytest.fixture
def show(slack):
    """Write `/approvals show` as somebody, and give the words of the view."""

    async def show(user, interrupt_id):
        await slack.command(user, CHANNEL, "/approvals", f"show {interrupt_id}")
        return await said(slack, user)

    return show


async def said(slack, user):
    """Wait for what *Why was this approved?* says, and close it."""

    async def says():
        return words((await slack.wait_for_view(user))["blocks"])

    async def is_found():
        return "Looking for the record" not in await says()

    await eventually(is_found)
    text = await says()
    await slack.close_view(user, (await slack.views(user))[-1]["id"])
    return text


async def test_who_decided_in_a_queue_sees_why_it_was_approved(start, client, slack, dana, watcher, show):
    """By its id, and from the list of what they decided. So does everybody in the channel, and nobody else."""
    await start()
    (interrupt_id,) = await flood(client, watcher, an_action("pay", {"to": "zoe"}))
    await decide(dana, await queue_card(slack, "1 request waits"), "pay")
    while await slack.views("U0DANA"):
        await dana.close()

    for text in (await show("U0DANA", interrupt_id), await show("U0NOOR", interrupt_id)):
        assert "<@U0DANA> approved it with a button" in text
        assert "zoe" in text
    assert "There is no such request" in await show("U0CONN", interrupt_id)

    tab = await Home(slack, "U0DANA").open()
    await tab.press("home:go.decided")
    await tab.opened("home:why")
    assert "<@U0DANA> approved it with a button" in await said(slack, "U0DANA")


async def test_the_list_that_a_command_opens_leads_to_why_on_top_of_it(start, client, slack, dana, watcher):
    await start()
    await flood(client, watcher, an_action("pay", {"to": "zoe"}))
    await decide(dana, await queue_card(slack, "1 request waits"), "pay")
    while await slack.views("U0DANA"):
        await dana.close()
    await slack.command("U0DANA", CHANNEL, "/approvals")
    await dana.press_in(await dana.view("wants to run first"), "home:go.decided")

    await dana.press_in(await dana.view("Approved by Dana: pay"), "home:why.0")

    assert "approved it with a button" in words((await dana.view("What happened", depth=2))["blocks"])


async def test_why_on_the_card_of_a_queue_says_how_a_request_is_found(start, client, slack, dana, watcher):
    """The card is about many. It names none of them."""
    await start()
    await flood(client, watcher, an_action("pay", {"to": "zoe"}))
    card = await queue_card(slack, "1 request waits")

    await slack.shortcut("U0DANA", card["channel"], card["ts"], WHY)

    text = await said(slack, "U0DANA")
    assert "*My decisions*" in text
    assert "`/approvals show ID`" in text
