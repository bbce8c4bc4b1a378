"""A batch of one tool: its calls as rows, what holds for all of them, and what became of each."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.rendering.blocks import Block, actions, context, leaves, literal, literal_within, rich_text
from bot.rendering.buttons import REVIEW, value_of
from bot.rendering.calls import care_words, description_blocks, description_is_cut, safe_name
from bot.rendering.card.outcomes import common_outcome, outcome_line, outcome_text
from bot.rendering.card.ran import shows_failure
from bot.rendering.card.rows import words_while_open
from bot.rendering.card.table import breaks_plainly, question, row_lines, same_lines, table_of
from bot.rendering.card.votes import proposal_text
from bot.rendering.cautions import caution_blocks
from bot.sentences import in_text, on_card
from bot.text.literal import units

FEWEST = 3
"""Two calls stand below each other, each with its own buttons."""
ROOM = 2_400
"""JSON characters for what became of the rows."""
_WORDS, _LEAST = 1_300, 600
"""Of these, the most for who decided what, and the least for the texts of decisions."""
_FOLDED = 160
"""Characters of what is decided: four lines of a phone. What is longer is behind a button, which is about as high as two."""
_SHOW_ALL = replace(REVIEW, style=None)


def is_batch(calls: Sequence[Action]) -> bool:
    """Say whether calls can be shown as rows: several of one tool, alike in everything but their arguments."""
    first = calls[0]
    return (
        len(calls) >= FEWEST
        and all(_is_alike(call, first) for call in calls)
        and safe_name(first.request) is not None
        and not first.has_code
        and not first.terms.again
        and not description_is_cut(first)
        and not any(call.must_read for call in calls)
        and units("\n".join(_care(calls))) <= _WORDS
        and (table := table_of(calls)) is not None
        and breaks_plainly(table)
    )


def _is_alike(call: Action, other: Action) -> bool:
    return (call.request.name, call.description, call.terms, call.config) == (
        other.request.name,
        other.description,
        other.terms,
        other.config,
    )


def rows_blocks(calls: Sequence[Action]) -> list[Block]:
    """Draw calls as rows, and what holds for all of them. They look the same as long as the card exists."""
    table = table_of(calls)
    assert table
    first, lines = calls[0], row_lines(table)
    blocks = [literal("rows", "\n".join(lines))] if lines else []
    if table.usual or not lines:
        says = on_card.USUAL if table.has_exceptions else on_card.same_in_all(len(calls))
        same = same_lines(table) or [in_text.NO_ARGUMENTS]
        blocks += [context("same:label", says), literal("same", "\n".join(same))]
    if care := _care(calls):
        blocks.append(context("rows:care", "\n".join(care)))
    return [*blocks, *_caution_blocks(calls), *description_blocks("rows", first)]


def folded_rows_blocks(state: Approval, calls: Sequence[Action], place: int) -> list[Block]:
    """Draw calls that are decided, on a line that Slack wraps. Where that would be long, they are in the review.

    Where one of a few calls failed, the card has its values in place of the button. The thread has those of the others.
    """
    line = question(calls, with_tool=False) or ""
    is_short = units(line) <= _FOLDED
    section = {"type": "rich_text_section", "elements": leaves(line, "code")}
    blocks = [*([rich_text("rows", [section])] if is_short else []), *_caution_blocks(calls)]
    if (not is_short or calls[0].description) and not shows_failure(state, state.places[place]):
        button = _SHOW_ALL.drawn(
            place, value_of(state, state.places[place].actions), on_card.show_all(len(calls))
        )
        blocks.append(actions("rows:all", [button]))
    return blocks


def _caution_blocks(calls: Sequence[Action]) -> list[Block]:
    shown = [(str(call.number), call.shown(on_card=True)) for call in calls]
    first = calls[0]
    return caution_blocks(
        "rows:", [(in_text.TOOL, first.request.name), *shown, (in_text.WORDS, first.description)]
    )


def _care(calls: Sequence[Action]) -> list[str]:
    return list(dict.fromkeys(word for call in calls for word in care_words(call)))


def what_became_blocks(state: Approval, place: Place, room: int) -> list[Block]:
    """Draw what became of each row, and what is said about the open ones, in so many JSON characters."""
    calls = [state.actions[index] for index in place.actions]
    said = [] if common_outcome(state, place) else _said(state, calls)
    blocks = []
    if lines := _within(said, _WORDS):
        blocks.append(context("rows:outcomes", "\n".join(lines)))
    if texts := [text for call in calls if (text := _text(state, call))]:
        blocks.append(literal_within("rows:told", "\n".join(texts), max(room - _WORDS, _LEAST)))
    return blocks


def _said(state: Approval, calls: Sequence[Action]) -> list[str]:
    """Say it once for all the rows of which it is true."""
    found: dict[str, list[int]] = {}
    for call in calls:
        is_open = state.is_open_at(call.index)
        for words in words_while_open(state, call) if is_open else [outcome_line(state, call)]:
            found.setdefault(words, []).append(call.index)
    if len(found) == 1 and all(len(indices) == len(calls) for indices in found.values()):
        return list(found)
    return [on_card.of_rows(indices, words) for words, indices in found.items()]


def _within(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if units("\n".join([*kept, line])) > room:
            return [*kept, on_card.more_lines(len(lines) - len(kept))]
        kept.append(line)
    return kept


def _text(state: Approval, call: Action) -> str:
    text = proposal_text(call) if state.is_open_at(call.index) else outcome_text(call)
    return f"{call.number}. {text}" if text else ""
