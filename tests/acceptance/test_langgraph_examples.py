"""The examples of deepagents, raw interrupts and langchain-dev-utils, run as they stand."""

import pytest

from tests.acceptance.test_examples import example
from tests.support.people import Someone

OUTCOMES = [
    (
        "deepagents_agent.py",
        "send_email",
        "approve:0",
        {},
        "sent to dana@example.com: Invoice 17\n",
        "That is settled.",
    ),
    ("langgraph_raw.py", "Release to production?", "approve:0", {}, "", "build 17: released"),
    (
        "langchain_dev_utils_agent.py",
        "pay",
        "edit:0",
        {"amount": "4"},
        "paid 4 to Dana\n",
        "That is settled.",
    ),
]


@pytest.mark.parametrize(("name", "asks", "button", "typed", "done", "last"), OUTCOMES)
async def test_example_does_only_what_was_decided(
    start_bot, slack, redis_url, name, asks, button, typed, done, last
):
    """Given an example and a bot, when a person decides, then exactly that happens."""
    await start_bot()
    dana = Someone(slack, "U0DANA")

    async with example(name, redis_url) as agent:
        card = await dana.card(asks, within=60)
        if typed:
            await dana.fill(await dana.opened(card, button), **typed)
        else:
            await dana.press(card, button)
        printed, _ = await agent.communicate()

    assert printed.decode() == f"asking in Slack …\n{done}{last}\n"
    assert agent.returncode == 0
