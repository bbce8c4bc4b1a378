"""How much one agent may have asked at once, so that it leaves room for the others. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

What = Literal["pending", "per_minute", "bytes"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for each of the agents that these globs name. `None` is no limit."""

    agents: tuple[str, ...] = ("*",)
    pending: int | None = None
    """Interrupts that are open at the same time."""
    per_minute: int | None = None
    """Interrupts asked; so many at once after a quiet minute, then evenly."""
    bytes: int | None = None
    """Of all open interrupts together, as they are stored."""


def limits_for(limits: Sequence[Limits], agent: str) -> Limits | None:
    """Give what holds for an agent: the first entry that names it."""
    named = (each for each in limits if any(fnmatchcase(agent, glob) for glob in each.agents))
    return next(named, None)


def exceeded(limits: Limits, what: What, agent: str, used: int) -> str:
    """Say which limit an interrupt would break, and the cure."""
    match what:
        case "pending":
            return (
                f"agent {agent} has {used:,} open interrupts, and the policy allows {limits.pending:,}: "
                "ask again when some of them are decided, or withdraw some"
            )
        case "per_minute":
            return f"agent {agent} asked more than {limits.per_minute:,} times in a minute, which the policy does not allow: ask again later"
        case "bytes":
            return (
                f"the open interrupts of agent {agent} would take {used:,} bytes, and the policy allows {limits.bytes:,}: "
                "ask again when some of them are decided, or pass references to large content"
            )
