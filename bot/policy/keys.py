"""The keys of the policy file. pydantic reads the file by them, and editors show what is written here."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Required

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    with_config,
)
from typing_extensions import TypedDict

from agent_adapter.contract.arguments import encode
from bot.domain.person import Schedule
from bot.domain.policy import Limits
from bot.domain.rules import Match, Tell
from bot.domain.schedule import Escalation, Extension, QuietHours
from bot.domain.schemas import compiled
from bot.domain.standing import LONGEST, MOST_USES, Same, Scope, StandingLimits
from bot.policy import values
from bot.policy.values import Fault, ReadFrom, count, meant, one_or_more, refuse

MOST_PENDING = 10_000
"""All of them are looked at when the limit is reached."""

_STRICT = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
_AgentGlobs = Annotated[tuple[values.AgentGlob, ...], one_or_more(values.AgentGlob, 1)]
_ToolGlobs = Annotated[tuple[values.ToolGlob, ...], one_or_more(values.ToolGlob, 1)]
_Decision = Literal["approve", "edit", "reject", "respond"]
_People = Annotated[int, count(20, "people")]


# --- What a rule matches ------------------------------------------------------------------------------------------


class _Schema(NamedTuple):
    text: str
    fits: Callable[[Any], bool]


def _schema(written: Any) -> _Schema:
    refuse(schema_faults(written))
    try:
        return _Schema(encode(written), compiled(written))
    except ValueError as error:
        raise ValueError(f"args: this schema cannot be used: {error}") from error


class MatchKeys(TypedDict, total=False):
    """Which calls a rule is about."""

    agents: Annotated[_AgentGlobs, Field(alias="agent")]
    """Names of agents: `*` is anything, `?` one character. Left out, any agent."""
    tools: Annotated[_ToolGlobs, Field(alias="tool")]
    """Names of tools, likewise."""
    args: Annotated[_Schema, PlainValidator(_schema, json_schema_input_type=dict[str, Any] | bool)]
    """A JSON Schema of the arguments. `true` fits all of them, `false` none."""


def _match(*, args: _Schema | None = None, **names: Any) -> Match:
    return Match(**names, schema=args.text, fits=args.fits) if args else Match(**names)


# --- What a rule gives --------------------------------------------------------------------------------------------


class EscalationKeys(TypedDict, total=False):
    """Who is asked as well, and where: either may be left out."""

    after: Required[values.Duration]
    """How long to wait first."""
    approvers: values.Others
    """Who may decide, too."""
    channel: values.Elsewhere
    """Where it is asked, too."""


def _escalation(**found: Any) -> Escalation:
    if not found.keys() & {"approvers", "channel"}:
        raise ValueError("escalation names neither approvers nor channel: say who is asked then, or where")
    return Escalation(**found)


class QuietHoursKeys(TypedDict):
    """By the clock of the zone."""

    start: Annotated[values.TimeOfDay, Field(alias="from")]
    """As in 22:00."""
    end: Annotated[values.TimeOfDay, Field(alias="to")]
    """At an earlier time of day than `from`: on the day after."""
    zone: values.Zone
    """An IANA name, as in Europe/Berlin."""


def _quiet_hours(**found: Any) -> QuietHours:
    if found["start"] == found["end"]:
        raise ValueError("quiet_hours end when they begin: nobody would know whether that is never or always")
    return QuietHours(**found)


class ExtensionKeys(TypedDict, total=False):
    """How people may give everybody more time."""

    by: Required[values.Duration]
    """How much a press gives."""
    times: Annotated[int, count(10, "presses")]
    """How often. Left out, once."""


def _not_long(lasts: timedelta) -> timedelta:
    if lasts > LONGEST:
        raise ValueError("standing approvals last 8h at most")
    return lasts


class StandingKeys(TypedDict, total=False):
    """Which later calls may be approved at once. What is left out is narrow."""

    approvers: values.Approvers
    """Who of those who may decide. Left out, all of them."""
    same: Same
    """`arguments`: the very same call. `tool`: any arguments, only with `risk: low`."""
    scope: Scope
    """`run`: in the run that asked. `agent`: in every run of that agent."""
    lasts: Annotated[values.Duration, AfterValidator(_not_long)]
    """8h at most. Left out, 1h."""
    uses: Annotated[int, count(MOST_USES, "uses")]
    """How many later calls. Left out, 10."""


@with_config(_STRICT)
class SharedKeys(TypedDict, total=False):
    """What the default and every rule may say. A rule has the rest from the default, except `standing`."""

    agent_channel_may_decide: bool
    """Whether `channel` among the approvers means also the members of a channel that the agent chose."""
    requester: Literal["optional", "required"]
    """Whether somebody else than the agent has to say for whom it acts."""
    requester_may_decide: bool
    """Whether the person for whom the agent acts may approve, too. They may always reject."""
    agent: Literal["any", "verified"]
    """Whether the agent has to sign its question, or to ask with a key of the HTTP API."""
    tell_requester: Tell
    """Where the person for whom the agent acts reads the outcome: `direct`, `thread` (where the run came from) or `no`."""
    tell_approvers: Literal["failures", "no"]
    """Whether those who approved a call are called in the thread when it fails, is not started, or nobody knows what became of it. Left out, they are."""
    decisions: Annotated[tuple[_Decision, ...], one_or_more(_Decision, 1), values.ONCE]
    """Which of the agent's allowed decisions are offered. Left out, all of them."""
    notify: values.Notify
    """Which of the approvers a card mentions, so that Slack notifies them. The others are named. Left out, all of them."""
    time_limit: values.Duration
    """How long people have, as in 30m or 8h. The agent's own limit counts when it is earlier."""
    use_within: values.UseWithin
    """How long after the deadline an approved call may run, if approvals are signed: 24h when left out, 30d at most."""
    on_timeout: Literal["reject", "raise", "approve", "extend"]
    """What becomes of an open action then. `approve` only with `risk: low`. Left out, the agent says."""
    quorum: _People
    """How many people have to agree."""
    reject_quorum: _People
    """How many people have to reject."""
    risk: Literal["low", "normal", "high"]
    """`high`: no bulk buttons, and a person who approves it types a value of the call. `low` allows approval by silence."""
    confirm: bool
    """Whether Slack asks before a call is approved, with its values in the question."""
    type: values.Argument
    """With `risk: high`: the argument whose value a person types to approve. Without it, the first that matters."""
    mask: values.Arguments
    """Names of arguments that nobody is shown, at any depth."""
    mask_random: values.Arguments
    """The same for random values, which get a fingerprint."""
    modal_only: values.Arguments
    """Names of arguments that are kept off the card, and read in a modal."""
    headline: values.Headline
    """Names of the arguments that are the subject of a call. They come first on the card, and are in the notification."""
    title: values.Title
    """What titles and notifications say: `Pay {amount} {currency} to {beneficiary}`. The body of the card then names the tool."""
    reject_reasons: values.Reasons
    """Reasons that the form to reject offers, beside a text of one's own. The agent gets the words."""
    reminders: Annotated[
        tuple[values.Duration, ...],
        one_or_more(values.Duration, most=10),
        AfterValidator(lambda reminders: tuple(sorted({*reminders}))),
    ]
    """When to call those who can still decide: how long after it was asked."""
    escalation: Annotated[Escalation, ReadFrom(EscalationKeys, _escalation)]
    """Who is asked as well when nobody has decided for a while, and where."""
    quiet_hours: Annotated[QuietHours, ReadFrom(QuietHoursKeys, _quiet_hours)]
    """When nobody is reminded, and nothing escalated."""
    extend: Annotated[
        Extension,
        ReadFrom(ExtensionKeys),
        BeforeValidator(
            lambda value: value if isinstance(value, dict) else {"by": value},
            json_schema_input_type=values.Duration | ExtensionKeys,
        ),
    ]
    """Lets people who may decide give everybody more time: how much a press gives, and how often."""
    assign: values.Duration
    """Lets people who may decide say that they are looking at a card, for so long."""
    standing: Annotated[StandingLimits, ReadFrom(StandingKeys)]
    """Lets people approve later calls together with the one on the card. Never inherited."""


class DefaultKeys(SharedKeys):
    """Where to ask and who may decide, and what rules may say, too."""

    channel: values.Place
    """Where to ask: a channel id (C…), a user id (U…, in a direct message), or `thread`: where the agent says."""
    approvers: values.Approvers
    """Who may decide: user ids (U…), user group ids (S…), `oncall:` and the name of a schedule, or `channel`: the members of the card's channel."""


@with_config(_STRICT)
class RuleKeys(SharedKeys, total=False):
    """What holds for the calls that the rule matches."""

    name: values.Name
    """In words, for people. No two rules have the same."""
    match: Annotated[Match, ReadFrom(MatchKeys, _match)]
    """Which calls it is about. Left out, all of them."""
    channel: values.Place
    """Where to ask: a channel id (C…), a user id (U…, in a direct message), or `thread`: where the agent says."""
    approvers: values.Approvers
    """Who may decide: user ids (U…), user group ids (S…), `oncall:` and the name of a schedule, or `channel`: the members of the card's channel."""


class ScheduleKeys(TypedDict, total=False):
    """Where to look who is on call: one of the two places, and who is who."""

    pagerduty: values.PagerDutyId
    """The id of a schedule in PagerDuty. The key of its API is in ASSENT_PAGERDUTY_TOKEN."""
    calendar: values.CalendarName
    """The name of a calendar in ASSENT_CALENDARS: the guests of an event of now are on call."""
    people: dict[str, values.Someone]
    """Slack's ids (U…) of people, by e-mail address or name. Others are found in Slack by their e-mail address."""


def _schedule(*, people: dict[str, str] | None = None, **kept: str) -> Schedule:
    if len(kept) != 1:
        raise ValueError("a schedule is kept in one place: write pagerduty or calendar")
    [(kind, key)] = kept.items()
    return Schedule("pagerduty" if kind == "pagerduty" else "calendar", key, people or {})


# --- The file -----------------------------------------------------------------------------------------------------


class LimitKeys(TypedDict, total=False):
    """How much each of some agents may ask."""

    agents: Annotated[_AgentGlobs, Field(alias="agent")]
    """Names of agents, as in a rule. Left out, every agent."""
    pending: Annotated[int, count(MOST_PENDING, "interrupts")]
    """Open interrupts. Left out, 100."""
    per_minute: Annotated[int, count(6_000, "interrupts")]
    """Interrupts asked in a minute."""
    bytes: values.Size
    """Of the open interrupts together, as in 4MB."""


def _limits(**found: Any) -> Limits:
    if not found.keys() - {"agents"}:
        raise ValueError("this limits nothing: write pending, per_minute or bytes")
    return Limits(**found)


def _reached(entries: list[Limits]) -> list[Limits]:
    sentence = "this is never reached: an entry before it is for every agent: put that one last"
    ends = (number for number, entry in enumerate(entries) if "*" in entry.agents)
    refuse(((number,), sentence) for number in range(next(ends, len(entries)) + 1, len(entries)))
    return entries


class AgentKeys(TypedDict):
    """What is known of an agent."""

    requester: values.Requester
    """For whom it acts: `agent`, the person that it names, or a user id (U…), always that person."""


@with_config(_STRICT)
class PolicyKeys(TypedDict, total=False):
    """Who may decide, where it is asked, and until when."""

    default: Required[DefaultKeys]
    """What holds where no rule says otherwise."""
    rules: list[RuleKeys]
    """Tried in this order: the first that matches a call decides about it."""
    limits: Annotated[list[Annotated[Limits, ReadFrom(LimitKeys, _limits)]], AfterValidator(_reached)]
    """How much one agent may ask. The first entry that names an agent holds."""
    agents: dict[values.AgentGlob, AgentKeys]
    """For whom agents act. The first entry that names an agent holds."""
    schedules: dict[values.ScheduleName, Annotated[Schedule, ReadFrom(ScheduleKeys, _schedule)]]
    """Who is on call. Among approvers, `oncall:NAME` means the people that this schedule names at that moment."""
    look_alikes: Literal["refuse", "warn"]
    """What happens with a tool whose name looks like a name in the rules, and is another."""


@cache
def adapter(keys: Any) -> TypeAdapter[Any]:
    """Give what reads these keys. Building it takes long, and not every process reads a policy."""
    return TypeAdapter(keys)


@cache
def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of the file, for editors."""
    schema = adapter(PolicyKeys).json_schema()
    terms = adapter(SharedKeys).json_schema()["properties"]
    for kind in ("DefaultKeys", "RuleKeys"):
        # pydantic reads the docstrings of a class, and not those of the class that it extends.
        schema["$defs"][kind]["properties"] |= terms
    return schema


_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_INNER = (
    *("items", "prefixItems", "contains", "additionalProperties", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_OF_TYPE = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(
        ("properties", "patternProperties", "required", "minProperties", "maxProperties"), "object"
    ),
}
_KEYWORDS = (
    *("type", "enum", "const", "$ref", "title", "description", "$comment", "$schema"),
    *("minContains", "maxContains", "dependentRequired"),
    *dict.fromkeys((*_OF_TYPE, *_MAPS, *_SAME_VALUE, *_INNER)),
)


def schema_faults(schema: Any, *, is_typed: bool = True) -> Iterator[Fault]:
    """Look at a schema and those inside it. The type of the arguments themselves is known: they are an object."""
    if not isinstance(schema, dict):
        if not isinstance(schema, bool):
            yield (), "args: a JSON Schema has keys and values, as in {type: number, minimum: 1000}"
        return
    is_typed = is_typed or not {"type", "enum", "const", "$ref"}.isdisjoint(schema)
    for name, value in schema.items():
        if sentence := _keyword_fault(name, is_typed=is_typed):
            yield (name,), f"args: {sentence}"
        for loc, inner, same in _inner(name, value):
            for deeper, sentence in schema_faults(inner, is_typed=is_typed and same):
                yield (name, *loc, *deeper), sentence
    if "properties" in schema and "required" not in schema:
        sentence = (
            "args: an argument that is left out matches whatever is said about it: write which have to be there, "
            "as in required: [amount], or required: [] when none has to"
        )
        yield ("properties",), sentence


def _keyword_fault(name: str, *, is_typed: bool) -> str:
    if name == "format":
        return "format is not checked, so it would match anything: write a pattern"
    if name not in _KEYWORDS:
        return f"JSON Schema has no {name!r}: {meant(name, _KEYWORDS, 'a name of an argument is written under properties')}"
    if not is_typed and name in _OF_TYPE:
        return (
            f"{name} says nothing about values of another type, which would match: add type: {_OF_TYPE[name]}"
        )
    return ""


def _inner(name: str, value: Any) -> Iterator[tuple[tuple[str | int, ...], Any, bool]]:
    """Give the schemas inside a keyword, where they are, and whether each is about the same value."""
    if name in _MAPS and isinstance(value, dict):
        yield from (((key,), inner, False) for key, inner in value.items())
    elif name in (*_SAME_VALUE, *_INNER):
        same = name in _SAME_VALUE
        if isinstance(value, list):
            yield from (((index,), inner, same) for index, inner in enumerate(value))
        else:
            yield (), value, same
