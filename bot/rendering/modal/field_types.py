"""The kinds of input: which values each can hold, how it looks, and how a value is written into it and read back.

Slack takes and returns raw values: a string, or several strings where several can be chosen. A kind can hold a value
only if the raw form of the value is read back as the same value.

Slack refuses an empty text where one is required, and may trim what is typed. So neither can be read from the text, and
what it means is ticked in a box.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import zip_longest
from typing import Any

from agent_adapter.contract.arguments import decode, encode, encode_indented
from agent_adapter.contract.numbers import Number, is_exact, map_numbers
from agent_adapter.errors import InvalidRequestError
from bot.domain.drafts import Raw
from bot.rendering.blocks import Block, input_block, plain
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


def shortened(text: str, size: int) -> str:
    """Shorten a text to so many units. Its beginning and its end stay."""
    if units(text) <= size:
        return text
    half = (size - 1) // 2
    end = next(text[at:] for at in range(len(text) - half, len(text) + 1) if units(text[at:]) <= half)
    return f"{head(text, half)}…{end}"


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
"""The choices of ours."""
GROUP, ROWS, UNION, LONG = "group", "rows", "union", "long"
"""The kinds of what has inputs of its own: an object, a list, a value of several forms, and a long text."""
TEXTS = {"text", "lines"}
"""The kinds of input that take any text."""


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
    taken for another one or for a choice of ours.
    """
    texts = all(isinstance(option, str) and option and option == option.strip() for option in options)
    labels = [one_line(option if texts else encode(option)) for option in options]
    if (
        len({*labels, in_field.NULL, in_field.LEFT_OUT}) == len(labels) + 2
        and max(map(units, labels)) <= _LABEL
    ):
        return labels
    return [in_field.nth(number, shortened(label, _BESIDE_NUMBER)) for number, label in enumerate(labels, 1)]


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


# --- What an input holds, and what it means -------------------------------------------------------------------------


def initial(kind: str, question: Question) -> Raw:
    """Give what the input holds before anybody touches it."""
    if kind == "choice" and not question.is_given:
        if question.value is None:
            return NULL
        return None if question.required else LEAVE_OUT
    return KINDS[kind].to_raw(question.value, question) if question.is_given else None


def fits(kind: str, question: Question) -> bool:
    """Tell whether an input of this kind can hold the value exactly."""
    return not question.is_given or KINDS[kind].holds(question.value, question)


def options_of(block: Block) -> list[Block]:
    """Give the choices of an input, in groups or not."""
    found = block.get("element", {})
    return [each for group in found.get("option_groups", [found]) for each in group.get("options", ())]


def raw_of(state: dict[str, Any]) -> Raw:
    """Read what Slack reports about one input, whatever its kind."""
    if "selected_options" in state:
        return [option["value"] for option in state["selected_options"] or ()]
    if "selected_option" in state:
        return state["selected_option"]["value"] if state["selected_option"] else None
    for key in ("value", "selected_date", "selected_time", "selected_date_time", "selected_user"):
        if key in state:
            return None if state[key] is None else str(state[key])
    return None


def answer(kind: str, question: Question, raw: Raw, ticked: "Collection[Box]" = ()) -> Any:
    """Turn what came back into the argument. An untouched input gives exactly the value that was there.

    A cleared argument is left out where that is allowed. Otherwise it becomes null where that is allowed.

    Raises:
        InputError: What came back is not a value of this kind.
    """
    if EMPTY in ticked:
        return ""
    untouched = _same(kind, raw, initial(kind, question))
    if BARE in ticked:
        raw, untouched = str((question.value if untouched else raw) or "").strip(), False
    if untouched:
        return question.value
    if raw is None or raw == "":
        return _cleared(question)
    if is_blank(raw):
        if kind in TEXTS:
            raise InputError(in_field.ONLY_SPACES if question.takes("") else in_field.NEEDS_VALUE)
        return _cleared(question)
    if raw in (NULL, LEAVE_OUT) and kind == "choice":
        return None if raw == NULL else ABSENT
    return KINDS[kind].to_value(raw, question)


def _cleared(question: Question) -> Any:
    if not question.required:
        return ABSENT
    if question.nullable:
        return None
    raise InputError(in_field.NEEDS_VALUE)


def _same(kind: str, raw: Raw, other: Raw) -> bool:
    if kind in {"integer", "number"} and isinstance(raw, str) and isinstance(other, str):
        return is_same_number(raw, other)
    if isinstance(raw, list) or isinstance(other, list):
        return sorted(raw or []) == sorted(other or [])
    if kind == "json":
        return _lines(raw).strip() == _lines(other).strip()
    text = _lines(other)
    # Slack may trim each end.
    return _lines(raw) in {text, text.strip(), text.lstrip(), text.rstrip()}


def _lines(raw: str | None) -> str:
    # Slack knows only one kind of line end.
    return (raw or "").replace("\r\n", "\n").replace("\r", "\n")


# --- Boxes to tick for what inputs cannot express --------------------------------------------------------------------

_EMPTY: dict[str, dict[str, Any] | list[Any]] = {GROUP: {}, ROWS: [], "choices": []}


def is_blank(value: Any) -> bool:
    """Tell whether a value is a text of only spaces and empty lines, which Slack cannot show in an input."""
    return isinstance(value, str) and not value.strip()


@dataclass(frozen=True, slots=True)
class Box:
    """One thing that can be ticked for each part of a form that it suits."""

    block_id: str

    @property
    def label(self) -> str:
        return in_field.BOXES[self.block_id][0]

    def suits(self, kind: str, asked: Question) -> bool:
        """Tell whether it can be ticked for a part of this kind."""
        if kind in {UNION, LONG}:
            return False
        value, empty, is_text = asked.value, _EMPTY.get(kind), kind in TEXTS
        # Nobody can clear an object, a list, or a text that looks empty as it is.
        stays = asked.is_given and (empty is not None or (is_text and is_blank(value)))
        match self.block_id:
            case "empty":
                return is_text and value != "" and asked.takes("")
            case "bare":
                return is_text and isinstance(value, str) and value.strip() not in {"", value}
            case "empty_whole":
                return (
                    empty is not None
                    and not (asked.is_given or asked.default == empty)
                    and asked.takes(empty)
                )
            case "left_out":
                is_null = value is None and asked.takes_null and kind != "choice"
                return (is_null or stays) and not asked.required
            case "null" if value is not None and asked.takes_null and kind not in {"choice", "json"}:
                return not asked.required or value is ABSENT or stays
        return False

    def block(self, options: list[Block], ticked: Collection[str]) -> Block:
        """Draw its input."""
        chosen = [option for option in options if option["value"] in ticked]
        element = offered("checkboxes", "multi_static_select", options)
        element |= {"initial_options": chosen} if chosen else {}
        return input_block(
            self.block_id, self.label, element, optional=True, hint=in_field.BOXES[self.block_id][1]
        )


BOXES = EMPTY, BARE, EMPTY_WHOLE, LEFT_OUT, NULLED = tuple(
    map(Box, ("empty", "bare", "empty_whole", "left_out", "null"))
)
OTHERS = Box("others")
"""Shows the inputs that are ticked in it, where a form has too many to look through."""
