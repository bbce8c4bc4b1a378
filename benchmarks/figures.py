"""A measured figure, what it must be and what it should be, and the table of all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Better = Literal["more", "less"]


@dataclass(frozen=True, slots=True)
class Bound:
    """So many times a floor that was measured beside it, or a fixed number."""

    factor: float
    floor: str = ""
    """Name of the floor; a fixed number has none."""

    def __str__(self) -> str:
        return f"{self.factor:g} x {self.floor}" if self.floor else f"{self.factor:,g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Each round gives one value of ours and one of each floor."""

    figure: str
    unit: str
    better: Better
    must: Bound
    aim: Bound
    ours: Sequence[float]
    floors: dict[str, Sequence[float]]

    @property
    def verdict(self) -> str:
        if not self._meets(self.must):
            return "BELOW MUST"
        return "ok" if self._meets(self.aim) else "below aim"

    def cells(self) -> list[str]:
        floors = " / ".join(f"{name} {_number(median(values))}" for name, values in self.floors.items())
        ratios = " / ".join(f"{self.ratio(name):.2f} {name}" for name in self.floors)
        ours = f"{_number(median(self.ours))} {self.unit}".strip()
        return [self.figure, ours, floors, ratios, str(self.must), str(self.aim), self.verdict]

    def ratio(self, floor: str) -> float:
        """Give ours over this floor: the median over the rounds, each paired with itself."""
        return median(ours / theirs for ours, theirs in zip(self.ours, self.floors[floor], strict=True))

    def _meets(self, bound: Bound) -> bool:
        value = self.ratio(bound.floor) if bound.floor else median(self.ours)
        return value >= bound.factor if self.better == "more" else value <= bound.factor


HEAD = ["figure", "ours", "floor", "ratio", "must", "aim", "verdict"]


def table(rows: Iterable[Row]) -> str:
    """Write the rows as a Markdown table that also reads well in a terminal."""
    cells = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}"
