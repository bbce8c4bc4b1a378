"""What one call or several are about, in a line: the title, the notification and every list say the same. Pure.

A subject decides nothing and never counts as shown: the body of a card has every argument whole. Whatever an agent wrote
is in quotes, except numbers, dates and a unit beside a number. These texts are plain; `mrkdwn_line` escapes them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, Inexact, localcontext
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.action import Action, once_as_asked, question_of
from bot.domain.masking import has_unshown
from bot.domain.rules import RISKS
from bot.domain.subject import Fact, Facts, Kind, as_number, largest_of, names_unit
from bot.rendering.arguments import is_same
from bot.rendering.calls import safe_name
from bot.sentences import in_text, on_card, words
from bot.text.literal import CUT, clip, cut, each_apart, key_text, runs_right_to_left, units, written

ROOM = 60
"""Units of the values of one call. With the name of its tool, they take two lines of a phone."""
LONG = 240
"""Units of the values where there is room for several lines: in a notification and in a form."""
_LONGEST_TITLE = 100
_LEAST = 12
"""The units that the beginning of a value takes at least."""
_BESIDE_OTHERS = 32
_LONGEST_SUM = 30
_USUAL, _FEWEST = 0.75, 4
"""The share of the calls that makes a value the usual one, and from how many calls on."""
_MOST_ODD = 2
_PEOPLE = {Kind.PERSON, Kind.SENDER}
_BETWEEN = "·"
_ABSENT = object()
_Before = Mapping[tuple[str, ...], Fact] | None
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


@once_as_asked
def subject(action: Action, room: int = ROOM) -> str:
    """Say what a call is about: its tool and the values that matter, or what the policy says in its place."""
    if action.terms.title:
        after = action.after
        said = cut(_by_policy(action, after), _LONGEST_TITLE)
        return " ".join([said, *in_text.counted(0, 0, after.facts.unexpected)])
    if action.is_alone and (asked := question_of(action)):
        return written(asked, max(room, _LONGEST_TITLE))
    return " ".join(filter(None, [tool_of(action), _values(action, room)]))


def subject_of(actions: Sequence[Action], room: int = ROOM) -> str:
    """Say what several calls are about: of one tool how often, with sums and what is odd; of several tools each of them."""
    if len(actions) == 1:
        return subject(actions[0], room)
    if len({action.request.name for action in actions}) > 1:
        return _of_tools(actions, room)
    said = [on_card.times_of(tool_of(actions[0]), len(actions))]
    for found in (*_sums(actions), *_odd_ones(actions)):
        if units(", ".join([*said[1:], found])) > room:
            break
        said.append(found)
    hidden, outside = (sum(getattr(each.facts, it) for each in actions) for it in ("hidden", "unexpected"))
    return " ".join([", ".join(said), *in_text.counted(0, hidden, outside)])


def tools_of(actions: Sequence[Action], room: int = ROOM) -> str:
    """Say the same without any value, for places where the calls are not shown: the riskiest tools first, then the rarest last."""
    by_risk = sorted(actions, key=lambda action: RISKS.index(action.terms.risk))
    risk = {tool_of(action): RISKS.index(action.terms.risk) for action in by_risk}
    counted = sorted(Counter(map(tool_of, actions)).most_common(), key=lambda each: -risk[each[0]])
    said = [on_card.times_of(*each) for each in counted]
    kept = 1
    while kept < len(said) and units(", ".join(said[: kept + 1])) <= room:
        kept += 1
    return ", ".join(said[:kept]) + words.more(sum(count for _, count in counted[kept:]), "call")


def tool_of(action: Action) -> str:
    return safe_name(action.request) or words.UNUSUAL_TOOL


@once_as_asked
def held_by_title(action: Action) -> frozenset[str]:
    """Name the arguments that the policy puts into the title of a card and that the title holds whole and unchanged.

    A line that is cut, or that is not read from left to right, holds none, nor does a headline of which a value is missing:
    without their names, nobody would know which values these are.
    """
    after = action.after
    args, runs = (
        {name: value for name, value in call.shown(on_card=True).items() if not has_unshown(value)}
        for call in (action, after)
    )
    line, title = _by_policy(action, after), action.terms.title
    named = _PLACEHOLDER.findall(title) if title else action.terms.headline
    same = [name for name in named if name in args and name in runs and is_same(args[name], runs[name])]
    is_unclear = units(line) > _LONGEST_TITLE or runs_right_to_left(line)
    if is_unclear or (not title and len(same) < len(named)):
        return frozenset()
    texts = zip(same, _filled(args, same), strict=True)
    return frozenset(name for name, text in texts if _is_whole(args[name], text))


@once_as_asked
def named_by(action: Action) -> frozenset[str]:
    """Name the arguments whose value the title of a decided card holds whole: by the policy, or else by rank."""
    if action.terms.title or action.terms.headline:
        return held_by_title(action)
    args = action.shown(on_card=True)
    whole = [
        fact
        for fact, _, text in _kept(action.facts, action.headline, None, ROOM)
        if len(fact.path) == 1
        and text.endswith(_text(fact, _LONGEST_TITLE))
        and _is_whole(fact.value, written(fact.value, _LONGEST_TITLE))
    ]
    units_of = {
        name
        for fact in whole
        for name, value in args.items()
        if fact.unit and value == fact.unit and names_unit(name)
    }
    return frozenset({*units_of, *(fact.path[0] for fact in whole)})


def _is_whole(value: Any, text: str) -> bool:
    if isinstance(value, str):
        # A text of digits reads as the number.
        return text == f'"{value}"' or (text == value and as_number(value) is None)
    return not isinstance(value, dict | list) and text == encode(value)


# --- The values of one call -------------------------------------------------------------------------------------------


def _values(action: Action, room: int) -> str:
    after = action.after
    facts = after.facts
    if action.terms.headline and (said := _by_policy(action, after)):
        said = cut(said, max(room, _LONGEST_TITLE))
        return " ".join([said, *in_text.counted(0, facts.hidden, facts.unexpected)])
    before = None if after is action else {fact.path: fact for fact in action.facts.shown}
    kept = _kept(facts, action.headline, before, room)
    removed = before.keys() - {fact.path for fact in facts.shown} if before else ()
    counts = in_text.counted(len(facts.shown) - len(kept) + len(removed), facts.hidden, facts.unexpected)
    return " ".join([_joined(kept), *counts]).strip()


def _kept(facts: Facts, headline: Sequence[str], before: _Before, room: int) -> list[tuple[Fact, bool, str]]:
    """Write the facts that matter while there is room, each with whether its name is in the text."""
    leading, first = facts.leading(headline), facts.first
    kept = list(_in_room(leading, _named(leading, facts), before, room))
    if first and first not in [fact for fact, _, _ in kept]:
        # Nothing that an agent puts first keeps the number out.
        leading = [first, *(fact for fact in leading if fact != first)]
        kept = list(_in_room(leading, _named(leading, facts), before, room))
    return kept


def _by_policy(action: Action, after: Action) -> str:
    if action.terms.title:
        texts = iter(_changed(action, after, _PLACEHOLDER.findall(action.terms.title)))
        return _PLACEHOLDER.sub(lambda _: next(texts), action.terms.title)
    runs = after.shown(on_card=True)
    names = [name for name in action.terms.headline if name in runs and not has_unshown(runs[name])]
    return " ".join(_changed(action, after, names))


def _changed(action: Action, after: Action, names: Sequence[str]) -> list[str]:
    old, new = (_filled(call.shown(on_card=True), names) for call in (action, after))
    both = zip(old, new, strict=True)
    return [after if before == after else f"{before} {in_text.BECOMES} {after}" for before, after in both]


def _filled(args: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Write what stands for each name, or path of two names; a value that is not shown is said to be hidden."""
    values = [_at(args, name) for name in names]
    texts = each_apart(["" if value is _ABSENT or has_unshown(value) else value for value in values], ROOM)
    return [
        in_text.LEFT_OUT if value is _ABSENT else in_text.HIDDEN_VALUE if has_unshown(value) else text
        for value, text in zip(values, texts, strict=True)
    ]


def _at(args: dict[str, Any], path: str) -> Any:
    first, _, second = path.partition(".")
    inner = args.get(first)
    return inner.get(second, _ABSENT) if second and isinstance(inner, dict) else args.get(path, _ABSENT)


def _in_room(
    facts: Sequence[Fact], named: Sequence[bool], before: _Before, room: int
) -> Iterator[tuple[Fact, bool, str]]:
    """Write facts while there is room, each with whether its name is in it. The last one may be cut."""
    for fact, has_name in zip(facts, named, strict=True):
        path = fact.path if fact.kind is Kind.LIMIT else fact.path[-1:]
        name = f"{clip('.'.join(map(key_text, path)), _BESIDE_OTHERS)} " if has_name else ""
        text, old = _text(fact, ROOM), fact if before is None else before.get(fact.path)
        was = text if old is fact else _text(old, ROOM) if old else in_text.LEFT_OUT
        if was != text or (old and old.value != fact.value):
            text = f"{was} {in_text.BECOMES} {text}"
        text = name + text
        if units(text) > room:
            if fact.number is None and room >= _LEAST + len(name):
                yield fact, has_name, name + _text(fact, room - len(name))
            return
        yield fact, has_name, text
        room -= units(text) + 3


def _named(facts: Sequence[Fact], of: Facts) -> list[bool]:
    """Say which of the facts of a call carry their name: all but those that read as what they are."""
    people = sum(fact.kind in _PEOPLE for fact in of.shown)
    seen = set[Kind]()
    named = []
    for fact in facts:
        is_second = fact.kind in seen
        seen.add(fact.kind)
        is_number = fact.kind <= Kind.NUMBER and not of.needs_no_name(fact)
        several = is_number or (fact.kind in _PEOPLE and people > 1)
        is_alone = len(of.shown) == 1 and not fact.is_nested
        is_vague = fact.kind > Kind.OTHER or (fact.kind is Kind.OTHER and not is_alone)
        named.append(is_second or several or is_vague)
    return named


def _text(fact: Fact, room: int) -> str:
    value = fact.value
    if fact.is_nested:
        return f"({len(value)})"
    if fact.number is not None:
        # A number that is cut would read as another one.
        room = units(encode(value))
    if isinstance(value, str) and "\n" in value.strip():
        # Of a letter or a program, the first line says which it is.
        value = value.strip().split("\n")[0] + CUT
    return f"{written(value, room)}{f' {fact.unit}' if fact.unit else ''}"


def _joined(said: Sequence[tuple[Fact, bool, str]]) -> str:
    """Join values by a space, and by a dot where a name would read as part of the value before."""
    text = ""
    for place, (_, has_name, item) in enumerate(said):
        between = f" {_BETWEEN} " if place and (has_name or said[place - 1][1]) else " " if place else ""
        text += between + item
    return text


# --- Several calls ----------------------------------------------------------------------------------------------------


def _of_tools(actions: Sequence[Action], room: int) -> str:
    """Name each call with its values where all have room, or else only the tools."""
    groups: dict[str, list[Action]] = {}
    for action in actions:
        groups.setdefault(action.request.name, []).append(action)
    for each in (max(room // len(groups), _BESIDE_OTHERS), _BESIDE_OTHERS):
        said = ", ".join(subject_of(group, each) for group in groups.values())
        if units(said) <= room:
            return said
    return tools_of(actions, room)


def _sums(actions: Sequence[Action]) -> list[str]:
    """Say what a number of every call comes to: those of the policy's headline, or the first number and the largest."""
    facts = [action.after.facts for action in actions]
    numbers = [[fact for fact in each.shown if fact.number is not None] for each in facts]
    if not all(numbers):
        return []
    largest = largest_of([fact for each in numbers for fact in each])
    named = [fact.path for fact in numbers[0] if fact.path[0] in actions[0].terms.headline]
    paths = dict.fromkeys(named or [numbers[0][0].path, *([largest.path] if largest else [])])
    is_one = len(named) == 1 or all(
        each.needs_no_name(found[0]) for each, found in zip(facts, numbers, strict=True)
    )
    is_everywhere = largest and all(largest.path in {fact.path for fact in each} for each in numbers)
    if not named and not (is_everywhere and all(each.amount for each in facts)):
        return []
    found = []
    for path in paths:
        own = [fact for each in numbers for fact in each if fact.path == path]
        if len(own) < len(actions):
            continue
        adds_up = all(
            each.adds_up(fact) and fact.kind is Kind.MONEY for each, fact in zip(facts, own, strict=True)
        )
        # Nobody has agreed to what is proposed.
        if text := _sum(own, adds_up=adds_up and not any(action.proposal for action in actions)):
            found.append(text if is_one else f"{key_text(path[-1])} {text}")
    return found


def _sum(facts: Sequence[Fact], *, adds_up: bool) -> str:
    """Add numbers that have one unit and one sign. Where no exact sum is possible, give the smallest and the largest."""
    numbers = [fact.number or Decimal(0) for fact in facts]
    if len({fact.unit for fact in facts}) > 1:
        return ""
    if adds_up and len({number < 0 for number in numbers}) == 1 and (total := _exact(numbers)):
        return on_card.together(f"{total} {facts[0].unit}".strip())
    low, high = (pick(facts, key=lambda fact: fact.number or Decimal(0)) for pick in (min, max))
    ends = _text(low, ROOM), _text(high, ROOM)
    text = ends[0] if low.value == high.value else on_card.from_to(*ends)
    return text if units(text) <= 2 * _LONGEST_SUM else ""


def _exact(numbers: Sequence[Decimal]) -> str:
    """Add numbers; empty where the sum would be rounded, or is too long to be read."""
    try:
        with localcontext() as exact:
            exact.traps[Inexact] = True
            total = f"{sum(numbers, Decimal(0)):f}"
    except Inexact:
        return ""
    return total if len(total) <= _LONGEST_SUM else ""


def _odd_ones(actions: Sequence[Action]) -> list[str]:
    """Say what a few calls have and most others do not: one with admin true."""
    if len(actions) < _FEWEST:
        return []
    calls = [{fact.path: _text(fact, ROOM) for fact in action.after.facts.shown} for action in actions]
    found: list[str] = []
    for path in dict.fromkeys(path for call in calls for path in call):
        values = Counter(call.get(path) for call in calls)
        (usual, count), *_ = values.most_common(1)
        if not _USUAL * len(calls) <= count < len(calls):
            continue
        odd = [value for value in values.elements() if value != usual]
        found.append(on_card.odd_of(len(odd), key_text(path[-1]), odd[0] if len({*odd}) == 1 else None))
    left = len(found) - _MOST_ODD
    return [*found[:_MOST_ODD], *([on_card.other_odd(left)] if left > 0 else [])]
