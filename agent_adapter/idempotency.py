"""Which decided call is running at the moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

Finder: TypeAlias = Callable[[Any], str | None]

_running: ContextVar[str | None] = ContextVar("approval_key", default=None)
_finder: ContextVar[Finder | None] = ContextVar("approval_key_finder", default=None)


def approval_key(context: Any = None) -> str | None:
    """Return an idempotency key for the decided call that runs this tool. It is the same in every attempt.

    When a process is killed inside a tool, nobody knows whether the tool took effect, and the call runs again. Pass the
    key to the service that the tool calls, so that the service can recognise the second attempt:

        payments.create(amount=amount, idempotency_key=approval_key())

    Args:
        context: With the OpenAI Agents SDK, the `ToolContext` that the tool takes as its first parameter.

    Returns:
        `<interrupt id>:<index>`, or `None` when no decided call is running.
    """
    finder = _finder.get()
    return finder(context) if finder and context is not None else _running.get()


def enter(key: str | None) -> None:
    """Set the key for the rest of this context; `None` when no decided call is running."""
    _running.set(key)


@contextmanager
def finding(finder: Finder) -> Iterator[None]:
    """In the body, find the key of a tool by the context that the tool passes."""
    before = _finder.get()
    _finder.set(finder)
    try:
        yield
    finally:
        _finder.set(before)
