"""Limits of an agent, from the policy file to the error that it gets; other agents notice nothing."""

import pytest

from agent_adapter import InterruptRefusedError
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt
from tests.support.http_api import a_key, a_pause, speaking

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0ERIK]}
limits: [{agent: billing, pending: 1}, {per_minute: 2}]
"""


@pytest.mark.usefixtures("bot")
async def test_beyond_its_open_interrupts_an_agent_is_refused_until_one_is_decided(erik, client, redis_url):
    """The error names the limit and the cure, another agent is asked as ever, and a decision makes room."""
    first = await client.publish(an_interrupt(an_action("pay_rent"), run="1"))
    one = await erik.card("pay_rent")

    with pytest.raises(InterruptRefusedError) as refused:
        async with client.reviewing(an_interrupt(an_action("drop_table"), run="3")):
            pass

    assert refused.value.code == "limits"
    assert "and the policy allows 1: ask again when some of them are decided" in str(refused.value)
    async with an_agent(redis_url, "payroll") as other:
        await other.publish(an_interrupt(an_action("pay_wages"), agent="payroll", run="4"))
        await erik.card("pay_wages")

    await erik.press(one, "approve:0")
    await client.wait(first)
    await client.publish(an_interrupt(an_action("ask_bank"), run="5"))
    await erik.card("ask_bank")


async def test_over_http_it_is_429_before_anything_is_stored(bot, slack, redis_url):
    """With the seconds to wait; asking again about what is asked already is not refused."""
    async with speaking(bot.http.port, await a_key(redis_url, "payroll")) as caller:
        asked = [await caller.ask(payload=a_pause(run), run=run, pause="p") for run in ("r-1", "r-2")]
        await until(lambda: all((known := bot.store.recall(each)) and known.is_shown for each in asked))

        third = {"payload": a_pause("r-3"), "run": "r-3", "pause": "p"}
        status, answer = await caller.send("POST", "/interrupts", json=third)

        assert (status, answer["error"]["code"]) == (429, "limits")
        assert "asked more than 2 times in a minute" in answer["error"]["message"]
        assert await caller.ask(payload=a_pause("r-1"), run="r-1", pause="p") == asked[0]
    assert "r-3" not in str(await slack.messages("C0APPROVALS"))
