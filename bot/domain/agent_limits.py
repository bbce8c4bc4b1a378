"""How much one agent may ask at the same time, so that the others have room. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

What = Literal["pending", "per_minute", "bytes"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each agent that these globs name. `None` means no limit."""

    agents: tuple[str, ...] = ("*",)
    pending: int = 100
    """Interrupts that are open at the same time. An agent that asks in a loop must not bury the questions of people."""
    per_minute: int | None = None
    """Interrupts per minute. After a quiet minute all of them can come at once; then they are spread evenly."""
    bytes: int | None = None
    """Bytes of all open interrupts together, as they are stored."""


def limits_for(limits: Sequence[Limits], agent: str) -> Limits:
    """Give the limits of an agent: the first entry that names it."""
    named = (each for each in limits if any(fnmatchcase(agent, glob) for glob in each.agents))
    return next(named, Limits())
