"""One line of `doctor`."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Verdict: TypeAlias = Literal["ok", "note", "warn", "fail"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: Verdict
    """`note`: it cannot be checked, so somebody has to look."""
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.verdict:<5} {self.subject}: {self.sentence}"
