"""Work beside the caller: whatever ends it is in the log, and Python never has to say that nobody looked."""

import asyncio
import logging
from pathlib import Path

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError
from tests.conftest import an_agent, forgotten

ROOT = Path(__file__).parents[2]


def ours(caplog):
    """Give what this module logged. Python may complain meanwhile of what an earlier test left."""
    return [record for record in caplog.records if record.name == "agent_adapter.background"]


async def test_an_error_that_nobody_listed_is_logged_with_its_place(unnoticed, caplog):
    """An operator finds the traceback and the name of what ended."""

    async def broken() -> None:
        raise ZeroDivisionError("a mistake")

    in_background(broken(), name="counting")
    await forgotten()

    [record] = ours(caplog)
    assert (record.levelno, record.task) == (logging.ERROR, "counting")
    assert "ZeroDivisionError: a mistake" in caplog.text
    assert unnoticed == []


async def test_an_error_of_ours_is_logged_as_its_sentence(unnoticed, caplog):
    """The sentence says all, so it is a warning without a traceback."""

    async def gone() -> None:
        raise AgentAdapterError("the server is gone")

    in_background(gone(), name="waiting")
    await forgotten()

    [record] = ours(caplog)
    assert (record.levelno, record.reason) == (logging.WARNING, "the server is gone")
    assert unnoticed == []


async def test_what_is_cancelled_is_not_worth_a_line(unnoticed, caplog):
    """Whoever cancels knows."""
    task = in_background(asyncio.sleep(10), name="sleeping")
    await asyncio.sleep(0)
    task.cancel()
    await forgotten()

    assert ours(caplog) == []
    assert unnoticed == []


async def test_a_watch_that_is_open_while_the_client_closes_leaves_no_error_behind(redis_url, unnoticed):
    """A waiter that never looks again is not complained about."""
    async with an_agent(redis_url) as client:
        watch = client._replies.watch("billing.x")
    del watch
    await forgotten()

    assert unnoticed == []


def test_every_task_is_begun_where_its_end_is_noticed():
    """Nowhere else is a task created."""
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("agent_adapter", "bot")
        for path in (ROOT / folder).rglob("*.py")
        if "playground" not in path.parts
        and any(word in path.read_text() for word in ("create_task(", "ensure_future("))
    ]

    assert found == ["agent_adapter/background.py"]
