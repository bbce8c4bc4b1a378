"""What became of the calls that ran, on the card and in its thread. Pure.

The agent's words are literal text in blocks of their own, without masked values.
"""

from collections.abc import Sequence
from datetime import datetime

from agent_adapter.contract.outcome import Outcome
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.outcomes import secrets_in, without_secrets
from bot.rendering.blocks import (
    Block,
    context,
    json_size,
    literal_within,
    quoted,
    rich_text,
    section,
)
from bot.rendering.calls import safe_name
from bot.rendering.card.folded import ONE_LINE, values_line
from bot.rendering.card.title import failed_in, run_suffix
from bot.sentences import on_outcome, words
from bot.text.literal import visible

_ERROR, _RESULT = 900, 400
"""JSON characters of an error and of a result on the card. A card has this much room beside its calls."""
_VALUES = 100
"""Characters of the values of one of several calls in the thread."""
_FEW = 8
"""Up to how many calls the thread says what each ran with."""
_LEAST = 300
"""JSON characters that are left for the words of a call beside its values."""
_IN_THREAD = 7_000
_NAMED = 20
"""How many calls the message in the thread names."""


def ran_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw the agent's words about the only call, or about the first call that failed, with the values it ran with.

    The line above says which call that is. Where none of several failed, they are in the thread.
    """
    reported = reported_in(state, place)
    if not reported:
        return []
    failed = failed_in(state, place)
    if len(place.actions) > 1 and not failed:
        return [context("ran", on_outcome.in_thread(len(reported)))]
    (index, *_) = failed or reported
    _, shown = _says(state, index, secrets_in(state), is_brief=True)
    values = _values(state, index, ONE_LINE) if len(place.actions) > 1 else []
    return _words(index, values, shown, _ERROR if failed else _RESULT)


def ran_words(state: Approval, place: Place) -> str:
    """Say in the line below the title what became of the only call, or which calls failed; `ran_blocks` has the words."""
    reported, failed = reported_in(state, place), failed_in(state, place)
    if len(place.actions) == 1 and reported:
        return _says(state, reported[0], secrets_in(state), is_brief=True)[0]
    if not failed:
        return ""
    opening = on_outcome.failed(failed)
    return _says(state, failed[0], secrets_in(state), is_brief=True, opening=opening)[0]


def is_told_in_thread(state: Approval, place: Place) -> bool:
    """Whether the thread says what became of the calls: of several, and of one whose words the card does not show."""
    reported = reported_in(state, place)
    if len(place.actions) > 1:
        return bool(reported)
    return any(_is_long(state.outcomes[index].outcome) for index in reported)


def thread_text(state: Approval, place: Place) -> str:
    """Say in a notification what became of the calls."""
    return on_outcome.of_all(run_suffix(state, place))


def thread_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw what became of every call, those that failed first. There is one such message, and it is edited."""
    reported = sorted(
        reported_in(state, place), key=lambda index: state.outcomes[index].outcome.status != "failed"
    )
    named = reported[:_NAMED]
    room = max(_IN_THREAD // len(named), _LEAST)
    blocks, secrets = [section("ran", thread_text(state, place))], secrets_in(state)
    for index in named:
        values = _values(state, index, _VALUES) if 1 < len(place.actions) <= _FEW else []
        kept = values if json_size(values) <= room - _LEAST else []
        blocks += _blocks(state, index, secrets, min(room, 3_000), named=len(place.actions) > 1, values=kept)
    left = len(reported) - len(named)
    return [*blocks, *([context("ran:more", on_outcome.more(left))] if left else [])]


def outcome_blocks(state: Approval, index: int) -> list[Block]:
    """Draw what the agent reported of one call; nothing when it reported nothing."""
    return _blocks(state, index, secrets_in(state), 3_000) if index in state.outcomes else []


def reported_in(state: Approval, place: Place) -> list[int]:
    """Give the calls of a place that ran and were reported."""
    return [index for index in state.running(place.actions) if index in state.outcomes]


def all_reported_at(state: Approval, place: Place) -> datetime | None:
    """Give the time since when the outcome of every call of a place is known; `None` before that, and without such calls."""
    runs = state.running(place.actions)
    if not runs or any(index not in state.outcomes for index in runs):
        return None
    return max(state.outcomes[index].reported_at for index in runs)


def _is_long(outcome: Outcome) -> bool:
    room = _ERROR if outcome.status == "failed" else _RESULT
    return len(outcome.text) > room // 2 or (outcome.status == "done" and "\n" in outcome.text.strip())


def _blocks(
    state: Approval,
    index: int,
    secrets: Sequence[str],
    room: int,
    *,
    named: bool = False,
    values: Sequence[Block] = (),
) -> list[Block]:
    says, shown = _says(state, index, secrets, is_brief=False, named=named)
    return [context(f"ran:{index}", says), *_words(index, values, shown, room)]


def _values(state: Approval, index: int, room: int) -> list[Block]:
    """Draw the values that one of several calls ran with, on one line."""
    return [{"type": "rich_text_section", "elements": values_line(state.actions[index], room)}]


def _words(index: int, values: Sequence[Block], text: str, room: int) -> list[Block]:
    """Draw values, and the agent's words below them: both are the agent's."""

    def draw(block_id: str, text: str) -> Block:
        return rich_text(block_id, [*values, *([quoted(text)] if text else [])])

    return [literal_within(f"ran:{index}:text", text, room, draw)] if values or text else []


def _status(state: Approval, index: int, *, named: bool) -> str:
    """Say whether a call is done; of several calls, which one."""
    reported, action = state.outcomes[index], state.actions[index]
    call = on_outcome.call(action.number, safe_name(action.request) or words.UNUSUAL_TOOL) if named else ""
    return on_outcome.ran(reported.outcome.status, reported.reported_at, call)


def _says(
    state: Approval,
    index: int,
    secrets: Sequence[str],
    *,
    is_brief: bool,
    named: bool = False,
    opening: str = "",
) -> tuple[str, str]:
    """Say what became of a call, and give the agent's words about it as far as they are shown.

    With an opening, only that comes before these words.
    """
    outcome = state.outcomes[index].outcome
    text = without_secrets(outcome, secrets).strip()
    says = opening or _status(state, index, named=named)
    if not text:
        return says, ""
    # The title of a card about one call says whether it is done.
    usual = on_outcome.IT_SAYS if is_brief else says + on_outcome.WORDS_FOLLOW
    follows = opening or usual
    lines = text.splitlines()
    is_cut = is_brief and outcome.status == "done" and len(lines) > 1
    if is_cut:
        follows += on_outcome.first_line(len(lines))
    elif outcome.length is not None:
        follows += on_outcome.beginning(len(outcome.text), outcome.length)
    return follows, visible(lines[0] if is_cut else text)
