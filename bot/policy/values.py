"""Single values of the policy file: ids, names, durations. Each says to editors what it takes, and to people what is wrong."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from functools import cache, partial
from typing import Annotated, Any
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from agent_adapter.contract.names import nearest
from agent_adapter.contract.wire import MAX_LIFE, MIN_LIFE
from agent_adapter.receipts.statement import LONGEST_USE
from bot.policy.yaml_values import Loc

Fault = tuple[Loc, str]
"""A place, and what is wrong there."""

_DURATION = "([0-9]{1,6}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?"
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def shown(value: Any) -> str:
    """Write a value of the file into a sentence."""
    match value:
        case None:
            return "an empty value"
        case dict():
            return "{…}"
        case list() | tuple():
            return "[…]"
        case bool():
            return str(value).lower()
        case _:
            return repr(value)


def meant(word: Any, known: Sequence[str], otherwise: str) -> str:
    """Say which known word may have been meant."""
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else otherwise


def refuse(faults: Iterable[Fault]) -> None:
    """Raise what pydantic takes as several faults inside of one value, if there are any."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError("fault", "{sentence}", {"sentence": sentence}), loc=loc, input=None
        )
        for loc, sentence in faults
    ]
    if details:
        raise ValidationError.from_exception_data("", details)


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Annotates a type of the domain: it is made of these keys of the file."""

    keys: Any
    make: Any = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        make = self.make or source
        return core_schema.no_info_after_validator_function(
            lambda found: make(**found), handler.generate_schema(self.keys)
        )


# --- Texts and numbers --------------------------------------------------------------------------------------------


def text(pattern: str, what: str, cure: str) -> BeforeValidator:
    """Take texts of one form."""
    form = re.compile(pattern)

    def check(value: Any) -> str:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise ValueError(f"{shown(value)} is not {what}: {cure}")
        return value

    editors = Field(pattern=f"^({pattern})$", json_schema_extra={"patternErrorMessage": cure})
    return BeforeValidator(check, json_schema_input_type=Annotated[str, editors])


def count(most: int, what: str) -> BeforeValidator:
    """Take whole numbers from 1 on."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{shown(value)} is not a number of {what}: write 1 to {most:,}")
        return value

    return BeforeValidator(check, json_schema_input_type=Annotated[int, Field(ge=1, le=most)])


def one_or_more(entry: Any, least: int = 0, most: int | None = None) -> BeforeValidator:
    """Take a list, or a single entry for a list of one."""

    def check(value: Any) -> tuple[Any, ...]:
        entries = tuple(value) if isinstance(value, list) else (value,)
        if len(entries) < least:
            raise PydanticCustomError("empty", "is empty: write at least one entry, or leave the key out")
        if most is not None and len(entries) > most:
            raise PydanticCustomError("full", f"has more than {most} entries: keep those that matter")
        return entries

    several = Annotated[list[entry], Field(min_length=least, max_length=most)]
    return BeforeValidator(check, json_schema_input_type=entry | several)


def _duration(value: str, *, most: timedelta = MAX_LIFE) -> timedelta:
    parts = re.findall("([0-9]+)(.)", value)
    duration = timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in parts))
    if not MIN_LIFE <= duration <= most:
        raise ValueError(f"{value!r} is out of range: write 1s to {most.days}d")
    return duration


# Looked up on the disk, which takes a while.
_zones = cache(available_timezones)


def _zone(value: Any) -> str:
    known = _zones()
    if not isinstance(value, str) or value not in known:
        cure = meant(value, [*known], "write one of the IANA names, as in Europe/Berlin or UTC")
        raise ValueError(f"{shown(value)} is not a time zone: {cure}")
    return ZoneInfo(value).key


def _argument(value: Any) -> str:
    match value:
        case {"exactly": str(exact), **others} if not others:
            return exact
        case str() if value and set(value).isdisjoint("*?."):
            return value
        case str():
            raise ValueError(
                f"{value!r}: write the name alone: it is meant at any depth, and has no wildcards; "
                f"if an argument has this very name, write {{exactly: {value!r}}}"
            )
    raise ValueError(f"{shown(value)} is not the name of an argument: write a text, or {{exactly: the name}}")


def _no_twice(values: tuple[str, ...]) -> tuple[str, ...]:
    first = {value: index for index, value in reversed([*enumerate(values)])}
    refuse(
        ((index,), f"{value} is here twice: take one out")
        for index, value in enumerate(values)
        if first[value] < index
    )
    return values


Name = Annotated[str, text(r"[\s\S]+", "a name", "write a text, in quotes if it looks like something else")]
Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    text(_DURATION, "a valid duration", "write 90s, 30m, 2h, 1d or 1h30m"),
]
UseWithin = Annotated[
    timedelta,
    BeforeValidator(partial(_duration, most=LONGEST_USE)),
    text(_DURATION, "a valid duration", "write 90s, 30m, 2h, 1d or 1h30m"),
]
Size = Annotated[
    int,
    BeforeValidator(lambda value: int(value.rstrip("KMGB")) * _UNITS[value.lstrip("0123456789")]),
    text("[1-9][0-9]{0,8}(B|KB|MB|GB)", "a size", "write 512KB, 4MB or 1GB"),
]
TimeOfDay = Annotated[
    time,
    BeforeValidator(time.fromisoformat),
    text("([01][0-9]|2[0-3]):[0-5][0-9]", "a time of day", "write 22:00"),
]
Zone = Annotated[str, BeforeValidator(_zone, json_schema_input_type=str)]
Reason = Annotated[
    str,
    text(
        r"(?=.{1,75}$)\S(.*\S)?", "a reason", "write one line of at most 75 characters, as in wrong recipient"
    ),
]
Reasons = Annotated[tuple[Reason, ...], AfterValidator(_no_twice), one_or_more(Reason, most=20)]
ONCE = AfterValidator(lambda entries: tuple(dict.fromkeys(entries)))
Argument = Annotated[str, BeforeValidator(_argument, json_schema_input_type=str | dict[str, str])]
Arguments = Annotated[tuple[Argument, ...], one_or_more(Argument), ONCE]
Title = Annotated[
    str,
    text(
        r"(?=.{1,80}$)[^{}\s]?[^{}]*(\{[^{}]+\}[^{}]*)+",
        "a title",
        "write one line of at most 80 characters with names of arguments in braces, as in Pay {amount} to {payee}",
    ),
]
Headline = Annotated[tuple[Argument, ...], one_or_more(Argument, most=10), ONCE]


# --- Who and where ------------------------------------------------------------------------------------------------

_IDS = "write a user id (U…) or a user group id (S…), copied from Slack"
_PLACES = "write a channel id (C…) or a user id (U…, to ask in a direct message)"
_GLOB = "* is any characters, ? is one"

_SCHEDULE = "[a-z0-9][a-z0-9-]{0,39}"
Approver = Annotated[
    str,
    text(
        f"[UWS][A-Z0-9]{{2,20}}|channel|oncall:{_SCHEDULE}",
        "an approver",
        f"{_IDS}, the word channel, or oncall: and the name of a schedule",
    ),
]
Approvers = Annotated[tuple[Approver, ...], AfterValidator(_no_twice), one_or_more(Approver, 1)]
Notify = Annotated[tuple[Approver, ...], AfterValidator(_no_twice), one_or_more(Approver)]
Other = Annotated[
    str,
    text(
        f"[UWS][A-Z0-9]{{2,20}}|oncall:{_SCHEDULE}",
        "another approver",
        f"{_IDS}, or oncall: and the name of a schedule; the word channel means others in each place",
    ),
]
Others = Annotated[tuple[Other, ...], AfterValidator(_no_twice), one_or_more(Other, 1)]
Requester = Annotated[
    str,
    text(
        "[UW][A-Z0-9]{2,20}|agent", "a requester", "write a user id (U…), or agent, to believe whom it names"
    ),
]
Place = Annotated[
    str, text("[CGDUW][A-Z0-9]{2,20}|thread", "a place to ask in", f"{_PLACES}, or the word thread")
]
Elsewhere = Annotated[str, text("[CGDUW][A-Z0-9]{2,20}", "another place to ask in", _PLACES)]
ScheduleName = Annotated[
    str, text(_SCHEDULE, "the name of a schedule", "use small letters, digits and hyphens")
]
CalendarName = Annotated[
    str,
    text(
        _SCHEDULE,
        "the name of a calendar",
        "write the name that it has in ASSENT_CALENDARS, never its address",
    ),
]
PagerDutyId = Annotated[
    str, text("[A-Z0-9]{5,30}", "the id of a schedule", "copy it from the schedule's address in PagerDuty")
]
Someone = Annotated[str, text("[UW][A-Z0-9]{2,20}", "a person", "write a user id (U…), copied from Slack")]
AgentGlob = Annotated[
    str,
    text("[a-z0-9*?-]+", "the name of an agent", f"they have small letters, digits and hyphens; {_GLOB}"),
]
ToolGlob = Annotated[
    str,
    text(
        r"[^\s\[\]]([^\[\]]*[^\s\[\]])?",
        "the name of a tool",
        f"no brackets, and no spaces around it; {_GLOB}",
    ),
]
