"""What became of the calls that ran, on the card and in its thread. Pure.

The agent's words are literal text in blocks of their own, without masked values.
"""

from collections.abc import Sequence
from datetime import datetime

from agent_adapter.contract.outcome import Outcome
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.outcomes import secrets_in, without_secrets
from bot.rendering.blocks import Block, context, literal_within, quote, rich_text, section
from bot.rendering.calls import safe_name
from bot.rendering.card.folded import ran_line
from bot.rendering.card.title import run_suffix
from bot.sentences import on_action, on_outcome, words
from bot.text.literal import visible

_ERROR, _RESULT = 900, 400
"""JSON characters of an error and of a result on the card. A card has this much room beside its calls."""
_VALUES = 100
"""Characters of the values of a call that failed."""
_IN_THREAD = 7_000
_NAMED = 20
"""How many calls the message in the thread names."""


def ran_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw what became of the only call, or of the first call that failed, and say where the others are."""
    reported = reported_in(state, place)
    if not reported:
        return []
    failed = [index for index in reported if state.outcomes[index].outcome.status == "failed"]
    if len(place.actions) == 1:
        blocks = _blocks(state, reported[0], secrets_in(state), _ERROR if failed else _RESULT, is_brief=True)
        # The line above says what the first block says.
        return blocks[1:]
    first = _failed_blocks(state, failed[0]) if failed else []
    return [*first, context("ran", on_outcome.in_thread(len(reported)))]


def _failed_blocks(state: Approval, index: int) -> list[Block]:
    """Draw one call of several that failed: its name, the values it ran with, and the agent's words."""
    line = ran_line(state.actions[index], _VALUES)
    if not line:
        return _blocks(state, index, secrets_in(state), _ERROR, is_brief=True, named=True)
    values = rich_text(f"ran:{index}:values", [{"type": "rich_text_section", "elements": line}])
    says, shown = _says(state, index, secrets_in(state), is_brief=True, opening=on_action.AGENT_SAYS)
    words = [
        context(f"ran:{index}:says", says),
        literal_within(f"ran:{index}:text", shown, _ERROR, quote),
    ]
    return [context(f"ran:{index}", _status(state, index, named=True)), values, *(words if shown else [])]


def ran_words(state: Approval, place: Place) -> str:
    """Say in the line below the title what became of the only call; `ran_blocks` has the agent's words about it."""
    reported = reported_in(state, place)
    if len(place.actions) != 1 or not reported:
        return ""
    return _says(state, reported[0], secrets_in(state), is_brief=True)[0]


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
    room = max(_IN_THREAD // len(named), 300)
    blocks, secrets = [section("ran", thread_text(state, place))], secrets_in(state)
    for index in named:
        blocks += _blocks(state, index, secrets, min(room, 3_000), named=len(place.actions) > 1)
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
    is_brief: bool = False,
    named: bool = False,
) -> list[Block]:
    says, shown = _says(state, index, secrets, is_brief=is_brief, named=named)
    words = [literal_within(f"ran:{index}:text", shown, room, quote)] if shown else []
    return [context(f"ran:{index}", says), *words]


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
    says = _status(state, index, named=named)
    if not text:
        return says, ""
    # The title of a card about one call says whether it is done.
    usual = on_outcome.IT_SAYS if is_brief and not named else says + on_outcome.WORDS_FOLLOW
    follows = opening or usual
    lines = text.splitlines()
    is_cut = is_brief and outcome.status == "done" and len(lines) > 1
    if is_cut:
        follows += on_outcome.first_line(len(lines))
    elif outcome.length is not None:
        follows += on_outcome.beginning(len(outcome.text), outcome.length)
    return follows, visible(lines[0] if is_cut else text)
