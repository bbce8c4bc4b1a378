"""Charts as SVG, from numbers. Pure: the same numbers give the same picture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 52, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#555555")
"""They differ for people who do not tell red from green, too."""
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2")
"""Lines differ without their colour."""
FONT = "font-family='system-ui, sans-serif' font-size='12'"
INK, GRID, SHADE = "#222222", "#dddddd", "#eeeeee"
TICKS = 5


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the x axis that has a name, such as an outage."""

    begins: float
    ends: float
    name: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to pixels."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (self._scale(each) for each in (self.low, self.high, value))
        return round(self.start + (self.end - self.start) * (at - low) / ((high - low) or 1.0), 1)

    def ticks(self) -> list[float]:
        """Give round values to write at the axis."""
        if self.is_log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        step = _round_step((self.high - self.low) / TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _scale(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


def lines(
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Points],
    *,
    bands: Sequence[Band] = (),
    ends: Sequence[float] = (),
    is_log_x: bool = False,
) -> str:
    """Draw each series as a line, over the named bands. The x axis has at least these two ends."""
    xs = [*ends, *(x for points in series.values() for x, _ in points)]
    ys = [y for points in series.values() for _, y in points]
    across = Axis(min(xs, default=0.0), max(xs, default=1.0), LEFT, WIDTH - RIGHT, is_log_x)
    up = Axis(0.0, max([*ys, 0.0]) * 1.08 or 1.0, HEIGHT - BOTTOM, TOP)
    drawn = [_line(points, across, up, number) for number, points in enumerate(series.values())]
    return _chart(
        title,
        [
            *(_band(band, across) for band in bands),
            *_grid(up, y_label),
            *_below(across, x_label),
            *drawn,
            *_legend(list(series)),
        ],
    )


def bars(title: str, y_label: str, values: Mapping[str, float]) -> str:
    """Draw one bar for each name."""
    up = Axis(0.0, max([*values.values(), 0.0]) * 1.08 or 1.0, HEIGHT - BOTTOM, TOP)
    room = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    drawn, under = [], HEIGHT - BOTTOM + 12
    for number, (name, value) in enumerate(values.items()):
        x, top = LEFT + room * number, up(value)
        middle = round(x + room / 2, 1)
        drawn += [
            f"<rect x='{x + room * 0.15:.1f}' y='{top}' width='{room * 0.7:.1f}' height='{up(0) - top:.1f}' fill='{COLOURS[0]}'/>",
            f"<text x='{middle}' y='{under}' text-anchor='end' transform='rotate(-35 {middle} {under})' font-size='10'>{escape(name)}</text>",
        ]
    return _chart(title, [*_grid(up, y_label), *drawn])


def _chart(title: str, parts: Sequence[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' {FONT} fill='{INK}'>"
        f"<title>{escape(title)}</title><rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>"
        f"<text x='{LEFT}' y='20' font-size='14' font-weight='600'>{escape(title)}</text>"
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _grid(up: Axis, label: str) -> list[str]:
    found = [f"<text x='{LEFT - 52}' y='{TOP - 12}'>{escape(label)}</text>"]
    for value in up.ticks():
        y = up(value)
        found.append(f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y}' y2='{y}' stroke='{GRID}'/>")
        found.append(f"<text x='{LEFT - 6}' y='{y + 4}' text-anchor='end'>{_number(value)}</text>")
    return found


def _below(across: Axis, label: str) -> list[str]:
    y = HEIGHT - BOTTOM
    name = f"<text x='{WIDTH - RIGHT}' y='{HEIGHT - 8}' text-anchor='end'>{escape(label)}</text>"
    ticks = [
        f"<text x='{across(value)}' y='{y + 16}' text-anchor='middle'>{_number(value)}</text>"
        for value in across.ticks()
    ]
    return [name, *ticks]


def _band(band: Band, across: Axis) -> str:
    begins, ends = (min(max(each, across.low), across.high) for each in (band.begins, band.ends))
    x, until = across(begins), across(ends)
    return (
        f"<rect x='{x}' y='{TOP}' width='{max(1.5, until - x):.1f}' height='{HEIGHT - TOP - BOTTOM}' fill='{SHADE}'/>"
        f"<text x='{x + 3}' y='{TOP + 11}' font-size='9' fill='#666666'>{escape(band.name)}</text>"
    )


def _line(points: Points, across: Axis, up: Axis, number: int) -> str:
    path = " ".join(f"{across(x)},{up(y)}" for x, y in points)
    dash = f" stroke-dasharray='{DASHES[number % len(DASHES)]}'" if DASHES[number % len(DASHES)] else ""
    return f"<polyline points='{path}' fill='none' stroke='{COLOURS[number % len(COLOURS)]}' stroke-width='2'{dash}/>"


def _legend(names: Sequence[str]) -> list[str]:
    found, x = [], float(LEFT + 90)
    for number, name in enumerate(names):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        found.append(
            f"<line x1='{x}' x2='{x + 22}' y1='{TOP - 16}' y2='{TOP - 16}' stroke='{colour}' stroke-width='2' stroke-dasharray='{dash or 'none'}'/>"
            f"<text x='{x + 27}' y='{TOP - 12}'>{escape(name)}</text>"
        )
        x += 46 + 7 * len(name)
    return found


def _round_step(wanted: float) -> float:
    """Give 1, 2 or 5 times a power of ten, at least as large as this."""
    power = 10.0 ** math.floor(math.log10(wanted)) if wanted > 0 else 1.0
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted - 1e-12)


def _number(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} M"
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
