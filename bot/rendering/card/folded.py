"""A call that is decided, folded: what ran on one line that Slack wraps. *Details* shows all of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.action import Action, once, once_as_asked
from bot.domain.masking import hide
from bot.rendering.arguments import Argument, arguments_of, is_same
from bot.rendering.blocks import Block, json_size, leaves, rich_text, section_of
from bot.rendering.calls import (
    CARD_ARGUMENTS,
    call_size,
    caution_blocks,
    headline_first,
    leaves_of,
    ordered,
    safe_name,
    side_by_side,
    title_blocks,
)
from bot.rendering.changes import becomes
from bot.sentences import in_text
from bot.text.literal import key_text

_BETWEEN = "   "
# JSON characters that the values of one of several decided calls may take, and how many more than its call had.
_FOLDED, _SPARE, _ALONE = 600, 150, 2_000
NOTHING = frozenset[str]()
_ROOM = 72
"""Characters of what stands on the line: about two lines of a phone. An edit is always whole."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One argument as it was asked and as it was decided."""

    name: str
    old: Argument | None
    """`None` where an edit added it."""
    new: Argument | None
    """`None` where an edit removed it."""
    is_changed: bool

    @property
    def is_short(self) -> bool:
        return all(each is None or each.is_short for each in (self.old, self.new))


def folded_blocks(action: Action, held: frozenset[str] = NOTHING) -> list[Block]:
    """Draw a call without what was needed to decide it, and without the values that the title holds."""
    return [*json.loads(_folded(action, held)[0])]


def has_line(action: Action) -> bool:
    """Whether a line holds the values of a decided action, with every change. The place for it was measured before."""
    return _folded(action, NOTHING)[1]


def has_details(action: Action, held: frozenset[str]) -> bool:
    return bool(action.must_read or action.description or _folded(action, held)[2])


@once
def decided_size(action: Action) -> int:
    """Bound the JSON characters of a decided call, without who decided it and their words."""
    spare, values = (_ALONE, CARD_ARGUMENTS) if action.is_alone else (_SPARE, _FOLDED)
    above, below = _around(action)
    return min(call_size(action)[0] + spare, json_size([*above, *below]) + values)


@once_as_asked
def _folded(action: Action, held: frozenset[str]) -> tuple[str, bool, int]:
    """Give the blocks as JSON, whether a line is among them, and how many arguments it leaves out."""
    above, below = _around(action)
    line, left = _line([pair for pair in pairs_of(action) if pair.is_changed or pair.name not in held])
    values = [rich_text(f"a:{action.index}:arguments", [line])] if line["elements"] else []
    whole = [*above, *values, *below]
    has_room = has_line(action) if held else json_size(whole) <= decided_size(action)
    return encode(whole if has_room else [*above, *below]), has_room, left


def _around(action: Action) -> tuple[list[Block], list[Block]]:
    is_titled = (action.is_alone and action.terms.title) or not safe_name(action.request)
    below = caution_blocks(f"a:{action.index}:", action.request.name, action.shown(on_card=True))
    return title_blocks(action)[-1:] if is_titled else [], below


def pairs_of(action: Action) -> list[Pair]:
    """Pair the arguments that were asked with those that were decided, as people may see them."""
    ran = action.as_it_ran
    if ran is action:
        return [Pair(name, found, found, is_changed=False) for name, found in _named(ordered(action)).items()]
    asked, decided = action.request.args, ran.request.args
    hidden = ran.terms.masked, ran.terms.modal_only
    seen = (headline_first(hide(found, *hidden), action.headline) for found in (asked, decided))
    before, after = map(_named, seen)
    return [
        Pair(
            name,
            before.get(name),
            after.get(name),
            name not in asked or name not in decided or not is_same(asked[name], decided[name]),
        )
        for name in dict.fromkeys([*before, *after])
    ]


def _named(args: dict[str, Any]) -> dict[str, Argument]:
    return dict(zip(args, arguments_of(args), strict=True))


def _line(pairs: Sequence[Pair]) -> tuple[Block, int]:
    """Draw the line: what was changed, and of the others the first one and those that there is room for; count what is left out."""
    shown = [pair for pair in pairs if pair.is_short]
    room = _ROOM - sum(_length(pair) for pair in shown if pair.is_changed)
    fitting: list[Pair] = []
    for pair in shown:
        room -= 0 if pair.is_changed else _length(pair)
        if pair.is_changed or room >= 0 or not fitting:
            fitting.append(pair)
    left = sum(not pair.is_changed or pair.is_short for pair in pairs) - len(fitting)
    found = side_by_side([(key_text(pair.name), change_of(pair)) for pair in fitting])
    if left:
        found += leaves(f"{_BETWEEN if found else ''}{in_text.not_on_line(left)}")
    return section_of(found), left


def _length(pair: Pair) -> int:
    values = sum(
        len(each.text) + 1 for each in ((pair.old, pair.new) if pair.is_changed else (pair.new,)) if each
    )
    return len(pair.name) + values + 3


def change_of(pair: Pair) -> list[Block]:
    if pair.old is None or pair.new is None:
        added, removed = pair.new, pair.old
        if added:
            return [*leaves(f"{in_text.ADDED} "), *leaves_of(added, "bold")]
        return [*leaves_of(removed, "strike"), *leaves(f" {in_text.REMOVED}")] if removed else []
    if not pair.is_changed:
        return leaves_of(pair.new)
    return becomes(leaves_of(pair.old), leaves_of(pair.new))
