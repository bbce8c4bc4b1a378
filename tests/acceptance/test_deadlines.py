"""While nobody decides: reminders, more people, more time, somebody who is looking, and what silence approves."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from playground.errors import ControlError
from tests.support.builders import an_action, asking, review
from tests.support.faults import eventually
from tests.support.people import buttons, words
from tests.support.topologies import KEYS

SECOND = timedelta(seconds=1)


@pytest.fixture
def start(start_bot, slack, tmp_path) -> Callable:
    """Start bots by a default with these keys."""

    async def start(*keys: str, approvers: str = "[U0DANA, U0ERIK]", rules: str = "", replicas: int = 1):
        await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA"])
        path = tmp_path / "policy.yaml"
        lines = [f"  {key}" for key in ("channel: C0APPROVALS", f"approvers: {approvers}", *keys)]
        path.write_text("\n".join(["default:", *lines, rules]))
        return [await start_bot(policy=str(path)) for _ in range(replicas)]

    return start


async def remarks(slack, channel="C0APPROVALS"):
    """Give what the bot said in the threads of a channel."""
    return [
        message["text"]
        for message in await slack.messages(channel)
        if message["user"] == "U0BOT" and message.get("thread_ts") not in {None, message["ts"]}
    ]


async def remark(slack, saying):
    """Wait for a word in a thread."""

    async def said():
        return next((text for text in await remarks(slack) if saying in text), None)

    return await eventually(said)


async def card_in(slack, channel, saying=""):
    """Wait for the card of a channel."""
    return await slack.wait_for_message(
        lambda m: m.get("thread_ts") in {None, m["ts"]} and saying in words(m.get("blocks")),
        channel=channel,
        within=60,
    )


async def test_nobody_answers_and_it_is_escalated_after_a_reminder(start, slack, client, mira):
    """Once, however many replicas run: a call in the thread, then a card elsewhere, for more people; each can decide."""
    await start(
        "reminders: [1s]", "escalation: {after: 3s, approvers: [U0MIRA], channel: C0FINANCE}", replicas=2
    )
    reviewing = review(client, an_action("pay"))
    card = await card_in(slack, "C0APPROVALS")
    await mira.press(card, "approve:0")
    await mira.notice("can decide this")

    asked = 'pay "dana@example.com"'
    assert await remark(slack, "Still") == f"Still waiting: {asked}. Approvers: <@U0DANA>, <@U0ERIK>."
    escalated = await card_in(slack, "C0FINANCE")
    assert "<@U0DANA>, <@U0ERIK> or <@U0MIRA> decides" in words(escalated["blocks"])
    assert "also asked in <#C0APPROVALS>" in words(escalated["blocks"])
    assert "so it is asked in <#C0FINANCE> as well" in await remark(slack, f"Nobody has decided {asked} yet")
    await card_in(slack, "C0APPROVALS", "also asked in <#C0FINANCE>")
    await mira.press(escalated, "approve:0")
    resume = await reviewing

    assert (resume.decisions[0].type, resume.records[0].decided_by) == ("approve", "U0MIRA")
    for channel in ("C0APPROVALS", "C0FINANCE"):
        assert "approve:0" not in buttons(await card_in(slack, channel, "the agent has resumed"))
    assert (len(await remarks(slack)), len(await remarks(slack, "C0FINANCE"))) == (2, 0)


async def test_people_give_themselves_more_time_and_the_agent_waits(start, slack, client, dana, noor):
    """The button comes late, works once for each time that it is shown, and moves the agent's own deadline too."""
    await start("extend: {by: 20s, times: 2}")
    reviewing = review(client, an_action("pay"), expires_in=8 * SECOND)
    assert "extend:0" not in buttons(await card_in(slack, "C0APPROVALS"))
    card = await card_in(slack, "C0APPROVALS", "Extend by 20 seconds")
    await noor.press(card, "extend:0")
    await noor.notice("can decide this")
    await asyncio.gather(dana.press(card, "extend:0"), dana.press(card, "extend:0"))

    assert "<@U0DANA> moved the deadline of pay" in await remark(slack, "moved the deadline")
    with pytest.raises(ControlError):
        await dana.press(await card_in(slack, "C0APPROVALS"), "extend:0")
    await dana.press(await card_in(slack, "C0APPROVALS"), "approve:0")

    assert (await reviewing).decisions[0].type == "approve"
    assert len(await remarks(slack)) == 1


async def test_somebody_looks_and_hands_it_over_and_others_may_still_decide(
    start, slack, client, dana, erik, noor
):
    """The card says who looks, and they are called in the thread. Whoever decides is not looking any more."""
    await start("assign: 10m")
    reviewing = review(client, an_action("pay"), an_action("mail"))
    card = await card_in(slack, "C0APPROVALS")
    await noor.press(card, "claim:0")
    await noor.notice("can decide this")
    await dana.press(card, "claim:0")
    claimed = await card_in(slack, "C0APPROVALS", "<@U0DANA> is looking at this, until")
    assert "claim:0" not in buttons(claimed)
    await erik.press(claimed, "hand_over:0")
    await erik.notice("Only <@U0DANA>, who is looking at this, can hand it over.")
    form = await dana.opened(claimed, "hand_over:0")
    answer = await dana.fill(form, who="U0NOOR")
    assert "<@U0NOOR> may not decide this, so it stays with you." in words(answer["views"][-1]["blocks"])
    await dana.close()

    await dana.fill(await dana.opened(claimed, "hand_over:0"), who="U0ERIK")

    asked = 'pay "dana@example.com", mail "dana@example.com"'
    assert await remark(slack, "hands pay") == (
        f"<@U0DANA> hands {asked} over to <@U0ERIK>. Everybody who may decide still can."
    )
    card = await card_in(slack, "C0APPROVALS", "<@U0ERIK> is looking at this")
    await erik.press_one(card, "approve:0")
    await dana.press(await card_in(slack, "C0APPROVALS", "I am looking at this"), "approve:1")
    assert [record.decided_by for record in (await reviewing).records] == ["U0ERIK", "U0DANA"]


# --- Everywhere a question stands -------------------------------------------------------------------------------------


async def called(slack) -> Counter:
    """Count for everybody the messages that were posted to others, too, and name them. Slack calls nobody for an edit."""
    posted = [call["args"] for call in await slack.calls("chat.postMessage") if call["ok"]]
    found = Counter()
    for message in posted:
        found.update(set(re.findall(r"<@(U\w+)>|<!subteam\^(S\w+)>", json.dumps(message["blocks"]))))
    return Counter({person or group: count for (person, group), count in found.items()})


async def test_people_who_may_decide_are_called_once_and_again_only_by_a_reminder(
    start, slack, client, dana, erik
):
    """However many replicas draw, votes are counted, and calls a card has; whoever has voted is left alone."""
    await start("quorum: 2", "reminders: [3s]", approvers="[U0DANA, U0ERIK, S0OPS]", replicas=2)
    interrupt = client.interrupt(asking(*(an_action(f"pay-{n}") for n in range(2))))
    await client.publish(interrupt)
    card = await dana.showing("approve_all:0")
    await dana.press(card, "approve_all:0")
    await dana.card("1 of 2 approved")
    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 1, "S0OPS": 1}

    await remark(slack, "Still waiting: ")
    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 2, "S0OPS": 2}
    await erik.press(card, "approve_all:0")
    assert (await client.wait(interrupt.id)).status == "decided"
    await dana.card("waiting for the agent")
    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 2, "S0OPS": 2}


# --- Silence -----------------------------------------------------------------------------------------------------------

HEARD = "[U0DANA, S0OPS]"
BY_SILENCE = """\
rules:
  - {{match: {{tool: note_*}}, risk: low, on_timeout: approve, time_limit: {limit}}}
"""


async def outcome(waiting) -> tuple[str, str]:
    """Wait for what the deadline decides; give it with its reason."""
    resume = await waiting
    assert resume.records[0].decided_by == "expired"
    return resume.decisions[0].type, getattr(resume.decisions[0], "message", None) or ""


async def test_silence_approves_what_people_saw_and_nobody_tried_to_reject(start, slack, client, dana):
    """Dana presses Reject on one of two cards and is told to press again. She was not silent, though Slack works again."""
    await slack.group("S0OPS", users=["U0ERIK"])
    await start(approvers=HEARD, rules=BY_SILENCE.format(limit="8s"))
    objected, silent = review(client, an_action("note_one")), review(client, an_action("note_two"))
    card = await dana.card("note_one")
    await dana.card("note_two")
    await slack.fault("users.info", "error", error="internal_error", times=None)
    await dana.press(card, "reject:0")
    await dana.notice("Please press again")
    await slack.clear_faults()

    decided, why = await outcome(objected)
    assert (decided, "it could not be recorded" in why) == ("reject", True)
    await dana.card("it could not be recorded")
    assert await outcome(silent) == ("approve", "")


async def test_a_deleted_card_that_nobody_can_look_for_is_not_there(start, slack, client, dana, redis):
    """Somebody deletes it while the channel cannot be read: the bot does not know, and takes that for no yes."""
    await slack.group("S0OPS", users=["U0ERIK"])
    await start(approvers=HEARD, rules=BY_SILENCE.format(limit="4s"))
    waiting = review(client, an_action("note_one"))
    card = await dana.card("*approved*")
    record = KEYS.card(card["metadata"]["event_payload"]["id"])
    await eventually(partial(redis.hexists, record, "up:0:0"))
    # However late a busy machine has posted it: it was there all the time.
    await redis.hset(record, "up:0:0", 1)
    await slack.fault("conversations.history", "error", error="internal_error", times=None)
    await slack.delete("U0NOOR", "C0APPROVALS", card["ts"])

    decided, why = await outcome(waiting)
    assert (decided, "Slack did not say whether people could still object" in why) == ("reject", True)


async def test_silence_approves_nothing_when_all_approvers_are_gone(start, slack, client, dana):
    """Their accounts are deactivated, also that of whoever is in the group: nobody was left who could press."""
    await slack.group("S0OPS", users=["U0ERIK"])
    # A tenth of it is for the card: a busy machine posts it later, and says that it was not shown for long enough.
    await start(approvers=HEARD, rules=BY_SILENCE.format(limit="8s"))
    waiting = review(client, an_action("note_one"))
    await dana.card("*approved*")
    for user in ("U0DANA", "U0ERIK"):
        await slack.person(user, deleted=True)

    decided, why = await outcome(waiting)
    assert (decided, "nobody was left at the deadline" in why) == ("reject", True)
