"""Which decided call is running right now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

Finder: TypeAlias = Callable[[Any], str | None]

_running: ContextVar[str | None] = ContextVar("approval_key", default=None)
_finder: ContextVar[Finder | None] = ContextVar("approval_key_finder", default=None)


def approval_key(context: Any = None) -> str | None:
    """Name the decided call that the tool around this runs for: the same name in every attempt to run that call.

    A process that is killed inside a tool leaves open whether the tool had its effect, and the call is run again. Give
    this name to whatever the tool calls as its idempotency key:

        payments.create(amount=amount, idempotency_key=approval_key())

    Args:
        context: With the OpenAI Agents SDK, the `ToolContext` that the tool takes as its first parameter.

    Returns:
        `<interrupt id>:<index>`, or `None` where no decided call is running.
    """
    finder = _finder.get()
    return finder(context) if finder and context is not None else _running.get()


def enter(key: str | None) -> None:
    """Let the rest of this context run for a decided call, or with `None` for no call."""
    _running.set(key)


@contextmanager
def finding(finder: Finder) -> Iterator[None]:
    """Let the tools that the body runs be told apart by their context."""
    before = _finder.get()
    _finder.set(finder)
    try:
        yield
    finally:
        _finder.set(before)
