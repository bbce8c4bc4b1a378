"""Work beside the caller: whatever ends it is in the log, and Python never has to say that nobody looked."""

import asyncio
import logging
from pathlib import Path

import pytest

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError
from tests.conftest import an_agent, forgotten

ROOT = Path(__file__).parents[2]


def ours(caplog):
    """Give what this module logged. Python may complain meanwhile of what an earlier test left."""
    return [record for record in caplog.records if record.name == "agent_adapter.background"]


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (ZeroDivisionError("a mistake"), [(logging.ERROR, None)]),
        (AgentAdapterError("the server is gone"), [(logging.WARNING, "the server is gone")]),
        (asyncio.CancelledError(), []),
    ],
    ids=["of nobody's", "of ours", "cancelled"],
)
async def test_what_ends_a_task_is_in_the_log(unnoticed, caplog, error, lines):
    """With its name and its traceback; an error of ours with its sentence. Whoever cancels knows."""

    async def broken() -> None:
        raise error

    in_background(broken(), name="counting")
    await forgotten()

    found = ours(caplog)
    assert [(record.levelno, getattr(record, "reason", None)) for record in found] == lines
    assert all(record.task == "counting" for record in found)
    assert ("ZeroDivisionError: a mistake" in caplog.text) is isinstance(error, ZeroDivisionError)
    assert unnoticed == []


async def test_a_watch_that_is_open_while_the_client_closes_leaves_no_error_behind(redis_url, unnoticed):
    async with an_agent(redis_url) as client:
        watch = client._replies.watch("billing.x")
    del watch
    await forgotten()

    assert unnoticed == []


def test_every_task_is_begun_where_its_end_is_noticed():
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("agent_adapter", "bot")
        for path in (ROOT / folder).rglob("*.py")
        if "playground" not in path.parts
        and any(word in path.read_text() for word in ("create_task(", "ensure_future("))
    ]

    assert found == ["agent_adapter/background.py"]
