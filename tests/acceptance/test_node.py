"""Agents in Node, with the real npm packages: they pause, ask over HTTP, and run what people decided."""

import json

import pytest

from tests.support.http_api import a_key
from tests.support.node import build_examples, example
from tests.support.people import words

ASKED = "asking in Slack …"

CUSTOMER = {
    "type": "object",
    "properties": {"customerId": {"type": "string"}, "status": {"type": "string"}},
    "required": ["customerId", "status"],
}
CALLS = (
    ({"name": "send_email", "args": {"to": "a@x.com", "subject": "Hi"}}, {}),
    ({"name": "run_sql", "args": {"query": "DROP"}, "description": "Review this SQL."}, {}),
    ({"name": "update_customer", "args": {"customerId": "1", "status": "gold"}}, {"argsSchema": CUSTOMER}),
)
DECISIONS = ["approve", "edit", "reject"]
PAUSE = {
    "actionRequests": [call for call, _ in CALLS],
    "reviewConfigs": [
        {"actionName": call["name"], "allowedDecisions": DECISIONS, **more} for call, more in CALLS
    ],
}
NODE = "Middleware_review_after_model"
TASK = {"id": "0c6f3f0e", "name": NODE, "path": ["__pregel_pull", NODE]}
EVENT = {
    "event": "on_interrupt",
    "data": {"tasks": [{**TASK, "interrupts": [{"id": "d5e8b2522f3c86bb", "value": PAUSE}]}]},
}


@pytest.fixture(scope="module", autouse=True)
def built():
    build_examples()


async def lines(process):
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode().splitlines()


async def test_approved_and_edited_calls_run_as_they_were_decided(bot, redis_url, dana):
    """Two of three calls of LangChain JS are approved and one is edited: just that runs, with numbers as they were."""
    async with example("langchain_agent", port=bot.http.port, key=await a_key(redis_url)) as agent:
        card = await dana.card("if nobody", within=60)
        await dana.press_one(card, "approve:0")
        await dana.fill(await dana.opened(card, "edit:1"), amount="89.5")
        await dana.press(await dana.showing("approve:2"), "approve:2")
        printed = await lines(agent)

    ran = ["sent Reminder to dana@example.com", "paid 89.5 for invoice 17", "deleted old.txt"]
    tools = ("send_email", "pay_invoice", "delete_file")
    told = [f"{tool}: {said}" for tool, said in zip(tools, ran, strict=True)]
    assert sorted(printed) == sorted([ASKED, *ran, *told])
    await dana.card("the agent has resumed")


async def test_xperts_event_becomes_the_request_that_resumes(bot, dana, redis_url, tmp_path):
    """Given XpertAI's event, when each call is decided otherwise, then its resume has each decision, by index."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps(EVENT))
    key = await a_key(redis_url, "crm")
    async with example(
        "xpert_agent", str(event), "conversation-7", "message-9", port=bot.http.port, key=key
    ) as xpert:
        card = await dana.card("if nobody", within=60)
        assert "no other call of this batch" not in words(card["blocks"])
        await dana.press_one(card, "approve:0")
        await dana.fill(await dana.opened(card, "reject:1"), reason="No DROP.")
        await dana.close()
        await dana.fill(await dana.opened(await dana.showing("edit:2"), "edit:2"), status="silver")
        (printed,) = await lines(xpert)

    decisions = [
        {"type": "approve"},
        {"type": "reject", "message": "No DROP."},
        {
            "type": "edit",
            "editedAction": {"name": "update_customer", "args": {"customerId": "1", "status": "silver"}},
        },
    ]
    assert json.loads(printed) == {
        "action": "resume",
        "conversationId": "conversation-7",
        "target": {"aiMessageId": "message-9"},
        "decision": {"type": "confirm", "payload": {"decisions": decisions}},
    }
    await dana.card("the agent has resumed")
