"""A call that is decided, folded: what ran on one line that Slack wraps. *Details* shows all of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.action import Action
from bot.domain.admission import Terms
from bot.domain.masking import hide
from bot.rendering.arguments import Argument, arguments_of, is_same
from bot.rendering.blocks import Block, leaves, rich_text
from bot.rendering.calls import headline_first, leaves_of, safe_name, side_by_side, title_blocks
from bot.rendering.cautions import caution_blocks
from bot.rendering.changes import becomes
from bot.sentences import in_text
from bot.text.literal import key_text

_BETWEEN = "   "
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
        """Whether both stand on the line."""
        return all(each is None or each.is_short for each in (self.old, self.new))


def folded_blocks(action: Action, held: Collection[str] = (), *, has_line: bool = True) -> list[Block]:
    """Draw a call without what was needed to decide it, and without the values that the title holds."""
    at = f"a:{action.index}"
    line = _line(_left_to_show(action, held)) if has_line else []
    blocks: list[Block] = []
    if (action.is_alone and action.terms.title) or not safe_name(action.request):
        blocks += title_blocks(action)[-1:]
    if line:
        blocks.append(rich_text(f"{at}:arguments", [{"type": "rich_text_section", "elements": line}]))
    return [*blocks, *caution_blocks(f"{at}:", action.request.name, action.shown(on_card=True))]


def has_details(action: Action, held: Collection[str]) -> bool:
    """Whether a folded call leaves something out."""
    return bool(action.must_read or action.description or _left_out(_left_to_show(action, held)))


def _left_to_show(action: Action, held: Collection[str]) -> list[Pair]:
    return [pair for pair in pairs_of(action) if pair.is_changed or pair.name not in held]


def pairs_of(action: Action) -> list[Pair]:
    """Pair the arguments that were asked with those that were decided, as people may see them."""
    ran = action.as_it_ran
    asked, decided = action.request.args, ran.request.args
    before, after = (
        dict(zip(args, arguments_of(args), strict=True))
        for args in (_seen(found, ran.terms, action.headline) for found in (asked, decided))
    )
    return [
        Pair(name, before.get(name), after.get(name), not _is_same(asked, decided, name))
        for name in dict.fromkeys([*before, *after])
    ]


def _seen(args: dict[str, Any], terms: Terms, headline: Sequence[str]) -> dict[str, Any]:
    return headline_first(hide(args, terms.masked, terms.modal_only), headline)


def _is_same(asked: dict[str, Any], decided: dict[str, Any], name: str) -> bool:
    return name in asked and name in decided and is_same(asked[name], decided[name])


def _line(pairs: Sequence[Pair]) -> list[Block]:
    found = side_by_side([(key_text(pair.name), change_of(pair)) for pair in _fitting(pairs)])
    left = _left_out(pairs)
    return [*found, *(leaves(f"{_BETWEEN if found else ''}{in_text.not_on_line(left)}") if left else [])]


def _left_out(pairs: Sequence[Pair]) -> int:
    """Count the arguments that the line does not show. A long value that was changed has a box of its own."""
    return sum(not pair.is_changed or pair.is_short for pair in pairs) - len(_fitting(pairs))


def _fitting(pairs: Sequence[Pair]) -> list[Pair]:
    """Give what was changed, and of the others the first one and those that there is room for."""
    shown = [pair for pair in pairs if pair.is_short]
    room = _ROOM - sum(_length(pair) for pair in shown if pair.is_changed)
    found: list[Pair] = []
    for pair in shown:
        if not pair.is_changed:
            room -= _length(pair)
        if pair.is_changed or room >= 0 or not found:
            found.append(pair)
    return found


def _length(pair: Pair) -> int:
    values = sum(
        len(each.text) + 1 for each in ((pair.old, pair.new) if pair.is_changed else (pair.new,)) if each
    )
    return len(pair.name) + values + 3


def change_of(pair: Pair) -> list[Block]:
    """Draw a value: as it is, or as it was and as it became."""
    if pair.old is None or pair.new is None:
        added, removed = pair.new, pair.old
        if added:
            return [*leaves(f"{in_text.ADDED} "), *leaves_of(added, "bold")]
        return [*leaves_of(removed, "strike"), *leaves(f" {in_text.REMOVED}")] if removed else []
    if not pair.is_changed:
        return leaves_of(pair.new)
    return becomes(leaves_of(pair.old), leaves_of(pair.new))
