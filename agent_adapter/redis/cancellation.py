"""How often a task was cancelled, so that nobody loses a cancellation on the way to Redis."""

import asyncio


async def cancellations() -> int:
    """Count how often this task was cancelled so far.

    Ctrl-C cancels a task while it runs. Such a cancellation reaches the task where it waits next, and `asyncio.wait_for`
    of Python 3.11 would lose it there. So it is raised here.

    Raises:
        CancelledError: when this task was cancelled and has not waited since.
    """
    task = asyncio.current_task()
    if task is None:
        return 0
    count = task.cancelling()
    if getattr(task, "_must_cancel", False):
        await asyncio.sleep(0)
    return count


def was_cancelled_since(count: int) -> bool:
    """Tell whether this task was cancelled after that many times, whatever became of it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > count
