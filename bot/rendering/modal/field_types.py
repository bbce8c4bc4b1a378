"""The kinds of input: which values each can hold, how it looks, and how a value is written into it and read back.

Slack takes and returns raw values: a string, or several strings where several can be chosen. A kind can hold a value
only if the raw form of the value is read back as the same value.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any

from agent_adapter.contract.arguments import decode, encode, encode_indented
from agent_adapter.contract.numbers import Number, is_exact, map_numbers
from agent_adapter.errors import InvalidRequestError
from bot.domain.drafts import Raw
from bot.rendering.blocks import Block, plain
from bot.sentences import in_field, in_text
from bot.text.literal import clip, has_decomposed, has_invisible, head, one_line, respelled, units

LONGEST = 150

# Labels join names with these characters, so a name that contains one is written in quotes.
_JOINTS = re.compile(r'["→·…]')
# Several spaces look like one.
_SPACES = re.compile(r" {2,}")


def label_of(
    path: tuple[str | int, ...], number: int, *, size: int = LONGEST, ends: Callable[[str], str] = str
) -> str:
    """Name an input by its path: names and positions from the outermost object; empty for all arguments at once.

    A label that would be too long has its number in the form behind the name. `ends` adds what follows the name.
    """
    label, room = " → ".join(map(_name, path)) or in_field.ALL_ARGUMENTS, size - units(ends(""))
    if units(label) > room:
        mark = in_field.numbered(number)
        label = clip(label, room - units(mark)) + mark
    return ends(label)


def told_apart(texts: Sequence[str], size: int) -> list[str]:
    """Shorten texts to so many units (40 or more). One that begins as another does keeps the part where they differ."""
    shared = dict.fromkeys(texts, 0)
    for one, other in pairwise(sorted(shared)):
        place = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        shared[one], shared[other] = max(shared[one], place), max(shared[other], place)
    return [_around(text, shared[text], size) for text in texts]


def _around(text: str, place: int, size: int) -> str:
    if units(text) <= size or place < size // 3:
        return clip(text, size)
    beginning, room = head(text, size // 3), size - size // 3 - 2
    # What stands before it tells where it is.
    rest = text[min(max(place - room // 2, size // 3), max(len(text) - room, size // 3)) :]
    return f"{beginning}…{rest if units(rest) <= room else head(rest, room) + '…'}"


def _name(name: str | int) -> str:
    if isinstance(name, int):
        return str(name + 1)
    text = _SPACES.sub(lambda row: f"\\{{{in_text.spaces(len(row[0]))}}}", one_line(name))
    # Slack trims a label, so spaces around a name would not be seen.
    if (
        name
        and name == name.strip()
        and name not in {label for label, _ in in_field.BOXES.values()}
        and not _JOINTS.search(name)
    ):
        return text
    # A quote inside the name is written as its code, so that the name ends where its quotes end.
    return '"' + text.replace('"', "\\u{22}") + '"'


MAX_INPUT = 3_000
MAX_OPTIONS = 1_000
"""The most values of a choice. Slack takes ten times as many, but a schema of 32 KiB with more might not fit a view."""
_AT_ONCE = 100
"""Slack's limit of choices in a row. Longer ones are in groups."""
_LABEL = 75
_BESIDE_NUMBER = 66


class _Absent:
    """The value of an argument that is not given."""


ABSENT = _Absent()
NULL, LEAVE_OUT = "null", "absent"


class InputError(ValueError):
    """What was entered is not a value of this kind. The message tells the person what is expected."""


@dataclass(frozen=True, slots=True)
class Question:
    """What an input asks for."""

    value: Any = ABSENT
    """The argument as the agent gave it."""
    options: tuple[Any, ...] = ()
    required: bool = True
    nullable: bool = False
    stays: Any = ABSENT
    """The argument itself, where `value` is only how it is shown."""
    titles: tuple[str, ...] = ()
    """What the schema calls each option; empty where it has no name for it."""
    default: Any = ABSENT
    """What the tool takes for an argument that is left out, by its schema."""
    takes: Callable[[Any], bool] = lambda _: True
    """Tells whether the schema of the argument allows a value."""

    @property
    def takes_null(self) -> bool:
        """Whether null can be sent and means something else than leaving out."""
        return self.nullable and self.default is not None

    @property
    def is_given(self) -> bool:
        return self.value is not ABSENT and not (self.value is None and self.nullable)


ANY_QUESTION = Question()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of input: what it can hold, how it looks, how a value is written into it and read back."""

    holds: Callable[[Any, Question], bool]
    element: Callable[[Raw, Question], Block]
    to_raw: Callable[[Any, Question], Raw] = lambda value, _: value
    to_value: Callable[[Any, Question], Any] = lambda raw, _: raw


# Text


def _is_unclear(text: str) -> bool:
    return has_invisible(text.replace("\r", "")) or has_decomposed(text)


def _is_text(value: Any, _: Question) -> bool:
    return isinstance(value, str) and units(value) <= MAX_INPUT and not _is_unclear(value)


def is_long_text(value: Any) -> bool:
    """Tell whether a value is a text that only several inputs can hold."""
    return isinstance(value, str) and units(value) > MAX_INPUT and not _is_unclear(value)


def _text_element(raw: Raw, _: Question, *, multiline: bool = False) -> Block:
    found: Block = {"type": "plain_text_input", "multiline": multiline}
    # Slack takes no empty initial value.
    return {**found, "initial_value": raw} if isinstance(raw, str) and raw.strip() else found


_lines_element = partial(_text_element, multiline=True)


def _matches(pattern: str) -> Callable[[Any, Question], bool]:
    compiled = re.compile(pattern)
    return lambda value, question: _is_text(value, question) and compiled.fullmatch(value) is not None


# Numbers

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?")
# JavaScript's integers, and so Slack's, are exact up to here.
_SAFE = 2**53


def _number_element(raw: Raw, question: Question, *, decimals: bool) -> Block:
    found: Block = {"type": "number_input", "is_decimal_allowed": decimals}
    if not isinstance(raw, str):
        return found
    # Slack keeps these as they are.
    is_kept = _NUMBER.fullmatch(raw) and "e" not in raw.lower() and abs(Decimal(raw)) <= _SAFE
    return (
        {**found, "initial_value": raw}
        if is_kept and is_same_number(raw, repr(float(raw)))
        else _text_element(raw, question)
    )


def _to_integer(raw: str, _: Question) -> int:
    if not _WHOLE.fullmatch(raw.strip()):
        raise InputError(in_field.NOT_A_WHOLE_NUMBER)
    return int(raw)


def _to_number(raw: str, question: Question) -> int | float:
    if _WHOLE.fullmatch(raw.strip()):
        return _to_integer(raw, question)
    if not _NUMBER.fullmatch(raw.strip()):
        raise InputError(in_field.NOT_A_NUMBER)
    found = float(raw)
    if not math.isfinite(found) or not is_same_number(raw, repr(found)):
        raise InputError(in_field.too_many_digits())
    return found


def is_same_number(one: str, other: str) -> bool:
    """Tell whether two texts are exactly the same number. A text that cannot be read as a number never is."""
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


# Choices


def _positions(values: Iterable[Any], question: Question) -> list[str | None]:
    # Their JSON is compared, because 1, 1.0 and true are equal in Python.
    places = {encode(option): str(number) for number, option in reversed([*enumerate(question.options)])}
    return [places.get(encode(value)) for value in values]


def _are_choices(value: Any, question: Question) -> bool:
    positions = _positions(value, question) if isinstance(value, list) else [None]
    return None not in positions and len(set(positions)) == len(positions)


def option_labels(options: tuple[Any, ...]) -> list[str]:
    """Write the values of a choice, so that no two look alike.

    They have no quotes if all are texts and none has spaces around it. They are numbered if one is too long, or could be
    taken for another one or for a choice of ours. Of a long one, the part that differs from the others stays in sight.
    """
    texts = all(isinstance(option, str) and option and option == option.strip() for option in options)
    labels = [one_line(option if texts else encode(option)) for option in options]
    if (
        len({*labels, in_field.NULL, in_field.LEFT_OUT}) == len(labels) + 2
        and max(map(units, labels)) <= _LABEL
    ):
        return labels
    short = told_apart(labels, _BESIDE_NUMBER)
    return [in_field.nth(number, label) for number, label in enumerate(short, 1)]


def _options(question: Question, *, extras: bool) -> list[Block]:
    labels = zip_longest(option_labels(question.options), question.titles, fillvalue="")
    found = [option(label, str(number), title) for number, (label, title) in enumerate(labels)]
    if extras and question.nullable:
        found.append(option(in_field.NULL, NULL))
    if extras and not question.required:
        found.append(option(in_field.LEFT_OUT, LEAVE_OUT))
    return found


def option(label: str, value: str, about: str = "") -> Block:
    """Draw a choice, with what it is about below it."""
    described = {"description": plain(clip(one_line(about), _LABEL))} if about.strip() else {}
    return {"text": plain(label), "value": value, **described}


def offered(few: str, many: str, options: list[Block]) -> Block:
    """Draw an element with these choices: of one type for up to ten, and of another for more."""
    if len(options) <= 10:
        return {"type": few, "options": options}
    if len(options) <= _AT_ONCE:
        return {"type": many, "options": options}
    groups = [
        {
            "label": plain(in_field.from_to(first + 1, min(first + _AT_ONCE, len(options)))),
            "options": options[first : first + _AT_ONCE],
        }
        for first in range(0, len(options), _AT_ONCE)
    ]
    return {"type": many, "option_groups": groups}


def _choice_element(raw: Raw, question: Question, *, several: bool = False) -> Block:
    few, many = ("checkboxes", "multi_static_select") if several else ("radio_buttons", "static_select")
    options = _options(question, extras=not several)
    found = offered(few, many, options)
    chosen = [option for option in options if option["value"] in ((raw or ()) if several else (raw,))]
    if not chosen:
        return found
    return {**found, **({"initial_options": chosen} if several else {"initial_option": chosen[0]})}


def _to_choice(raw: str, question: Question) -> Any:
    if not raw.isdecimal() or int(raw) >= len(question.options):
        raise InputError(in_field.NOT_A_CHOICE)
    return question.options[int(raw)]


def _to_choices(raw: list[str], question: Question) -> list[Any]:
    chosen = [_to_choice(item, question) for item in raw]
    before = [encode(item) for item in question.value] if isinstance(question.value, list) else []
    # Values that were chosen before keep their order.
    return sorted(
        chosen, key=lambda item: before.index(encode(item)) if encode(item) in before else len(before)
    )


# Days and times


def _is_date(value: Any, _: Question) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_moment(value: Any, question: Question) -> bool:
    try:
        raw = _moment_raw(value, question)
    except (TypeError, ValueError, OverflowError):
        return False
    return len(raw) == 10 and _to_moment(raw, question) == value


def _moment_raw(value: Any, _: Question) -> str:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None or moment.second or moment.microsecond:
        raise ValueError("a picker holds a minute of a known zone")
    return str(int(moment.timestamp()))


def _to_moment(raw: str, question: Question) -> str:
    given = question.value if isinstance(question.value, str) else "Z"
    zone = UTC if given.endswith("Z") else datetime.fromisoformat(given).tzinfo
    text = datetime.fromtimestamp(int(raw), zone).isoformat()
    return text.removesuffix("+00:00") + "Z" if given.endswith("Z") else text


def _input(type_: str, key: str, convert: Callable[[str], Any] = str) -> Callable[[Raw, Question], Block]:
    return lambda raw, _: (
        {"type": type_, key: convert(raw)} if raw and isinstance(raw, str) else {"type": type_}
    )


# JSON


def json_text(value: Any) -> str:
    r"""Write a value as JSON in which every hidden character is written as `\uXXXX`."""
    text = encode_indented(value)
    if units(text) > MAX_INPUT:
        text = encode(value)
    hides = has_invisible(text) or has_decomposed(text)
    return respelled(text, lambda char: json.dumps(char)[1:-1]) if hides else text


def _from_json(raw: str, question: Question) -> Any:
    try:
        found = decode(raw)
    except InvalidRequestError as error:
        raise InputError(in_field.not_json(str(error))) from error
    given: set[str] = set()
    map_numbers(question.value, lambda number: given.add(number.text))

    def read(number: Number) -> Number | float:
        """Keep a number that was there. One that a person wrote is a float, which must hold it exactly."""
        if number.text not in given and not is_exact(number):
            raise InputError(in_field.too_many_digits(clip(number.text, 60)))
        return number if number.text in given else float(number)

    return map_numbers(found, read)


KINDS: dict[str, Kind] = {
    "text": Kind(_is_text, _text_element),
    "lines": Kind(_is_text, _lines_element),
    "part": Kind(_is_text, _lines_element),
    "email": Kind(_matches(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+"), _input("email_text_input", "initial_value")),
    "uri": Kind(_matches(r"https?://\S+"), _input("url_text_input", "initial_value")),
    "integer": Kind(
        lambda value, _: type(value) is int and len(str(value)) <= MAX_INPUT,
        partial(_number_element, decimals=False),
        lambda value, _: str(value),
        _to_integer,
    ),
    "number": Kind(
        lambda value, _: type(value) in {int, float, Number} and len(encode(value)) <= MAX_INPUT,
        partial(_number_element, decimals=True),
        lambda value, _: encode(value),
        _to_number,
    ),
    "choice": Kind(
        lambda value, question: _positions([value], question) != [None],
        _choice_element,
        lambda value, question: _positions([value], question)[0],
        _to_choice,
    ),
    "choices": Kind(
        _are_choices,
        partial(_choice_element, several=True),
        lambda value, question: [position or "" for position in _positions(value, question)],
        _to_choices,
    ),
    "date": Kind(_is_date, _input("datepicker", "initial_date")),
    "time": Kind(
        _matches(r"([01][0-9]|2[0-3]):[0-5][0-9](:00)?"),
        _input("timepicker", "initial_time"),
        lambda value, _: value[:5],
        # A time without seconds stays so. Any other gets the seconds that RFC 3339 wants.
        lambda raw, question: (
            raw if isinstance(question.value, str) and len(question.value) == 5 else f"{raw}:00"
        ),
    ),
    "date-time": Kind(
        _is_moment, _input("datetimepicker", "initial_date_time", int), _moment_raw, _to_moment
    ),
    "json": Kind(
        lambda value, _: units(encode(value)) <= MAX_INPUT and units(json_text(value)) <= MAX_INPUT,
        _lines_element,
        lambda value, _: json_text(value),
        _from_json,
    ),
}
