"""How much one agent may ask at the same time, so that the others have room. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from bot.sentences import in_refusal

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


def exceeded(limits: Limits, what: What, agent: str, used: int) -> str:
    """Say which limit an interrupt would break, and the cure."""
    match what:
        case "pending":
            return in_refusal.too_many_open(agent, used, limits.pending)
        case "per_minute":
            return in_refusal.too_many_in_a_minute(agent, limits.per_minute or 0)
        case "bytes":
            return in_refusal.too_many_bytes(agent, used, limits.bytes or 0)
