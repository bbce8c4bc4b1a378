"""An agent takes the answer and dies: people and operators see that its run did not go on."""

import pytest

from agent_adapter import Context, Outcome
from tests.acceptance.test_http_api import read
from tests.conftest import an_agent
from tests.support.builders import an_interrupt
from tests.support.http_api import a_key, speaking
from tests.support.people import Someone, words

LAPSED = "the agent did not finish"
ASKED = an_interrupt(context=Context())


@pytest.fixture
async def bot(start_bot):
    return await start_bot()


@pytest.fixture
def dana(slack, bot):
    return Someone(slack, "U0DANA")


async def approved(client, dana):
    """Ask about one action, which is approved."""
    interrupt_id = await client.publish(ASKED)
    await dana.press(await dana.card("billing: send_email"), "approve:0")
    await client.wait(interrupt_id)
    return interrupt_id


async def in_thread(dana, saying):
    """Wait for a reply that says this."""
    return await dana.slack.wait_for_message(
        lambda m: m.get("thread_ts") not in {None, m["ts"]} and saying in m["text"]
    )


async def take(client, interrupt_id):
    """Do what a process does that is killed right after it has taken the answer."""
    await client._records.take(interrupt_id, client._records.new_owner(), 1_000)


@pytest.mark.usefixtures("known_agent")
async def test_card_and_api_say_that_an_agent_took_the_answer_and_died(bot, dana, client, redis_url):
    """Who approved is called; when another process goes on, the card says that, and the call is edited, not repeated."""
    interrupt_id = await approved(client, dana)
    await dana.card("waiting for the agent")
    await take(client, interrupt_id)

    card = await dana.card(LAPSED)

    assert "The call may have run" in words(card["blocks"])
    called = await in_thread(dana, "<@U0DANA> ⚠️ Outcome unknown: send_email")
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        state = await read(caller, interrupt_id)
        assert (state["status"], state["resumed_at"]) == ("decided", None)
        assert state["claim_lapsed_at"] is not None
        async with an_agent(redis_url) as other:
            async with other.resuming(interrupt_id, interrupt=ASKED):
                await dana.card("waiting for the agent")
                assert (await read(caller, interrupt_id))["claim_lapsed_at"] is None
            await dana.card("the agent has resumed")
            await other.report(interrupt_id, 0, Outcome.done("sent"))
        assert (await in_thread(dana, ", done"))["ts"] == called["ts"]
        assert (await read(caller, interrupt_id))["claim_lapsed_at"] is None
