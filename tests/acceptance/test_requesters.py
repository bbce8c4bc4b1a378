"""For whom an agent acts: who says so, what that person may not do, and what they are told."""

import pytest

from agent_adapter import Context
from tests.conftest import an_agent
from tests.support.builders import an_action, review
from tests.support.http_api import a_key, speaking
from tests.support.people import words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {name: for somebody, match: {tool: send_email}, requester: required}
  - {name: told, match: {tool: pay}, tell_requester: direct}
  - {name: told in the thread, match: {tool: deploy}, tell_requester: thread}
agents:
  billing: {requester: agent}
"""
MIRA = Context(requested_by="U0MIRA")


async def test_a_key_vouches_for_whom_its_holder_names_and_they_may_reject_only(bot, redis_url, dana, erik):
    """The same question with an ordinary key is refused."""
    asked = {"context": {"requested_by": "U0DANA"}}
    async with speaking(bot.http.port, await a_key(redis_url, "support")) as caller:
        refused = await caller.ask(**asked)
        _, state = await caller.send("GET", f"/interrupts/{refused}", params={"wait": 10})
        assert (state["status"], state["code"]) == ("refused", "requester")
    key = await a_key(redis_url, "support", may_name_requesters=True)
    async with speaking(bot.http.port, key) as caller:
        interrupt_id = await caller.ask(**asked)
        card = await dana.card("for <@U0DANA> · <@U0ERIK> decides")
        await dana.press(card, "approve:0")
        await dana.notice("The agent acts for you here")
        await dana.fill(await dana.opened(card, "reject:0"))
        _, state = await caller.send("GET", f"/interrupts/{interrupt_id}", params={"wait": 10})
        assert (state["decisions"][0]["type"], state["records"][0]["decided_by"]) == ("reject", "U0DANA")


@pytest.mark.usefixtures("bot")
async def test_who_began_the_thread_of_a_run_may_not_approve(slack, client, dana, erik):
    """Also where the agent names a reply in place of the first message."""
    await slack.channel("C0SHARED", members=["U0BOT", "U0DANA", "U0ERIK"])
    thread = (await slack.message("U0DANA", "C0SHARED", "please refund order 7"))["ts"]
    reply = (await slack.message("U0ERIK", "C0SHARED", "me too", thread_ts=thread))["ts"]
    reviewing = review(client, an_action("refund"), channel="C0SHARED", thread_ts=reply)
    card = await dana.card()
    assert card["channel"] == "C0APPROVALS"

    await dana.press(card, "approve:0")
    await dana.notice("This comes from a thread that you started")
    await erik.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0ERIK"


# --- Told -------------------------------------------------------------------------------------------------------------


async def told(slack, saying):
    """Wait for what a requester reads."""
    return await slack.wait_for_message(
        lambda m: "on your behalf" in words(m.get("blocks") or []) and saying in words(m["blocks"])
    )


@pytest.mark.usefixtures("bot")
async def test_a_requester_reads_in_a_direct_message_who_decided_what(client, slack, dana):
    """With the words of who said no, and without any argument."""
    reviewing = review(client, an_action("pay", {"to": "ann"}), context=MIRA)
    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Wrong account.")
    await reviewing

    message = await told(slack, "Rejected by Dana")

    assert message["channel"].startswith("D")
    assert "It did not run." in words(message["blocks"])
    assert "Wrong account." in words(message["blocks"])
    assert "ann" not in words(message["blocks"]) + message["text"]


@pytest.mark.usefixtures("bot")
async def test_in_a_thread_it_is_told_without_the_words_of_people(client, slack, dana):
    """Others read there; and nobody is notified by a mention."""
    await slack.channel("C0OTHER", members=["U0MIRA", "U0BOT"])
    first = await slack.message("U0MIRA", "C0OTHER", "Please deploy.")
    reviewing = review(client, an_action("deploy"), context=MIRA, channel="C0OTHER", thread_ts=first["ts"])
    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Not on Friday.")
    await reviewing

    message = await told(slack, "Rejected by Dana")

    assert (message["channel"], message["thread_ts"]) == ("C0OTHER", first["ts"])
    assert "Friday" not in words(message["blocks"])
    assert "<@U0MIRA>" not in words(message["blocks"])


async def test_a_requester_whom_only_the_agent_names_is_not_told(bot, redis_url, dana):
    """Otherwise an agent could have the bot write to anybody."""
    async with an_agent(redis_url, "rogue") as client:
        reviewing = review(client, an_action("pay"), context=MIRA)
        await dana.press(await dana.card(), "approve:0")
        interrupt_id = (await reviewing).interrupt_id

    assert not (await bot.store.admitted(interrupt_id)).told
