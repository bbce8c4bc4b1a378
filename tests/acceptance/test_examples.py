"""The examples in Python and for Node, run as they stand."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from examples.xpert_events import STREAMED
from tests.support.commands import program
from tests.support.http_api import a_key
from tests.support.lanes import require_spoonai
from tests.support.node import build_examples
from tests.support.node import example as node_example
from tests.support.pages import run_page
from tests.support.redis_users import address_for

EXAMPLES = Path(__file__).parents[2] / "examples"

SENT = "To: dana@example.com\nSubject: Invoice 17\n\nDear Dana,\n\nyour invoice is due.\n\n"


def example(name: str, redis_url: str, agent: str = "billing") -> AbstractAsyncContextManager[Process]:
    """An example as a process, run as it says at its top, beside a Redis that a bot uses."""
    environment = {name: value for name, value in os.environ.items() if name != "MODEL"}
    return program(
        sys.executable, "-m", f"examples.{name.removesuffix('.py')}", cwd=EXAMPLES.parent,
        env={**environment, "REDIS_URL": address_for(redis_url, "agent", agent)},
    )  # fmt: skip


RUN = (
    ("langgraph_agent.py", "send_email", {}, f"{SENT}That is settled."),
    ("langgraph_raw.py", "Release to production?", {}, "build 17: released"),
    ("deepagents_agent.py", "send_email", {}, "sent to dana@example.com: Invoice 17\nThat is settled."),
    ("langchain_dev_utils_agent.py", "pay", {"amount": "4"}, "paid 4 to Dana\nThat is settled."),
    ("openai_agents.py", "send_email", {}, "To: dana@example.com\nInvoice 17 is due.\n"),
    ("spoon_agent.py", "send_email", {}, f"{SENT}That is settled."),
    ("plain_functions.py", "send_reminder", {}, "To: dana@example.com\nYour invoice 17 is due on 2026-12-01.\n\nsent"),
)  # fmt: skip
BY_NIGHT = {"langgraph_raw.py", "deepagents_agent.py", "langchain_dev_utils_agent.py"}


@pytest.mark.parametrize(
    ("name", "asks", "typed", "done"),
    [
        pytest.param(*each, marks=pytest.mark.nightly if each[0] in BY_NIGHT else (), id=each[0])
        for each in RUN
    ],
)
async def test_an_example_does_what_was_decided(start_bot, dana, redis_url, name, asks, typed, done):
    """Given an example and a bot, when a person approves or edits, then exactly that happens."""
    if name == "spoon_agent.py":
        require_spoonai()
    await start_bot()
    async with example(name, redis_url) as agent:
        card = await dana.card(asks, within=60)
        if typed:
            await dana.fill(await dana.opened(card, "edit:0"), **typed)
        else:
            await dana.press(card, "approve:0")
        printed, _ = await agent.communicate()

    assert f"asking in Slack …\n{done}" in printed.decode()
    assert agent.returncode == 0


@pytest.fixture(scope="session")
def node_examples():
    build_examples()


async def decides(dana):
    """Edit the mail that XpertAI asks about, and reject the other call."""
    card = await dana.card("rejected at", within=60)
    await dana.fill(await dana.opened(card, "edit:0"), subject="Invoice 18")
    await dana.fill(await dana.opened(await dana.showing("reject:1"), "reject:1"), reason="Keep the drafts.")


EDITED = {"name": "send_email", "args": {"to": "dana@example.com", "subject": "Invoice 18"}}
DECIDED = {
    "decisions": [{"type": "edit", "editedAction": EDITED}, {"type": "reject", "message": "Keep the drafts."}]
}


@pytest.mark.usefixtures("bot")
async def test_an_event_of_xpertai_resumes_its_conversation_with_what_was_decided(dana, redis_url):
    """In its own words, by index."""
    async with example("xpert_events.py", redis_url, "xpert") as agent:
        await decides(dana)
        asking, answer = (await agent.communicate())[0].decode().splitlines()

    assert (asking, json.loads(answer)) == ("asking in Slack …", DECIDED)
    await dana.card("the agent has resumed")


@pytest.mark.usefixtures("node_examples")
async def test_the_same_event_becomes_the_request_that_resumes_in_node(bot, dana, redis_url, tmp_path):
    event = tmp_path / "event.json"
    event.write_text(STREAMED)
    given, key = (str(event), "conversation-7", "message-9"), await a_key(redis_url, "crm")
    async with node_example("xpert_agent", *given, port=bot.http.port, key=key) as agent:
        await decides(dana)
        printed, _ = await agent.communicate()

    assert json.loads(printed) == {
        "action": "resume",
        "conversationId": "conversation-7",
        "target": {"aiMessageId": "message-9"},
        "decision": {"type": "confirm", "payload": DECIDED},
    }


@pytest.mark.usefixtures("node_examples")
async def test_calls_of_langchain_js_run_as_they_were_decided(bot, redis_url, dana):
    """Two of three are approved and one is edited, with numbers as they were."""
    key = await a_key(redis_url)
    async with node_example("langchain_agent", port=bot.http.port, key=key) as agent:
        card = await dana.card("if nobody", within=60)
        await dana.press_one(card, "approve:0")
        await dana.fill(await dana.opened(card, "edit:1"), amount="89.5")
        await dana.press(await dana.showing("approve:2"), "approve:2")
        printed = (await agent.communicate())[0].decode().splitlines()

    ran = ["sent Reminder to dana@example.com", "paid 89.5 for invoice 17", "deleted old.txt"]
    tools = ("send_email", "pay_invoice", "delete_file")
    told = [f"{tool}: {said}" for tool, said in zip(tools, ran, strict=True)]
    assert sorted(printed) == sorted(["asking in Slack …", *ran, *told])


@pytest.mark.usefixtures("node_examples")
async def test_calls_of_the_ai_sdk_run_as_they_were_decided(bot, redis_url, dana):
    """One of two is edited, and the other one approved."""
    key = await a_key(redis_url)
    async with node_example("ai_sdk_agent", port=bot.http.port, key=key) as agent:
        card = await dana.card("if nobody", within=60)
        await dana.press_one(card, "approve:1")
        await dana.fill(await dana.opened(await dana.showing("edit:0"), "edit:0"), amount="89.5")
        printed = (await agent.communicate())[0].decode().splitlines()

    assert printed == ["asking in Slack …", "paid 89.5 for invoice 17", "deleted old.txt", "That is settled."]


@pytest.mark.usefixtures("bot")
async def test_the_program_of_the_page_about_xpertai_runs(dana, redis_url):
    sent = []

    async def resume_conversation(conversation, command):
        sent.append((conversation, command))

    page = await run_page("docs/how-to/use-from-xpert.md", redis_url)
    page.names["resume_conversation"] = resume_conversation
    running = asyncio.ensure_future(page.names["answer"](json.loads(STREAMED), "conversation-1"))
    await dana.press(await dana.card("rejected at"), "approve_all:0")
    await running

    answer = {"decisions": [{"type": "approve"}, {"type": "approve"}]}
    assert sent == [("conversation-1", {"resume": answer})]
