"""The answers of a question that are buttons: those that can be taken for nothing else, and for none of our buttons."""

import re

from bot.domain.action import Action
from bot.domain.options import options_of
from bot.rendering.cautions import misleads
from bot.sentences import on_button
from bot.text.literal import units, visible
from bot.text.look_alikes import skeleton

_MOST, _LONGEST, _DESCRIPTION = 5, 30, 400
_NO_LETTERS = re.compile(r"^[\W\d_]+")
_OURS = tuple({skeleton(label.rstrip("…")) for label in on_button.all_labels()})


def options_in_sight(action: Action) -> tuple[str, ...]:
    """Give the answers that the card of a question has as buttons; none where one of them cannot be one.

    The message shows the whole question and asks nothing else, and one person decides.
    """
    is_short = units(visible(action.description)) <= _DESCRIPTION
    stands_whole = action.is_alone and not action.must_read and is_short
    if not stands_whole or action.is_high_risk or action.terms.needs_votes or misleads(action):
        return ()
    offered = options_of(action)
    differ = len({skeleton(each) for each in offered}) == len(offered)
    return offered if differ and len(offered) <= _MOST and all(map(_is_plain, offered)) else ()


def _is_plain(option: str) -> bool:
    has_plain_letters = all(" " <= char <= "~" or char.isalpha() for char in option)
    is_as_written = visible(option) == option == option.strip() and units(option) <= _LONGEST
    begins = skeleton(_NO_LETTERS.sub("", option))
    return has_plain_letters and is_as_written and not begins.startswith(_OURS)
