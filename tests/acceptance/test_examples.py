"""The examples, run as they stand."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.people import Someone
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


async def test_langgraph_agent_sends_what_was_approved(start_bot, slack, redis_url):
    """Given the example and a bot, when a person approves, then the e-mail is sent."""
    await start_bot()
    dana = Someone(slack, "U0DANA")

    async with example("langgraph_agent.py", redis_url) as agent:
        await dana.press(await dana.card("send_email", within=60), "approve:0")
        printed, _ = await agent.communicate()

    assert printed.decode() == f"asking in Slack …\n{SENT}That is settled.\n"
    assert agent.returncode == 0
