"""Calls of one tool as a table of text: a line for each call, and what the calls have in common once.

Every value can be read in one way only. A text stands without quotes where it is plain words, and nothing else is
written like them. Columns are at least two spaces apart, and no text without quotes has two spaces.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.action import Action
from bot.domain.masking import Unshown, has_unshown
from bot.rendering.arguments import Argument, arguments_of, is_bare
from bot.sentences import in_text, on_card
from bot.text.literal import key_text, runs_right_to_left, visible

WIDTH = 38
"""The columns of a line. A phone of 375 pixels shows as many without breaking it."""
_LONGEST = 72
"""The most characters of a name or a value. One that is longer than a line has a line of its own."""
_GAP = "  "
_USUAL, _FEWEST_USUAL = 0.75, 4
"""The share of the rows that makes a value the usual one, and from how many rows on."""
MOST_ODD = 3
"""How many rows that are not like the others are named by what they are about."""

# What a phone may break into lines: words that begin with a letter. Within these, browsers break before no number.
_BROKEN = re.compile(r'"?W(?: W)*"?'.replace("W", r"\(?[^\W\d_][\w.,@'&()/+-]{0,30}[!?]?"))
_NAME = 30
_REASON = 200
"""The most characters of what an agent says about a row."""
_NONE: Mapping[int, Any] = {}
_LEAD = 3
"""The most columns that the number of a row takes."""


@dataclass(frozen=True, slots=True)
class Field:
    """An argument of a call: as a row has it, and as a card of one call draws it."""

    cell: str | None
    """`None`: no row can hold it. It is nested, long, of several lines, runs from right to left, or a phone would break it into
    what looks like something else."""
    whole: Argument

    @property
    def in_row(self) -> str:
        return in_text.BELOW if self.cell is None else self.cell


@dataclass(frozen=True, slots=True)
class Table:
    """Calls of one tool, their values as they are written."""

    rows: Mapping[int, Mapping[str, Field]]
    """By the number of the call: its arguments."""
    columns: tuple[str, ...]
    """The arguments that have a column."""
    apart: tuple[str, ...]
    """The arguments that differ, and that no row can hold."""
    usual: Mapping[str, Field]
    """The values that a row has unless it names another one."""
    behind: Mapping[str, int]
    """The columns of numbers: for how many characters each has room from the decimal point on."""

    @property
    def has_exceptions(self) -> bool:
        return any(row.get(name) != field for row in self.rows.values() for name, field in self.usual.items())

    @property
    def same(self) -> list[Argument]:
        """The usual values that no row can hold."""
        return [field.whole for field in self.usual.values() if field.cell is None]

    @property
    def below(self) -> list[Argument]:
        """The other values that no row can hold. Their names begin with the number of the row."""
        return [
            field.whole._replace(name=f"{number}. {name}")
            for number, row in self.rows.items()
            for name, field in row.items()
            if field.cell is None and self.usual.get(name) != field
        ]

    def cell(self, number: int, name: str) -> str:
        """Write what a row has in a column. The decimal points of a column stand below each other."""
        field = self.rows[number].get(name)
        text = field.in_row if field else in_text.LEFT_OUT
        return text + " " * (self.behind.get(name, 0) - len(_from_point(text)))

    def named(self, number: int) -> list[str]:
        """Write what a row has and most others do not, and what it does not have."""
        row = self.rows[number]
        elsewhere = {*self.columns, *self.apart}
        own = [
            f"{name}: {field.in_row}"
            for name, field in row.items()
            if name not in elsewhere and self.usual.get(name) != field
        ]
        absent = [name for name in (*self.usual, *self.apart) if name not in row]
        return [*own, *(f"{name}: {in_text.LEFT_OUT}" for name in absent)]

    def about(self, number: int) -> str:
        """Write what a row is about: its value in the first column. Empty where it has none to show."""
        field = self.rows[number].get(self.columns[0]) if self.columns else None
        return field.cell or "" if field and field.whole.is_shown else ""


def table_of(calls: Sequence[Action]) -> Table:
    shown = {call.number: call.shown(on_card=True) for call in calls}
    rows = {number: _fields(args) for number, args in shown.items()}
    numbers: dict[str, bool] = {}
    unshown: set[str] = set()
    for args in shown.values():
        for name, value in args.items():
            numbers[key_text(name)] = numbers.get(key_text(name), True) and type(value) in {int, float}
            unshown |= {key_text(name)} if has_unshown(value) else set()
    given = (name for row in rows.values() for name in row)
    columns, apart = list[str](), list[str]()
    usual: dict[str, Field] = {}
    # First come those of the headline, then those of the schema.
    properties = (calls[0].config.args_schema or {}).get("properties")
    leading = [*calls[0].headline, *(properties if isinstance(properties, dict) else ())]
    for name in dict.fromkeys([*map(key_text, leading), *given]):
        found = [row.get(name) for row in rows.values()]
        # Two masked values look alike, and may differ.
        is_usual, field = (False, None) if name in unshown else _usual(found)
        if is_usual:
            usual |= {name: field} if field else {}
        elif any(field and field.cell for field in found):
            columns.append(name)
        elif any(found):
            apart.append(name)
    behind = {}
    for name in filter(numbers.get, columns):
        texts = [field.in_row for row in rows.values() if (field := row.get(name))]
        # Beside a number with an exponent, a point says nothing about size.
        has_exponent = any("e" in text for text in texts)
        behind[name] = 0 if has_exponent else max(len(_from_point(text)) for text in texts)
    return Table(rows, tuple(columns), tuple(apart), usual, behind)


def _fields(args: Mapping[str, Any]) -> dict[str, Field]:
    fields = {}
    for whole, value in zip(arguments_of(dict(args)), args.values(), strict=True):
        text = cell(value)
        is_held = text and _has_room(text) and _breaks_plainly(whole.name, text)
        fields[whole.name] = Field(text if is_held else None, whole)
    return fields


def _from_point(number: str) -> str:
    _, point, digits = number.partition(".")
    return point + digits


def has_plain_names(table: Table) -> bool:
    """Tell whether every row can name each argument, and no name looks like something else on a phone."""
    names = {name for row in table.rows.values() for name in row}
    return all(_has_room(name) and _breaks_plainly(name, in_text.LEFT_OUT) for name in names)


def _breaks_plainly(name: str, text: str) -> bool:
    if columns_of(f"{name}: {text}") <= WIDTH - _LEAD:
        return True
    # Between wide letters, a line may break anywhere.
    is_narrow = columns_of(text) == len(text)
    return is_narrow and bool(_BROKEN.fullmatch(text)) and len(name) <= _NAME and " " not in name


def cell(value: Any) -> str | None:
    """Write a value so that it reads as itself only; `None` where it does not fit in a row."""
    if isinstance(value, Unshown):
        return value.says
    if isinstance(value, str):
        # A quote inside is spelled out, so that the text ends where its quotes end.
        quoted = '"' + visible(value).replace('"', "\\u{22}") + '"'
        return None if "\n" in value else value if is_bare(value) else quoted
    return encode(value) if not value or not isinstance(value, dict | list) else None


def _has_room(text: str) -> bool:
    # Letters that run from right to left would take the next column along.
    return len(text) <= _LONGEST and not runs_right_to_left(text)


def _usual(found: Sequence[Field | None]) -> tuple[bool, Field | None]:
    """Say whether most rows have the same, and what: a value, or nothing."""
    (field, count), *_ = Counter(found).most_common(1)
    share = count / len(found)
    return share == 1 or (share >= _USUAL and len(found) >= _FEWEST_USUAL), field


def same_lines(table: Table) -> list[str]:
    """Write the usual values that a row can hold, and which rows have them."""
    usual = [f"{name}: {field.cell}" for name, field in table.usual.items() if field.cell]
    if not (usual or table.columns or table.usual or table.apart):
        usual = [in_text.NO_ARGUMENTS]
    which = on_card.OTHER_ROWS if table.has_exceptions else on_card.in_all(len(table.rows))
    return list(_packed([*usual, which], "")) if usual else []


def row_lines(table: Table, reasons: Mapping[int, Sequence[str]] = _NONE) -> list[str]:
    """Write the rows below the names of their columns, in lines that break between values only.

    Below a row is what the agent says about it, as `reason_lines` gives it.
    """
    first = max(len(str(number)) for number in table.rows)
    groups = _groups(table, first + 1)
    lines: list[str] = []
    if table.columns:
        lines += _line(f"{'#':>{first}} ", table, groups, {name: name for name in table.columns}, [])
    for number in table.rows:
        cells = {name: table.cell(number, name) for name in table.columns}
        if table.columns or table.named(number) or reasons:
            start = f"{number:>{first}} "
            lines += _line(start, table, groups, cells, table.named(number))
            lines += [" " * len(start) + line for line in reasons.get(number, ())]
    return lines


def reason_lines(text: str) -> list[str] | None:
    """Write what an agent says about a row in quotes, in lines that no phone breaks; `None` where that is not possible."""
    shown = '"' + visible(text).replace('"', "\\u{22}") + '"'
    words = shown.split(" ")
    is_plain = columns_of(shown) == len(shown) <= _REASON and not runs_right_to_left(shown)
    if "\n" in shown or "" in words or not is_plain:
        return None
    lines = [""]
    for word in words:
        if len(f"{lines[-1]} {word}") > WIDTH - _LEAD - 2 and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip(" ")
    return lines if max(map(len, lines)) <= WIDTH - _LEAD - 2 else None


def odd_rows(table: Table) -> dict[str, list[int]]:
    """Name what some rows have and the others do not, with the numbers of these rows: in a long table, nobody looks for it."""
    found: dict[str, list[int]] = {}
    for number in table.rows:
        if named := table.named(number):
            said = ": ".join(filter(None, [table.about(number), _GAP.join(named)]))
            found.setdefault(said, []).append(number)
    return found


def _groups(table: Table, lead: int) -> list[dict[str, int]]:
    """Divide the columns into the lines of a row. Gives the width of each."""
    groups: list[dict[str, int]] = [{}]
    for name in table.columns:
        texts = [name, *(table.cell(number, name) for number in table.rows)]
        width = max(map(columns_of, texts))
        if groups[-1] and lead + sum(groups[-1].values()) + len(_GAP) * len(groups[-1]) + width > WIDTH:
            groups.append({})
        groups[-1][name] = width
    return groups


def _line(
    start: str,
    table: Table,
    groups: Sequence[Mapping[str, int]],
    cells: Mapping[str, str],
    named: Sequence[str],
) -> Iterator[str]:
    lead = " " * len(start)
    *above, last = (
        _GAP.join(_padded(cells[name], width, right=name in table.behind) for name, width in group.items())
        for group in groups
    )
    lines = [*above, *_packed([*filter(None, [last]), *named], lead)]
    for begins, line in zip_longest([start], lines, fillvalue=lead):
        yield f"{begins}{line}".rstrip(" ")


def _packed(fields: Sequence[str], lead: str) -> Iterator[str]:
    line = ""
    for field in fields:
        if line and len(lead) + columns_of(f"{line}{_GAP}{field}") > WIDTH:
            yield line
            line = ""
        line = f"{line}{_GAP}{field}" if line else field
    if line:
        yield line


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - columns_of(text))
    return f"{space}{text}" if right else f"{text}{space}"


def columns_of(text: str) -> int:
    """Count the columns that a text takes: wide letters take two, marks none."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text
    )
