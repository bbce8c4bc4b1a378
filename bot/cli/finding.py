"""One line of `doctor`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: Literal["ok", "note", "warn", "fail"]
    """`note`: it cannot be checked, so somebody has to look."""
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.verdict:<5} {self.subject}: {self.sentence}"
