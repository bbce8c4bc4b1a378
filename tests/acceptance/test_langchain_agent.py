"""The main job: a real LangChain agent asks, people decide in Slack, exactly that runs."""

import asyncio

import pytest

from agent_adapter.integrations.langgraph import run
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    MAIL,
    TURN,
    Office,
    answers_to_model,
)
from tests.support.people import Someone, buttons
from tests.support.scripted_model import says


@pytest.fixture(params=["socket", "http"])
async def bot(request, start_bot, playground):
    """A bot over Socket Mode, and one over signed HTTP."""
    if request.param == "socket":
        return await start_bot()
    bot = await start_bot(SLACK_APP_TOKEN=None)
    playground.deliver_to(f"http://127.0.0.1:{bot.port}/slack/events")
    return bot


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_edit_reject_and_respond_reach_the_agent_exactly(bot, slack, client, mode):
    """Given one turn of four calls, when people edit, reject and answer, then just that runs and is told to the model."""
    office, dana = Office(), Someone(slack, "U0DANA")
    running = asyncio.create_task(
        run(office.agent(TURN, DONE, mode=mode), GO, approvals=client, config=CONFIG)
    )

    card = await dana.card("wants to run")
    form = await dana.opened(card, "edit:0")
    await dana.fill(form, to="b@x.com", body="new text")
    await dana.fill(await dana.opened(card, "reject:1"), reason="Keep the report.")
    await dana.fill(await dana.opened(card, "respond:2"), answer="use staging")
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
    assert buttons(done) == []


BATCH = says(
    ("send_email", MAIL),
    ("send_email", {"to": "b@x.com", "subject": "Second", "body": "two"}),
    ("delete_file", {"path": "report.txt"}),
    ("ask_user", {"question": "Which env?"}),
)
EDITED = {"to": "c@x.com", "subject": "Second", "body": "two"}
NOTE = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your message is the one you "
    "produced, not the one that executed. This was intentional and authorized. Do not re-issue your original call. "
    'Executed instead: send_email with arguments {"to": "c@x.com", "subject": "Second", "body": "two"}.'
    "\n\nTool response:\nsent to c@x.com"
)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_all_four_decisions_in_one_batch(bot, slack, client, mode):
    """Given four calls, when each is decided otherwise, then the tools that ran and the model's messages are exactly these."""
    office, dana = Office(), Someone(slack, "U0DANA")
    agent = office.agent(BATCH, DONE, mode=mode)
    running = asyncio.create_task(run(agent, GO, approvals=client, config=CONFIG))

    card = await dana.card("wants to run")
    await dana.press(card, "approve:0")
    await dana.fill(await dana.opened(card, "edit:1"), to="c@x.com")
    await dana.fill(await dana.opened(card, "reject:2"), reason="Keep it.")
    await dana.fill(await dana.opened(card, "respond:3"), answer="staging")
    said = answers_to_model(await running)

    assert sorted(office.ran, key=str) == sorted([("send_email", MAIL), ("send_email", EDITED)], key=str)
    assert said == {
        "call_1": ("success", "sent to a@x.com"),
        "call_2": ("success", NOTE),
        "call_3": ("error", "User rejected the tool call for `delete_file` with reason: Keep it."),
        "call_4": ("success", "staging"),
    }
