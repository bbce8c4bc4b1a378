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
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The rows of each list that was changed, in order. A row keeps its number for ever, so what was typed stays with it."""
    first: Mapping[str, int] = field(default_factory=dict)
    """Which row of a long list is the first in sight."""
    made: int = 0
    """How many rows were added."""

    @property
    def is_empty(self) -> bool:
        return not self.typed and not self.rows

    def dump(self) -> str:
        """Write it for Redis to keep."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Self:
        """Read it. Empty text gives an empty draft, as does text that is not a draft."""
        try:
            found: dict[str, Any] = json.loads(text)
            return cls(
                typed=dict(found["typed"]),
                rows={name: tuple(order) for name, order in found["rows"].items()},
                first=dict(found["first"]),
                made=int(found["made"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()
