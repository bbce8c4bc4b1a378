"""The review: calls page by page, each with its own buttons, and one button at the end that approves them.

It says all that a card says, since what is in a list is decided here.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action
from bot.domain.approval import Approval, put_to_vote, reviewed
from bot.domain.person import approver_names, mention
from bot.domain.votes import Written
from bot.rendering import buttons
from bot.rendering.arguments import change_lines, text_lines
from bot.rendering.blocks import (
    Block,
    actions,
    context,
    divider,
    literal,
    literal_within,
    quote,
    section,
    texts,
    without_primary,
)
from bot.rendering.buttons import REVIEW, TURN, button_blocks, value_of, value_within
from bot.rendering.calls import asks_first, care_words, run_question, title_blocks
from bot.rendering.card.bulk import verb_for
from bot.rendering.card.header import blocks_above
from bot.rendering.card.rows import words_while_open
from bot.rendering.card.thread import outcome_blocks
from bot.rendering.card.votes import is_edited, outcome_line, outcome_text, proposal_text
from bot.rendering.changes import changes_blocks, changes_written
from bot.rendering.modal.argument_form import form_of
from bot.rendering.modal.questions import CONFIRM, note_input, tick
from bot.rendering.modal.view import ViewMeta, call_cautions, call_view, care_blocks, modal, question_in
from bot.rendering.pages import PAGE_SIZE, call_written, pages_of
from bot.rendering.subject import subject_of
from bot.sentences import in_form
from bot.text.literal import clip, mrkdwn_line, units

_PAGE = 1_500
"""Pixels of the calls on one page of a phone. A call that is higher has a page of its own."""
_LINE, _COLUMNS, _BESIDE, _FOOT = 19, 42, 14, 60
"""Pixels of a line and characters on it, and pixels around a block and of the buttons below a call."""
_PROPOSAL = 1_500
"""JSON characters of what somebody proposes."""

Piece = tuple[int, int]
"""The index of an action, and which page of it, from 1. Most have one page."""


def render_review_view(state: Approval, meta: ViewMeta, user: str, *, said: str = "") -> Block:
    """Draw one page of a review, or its end, which can be submitted. The view carries which calls it shows.

    Above it stands what was said to the last click of this person.
    """
    meta = replace(meta, question=question_in(state, REVIEW.scope, meta))
    pages, is_over = review_pages(state, meta.calls), _is_over(state, meta.calls)
    # One call has its button below it, unless it has to be read before.
    has_end = len(meta.calls) != 1 or state.actions[meta.calls[0]].must_read
    page = min(max(meta.page, 1), len(pages) + has_end)
    note = [section("said", said)] if said else []
    if page > len(pages):
        return _end(state, replace(meta, page=page), user, note)
    pieces = pages[page - 1]
    last = len(pages) + (has_end and not is_over)
    blocks = [*note, *_page_blocks(state, meta, page, last)]
    if page == 1 and not is_over:
        blocks += blocks_above(state, meta.index)
    for piece in pieces:
        blocks += _piece_blocks(state, piece, is_over=is_over, is_alone=len(meta.calls) == 1)
    blocks += _turns(state, meta, page, last)
    meta = replace(meta, page=page, pieces=tuple(pieces))
    title = in_form.several(in_form.READ if is_over else in_form.REVIEW, len(meta.calls))
    return modal(REVIEW.verb, title, blocks, meta)


def _page_blocks(state: Approval, meta: ViewMeta, page: int, last: int) -> list[Block]:
    """Say which page this is; the first page also names the buttons that turn pages and approve."""
    if last == 1:
        return []
    open_calls = [state.actions[index] for index in meta.calls if state.is_open_at(index)]
    approvable = [call for call in open_calls if call.allows("approve")]
    named = [call.index for call in approvable if not (call.is_high_risk or call.proposal)]
    if page > 1 or not named:
        return [context("page", in_form.page(page, last))]
    approves = in_form.several(verb_for(state, named), len(named))
    return [context("page", in_form.first_page(last, TURN.label, approves))]


def _is_over(state: Approval, calls: Sequence[int]) -> bool:
    """Whether all is decided: then people read what became of each."""
    return not any(state.is_open_at(index) for index in calls)


def review_pages(state: Approval, calls: Sequence[int]) -> list[list[Piece]]:
    """Divide calls into pages, as many on each as fit. What was decided meanwhile does not change it, until all is."""
    is_over = _is_over(state, calls)
    pages: list[list[Piece]] = []
    room = 0
    shown = [state.actions[index].as_it_ran if is_over else state.actions[index] for index in calls]
    pieces = [(call, page) for call in shown for page, _ in enumerate(pages_of(call), 1)]
    for action, page in pieces:
        piece, blocks = (action.index, page), _content(action, page)
        if is_over:
            blocks += _became(state, piece)
        height = _height(blocks) + _FOOT
        if not pages or room < height:
            pages.append([])
            room = _PAGE
        pages[-1].append(piece)
        room -= height
    return pages


def _height(blocks: list[Block]) -> int:
    """Estimate how high blocks are on a phone."""
    lines = [line for text in texts(blocks) for line in text.split("\n")]
    return _BESIDE * len(blocks) + _LINE * sum(max(1, -(-len(line) // _COLUMNS)) for line in lines)


def _piece_blocks(state: Approval, piece: Piece, *, is_over: bool, is_alone: bool) -> list[Block]:
    """Draw one page of a call. What is decided drops out, unless all is decided: then people want to read it."""
    index, page = piece
    action = state.actions[index]
    if not state.is_open_at(index):
        if not is_over:
            return [*_title(action, page), context(f"a:{index}:outcome:{page}", outcome_line(state, action))]
        return [*_content(action.as_it_ran, page), *_became(state, piece)]
    blocks = _content(action, page)
    if page < len(pages_of(action)):
        return blocks
    # How it stands, as its card says it.
    if said := words_while_open(state, action):
        blocks.append(context(f"a:{index}:approvers", "\n".join(said)))
    if proposed := proposal_text(action):
        blocks.append(literal_within(f"a:{index}:proposal", proposed, _PROPOSAL))
    buttons = button_blocks(
        action, value_of(state, [index]), in_view=True, is_numbered=not is_alone, has_menu=is_alone
    )
    return blocks + without_primary(buttons)


def _became(state: Approval, piece: Piece) -> list[Block]:
    index, page = piece
    if page < len(pages_of(state.actions[index].as_it_ran)):
        return []
    return [*decided_blocks(state, state.actions[index]), *outcome_blocks(state, index)]


def _content(action: Action, page: int) -> list[Block]:
    at, pages = f"a:{action.index}", pages_of(action)
    blocks = _title(action, page)
    if len(pages) > 1:
        blocks.append(context(f"{at}:page:{page}", in_form.page_of_action(action.number, page, len(pages))))
    if page == 1:
        if care := care_words(action):
            blocks.append(context(f"{at}:care", "\n".join(care)))
        blocks += [{**block, "block_id": f"{at}:{block['block_id']}"} for block in call_cautions(action)]
    for name, lines in pages[page - 1]:
        if name != "arguments":
            blocks.append(context(f"{at}:{name}:label:{page}", in_form.SECTIONS[name]))
        blocks.append(literal(f"{at}:{name}:{page}", "\n".join(lines)))
    return blocks


def _title(action: Action, page: int) -> list[Block]:
    return [{**block, "block_id": f"{block['block_id']}:{page}"} for block in title_blocks(action)]


def _turns(state: Approval, meta: ViewMeta, page: int, last: int) -> list[Block]:
    back = [TURN.drawn(f"{meta.index}.{page - 1}", value_within(state), in_form.PREVIOUS)] if page > 1 else []
    ahead = [TURN.drawn(f"{meta.index}.{page + 1}", value_within(state))] if page < last else []
    return [divider("turns:line"), actions("turns", [*back, *ahead])] if back or ahead else []


def _end(state: Approval, meta: ViewMeta, user: str, note: list[Block]) -> Block:
    """Draw the end: what its button approves, and what is left out and why."""
    named = reviewed(state, meta.calls, user)
    still = [index for index in meta.calls if state.is_open_at(index)]
    title = in_form.several(in_form.REVIEW, len(meta.calls))
    if not still:
        return modal(REVIEW.verb, title, [*note, section("about", in_form.ALL_DECIDED)], meta)
    voted = put_to_vote(state, named)
    at_once = [index for index in named if index not in voted]
    says = [in_form.NOTHING_TO_APPROVE]
    if named:
        what = mrkdwn_line(subject_of([state.actions[index] for index in named]))
        says = [in_form.to_be_approved(what, at_once, voted)]
    says += _left_out(state, meta.calls, named)
    blocks = [*note, context("page", in_form.page(meta.page, meta.page)), section("about", "\n".join(says))]
    if any(asks_first(state.actions[index]) for index in named):
        label = f"{in_form.several(in_form.RUN, len(named))}?"
        blocks.append(tick(CONFIRM, label, in_form.RUN_IT, optional=False))
    if named:
        blocks.append(note_input())
    blocks += _turns(state, meta, meta.page, meta.page)
    meta = replace(meta, pieces=(), named=tuple(named))
    submit = in_form.several(verb_for(state, named), len(named)) if named else None
    return modal(REVIEW.verb, title, blocks, meta, submit=submit)


def _left_out(state: Approval, calls: Sequence[int], named: Sequence[int]) -> list[str]:
    """Say which calls are not approved, each with the first reason that holds."""
    reasons: dict[str, list[int]] = {}
    for index in calls:
        action = state.actions[index]
        if index in named:
            continue
        if not state.is_open_at(index):
            why = in_form.DECIDED_ALREADY
        elif not action.allows("approve"):
            why = in_form.NOT_TO_BE_APPROVED
        elif action.is_high_risk:
            why = in_form.OF_HIGH_RISK
        elif action.proposal:
            why = in_form.WITH_PROPOSAL
        else:
            why = in_form.NOT_SHOWN_TO_THE_END
        reasons.setdefault(why, []).append(index)
    return [in_form.left_out(indices, why) for why, indices in reasons.items()]


# --- The reading: everything that an action says, page by page, with its decision at the end ----------------------------

DECIDED = 3_000
"""JSON characters of what somebody changed or wrote, above a call that is decided."""


def render_reading_view(
    state: Approval,
    index: int,
    page: int,
    *,
    pages_read: int,
    written: Written | None = None,
) -> Block:
    """Draw one page (from 1) of everything an action says. Once it is decided, that is the call as it ran.

    Its last page ends with the buttons that decide, for a person who was shown all others.

    Args:
        state: The record.
        index: The action.
        page: A number beyond the last page shows the last one.
        pages_read: How many pages, from the first in order, this person was shown before this one.
        written: Shows the call as this edit would run it. The reading then ends with agreeing.
    """
    asked = state.actions[index]
    action = call_written(asked, written) if written else asked.as_it_ran
    pages = pages_of(action)
    page = min(max(page, 1), len(pages))
    is_over = not (written or state.is_open_at(index))
    blocks = [*title_blocks(action)]
    if len(pages) > 1:
        blocks.append(context("page", in_form.page(page, len(pages))))
    blocks += [*care_blocks(action), *call_cautions(action)]
    if written:
        if page == 1 and units(written_text(asked, written)) <= PAGE_SIZE:
            blocks += written_blocks(asked, written)
        blocks.append(context("proposed", in_form.as_proposed(mention(written.by))))
    elif page == 1 and is_over:
        blocks += decided_blocks(state, asked)
    for name, lines in pages[page - 1]:
        blocks += [context(f"{name}:label", in_form.SECTIONS[name]), literal(name, "\n".join(lines))]
    if page == len(pages) and is_over:
        blocks += outcome_blocks(state, index)
    done = page == len(pages) and pages_read >= page - 1 and state.is_open_at(index)
    if done and not written and action.allows("edit") and not _has_inputs(action):
        blocks.append(context("no-form", in_form.TOO_LONG_TO_EDIT))
    found = _decides(state, asked, written) if done else []
    found += [buttons.PAGE.drawn(page - 1, buttons.value_within(state), in_form.PREVIOUS)] if page > 1 else []
    found += [buttons.PAGE.drawn(page + 1, buttons.value_within(state))] if page < len(pages) else []
    if found:
        blocks.append(actions("turns", found))
    vote = written.name if written else ""
    verb = in_form.DETAILS_OF if is_over else in_form.READ
    return call_view(state, buttons.READ, index, verb, blocks, page=page, vote=vote)


def decided_blocks(state: Approval, action: Action) -> list[Block]:
    """Say who decided a call and how, with what they changed or wrote."""
    line, text = context(f"a:{action.index}:outcome", outcome_line(state, action)), outcome_text(action)
    draw = literal if is_edited(action) else quote
    return [line, *([literal_within(f"a:{action.index}:told", text, DECIDED, draw)] if text else [])]


def is_read(state: Approval, index: int, found: Written) -> bool:
    """Whether people agree with this edit at the end of its reading: where its call is not shown whole otherwise."""
    action = state.actions[index]
    if not isinstance(found.decision, EditDecision):
        return False
    return call_written(action, found).must_read or units(written_text(action, found)) > PAGE_SIZE


def written_text(action: Action, found: Written) -> str:
    """Write what somebody wrote so that all of it is seen: of an edit, what it changes."""
    match found.decision:
        case EditDecision(edited_action=edited):
            lines = change_lines(action.request.args, edited.args, found.terms.masked)
        case RespondDecision(message=message):
            lines = text_lines(message)
        case _:
            lines = []
    return "\n".join(lines)


def written_blocks(action: Action, found: Written) -> list[Block]:
    """Draw who wants what, and what somebody wrote, or the first page of it."""
    people = approver_names(action.voters(found.position) or (found.by,), at_most=8)
    about, text = section("about", in_form.proposal(people, found.decision.type)), written_text(action, found)
    if isinstance(found.decision, EditDecision) and units(text) <= PAGE_SIZE:
        return [about, *changes_blocks("proposal", changes_written(action, found))]
    return [about, literal("proposal", clip(text, PAGE_SIZE))]


def votes_block(action: Action, found: Written) -> Block:
    """Say how many votes decide from here on."""
    missing = action.needed(found.position) - len(action.voters(found.position))
    return context("votes", in_form.votes_missing(missing))


def approve_label(action: Action) -> str:
    return in_form.APPROVE_AS_ASKED if action.proposal else in_form.APPROVE


def _decides(state: Approval, asked: Action, written: Written | None) -> list[Block]:
    if written:
        return [_finish(state, asked.agreed(written), buttons.AGREE, in_form.AGREE)]
    found = [_finish(state, asked, buttons.CONFIRM, approve_label(asked))] if asked.allows("approve") else []
    others = [buttons.EDIT] if asked.allows("edit") and _has_inputs(asked) else []
    others += [buttons.REJECT] if asked.allows("reject") else []
    return [*found, *(button.drawn(asked.index, buttons.value_of(state, [asked.index])) for button in others)]


def _finish(state: Approval, call: Action, form: buttons.Button, label: str) -> Block:
    """Draw the button that approves what was read. At a high risk, it opens a form with the value to type."""
    asks = run_question(call) if asks_first(call) and not call.is_high_risk else None
    label = f"{buttons.FINISH.label}: {label}{'…' if asks or call.is_high_risk else ''}"
    return (form if call.is_high_risk else buttons.FINISH).drawn(
        call.index, buttons.value_within(state), label, asks=asks
    )


def _has_inputs(action: Action) -> bool:
    return form_of(action.request.args, action.config.args_schema, action.terms.masked).has_inputs
