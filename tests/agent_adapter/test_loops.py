"""Loops go on after errors that nobody expected, give up after a few, and say whether they make progress."""

import asyncio
import logging

import pytest

from agent_adapter import loops
from agent_adapter.errors import LoopBrokenError
from agent_adapter.loops import FEW, Loop, Loops, supervise
from agent_adapter.redis.pool import end_task
from tests.conftest import until


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Loops start again at once."""
    monkeypatch.setattr(loops, "FIRST_PAUSE", 0.001)


class Body:
    """A loop that fails in its first rounds, and is then at work until it is cancelled."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.at_work = asyncio.Event()

    async def __call__(self, loop):
        if self.errors:
            raise self.errors.pop(0)
        loop.beat()
        self.at_work.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    "error", [RuntimeError("closed"), KeyError("id"), asyncio.CancelledError()], ids=repr
)
async def test_a_loop_goes_on_after_what_nobody_expected(error, caplog):
    """The error is in the log and is counted; a cancellation that was meant for something else is one, too."""
    body, kept = Body(error, error), Loops()
    task = kept.start("drawing", body, within=5)
    await asyncio.wait_for(body.at_work.wait(), 60)
    [loop] = kept

    assert (loop.failures, loop.trouble) == (2, "")
    assert [record.levelno for record in caplog.records if record.getMessage() == "loop.failed"] == [
        logging.ERROR
    ] * 2
    await end_task(task)
    assert list(kept) == []


async def test_a_loop_that_keeps_failing_is_given_up_with_a_sentence():
    """It names the loop and the kind of error, and none of the error's words: they may quote an agent."""
    kept = Loops()
    kept.start("drawing", Body(*[ValueError("a secret argument")] * FEW), within=5)

    with pytest.raises(LoopBrokenError) as caught:
        await asyncio.wait_for(kept.until_broken(), 60)

    assert str(caught.value).startswith(
        "the loop 'drawing' failed 5 times in a row, at last with ValueError: the log"
    )
    assert "secret" not in str(caught.value)


async def test_a_loop_that_starts_later_is_watched_too():
    """Whoever waits hears of it as well, while the loops from before go on."""
    kept, body = Loops(), Body()
    kept.start("drawing", body, within=5)
    waiting = asyncio.create_task(kept.until_broken())
    await body.at_work.wait()

    kept.start("policy", Body(FileNotFoundError("policy.yaml")), within=5, fatal=(OSError,))

    with pytest.raises(FileNotFoundError, match=r"policy\.yaml"):
        await asyncio.wait_for(waiting, 60)


async def test_errors_that_are_long_past_do_not_count(monkeypatch):
    """A loop that fails once in a while is never given up."""
    monkeypatch.setattr(loops, "FORGOTTEN_AFTER", 0.0)
    body = Body(*[ValueError()] * 3 * FEW)
    running = asyncio.create_task(supervise(Loop("drawing", within=5), body))

    await asyncio.wait_for(body.at_work.wait(), 60)
    await end_task(running)


async def test_a_loop_without_progress_is_overdue(monkeypatch):
    """It says for how long nothing has happened; a round that came to its end makes that good."""
    monkeypatch.setattr(loops, "SHORTEST_PATIENCE", 0.0)
    loop = Loop("drawing", within=0.01)
    await until(lambda: loop.trouble)
    assert loop.trouble.startswith("no progress for 0 seconds")

    loop.beat(within=60)
    assert loop.trouble == ""

    loop.hinder("Redis is away")
    assert loop.trouble == "Redis is away"


def test_the_log_says_less_and_less_often_what_fails_again(caplog):
    """The same sentence at the 1st, 2nd, 4th and 8th time, another one at once, and once that it works again."""
    caplog.set_level(logging.INFO)
    loop = Loop("drawing", within=5)
    for reason in [*["Redis is away"] * 9, "Redis is loading"]:
        loop.hinder(reason)
    loop.beat()
    loop.beat()

    away, loading = "loop.hindered: drawing: Redis is away", "loop.hindered: drawing: Redis is loading"
    said = [(record.getMessage(), record.failures) for record in caplog.records]
    assert said == [*[(away, n) for n in (1, 2, 4, 8)], (loading, 1), ("loop.goes_on: drawing", 10)]
