"""How a card ends, by integration, when the approved tool returns, raises, is killed with its process, or is never reached."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from bot.jobs import deadlines
from bot.sentences import on_card
from tests.support.endings_agent import RUNS
from tests.support.lanes import require_spoonai
from tests.support.people import words
from tests.support.redis_users import address_for

ROOT = Path(__file__).parents[2]

DONE, FAILED = ", done", "Failed: pay"
CUT_OFF, UNTAKEN, RESUMED = on_card.LAPSED, "Not started", on_card.RESUMED
TOOL = (DONE, FAILED, CUT_OFF, UNTAKEN)
"""Where our code runs the tool, each ending is told."""
ENDINGS = {
    **dict.fromkeys(RUNS, TOOL),
    # The program runs what it wants after this, and says nothing.
    "review, and nothing more": (RESUMED, RESUMED, RESUMED, UNTAKEN),
    # Nobody knows what the node does with the answer. An error in it ends the run.
    "a question of a node": (RESUMED, on_card.STALLED, CUT_OFF, UNTAKEN),
}
EACH_DAY = {"a plain function", "review, and nothing more", "LangGraph", "a question of a node", "the OpenAI Agents SDK",
            "SpoonAI", "a worker of LangGraph"}  # fmt: skip


@pytest.fixture(autouse=True)
async def bot(start_bot, monkeypatch):
    monkeypatch.setattr(deadlines, "STALLED_AFTER", timedelta(seconds=1))
    return await start_bot(sweep_seconds=0.2)


async def approved(dana, number):
    """Approve the call with this number."""
    card = await dana.slack.wait_for_message(
        lambda m: m.get("blocks") and f"call {number}" in words(m["blocks"]), as_user=dana.user, within=90
    )
    await dana.press(card, "approve:0")


async def ending(dana, number, told):
    """Wait until the title of the card of this call, or its last line, says this, and give the title."""
    card = await dana.slack.wait_for_message(
        lambda m: (
            m.get("blocks")
            and f"call {number}" in words(m["blocks"])
            and told in words([m["blocks"][0], m["blocks"][-1]])
        ),
        as_user=dana.user,
        within=90,
    )
    return card["blocks"][0]["text"]["text"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "integration",
    [pytest.param(name, marks=() if name in EACH_DAY else pytest.mark.nightly) for name in ENDINGS],
)
async def test_a_card_ends_with_what_became_of_the_tool(dana, redis_url, integration):
    """It never says *done* of a call whose process was killed, and never waits for such a process for ever."""
    if integration == "SpoonAI":
        require_spoonai()
    returns, raises, dies, stays = ENDINGS[integration]
    command = ["-m", "tests.support.endings_agent", integration]
    addresses = [address_for(redis_url, role, "billing") for role in ("agent", "worker")]
    known = {
        name: os.environ[name]
        for name in ("PATH", "ASSENT_RING", "ASSENT_STATE_KEY", "PYTHON_DOTENV_DISABLED")
        if name in os.environ
    }
    process = await asyncio.create_subprocess_exec(sys.executable, *command, *addresses, cwd=ROOT, env=known)
    try:
        titles = []
        for number, told in ((1, returns), (2, raises)):
            await approved(dana, number)
            titles.append(await ending(dana, number, told))
        await approved(dana, 3)
        assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    finally:
        if process.returncode is None:
            process.kill()
    await approved(dana, 4)
    for number, told in ((3, dies), (4, stays)):
        titles.append(await ending(dana, number, told))

    marks = {DONE: "✅", FAILED: "❌", RESUMED: "Approved"}
    assert [title.partition(" ")[0] for title in titles] == [
        marks.get(told, "⚠️") for told in (returns, raises, dies, stays)
    ]
