"""Beside the loop: what takes long with something that an agent sent, so that nobody else waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

SMALL = 4_096
"""Characters of a record, or of a request, that are dealt with on the loop: whatever they are, it takes less than what a person notices."""
SWITCH_EVERY = 0.001
"""Seconds for which Python lets a thread run while another one wants to: the loop waits for no longer."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
LARGE = 32_768
"""Characters of what is dealt with in a thread of its own: it takes up to a second, and the others a tenth."""

# One thread of each: of more, each would take the loop's turn as often.
_THREADS = {is_large: ThreadPoolExecutor(1, "aside") for is_large in (False, True)}
_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[tuple[str, bool], asyncio.Lock]] = (
    WeakKeyDictionary()
)


class Sent(Protocol):
    """Something that an agent sent."""

    @property
    def agent(self) -> str:
        """Who."""

    @property
    def size(self) -> int:
        """Its characters."""


@dataclass(frozen=True, slots=True)
class Received:
    """Something that was not read yet."""

    agent: str
    size: int


async def aside(sent: Sent, do: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Do something pure, in a thread where it may take long. Each agent has one such thing in the queue at a time.

    Args:
        sent: What it is done with.
        do: What is done.
        *args: Its arguments.
        **kwargs: Likewise.
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
        return await loop.run_in_executor(_THREADS[is_large], lambda: do(*args, **kwargs))
