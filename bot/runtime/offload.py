"""Work beside the event loop's next step: in a thread, because it is slow, or after an acknowledgement. Also says if the loop is late."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from agent_adapter.background import in_background
from bot.domain.errors import SlackError

SMALL = 4_096
"""The most characters of a record or a request that the event loop handles itself. A person does not notice the delay."""
SWITCH_EVERY = 0.001
"""Seconds after which Python switches to a waiting thread. The event loop waits no longer than that."""
LATE = 0.25
"""Seconds. A bot whose event loop takes longer for one turn does not get through a click within a second."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
LARGE = 32_768
"""From this many characters on, a thread for large work is used. It takes up to a second, other work a tenth."""

# One thread of each kind: every further thread would slow the event loop down as much as the first.
_THREADS = {is_large: ThreadPoolExecutor(1, "offload") for is_large in (False, True)}
_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[tuple[str, bool], asyncio.Lock]] = (
    WeakKeyDictionary()
)


class Sent(Protocol):
    """Something that an agent sent, parsed or not."""

    @property
    def agent(self) -> str:
        """The agent that sent it."""

    @property
    def size(self) -> int:
        """How many characters it has."""


@dataclass(frozen=True, slots=True)
class Received:
    """Something that is not parsed yet."""

    agent: str
    size: int


async def offload(sent: Sent, do: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a pure function, in a thread when it can take long. Each agent has one call in a thread at a time.

    Args:
        sent: What the function works on.
        do: The function.
        *args: Its arguments.
        **kwargs: Its named arguments.
    """
    if sent.size <= SMALL:
        return do(*args, **kwargs)
    loop = asyncio.get_running_loop()
    is_large = sent.size > LARGE
    turns = _TURNS.setdefault(loop, WeakValueDictionary())
    turn = turns.get((sent.agent, is_large))
    if turn is None:
        turn = turns[sent.agent, is_large] = asyncio.Lock()
    async with turn:
        return await loop.run_in_executor(_THREADS[is_large], partial(do, *args, **kwargs))


async def blaming(reason: str, due: float | None = None) -> str:
    """Give the reason why Redis did not answer; if this process is late, give that instead.

    `due` is when the time limit ended, by the monotonic clock; left out, now.
    """
    since = time.monotonic() if due is None else due
    await asyncio.sleep(0)
    late = time.monotonic() - since
    itself = f"this process has too much to do: it is {late:.1f} seconds late itself, and Redis may be fine"
    return reason if late < LATE else itself


class Tasks:
    """Background work after an acknowledgement. It is logged, and finished before the process ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in the background."""
        return in_background(work, expected=(SlackError,), among=self._tasks)

    async def drain(self) -> None:
        """Wait for everything that was started."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
