"""The main job: a real LangChain agent asks, people decide in Slack, exactly that runs."""

import asyncio

import pytest

from agent_adapter.integrations.langgraph import run
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    TURN,
    Office,
    answers_to_model,
)
from tests.support.people import Someone, buttons


@pytest.fixture(params=["socket", "http"])
async def bot(request, start_bot, playground):
    """A bot over Socket Mode, and one over signed HTTP."""
    if request.param == "socket":
        return await start_bot()
    bot = await start_bot(SLACK_APP_TOKEN=None)
    playground.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
    return bot


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_edit_reject_and_respond_reach_the_agent_exactly(bot, slack, client, mode):
    """Given one turn of four calls, when people edit, reject and answer, then just that runs and is told to the model."""
    office, dana = Office(), Someone(slack, "U0DANA")
    running = asyncio.create_task(
        run(office.agent(TURN, DONE, mode=mode), GO, approvals=client, config=CONFIG)
    )

    card = await dana.card("if nobody")
    form = await dana.opened(card, "edit:0")
    await dana.fill(form, to="b@x.com", body="new text")
    await dana.close()
    await dana.fill(await dana.opened(card, "reject:1"), reason="Keep the report.")
    await dana.close()
    await dana.fill(await dana.opened(card, "respond:2"), Your_answer="use staging")
    result = await running

    assert dict(office.ran)["send_email"] == {"to": "b@x.com", "subject": "Hi", "body": "new text"}
    assert office.names() == ["read_file", "send_email"]
    said = answers_to_model(result)
    assert said["call_1"][0] == "success"
    assert said["call_1"][1].endswith("sent to b@x.com")
    assert "a human reviewer replaced this tool call" in said["call_1"][1]
    assert said["call_3"] == (
        "error",
        "User rejected the tool call for `delete_file` with reason: Keep the report.",
    )
    assert said["call_4"] == ("success", "use staging")
    done = await dana.card("the agent has resumed")
    assert not {"approve:0", "approve:1", "approve_all:0"} & set(buttons(done))
