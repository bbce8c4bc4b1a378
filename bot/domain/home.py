"""What the Home tab shows a person: one of four lists, and a page of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.domain.approval import Approval
from bot.domain.waiting import Spot

Section = Literal["waiting", "asked", "decided", "standing"]
"""What waits for the person, what they asked for, what they decided, and the standing approvals that they can revoke."""
SECTIONS: tuple[Section, ...] = ("waiting", "asked", "decided", "standing")
"""The lists of every person."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a person looks at in their lists."""

    section: Section = "waiting"
    after: Spot | None = None
    """Where the page before this one ended, in the list of what waits."""
    first: int = 0
    """How many come before this page, in the other lists."""

    @property
    def is_first(self) -> bool:
        """Whether this is the first page."""
        return self.after is None and self.first == 0


@dataclass(frozen=True, slots=True)
class Row:
    """One request on a page, and which of its actions the row is about."""

    state: Approval
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HomePage:
    """One page of one list."""

    look: Look
    rows: Sequence[Row]
    further: Look | None = None
    """The next page; `None` when this is the last one."""
