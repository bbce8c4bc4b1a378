"""A batch of one tool: its calls as rows, what holds for all of them, and what became of each."""

from collections.abc import Sequence

from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.rendering.blocks import (
    Block,
    context,
    json_size,
    leaves,
    literal,
    literal_within,
    quote,
    rich_text,
    section,
    section_of,
)
from bot.rendering.calls import (
    arguments_as_text,
    care_words,
    caution_blocks,
    description_blocks,
    description_is_cut,
    safe_name,
)
from bot.rendering.card.rows import words_while_open
from bot.rendering.card.table import (
    MOST_ODD,
    Table,
    has_plain_names,
    odd_rows,
    reason_lines,
    row_lines,
    same_lines,
    table_of,
)
from bot.rendering.card.votes import (
    common_outcome,
    is_edited,
    mark_of,
    outcome_line,
    outcome_text,
    proposal_text,
)
from bot.sentences import on_card, words
from bot.text.literal import units, visible

FEWEST = 2
ROOM = 2_400
"""JSON characters for what became of the rows."""
_WORDS, _LEAST = 1_300, 600
"""Of these, the most for who decided what, and the least for the texts of decisions."""
_CHANGED = 400
"""How many more JSON characters rows may take once some were changed."""
_IN_SIGHT = 8
"""How many rows stay in sight once all are decided."""
_LONG = {"rows", "below", "same:label", "same:long"}
_ODD = 900
"""The JSON characters that rows named below the table may take."""


def is_batch(calls: Sequence[Action]) -> bool:
    """Say whether calls can be shown as rows: several of one tool, alike in everything but their arguments and reasons."""
    first = calls[0]
    alike = first.request.name, first.terms, first.config
    return (
        len(calls) >= FEWEST
        and all((call.request.name, call.terms, call.config) == alike for call in calls)
        and safe_name(first.request) is not None
        and not first.is_high_risk
        and not any(description_is_cut(call) or call.must_read for call in calls)
        and units("\n".join(_care(calls))) <= _WORDS
        and has_plain_names(table_of(calls))
    )


def rows_blocks(calls: Sequence[Action], *, is_over: bool = False) -> list[Block]:
    """Draw calls as rows, and what holds for all of them; what the agent says about them, until all are decided."""
    table = table_of(calls)
    why, reasons = _reason_blocks(calls) if not is_over else ([], {})
    rows, same = row_lines(table, reasons), same_lines(table)
    lines = [*rows, *([""] if rows and same else []), *same]
    blocks = [*why, *([literal("rows", "\n".join(lines))] if lines else []), *_odd_blocks(table)]
    if table.below:
        blocks.append(arguments_as_text("below", table.below))
    if table.same:
        says = on_card.USUAL if table.has_exceptions else on_card.same_in_all(len(calls))
        blocks += [context("same:label", says), arguments_as_text("same:long", table.same)]
    if not is_over and (care := _care(calls)):
        blocks.append(context("rows:care", "\n".join(care)))
    shown = [call.shown(on_card=True) for call in calls]
    return [*blocks, *caution_blocks("rows:", calls[0].request.name, *shown, *_reasons(calls))]


def _odd_blocks(table: Table) -> list[Block]:
    found = odd_rows(table)
    lines: list[Block] = [
        section_of([*leaves(f"{_spans(numbers)}. ", "bold"), *leaves(named, "code")])
        for named, numbers in found.items()
    ]
    is_few = 0 < sum(map(len, found.values())) <= MOST_ODD and json_size(lines) <= _ODD
    return [section("odd:label", on_card.ODD), rich_text("odd", lines)] if is_few else []


def _reason_blocks(calls: Sequence[Action]) -> tuple[list[Block], dict[int, list[str]]]:
    """Draw what the agent says about the calls above them, or give lines of it for the row of each."""
    reasons = _reasons(calls)
    if len(reasons) == 1:
        return description_blocks("rows", calls[0]), {}
    in_rows = {text: reason_lines(text) for text in reasons if text}
    if all(in_rows.values()):
        return [], {call.number: in_rows[call.description] or [] for call in calls if call.description}
    quotes = [
        # No text of an agent is bold.
        {"type": "rich_text_quote", "elements": [*leaves(f"{_spans(of)}. ", "bold"), *leaves(visible(text))]}
        for text, of in reasons.items()
        if text
    ]
    return [rich_text("rows:description", quotes)], {}


def _reasons(calls: Sequence[Action]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for call in calls:
        found.setdefault(call.description, []).append(call.number)
    return found


def _spans(numbers: Sequence[int]) -> str:
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in words.runs(numbers))


def decided_rows_blocks(state: Approval, calls: Sequence[Action]) -> list[Block]:
    """Draw calls of which some or all are decided: their rows as they run, or only what is odd where these are many."""
    is_over = not any(state.is_open_at(call.index) for call in calls)
    asked, ran = (
        rows_blocks(found, is_over=is_over) for found in (calls, [call.as_it_ran for call in calls])
    )
    # The place for the rows was measured when they were open. What was changed is said below in any case.
    blocks = ran if json_size(ran) <= json_size(asked) + _CHANGED else asked
    is_folded = is_over and are_long(calls)
    return [block for block in blocks if not (is_folded and block["block_id"] in _LONG)]


def are_long(calls: Sequence[Action]) -> bool:
    """Whether rows are behind a button once all are decided: many of them, or with values that no row can hold."""
    table = table_of(calls)
    return bool(len(calls) > _IN_SIGHT or table.below or table.same)


def _care(calls: Sequence[Action]) -> list[str]:
    return list(dict.fromkeys(word for call in calls for word in care_words(call)))


def what_became_blocks(state: Approval, place: Place, room: int) -> list[Block]:
    """Draw what became of each row, and what is said about the open ones, in so many JSON characters."""
    calls = [state.actions[index] for index in place.actions]
    common, blocks = common_outcome(state, place), []
    if lines := _within(_said(state, calls, has_words=not common), _WORDS):
        blocks.append(context("rows:outcomes", (" · " if common else "\n").join(lines)))
    # The texts of decisions and proposals, one that several rows have once.
    found: dict[str, list[int]] = {}
    for call in calls:
        text = proposal_text(call) if state.is_open_at(call.index) else outcome_text(call)
        found.setdefault(text, []).append(call.number)
    is_one = len(found) == 1
    if texts := [text if is_one else f"{_spans(of)}. {text}" for text, of in found.items() if text]:
        draw = literal if any(is_edited(call) or call.proposal for call in calls) else quote
        blocks.append(literal_within("rows:told", "\n".join(texts), max(room - _WORDS, _LEAST), draw))
    return blocks


def _said(state: Approval, calls: Sequence[Action], *, has_words: bool) -> list[str]:
    """Say it once for all the rows of which it is true, behind its mark; nothing where the title says it of all of them."""
    found: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        is_open = state.is_open_at(call.index)
        ended = [outcome_line(state, call) if has_words else ""]
        for said in words_while_open(state, call) if is_open else ended:
            found.setdefault((mark_of(state, call), said), []).append(call.index)
    if len(found) == 1 and all(len(indices) == len(calls) for indices in found.values()):
        is_news = any(call.votes or state.is_open_at(call.index) for call in calls)
        return [said for _, said in found if is_news]
    return [on_card.of_rows(indices, *key) for key, indices in found.items() if any(key)]


def _within(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if units("\n".join([*kept, line])) > room:
            return [*kept, on_card.more_lines(len(lines) - len(kept))]
        kept.append(line)
    return kept
