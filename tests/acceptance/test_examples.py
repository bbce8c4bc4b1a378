"""The examples, run as they stand."""

import ast
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_each_example_says_at_its_top_how_it_is_run(path):
    """With one command, which finds the library in a checkout. Only SpoonAI needs another Python than the checkout's."""
    python = "python" if path.stem == "spoon_agent" else ".venv/bin/python"

    assert f"\n    {python} -m examples.{path.stem}\n" in ast.get_docstring(
        ast.parse(path.read_text()), clean=False
    )


@pytest.mark.parametrize(
    ("button", "sent"),
    [
        ("approve:0", SENT),
        ("reject:0", ""),
    ],
)
async def test_langgraph_agent_sends_only_what_was_approved(button, sent, start_bot, slack, redis_url):
    """Given the example and a bot, when a person decides, then the e-mail is sent or it is not."""
    await start_bot()
    dana = Someone(slack, "U0DANA")

    async with example("langgraph_agent.py", redis_url) as agent:
        card = await dana.card("send_email", within=60)
        await dana.press(card, button)
        if button == "reject:0":
            await dana.fill(await slack.wait_for_view(dana.user))
        printed, _ = await agent.communicate()

    assert printed.decode() == f"asking in Slack …\n{sent}That is settled.\n"
    assert agent.returncode == 0
