"""Everywhere a question stands: who is called by what is posted, how often, and what is left there when it is over."""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from textwrap import dedent

import pytest

from agent_adapter import Context
from tests.support.builders import an_action
from tests.support.faults import asking, eventually
from tests.support.people import Someone, buttons, words

SECOND = timedelta(seconds=1)


@pytest.fixture
def start(start_bot, slack, tmp_path) -> Callable:
    """Start bots by these rules."""

    async def start(rules: str, *, replicas: int = 1):
        await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA"])
        path = tmp_path / "policy.yaml"
        path.write_text(dedent(rules))
        return [await start_bot(policy=str(path), approvers="", channel=None) for _ in range(replicas)]

    return start


async def called(slack) -> Counter:
    """Count for everybody the messages that were posted to others, too, and name them. Slack calls nobody for an edit."""
    posted = [call["args"] for call in await slack.calls("chat.postMessage") if call["ok"]]
    found = Counter()
    for message in posted:
        found.update(set(re.findall(r"<@(U\w+)>|<!subteam\^(S\w+)>", json.dumps(message["blocks"]))))
    return Counter({person or group: count for (person, group), count in found.items()})


async def test_people_who_may_decide_are_called_once_and_again_only_by_a_reminder(start, slack, client):
    """However many replicas draw, votes are counted, and actions a card has; whoever has voted is left alone."""
    bot, _ = await start(
        """\
        default:
          channel: C0APPROVALS
          approvers: [U0DANA, U0ERIK, S0OPS]
          quorum: 2
          reminders: [7s]
        """,
        replicas=2,
    )
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    actions = [an_action(f"pay-{n}", {"to": "x" * 2_000}) for n in range(5)]
    interrupt = client.interrupt(asking(*actions), context=Context(requested_by="U0NOOR"))
    await client.publish(interrupt)
    card = await dana.card("if nobody")
    await eventually(lambda: is_shown(bot.store, interrupt.id))
    assert buttons(card) == ["review:0", "reject_all:0"]
    await approve_each(slack, dana, card)
    await dana.notice("Your approval of call 5 counts")
    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 1, "S0OPS": 1, "U0NOOR": 1}

    await eventually(lambda: is_posted(slack, "Still waiting: "))
    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 2, "S0OPS": 2, "U0NOOR": 1}
    await approve_each(slack, erik, card)
    assert (await client.wait(interrupt.id)).status == "decided"
    await dana.card("waiting for the agent")

    assert await called(slack) == {"U0DANA": 1, "U0ERIK": 2, "S0OPS": 2, "U0NOOR": 1}


async def approve_each(slack, person, card):
    """Press Approve on every part of a card, for all of its calls."""
    found = [m for m in await slack.messages(card["channel"]) if m.get("thread_ts") == card["ts"] != m["ts"]]
    for part in found:
        for button in buttons(part):
            if button.startswith(("approve:", "approve_all:")):
                await person.press(part, button)


async def is_shown(store, interrupt_id):
    state = await store.admitted(interrupt_id)
    return state and state.is_shown


async def is_posted(slack, saying):
    return [call for call in await slack.calls("chat.postMessage") if saying in json.dumps(call["args"])]


async def drawn(slack):
    """Give what the bot has posted, as it is now."""
    return [message for message in await slack.messages() if message["user"] == "U0BOT"]


async def cards(slack, count, saying):
    """Wait until so many messages say this."""

    async def look():
        found = [message for message in await drawn(slack) if saying in words(message["blocks"])]
        return found if len(found) >= count else None

    return await eventually(look)


THREE_PLACES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: pay}, channel: C0FINANCE, approvers: [U0MIRA]}
  - {match: {tool: ask}, channel: U0ERIK, approvers: [U0ERIK]}
"""


@pytest.mark.parametrize("ends", ["expired", "withdrawn"])
async def test_an_end_is_shown_in_every_place_and_no_button_is_left(start, slack, client, ends):
    """In two channels, one of them with a card of several messages, and in a direct message; what was decided stands."""
    await start(THREE_PLACES)
    mira = Someone(slack, "U0MIRA")
    many = [an_action("mail", {"to": "x" * 2_000 + str(n), "n": n}) for n in range(8)]
    batch = asking(an_action("pay"), an_action("ask"), *many, an_action("pay", {"to": "bo"}))
    life = 8 * SECOND if ends == "expired" else 3600 * SECOND
    interrupt_id = await client.publish(client.interrupt(batch, expires_in=life))
    asked = await cards(slack, 3, "if nobody")
    assert {card["channel"] for card in asked} == {"C0APPROVALS", "C0FINANCE", "D0ERIK"}
    await mira.press_one(next(card for card in asked if card["channel"] == "C0FINANCE"), "approve:0")
    await mira.card("1 of 2 open")

    if ends == "withdrawn":
        await client.withdraw(interrupt_id, "not needed")
    assert (await client.wait(interrupt_id)).status == ends

    says = {"expired": "xpired: ", "withdrawn": "withdrawn by `"}[ends]
    over = await cards(slack, 3, says)
    assert {card["channel"] for card in over} == {"C0APPROVALS", "C0FINANCE", "D0ERIK"}
    await eventually(lambda: no_buttons(slack))
    [finance] = [card for card in over if card["channel"] == "C0FINANCE"]
    assert ("*Approved*" if ends == "expired" else "*Approved, not run*") in words(finance["blocks"])
    if ends == "expired":
        lines = {card["channel"]: words(card["blocks"][-1]) for card in over}
        nobody = "nobody decided by"
        for channel, said in {"C0APPROVALS": nobody, "C0FINANCE": "1 of 2 decided", "D0ERIK": nobody}.items():
            assert said in lines[channel]


async def no_buttons(slack):
    """None but those that show all of a call."""
    blocks = [block for message in await drawn(slack) for block in message["blocks"]]
    found = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    return all(element.get("text", {}).get("text") == "Details" for element in found)
