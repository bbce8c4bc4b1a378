"""What a person has filled into the form of an edit, kept until they decide. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

Raw = str | list[str] | None
"""What an input holds: a text, several options, or `None` for nothing."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What one person has filled into the form of one call."""

    typed: Mapping[str, Raw] = field(default_factory=dict)
    """What each input held when Slack last sent it. Inputs that were never sent are not in it."""
    chosen: tuple[str, ...] = ()
    """The inputs that the person wants to see, where the form has too many for one view."""

    @property
    def is_empty(self) -> bool:
        return not self.typed and not self.chosen

    def dump(self) -> str:
        """Write it for Redis to keep."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Self:
        """Read it. Text that another version wrote, and that this one cannot read, gives an empty draft."""
        try:
            found: dict[str, Any] = json.loads(text)
            return cls(typed=dict(found["typed"]), chosen=tuple(found["chosen"]))
        except (ValueError, KeyError, TypeError):
            return cls()
