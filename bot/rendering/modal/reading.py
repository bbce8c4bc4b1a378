"""The reading: everything that an action says, page by page, with its decision at the end."""

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.person import approver_names, mention
from bot.domain.votes import Written
from bot.rendering import buttons
from bot.rendering.arguments import change_lines, text_lines
from bot.rendering.blocks import Block, actions, context, literal, literal_within, quote, section
from bot.rendering.calls import asks_first, run_question, title_blocks
from bot.rendering.card.thread import outcome_blocks
from bot.rendering.card.votes import is_edited, outcome_line, outcome_text
from bot.rendering.changes import changes_blocks, changes_written
from bot.rendering.modal.argument_form import form_of
from bot.rendering.modal.view import call_cautions, call_view, care_blocks
from bot.rendering.pages import PAGE_SIZE, call_written, pages_of
from bot.sentences import in_form
from bot.text.literal import clip, units

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
