"""Agents in Node, with the real npm packages: they pause, ask over HTTP, and run what people decided."""

import json
import socket
from contextlib import AsyncExitStack

import pytest

from bot.app import running
from tests.conftest import settings_for, until
from tests.support.http_api import a_key
from tests.support.node import build_examples, example
from tests.support.people import words

ASKED = "asking in Slack …"

CUSTOMER = {
    "type": "object",
    "properties": {"customerId": {"type": "string"}, "status": {"type": "string"}},
    "required": ["customerId", "status"],
}
EVENT = {
    "event": "on_interrupt",
    "data": {
        "tasks": [
            {
                "id": "0c6f3f0e-6a51-5bb0-a0cd-6c8b45c9c0a1",
                "name": "Middleware_review_after_model",
                "path": ["__pregel_pull", "Middleware_review_after_model"],
                "interrupts": [
                    {
                        "id": "d5e8b2522f3c86bbdc5989438b46539c",
                        "value": {
                            "actionRequests": [
                                {"name": "send_email", "args": {"to": "a@x.com", "subject": "Hi"}},
                                {
                                    "name": "run_sql",
                                    "args": {"query": "DROP"},
                                    "description": "Review this SQL.",
                                },
                                {"name": "update_customer", "args": {"customerId": "1", "status": "gold"}},
                            ],
                            "reviewConfigs": [
                                {
                                    "actionName": "send_email",
                                    "allowedDecisions": ["approve", "edit", "reject"],
                                },
                                {"actionName": "run_sql", "allowedDecisions": ["approve", "reject"]},
                                {
                                    "actionName": "update_customer",
                                    "allowedDecisions": ["approve", "edit", "reject"],
                                    "argsSchema": CUSTOMER,
                                },
                            ],
                        },
                    }
                ],
            }
        ]
    },
}


@pytest.fixture(scope="module", autouse=True)
def built():
    build_examples()


@pytest.fixture
async def bot(start_bot):
    return await start_bot()


@pytest.fixture
async def agent(bot, redis_url):
    """The LangChain JS agent, which pauses on a batch of three calls."""
    async with example("langchain_agent", port=bot.http.port, key=await a_key(redis_url)) as agent:
        yield agent


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


async def lines(process):
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode().splitlines()


async def test_approved_and_edited_calls_run_as_they_were_decided(agent, dana):
    """Given three calls, when two are approved and one is edited, then just that runs, with numbers as they were."""
    card = await dana.card("if nobody", within=60)
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(card, "edit:1"), amount="89.5")
    await dana.press(await dana.showing("approve:2"), "approve:2")

    assert sorted(await lines(agent)) == sorted(
        [
            ASKED,
            "sent Reminder to dana@example.com",
            "paid 89.5 for invoice 17",
            "deleted old.txt",
            "send_email: sent Reminder to dana@example.com",
            "pay_invoice: paid 89.5 for invoice 17",
            "delete_file: deleted old.txt",
        ]
    )
    await dana.card("the agent has resumed")


async def test_an_agent_waits_through_a_restart_of_the_bot(playground, redis_url, dana, stack):
    """Given a Node agent that waits, when the bot is stopped and another starts in its place, then the agent hears it."""
    port = free_port()
    async with running(settings_for(playground, redis_url, http_port=port)) as first:
        await until(lambda: first.health.ready)
        agent = await stack.enter_async_context(
            example("langchain_agent", port=port, key=await a_key(redis_url))
        )
        card = await dana.card("if nobody", within=60)
    async with running(settings_for(playground, redis_url, http_port=port)) as second:
        await until(lambda: second.health.ready)
        await dana.press(card, "approve_all:0")

        assert "paid 99.5 for invoice 17" in await lines(agent)
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

    assert json.loads(printed) == {
        "action": "resume",
        "conversationId": "conversation-7",
        "target": {"aiMessageId": "message-9"},
        "decision": {
            "type": "confirm",
            "payload": {
                "decisions": [
                    {"type": "approve"},
                    {"type": "reject", "message": "No DROP."},
                    {
                        "type": "edit",
                        "editedAction": {
                            "name": "update_customer",
                            "args": {"customerId": "1", "status": "silver"},
                        },
                    },
                ]
            },
        },
    }
    await dana.card("the agent has resumed")
