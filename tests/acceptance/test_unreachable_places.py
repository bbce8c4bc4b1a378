"""An agent, or a rule, names a place where nobody can be asked: that interrupt is refused, and nobody else notices."""

import asyncio
import logging

import aiohttp
import pytest

from agent_adapter import InterruptRefusedError
from agent_adapter.contract.interrupt import Route
from playground.state import SCOPES
from tests.support.builders import an_action
from tests.support.faults import asking
from tests.support.people import Someone

ORDINARY = [scope for scope in SCOPES if not scope.startswith("im:")]
"""What an app is granted whose policy asks in no direct message."""


async def refused(client, **route) -> InterruptRefusedError:
    """Ask there, past what the library would refuse by itself, and give what the agent hears."""
    interrupt = client.interrupt(asking(an_action())).model_copy(update={"route": Route(**route)})
    with pytest.raises(InterruptRefusedError) as caught:
        async with asyncio.timeout(30), client.reviewing(interrupt):
            raise AssertionError("it was asked")
    return caught.value


async def readiness(bot):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bot.http.port}/readyz") as answer,
    ):
        return answer.status, await answer.json()


@pytest.mark.parametrize(
    ("route", "code", "says"),
    [
        ({"channel": "U0DANA"}, "not_a_channel", "named the person U0DANA in place of a channel: name a channel by its id"),
        ({"channel": "D0DANA"}, "not_a_channel", "named the direct message 'D0DANA' in place of a channel: name a channel by its id"),
        ({"channel": "C0NOWHERE"}, "channel_not_found", "C0NOWHERE: check the id"),
        ({"channel": "C0OLD"}, "is_archived", "C0OLD: unarchive it, or ask elsewhere"),
        ({"channel": "C0APPROVALS", "thread_ts": "1732104000.000100"}, "thread_not_found", "C0APPROVALS: the message to answer is gone"),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else None,
)  # fmt: skip
async def test_an_agent_that_names_no_place_to_ask_is_refused_at_once(
    start_bot, slack, client, caplog, route, code, says
):
    """It hears the code and the cure; the bot stays ready, and the next card comes without a pause."""
    await slack.set_scopes(*ORDINARY)
    await slack.channel("C0OUTSIDE", members=["U0DANA"])
    bot = await start_bot()
    caplog.set_level(logging.WARNING)

    error = await refused(client, **route)

    assert (error.code, says in str(error)) == (code, True), str(error)
    reviewing = asyncio.create_task(client.review(asking(an_action())))
    dana = Someone(slack, "U0DANA")
    await dana.press(await dana.card(), "approve:0")
    assert (await reviewing).status == "decided"
    assert await readiness(bot) == (200, {"ready": True, "signed": True})
    assert "slack.unavailable" not in caplog.text


async def test_a_place_that_cannot_be_searched_is_not_a_fault_of_the_workspace(
    start_bot, slack, client, caplog
):
    """The answer to a post is lost in a channel whose history the app may not read: that interrupt alone is refused."""
    bot = await start_bot()
    await slack.fault("chat.postMessage", "drop")
    await slack.fault("conversations.history", "error", error="missing_scope", times=None)
    caplog.set_level(logging.WARNING)

    with pytest.raises(InterruptRefusedError) as caught:
        async with asyncio.timeout(30):
            await client.review(asking(an_action()))

    assert caught.value.code == "missing_scope"
    assert await readiness(bot) == (
        200,
        {"ready": True, "signed": True, "warnings": {"place C0APPROVALS": WARNED}},
    )


WARNED = (
    "what the policy asks there is refused, because Slack says conversations.history: missing_scope "
    "(C0APPROVALS: ask elsewhere, or add the scope for such a place and install the app again)"
)
