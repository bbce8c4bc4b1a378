"""One line of `doctor`."""

from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["ok", "note", "warn", "fail"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""`note`: it cannot be checked, so somebody has to look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: Verdict
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.verdict:<5} {self.subject}: {self.sentence}"
