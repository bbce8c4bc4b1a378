"""The examples, run as they stand."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.lanes import require_spoonai
from tests.support.redis_users import address_for

EXAMPLES = Path(__file__).parents[2] / "examples"

SENT = "To: dana@example.com\nSubject: Invoice 17\n\nDear Dana,\n\nyour invoice is due.\n\n"


@asynccontextmanager
async def example(
    name: str, redis_url: str, agent: str = "billing"
) -> AsyncIterator[asyncio.subprocess.Process]:
    """An example as a process, run as it says at its top, beside a Redis that a bot uses."""
    environment = {name: value for name, value in os.environ.items() if name != "MODEL"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"examples.{name.removesuffix('.py')}",
        cwd=EXAMPLES.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**environment, "REDIS_URL": address_for(redis_url, "agent", agent)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize(
    ("name", "asks", "typed", "done"),
    [
        ("langgraph_agent.py", "send_email", {}, f"{SENT}That is settled."),
        ("langgraph_raw.py", "Release to production?", {}, "build 17: released"),
        ("deepagents_agent.py", "send_email", {}, "sent to dana@example.com: Invoice 17\nThat is settled."),
        ("langchain_dev_utils_agent.py", "pay", {"amount": "4"}, "paid 4 to Dana\nThat is settled."),
        ("openai_agents.py", "send_email", {}, "To: dana@example.com\nInvoice 17 is due.\n"),
        ("spoon_agent.py", "send_email", {}, f"{SENT}That is settled."),
        ("plain_functions.py", "send_reminder", {}, "To: dana@example.com\nYour invoice 17 is due on 2026-12-01.\n\nsent"),
    ],
)  # fmt: skip
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

    assert printed.decode().startswith(f"asking in Slack …\n{done}")
    assert agent.returncode == 0
