"""What a call is about: its arguments, those that matter first. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from agent_adapter.contract.arguments import encode
from bot.domain.masking import has_unshown

_MOST = 3
"""How many arguments a subject names where nobody says which."""
_SCHEMA_IS_OPEN = {"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NUMBER = re.compile(r"[-+]?([0-9]{1,20}|[0-9]{1,3}(,[0-9]{3}){1,6})(\.[0-9]{1,20})?")


class Kind(IntEnum):
    """What an argument says about its call, by its name, type and schema. The smaller, the more it matters."""

    MONEY, NUMBER, TEXT, PERSON, SENDER, PLACE, OTHER, LIMIT, FLAG = range(9)


_NAMES = {
    Kind.MONEY: "amount balance charge cost credit fee payment price refund salary sum total value",
    Kind.LIMIT: "limit limits timeout timeouts retry retries id ids",
    Kind.TEXT: "body cmd code command message query script sql subject",
    Kind.SENDER: "from sender",
    Kind.PERSON: "to recipient recipients beneficiary payee email customer user username name",
    Kind.PLACE: "path file filename url uri host service database table title",
}
_KIND_OF = {word: kind for kind, names in _NAMES.items() for word in names.split()}
_OF_TEXTS = (Kind.TEXT, Kind.SENDER, Kind.PERSON, Kind.PLACE)
_FORMATS = {"email": Kind.PERSON, "uri": Kind.PLACE, "url": Kind.PLACE}
_ADDED = frozenset(["amount", "charge", "cost", "fee", "payment", "refund", "salary", "sum", "total"])
_SMALL = frozenset(["cent", "cents", "minor", "pct", "pence", "pennies", "percent", "rate"])
"""Words of a number that is not in the unit beside it."""
_UNIT_NAMES = frozenset({"currency", "ccy", "unit", "asset", "coin", "token"})
_UNIT = re.compile("[A-Z]{3}")


class Fact(NamedTuple):
    """One argument that a subject can name. What is inside an object is one of its own, one level deep."""

    path: tuple[str, ...]
    value: Any
    kind: Kind
    unit: str = ""
    """The currency or unit of a number: three capital letters beside it."""
    number: Decimal | None = None
    """The value, where it is an amount or another number."""

    @property
    def is_odd(self) -> bool:
        """Whether it is an amount in another spelling, such as 1_000_000. Nobody knows how large it is."""
        return self.kind <= Kind.NUMBER and self.number is None

    @property
    def is_nested(self) -> bool:
        """Whether it has objects or lists inside, so that nobody reads it in a line."""
        return _is_nested(self.value)

    @property
    def may_hold_more(self) -> bool:
        """Whether an amount may be in it that nobody reads in a line."""
        return self.is_odd or (isinstance(self.value, dict | list) and _holds_number(self.value))

    @property
    def size(self) -> Decimal:
        """How large the number is, whatever its sign."""
        return abs(self.number or Decimal(0))


@dataclass(frozen=True, slots=True)
class Facts:
    """The arguments of a call, and how many of them no subject names."""

    shown: tuple[Fact, ...]
    """Those that matter first."""
    hidden: int
    """Those that are masked, or that only a reading shows."""
    unexpected: int
    """Those that are not in the schema of the tool."""

    @property
    def first(self) -> Fact | None:
        """What every subject names: an amount in another spelling, else the largest number."""
        return next((fact for fact in self.shown if fact.is_odd), None) or largest_of(self.shown)

    @property
    def amount(self) -> Fact | None:
        """The largest amount, or number where none is an amount; `None` where something else may hold a larger one."""
        if self.hidden or any(fact.may_hold_more for fact in self.shown):
            return None
        return largest_of([fact for fact in self.shown if fact.kind is Kind.MONEY]) or largest_of(self.shown)

    def needs_no_name(self, fact: Fact) -> bool:
        """Whether a number can stand without its name: it is called an amount, and the call has no other number."""
        if fact.kind is not Kind.MONEY or fact.path[-1] != "amount":
            return False
        return sum(each.number is not None for each in self.shown) == 1 and fact == self.amount

    def adds_up(self, fact: Fact) -> bool:
        """Whether a number is certainly what the call costs: nothing else in its name, and no other number or list beside it."""
        others = [each for each in self.shown if each is not fact]
        is_alone = not any(each.number is not None or isinstance(each.value, list) for each in others)
        # A text such as 1.200 may be twelve hundred.
        return is_alone and _words(fact.path[-1]) <= _ADDED and not isinstance(fact.value, str)

    def leading(self, headline: Sequence[str]) -> list[Fact]:
        """Give what a subject names: what this headline of an agent names, or the first three, and in any case `first`."""
        named: dict[tuple[str, ...], Fact] = {}
        for name in headline:
            named |= {fact.path: fact for fact in self.shown if name in {fact.path[0], ".".join(fact.path)}}
        others = (fact for fact in self.shown if fact.path not in named)
        chosen = [*named.values(), *islice(others, max(0, _MOST - len(named)))]
        first = self.first
        return chosen if first is None or first in chosen else [first, *chosen[:-1]]


def facts_of(args: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Facts:
    """Rank the arguments of a call, as people may see them, by what their names and their schema say."""
    outside = {*unexpected(args, schema)}
    every = [*_flat(args, schema)]
    known = [fact for fact in every if fact.path[0] not in outside]
    hidden = sum(has_unshown(fact.value) for fact in known)
    units = [fact for fact in every if any(map(names_unit, fact.path)) and fact.kind is not Kind.MONEY]
    shown = [fact for fact in _with_units(known, units) if not has_unshown(fact.value)]
    if units:
        # Nobody adds up amounts whose unit is elsewhere, hidden or written in another way.
        shown = [
            fact._replace(kind=Kind.NUMBER) if fact.kind is Kind.MONEY and not fact.unit else fact
            for fact in shown
        ]
    return Facts(tuple(_ranked(shown)), hidden, len(outside))


def unexpected(args: Mapping[str, Any], schema: Mapping[str, Any] | None) -> list[str]:
    """Name the arguments that are not in the schema of the tool; none where it allows others."""
    taken = (schema or {}).get("properties")
    if schema is None or not isinstance(taken, dict):
        return []
    is_open = schema.get("additionalProperties") or schema.keys() & _SCHEMA_IS_OPEN
    return [] if is_open else [name for name in args if name not in taken]


def as_number(value: Any) -> Decimal | None:
    """Read a number exactly, also one that is written as a text; `None` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, str):
        return Decimal(value.replace(",", "")) if _NUMBER.fullmatch(value) else None
    return Decimal(encode(value))


def _is_nested(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(each, dict | list) for each in value)
    return isinstance(value, dict)


def _holds_number(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_number, value.values() if isinstance(value, dict) else value))
    return as_number(value) is not None


def _flat(args: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Iterator[Fact]:
    for name, value in args.items():
        own = _property(schema, name)
        if isinstance(value, dict) and value:
            for inner, child in value.items():
                yield _fact((name, inner), child, _property(own, inner))
        else:
            yield _fact((name,), value, own)


def _fact(path: tuple[str, ...], value: Any, schema: Any) -> Fact:
    number = as_number(value)
    kind = _kind(path, value, schema, is_number=number is not None)
    return Fact(path, value, kind, number=number if kind <= Kind.NUMBER else None)


def _property(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(name) if isinstance(properties, dict) else None


def _kind(path: tuple[str, ...], value: Any, schema: Any, *, is_number: bool) -> Kind:
    if value is None or isinstance(value, bool):
        return Kind.FLAG
    if _is_nested(value):
        # A line only counts what is in it.
        return Kind.OTHER
    kinds = {_KIND_OF[word] for word in _words(path[-1]) if word in _KIND_OF}
    if is_number and (of_numbers := kinds & {Kind.MONEY, Kind.LIMIT}):
        # The id of a payment is not an amount.
        return max(of_numbers)
    if isinstance(value, str) and Kind.MONEY in kinds:
        return Kind.MONEY
    if isinstance(value, int | float | Decimal):
        return Kind.NUMBER
    named = schema.get("format") if isinstance(schema, dict) else None
    if isinstance(named, str) and named in _FORMATS:
        return _FORMATS[named]
    return min(kinds & {*_OF_TEXTS}, default=Kind.OTHER)


def _with_units(facts: Sequence[Fact], units: Sequence[Fact]) -> list[Fact]:
    """Give numbers the one unit of the call that stands beside them, and leave it out then. Of two, nobody knows which it is."""
    units = [fact for fact in units if fact in facts]
    if len(units) != 1 or not (isinstance(units[0].value, str) and _UNIT.fullmatch(units[0].value)):
        return [*facts]
    unit, beside = units[0], units[0].path[:-1]
    numbers = [fact for fact in facts if fact.path[:-1] == beside and fact.number is not None]
    whole = [fact for fact in numbers if not _words(fact.path[-1]) & _SMALL]
    of_it = [fact for fact in whole if fact.kind is Kind.MONEY] or whole[: len(numbers) == 1]
    return [
        Fact(fact.path, fact.value, fact.kind, unit.value, fact.number) if fact in of_it else fact
        for fact in facts
        if fact is not unit or not of_it
    ]


def names_unit(name: str) -> bool:
    """Whether an argument of this name holds the unit of a number."""
    return bool(_words(name) & _UNIT_NAMES)


@lru_cache(256)
def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def largest_of(facts: Sequence[Fact]) -> Fact | None:
    """Give the largest number, whatever its sign; `None` without numbers."""
    return max((fact for fact in facts if fact.number is not None), key=lambda fact: fact.size, default=None)


def _ranked(facts: Sequence[Fact]) -> list[Fact]:
    ordered = sorted(facts, key=lambda fact: fact.kind)
    numbers = [fact for fact in ordered if fact.number is not None]
    leading = [*numbers[:1], *([largest] if (largest := largest_of(facts)) else [])]
    seen = set[Kind]()
    found: list[tuple[int, Fact]] = []
    for fact in ordered:
        # A second command says less than the first person; a second person is the other side of the same call.
        is_second = fact.kind in seen and fact.kind not in {Kind.PERSON, Kind.SENDER}
        is_second |= fact.number is not None
        first = -2 if fact.is_odd else -1 if fact in leading else 0
        rank = first or (Kind.OTHER if is_second and fact.kind < Kind.OTHER else fact.kind)
        found.append((rank, fact))
        seen.add(fact.kind)
    return [fact for _, fact in sorted(found, key=lambda each: each[0])]
