"""How a request is laid out: planned once, for everything that may be decided later, and kept in its record."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.action import Action, once
from bot.domain.admission import Admission, Place
from bot.domain.approval import QUESTION_LENGTH
from bot.domain.ids import button_value
from bot.rendering.blocks import json_size
from bot.rendering.buttons import button_blocks
from bot.rendering.calls import call_size
from bot.rendering.card.batch import ROOM as ROWS_ROOM
from bot.rendering.card.batch import is_batch, rows_blocks
from bot.rendering.card.folded import decided_size
from bot.rendering.card.header import agent_blocks
from bot.rendering.card.votes import added_by_steps, is_mixed
from bot.rendering.pages import measure

BUDGET = 9_500
"""JSON characters of blocks in one message: Slack stops somewhere above 11,000 (`msg_blocks_too_long`)."""
MAX_BLOCKS = 45
# What a message takes besides its actions, at the most: header, context line, bulk buttons or reason, notes; and a part.
_FRAME, _PART_FRAME, _FRAME_BLOCKS = 2_200, 2_200, 9
# The bulk buttons of these.
_BULK = 1_000
# The line that says who is looking, and the buttons about time.
_CLOCK, _CLOCK_BLOCKS = 900, 2
# The line above an action.
_LINE = 60
# The line about who decided, and at least this much of their words.
_OUTCOME, OUTCOME_TEXT = 450, 300
# The line about who decides an action, on a card where different people decide.
_WHO_DECIDES = 350
# The lines that count votes, with the button to agree, and the line about silence.
_VOTES, _SILENCE = 1_050, 160
# The lines that warn of a tool's name, and say by which pattern it is matched.
_LOOK_ALIKE, _MATCHED = 1_500, 300


def lay_out(interrupt: Interrupt, admission: Admission) -> Admission:
    """Fix how many pages of each action have to be read, and how messages show the actions of each place.

    A later version with other sizes draws the same messages, and asks people to read as much.
    """
    calls = measure(interrupt, admission.terms)
    places = tuple(_divided(interrupt, admission, place, calls) for place in admission.places)
    return admission.model_copy(update={"pages": tuple(call.pages for call in calls), "places": places})


def _divided(interrupt: Interrupt, admission: Admission, place: Place, calls: Sequence[Action]) -> Place:
    here = [calls[index] for index in place.actions]
    mixed, timed = is_mixed(admission, place), is_timed(admission, place)
    if not mixed and fit_rows(interrupt, here, timed=timed):
        return place.model_copy(update={"rows": True})
    return place.model_copy(update={"parts": plan_parts(interrupt, here, mixed=mixed, timed=timed)})


def is_timed(admission: Admission, place: Place) -> bool:
    escalates = any(added_by_steps(admission, index) is not None for index in place.actions)
    return bool(place.assign or admission.extension or escalates)


def fit_rows(interrupt: Interrupt, calls: Sequence[Action], *, timed: bool) -> bool:
    """Tell whether one message holds all calls as rows, whatever is decided later."""
    if not is_batch(calls):
        return False
    rows = rows_blocks(calls)
    size = json_size(rows) + ROWS_ROOM
    return _fits([(size, len(rows) + 4)], *_frame(interrupt, calls, timed=timed))


def plan_parts(
    interrupt: Interrupt, calls: Sequence[Action], *, mixed: bool = False, timed: bool = False
) -> tuple[tuple[int, ...], ...]:
    """Divide the actions of a place into the messages that they take, whatever is decided later: none when one holds all.

    `mixed`: different people decide them. `timed`: people may look, get more time, or be asked elsewhere as well.
    """
    costs = {call.index: _cost(call, _WHO_DECIDES * mixed) for call in calls}
    frame, blocks = _frame(interrupt, calls, timed=timed)
    if _fits(costs.values(), frame, blocks):
        return ()
    below = max(_buttons_size(interrupt, calls) - _BULK, 0)
    parts: list[list[int]] = [[]]
    for index in costs:
        if parts[-1] and not _fits([costs[other] for other in [*parts[-1], index]], _PART_FRAME + below):
            parts.append([])
        parts[-1].append(index)
    return tuple(tuple(part) for part in parts)


def _frame(interrupt: Interrupt, calls: Sequence[Action], *, timed: bool) -> tuple[int, int]:
    """Bound what a message takes besides its actions: JSON characters and blocks."""
    size = _FRAME + json_size(agent_blocks(interrupt, calls[0].secrets))
    # The buttons of the last open call take the place of those for all.
    size += max(_buttons_size(interrupt, calls) - _BULK, 0)
    return size + _CLOCK * timed, _FRAME_BLOCKS + _CLOCK_BLOCKS * timed


def _buttons_size(interrupt: Interrupt, calls: Sequence[Action]) -> int:
    """Bound the buttons of one call as they were asked: those of the last open one stand below all calls."""
    value = button_value(interrupt.id, question="?" * QUESTION_LENGTH)
    return max(_own_buttons(call, value) for call in calls)


@once
def _own_buttons(action: Action, value: str) -> int:
    # `_VOTES` counts those that come with a vote.
    return json_size(button_blocks(replace(action, votes=(), stricter=None), value))


def _cost(action: Action, who_decides: int) -> tuple[int, int]:
    """Bound what an action takes at any time: JSON characters and blocks."""
    (size, count), terms = call_size(action), action.terms
    votes = _VOTES * terms.needs_votes + _SILENCE * terms.by_silence
    names = _LOOK_ALIKE * bool(terms.resembles) + _MATCHED * bool(terms.matched)
    open_size = size + who_decides + votes + names
    return _LINE + max(open_size, decided_size(action) + _OUTCOME + OUTCOME_TEXT), count + 4


def _fits(costs: Collection[tuple[int, int]], frame: int, frame_blocks: int = _FRAME_BLOCKS) -> bool:
    size = frame + sum(size for size, _ in costs)
    return size <= BUDGET and frame_blocks + sum(count for _, count in costs) <= MAX_BLOCKS
