"""XpertAI: an event becomes a card, and its decisions resume the conversation."""

import asyncio
import json

from examples.xpert_events import STREAMED
from tests.acceptance.test_examples import example
from tests.support.pages import run_page


async def test_xpert_conversation_resumes_with_what_was_decided(start_bot, dana, redis_url):
    """Given an event with two calls, when one is edited and one rejected, then XpertAI gets just that in its own words."""
    await start_bot()
    async with example("xpert_events.py", redis_url, "xpert") as agent:
        card = await dana.card("rejected at", within=60)
        await dana.fill(await dana.opened(card, "edit:0"), subject="Invoice 18")
        last = await dana.showing("reject:1")
        await dana.fill(await dana.opened(last, "reject:1"), reason="Keep the drafts.")
        printed, _ = await agent.communicate()

    asking, answer = printed.decode().splitlines()
    assert (asking, agent.returncode) == ("asking in Slack …", 0)
    edited = {"name": "send_email", "args": {"to": "dana@example.com", "subject": "Invoice 18"}}
    decisions = [{"type": "edit", "editedAction": edited}, {"type": "reject", "message": "Keep the drafts."}]
    assert json.loads(answer) == {"decisions": decisions}
    await dana.card("the agent has resumed")


async def test_the_example_of_the_page_runs(start_bot, dana, redis_url):
    """Given the page's program, when everything is approved, then XpertAI is called with that."""
    await start_bot()
    sent = []

    async def resume_conversation(conversation, command):
        sent.append((conversation, command))

    page = await run_page("docs/how-to/use-from-xpert.md", redis_url)
    page.names["resume_conversation"] = resume_conversation
    running = asyncio.ensure_future(page.names["answer"](json.loads(STREAMED), "conversation-1"))
    card = await dana.card("rejected at")
    await dana.press(card, "approve_all:0")
    await running

    answer = {"decisions": [{"type": "approve"}, {"type": "approve"}]}
    assert sent == [("conversation-1", {"resume": answer})]
