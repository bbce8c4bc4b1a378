"""A batch of one tool: its calls as rows, what holds for all of them, and what became of each."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.rendering.blocks import (
    Block,
    actions,
    context,
    json_size,
    leaves,
    literal,
    literal_within,
    rich_text,
    section,
)
from bot.rendering.buttons import READ, REVIEW, value_of
from bot.rendering.calls import (
    arguments_as_text,
    care_words,
    description_blocks,
    description_is_cut,
    safe_name,
)
from bot.rendering.card.outcomes import common_outcome, outcome_line, outcome_text
from bot.rendering.card.rows import words_while_open
from bot.rendering.card.table import (
    MOST_ODD,
    Table,
    has_plain_names,
    odd_rows,
    question,
    row_lines,
    same_lines,
    table_of,
    totals,
)
from bot.rendering.card.votes import proposal_text
from bot.rendering.cautions import caution_blocks
from bot.sentences import in_text, on_action, on_button, on_card
from bot.text.literal import units, visible

FEWEST = 3
"""Two calls stand below each other. Rows would halve their height, and cost a tap more for each call decided by itself."""
ROOM = 2_400
"""JSON characters for what became of the rows."""
_WORDS, _LEAST = 1_300, 600
"""Of these, the most for who decided what, and the least for the texts of decisions."""
_FOLDED = 160
"""Characters of what is decided: four lines of a phone. What is longer is behind a button, which is about as high as two."""
_ODD, _WITH_MORE = 900, 4_000
"""The JSON characters that rows named below the table may take, and those that all rows with sums and with these may take."""
_SHOW_ALL = replace(REVIEW, style=None)


def is_batch(calls: Sequence[Action]) -> bool:
    """Say whether calls can be shown as rows: several of one tool, alike in everything but their arguments and reasons."""
    first = calls[0]
    return (
        len(calls) >= FEWEST
        and all(_is_alike(call, first) for call in calls)
        and safe_name(first.request) is not None
        and not first.has_code
        and not first.terms.again
        and not any(description_is_cut(call) or call.must_read for call in calls)
        and units("\n".join(_care(calls))) <= _WORDS
        and has_plain_names(table_of(calls))
    )


def _is_alike(call: Action, other: Action) -> bool:
    return (call.request.name, call.terms, call.config) == (other.request.name, other.terms, other.config)


def rows_blocks(calls: Sequence[Action]) -> list[Block]:
    """Draw calls as rows, and what holds for all of them. They look the same as long as the card exists."""
    table = table_of(calls)
    lines, below = row_lines(table), table.below
    blocks = [literal("rows", "\n".join(lines))] if lines else []
    if below:
        blocks.append(arguments_as_text("below", below))
    if table.usual or not blocks:
        blocks += _same_blocks(table, len(calls))
    said = [context("rows:care", "\n".join(care))] if (care := _care(calls)) else []
    said += [*_caution_blocks(calls), *_reason_blocks(calls)]
    odd, sums = _with_room(table, calls, json_size([*blocks, *said]))
    return [*blocks[:1], *odd, *blocks[1:], *sums, *said]


def _with_room(table: Table, calls: Sequence[Action], size: int) -> tuple[list[Block], list[Block]]:
    """Draw the rows that differ, and the sums, as far as there is room beside blocks of this size."""
    named = (_odd_blocks(table, is_brief=False), _odd_blocks(table, is_brief=True))
    odd = next((each for each in named if json_size(each) <= min(_ODD, _WITH_MORE - size)), [])
    sums = _sum_blocks(calls)
    return odd, sums if size + json_size([*odd, *sums]) <= _WITH_MORE else []


def _odd_blocks(table: Table, *, is_brief: bool) -> list[Block]:
    """Name again what a few rows have and the others do not."""
    found = odd_rows(table, "  ", is_brief=is_brief)
    if not 0 < sum(map(len, found.values())) <= MOST_ODD:
        return []
    lines = [
        {
            "type": "rich_text_section",
            "elements": [*leaves(f"{_spans(numbers)}. ", "bold"), *leaves(named, "code")],
        }
        for named, numbers in found.items()
    ]
    return [section("odd:label", on_card.ODD), rich_text("odd", lines)]


def _same_blocks(table: Table, count: int) -> list[Block]:
    """Draw what holds for all rows. What no row can hold is drawn as on the card of one call."""
    same, long = same_lines(table), table.same
    if not (same or long):
        same = [in_text.NO_ARGUMENTS]
    says = on_card.USUAL if table.has_exceptions else on_card.same_in_all(count)
    return [
        context("same:label", says),
        *([literal("same", "\n".join(same))] if same else []),
        *([arguments_as_text("same:long", long)] if long else []),
    ]


def _sum_blocks(calls: Sequence[Action]) -> list[Block]:
    """Draw what the numbers of the headline come to: nobody adds up a column on a phone."""
    found = totals(calls)
    if not found:
        return []
    lines = [{"type": "rich_text_section", "elements": leaves(line, "code")} for line in found]
    return [context("rows:sums:label", on_card.together(len(calls))), rich_text("rows:sums", lines)]


def _reason_blocks(calls: Sequence[Action]) -> list[Block]:
    """Draw what the agent says about the calls: once, or what it says about each, with the numbers of the rows."""
    reasons = _reasons(calls)
    if len(reasons) == 1 and calls[-1].description:
        return description_blocks("rows", calls[0])
    quotes = [_numbered_quote(numbers, text) for text, numbers in reasons.items() if text]
    if not quotes:
        return []
    return [context("rows:says", on_action.AGENT_SAYS), rich_text("rows:description", quotes)]


def _reasons(calls: Sequence[Action]) -> dict[str, list[int]]:
    """Give the numbers of the calls about which the agent says the same."""
    found: dict[str, list[int]] = {}
    for call in calls:
        found.setdefault(call.description, []).append(call.number)
    return found


def _numbered_quote(numbers: Sequence[int], text: str) -> Block:
    # No text of an agent is bold.
    elements = [*leaves(f"{_spans(numbers)}. ", "bold"), *leaves(visible(text))]
    return {"type": "rich_text_quote", "elements": elements}


def _spans(numbers: Sequence[int]) -> str:
    """Write numbers in order without words: 1-3, 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)


def folded_rows_blocks(state: Approval, calls: Sequence[Action], place: int) -> list[Block]:
    """Draw calls that are decided, on a line that Slack wraps. Where that would be long, they are in the review."""
    line = question(calls, with_tool=False) or ""
    is_short = 0 < units(line) <= _FOLDED
    section = {"type": "rich_text_section", "elements": leaves(line, "code")}
    blocks = [*([rich_text("rows", [section])] if is_short else []), *_caution_blocks(calls)]
    if not is_short or any(call.description for call in calls):
        button = _SHOW_ALL.drawn(
            place, value_of(state, state.places[place].actions), on_button.LABELS[READ.verb]
        )
        blocks.append(actions("rows:all", [button]))
    return blocks


def _caution_blocks(calls: Sequence[Action]) -> list[Block]:
    shown = [call.shown(on_card=True) for call in calls]
    return caution_blocks("rows:", calls[0].request.name, *shown, *_reasons(calls))


def _care(calls: Sequence[Action]) -> list[str]:
    return list(dict.fromkeys(word for call in calls for word in care_words(call)))


def what_became_blocks(state: Approval, place: Place, room: int) -> list[Block]:
    """Draw what became of each row, and what is said about the open ones, in so many JSON characters."""
    calls = [state.actions[index] for index in place.actions]
    said = [] if common_outcome(state, place) else _said(state, calls)
    blocks = []
    if lines := _within(said, _WORDS):
        blocks.append(context("rows:outcomes", "\n".join(lines)))
    if texts := _texts(state, calls):
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


def _texts(state: Approval, calls: Sequence[Action]) -> list[str]:
    """Give the texts of decisions and proposals, one that several rows have once."""
    found: dict[str, list[int]] = {}
    for call in calls:
        text = proposal_text(call) if state.is_open_at(call.index) else outcome_text(call)
        found.setdefault(text, []).append(call.number)
    return [f"{_spans(numbers)}. {text}" for text, numbers in found.items() if text]
