"""Beside the loop: what is large is dealt with in a thread, in turn between agents; what is small at once."""

import asyncio
import threading

import pytest

from bot.runtime.offload import LARGE, SMALL, Received, offload


async def test_only_large_work_runs_in_a_thread():
    """A small card is drawn where it is asked for: a thread costs more than it."""
    here = threading.get_ident()

    assert await offload(Received("billing", SMALL), threading.get_ident) == here
    assert await offload(Received("billing", SMALL + 1), threading.get_ident) != here


async def test_an_error_comes_back():
    """As if it had happened here."""
    with pytest.raises(ZeroDivisionError):
        await offload(Received("billing", SMALL + 1), lambda: 1 // 0)


async def test_one_agent_waits_for_one_thing_of_another_at_most():
    """However many large cards an agent has: they queue behind each other, not before everybody else."""
    order: list[str] = []
    hold = threading.Event()

    def draw(name: str) -> None:
        assert hold.wait(5)
        order.append(name)

    tasks = [
        asyncio.create_task(offload(Received("flood", LARGE + 1), draw, f"flood {number}"))
        for number in range(5)
    ]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(offload(Received("quiet", LARGE + 1), draw, "quiet")))
    await asyncio.sleep(0.05)
    hold.set()
    await asyncio.gather(*tasks)

    assert order == ["flood 0", "quiet", "flood 1", "flood 2", "flood 3", "flood 4"]


async def test_large_work_does_not_wait_for_very_large_work():
    """A card of some pages is drawn while another agent's two hundred kilobytes are."""
    hold = threading.Event()
    long = asyncio.create_task(offload(Received("flood", LARGE + 1), hold.wait, 5))

    assert await offload(Received("quiet", SMALL + 1), lambda: "drawn") == "drawn"
    assert not long.done()
    hold.set()
    assert await long
