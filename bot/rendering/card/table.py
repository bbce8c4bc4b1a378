"""Calls of one tool as a table of text: a line for each call, and what the calls have in common once.

Every value can be read in one way only. A text stands without quotes where it is plain words, and nothing else is
written like them. Columns are at least two spaces apart, and no text without quotes has two spaces.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, Inexact, localcontext
from itertools import zip_longest
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.action import Action
from bot.domain.masking import Unshown
from bot.rendering.calls import safe_name
from bot.sentences import in_text, words
from bot.text.literal import key_text, runs_right_to_left, visible

WIDTH = 40
"""The columns of a line. A phone shows as many without breaking it."""
_LONGEST = 72
"""The most characters of a name or a value. One that is longer than a line has a line of its own."""
_GAP = "  "
_USUAL, _FEWEST_USUAL = 0.75, 4
"""The share of the rows that makes a value the usual one, and from how many rows on."""
_UNITS, _LONGEST_TOTAL = 3, 24
"""In how many units a total is said, and the most characters of it."""

_WORD = r"[^\W\d_][\w.@/+'&-]*"
_BARE = re.compile(rf"{_WORD}(?: {_WORD})*")
_NOT_TEXT = {"null", "true", "false", "none"}
# What a phone may break into lines: words that begin with a letter. Within these, browsers break before no number.
_BROKEN = re.compile(r'"?W(?: W)*"?'.replace("W", r"\(?[^\W\d_][\w.,@'&()/+-]{0,30}[!?]?"))
_NAME = 30
_LEAD = 3
"""The most columns that the number of a row takes."""


@dataclass(frozen=True, slots=True)
class Table:
    """Calls of one tool, their values as they are written."""

    rows: Mapping[int, Mapping[str, str]]
    """By the number of the call: the value of each of its arguments."""
    columns: tuple[str, ...]
    """The arguments that have a column."""
    usual: Mapping[str, str]
    """The values that a row has unless it names another one."""
    behind: Mapping[str, int]
    """The columns of numbers: for how many characters each has room from the decimal point on."""

    @property
    def has_exceptions(self) -> bool:
        """Whether a row has another value than the usual one."""
        return any(row.get(name) != text for row in self.rows.values() for name, text in self.usual.items())

    def cell(self, number: int, name: str) -> str:
        """Write what a row has in a column. The decimal points of a column stand below each other."""
        text = self.rows[number].get(name, in_text.LEFT_OUT)
        return text + " " * (self.behind.get(name, 0) - len(_from_point(text)))

    def named(self, number: int) -> list[str]:
        """Write what a row has and most others do not, and what it does not have."""
        row = self.rows[number]
        own = [f"{name}: {text}" for name, text in row.items() if self._is_own(name, text)]
        return [*own, *(f"{name}: {in_text.LEFT_OUT}" for name in self.usual if name not in row)]

    def _is_own(self, name: str, text: str) -> bool:
        return name not in self.columns and self.usual.get(name) != text


def table_of(calls: Sequence[Action]) -> Table | None:
    """Write calls as a table. `None` where a value is nested, long, of several lines, or runs from right to left."""
    rows: dict[int, dict[str, str]] = {}
    numbers: dict[str, bool] = {}
    unshown: set[str] = set()
    for call in calls:
        cells = {key_text(name): value for name, value in call.shown(on_card=True).items()}
        row = {name: cell(value) for name, value in cells.items()}
        if not all(text and _has_room(text) and _has_room(name) for name, text in row.items()):
            return None
        rows[call.number] = {name: text for name, text in row.items() if text}
        unshown |= {name for name, value in cells.items() if isinstance(value, Unshown)}
        for name, value in cells.items():
            numbers[name] = numbers.get(name, True) and type(value) in {int, float}
    given = (name for row in rows.values() for name in row)
    names = list(dict.fromkeys([*_leading(calls[0]), *given]))
    columns, usual = [], {}
    for name in names:
        found = [row.get(name) for row in rows.values()]
        # Two masked values look alike, and may differ.
        is_usual, text = (False, None) if name in unshown else _usual(found)
        if not is_usual and any(found):
            columns.append(name)
        elif text:
            usual[name] = text
    behind = {
        name: _behind([row[name] for row in rows.values() if name in row])
        for name in columns
        if numbers[name]
    }
    return Table(rows, tuple(columns), usual, behind)


def _behind(numbers: Sequence[str]) -> int:
    """Count the characters from the decimal point on. Beside a number with an exponent, a point says nothing about size."""
    return (
        0 if any("e" in number for number in numbers) else max(len(_from_point(number)) for number in numbers)
    )


def _from_point(number: str) -> str:
    """Give a number from its decimal point on."""
    _, point, digits = number.partition(".")
    return point + digits


def breaks_plainly(table: Table) -> bool:
    """Tell whether no value looks like another row, or like another value, where a phone breaks it into lines."""
    given = {*table.usual.items(), *(field for row in table.rows.values() for field in row.items())}
    return all(_breaks_plainly(name, text) for name, text in given)


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
        return None if "\n" in value else _text(value)
    return encode(value) if not value or not isinstance(value, dict | list) else None


def _text(value: str) -> str:
    shown = visible(value)
    if shown == value and _BARE.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    # A quote inside is spelled out, so that the text ends where its quotes end.
    return '"' + shown.replace('"', "\\u{22}") + '"'


def _has_room(text: str) -> bool:
    # Letters that run from right to left would take the next column along.
    return len(text) <= _LONGEST and not runs_right_to_left(text)


def _leading(call: Action) -> list[str]:
    """Name the arguments that come first: those of the headline, then those of the schema."""
    properties = (call.config.args_schema or {}).get("properties")
    names = [*call.terms.headline, *(properties if isinstance(properties, dict) else ())]
    return [key_text(name) for name in names]


def _usual(found: Sequence[str | None]) -> tuple[bool, str | None]:
    """Say whether most rows have the same, and what: a value, or nothing."""
    (text, count), *_ = Counter(found).most_common(1)
    share = count / len(found)
    return share == 1 or (share >= _USUAL and len(found) >= _FEWEST_USUAL), text


def same_lines(table: Table) -> list[str]:
    """Write the usual values."""
    return list(_packed([f"{name}: {text}" for name, text in table.usual.items()], ""))


def row_lines(table: Table) -> list[str]:
    """Write the rows below the names of their columns, in lines that break between values only."""
    first = max(len(str(number)) for number in table.rows)
    table = _aligned(table, first + 1)
    groups = _groups(table, first + 1)
    lines: list[str] = []
    if table.columns:
        lines += _line(f"{'#':>{first}} ", table, groups, {name: name for name in table.columns}, [])
    for number in table.rows:
        cells = {name: table.cell(number, name) for name in table.columns}
        if table.columns or table.named(number):
            lines += _line(f"{number:>{first}} ", table, groups, cells, table.named(number))
    return lines


def _aligned(table: Table, lead: int) -> Table:
    """Align the decimal points of a column. Where that would take more lines, align the numbers to the right."""
    to_the_right = replace(table, behind=dict.fromkeys(table.behind, 0))
    takes_more = len(_groups(table, lead)) > len(_groups(to_the_right, lead))
    return to_the_right if takes_more else table


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
    *above, last = (
        _GAP.join(_padded(cells[name], width, right=name in table.behind) for name, width in group.items())
        for group in groups
    )
    lead = " " * len(start)
    lines = [*above, *_packed([*filter(None, [last]), *named], lead)]
    for begins, line in zip_longest([start], lines, fillvalue=lead):
        yield f"{begins}{line}".rstrip(" ")


def _packed(fields: Sequence[str], lead: str) -> Iterator[str]:
    """Put fields side by side, as many as a line takes."""
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


def question(calls: Sequence[Action], *, with_tool: bool) -> str | None:
    """Write every value of some calls in one line, those that all have in the same order. `None` where one does not fit."""
    shown = [(call, {key_text(name): v for name, v in call.shown(on_card=True).items()}) for call in calls]
    # With several tools, a value alone does not say what it is.
    common = [] if with_tool else [name for name in shown[0][1] if all(name in args for _, args in shown)]
    said = []
    for call, args in shown:
        cells = {name: cell(value) for name, value in args.items()}
        if not all(text and _has_room(text) and _has_room(name) for name, text in cells.items()):
            return None
        fields = [str(cells[name]) for name in common]
        fields += [f"{name}: {text}" for name, text in cells.items() if name not in common]
        tool = [safe_name(call.request) or words.UNUSUAL_TOOL] if with_tool else []
        said.append(f"{call.number}: {', '.join([*tool, *fields]) or in_text.NO_ARGUMENTS}")
    return " · ".join(said)


def totals(calls: Sequence[Action]) -> list[str]:
    """Add up each number of the headline, by the text behind it there, its unit: `amount 1028.7 EUR`.

    A number that a call does not have or does not show has no total, nor has one in many units.
    """
    headlines = {(call.request.name, call.terms.headline) for call in calls}
    if len(headlines) > 1:
        return []
    ((_, headline),) = headlines
    pairs = zip_longest(headline, headline[1:], fillvalue="")
    found = [(name, _sums(calls, name, unit)) for name, unit in pairs]
    return [f"{key_text(name)} {', '.join(sums)}" for name, sums in found if 0 < len(sums) <= _UNITS]


def _sums(calls: Sequence[Action], name: str, unit: str) -> list[str]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for call in calls:
        args = call.shown(on_card=True)
        number, behind = args.get(name), args.get(unit, "")
        of = (cell(behind) if behind else "") if isinstance(behind, str) else None
        # Two masked units look alike, and may differ. So may what is no text.
        if type(number) not in {int, float} or of is None:
            return []
        try:
            with localcontext() as exact:
                exact.traps[Inexact] = True
                sums[of] += Decimal(encode(number))
        except Inexact:
            return []
    texts = [f"{number:f} {of}".strip() for of, number in sums.items()]
    return texts if all(len(text) <= _LONGEST_TOTAL for text in texts) else []
