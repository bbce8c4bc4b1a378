"""The reading: everything that an action says, page by page, with its decision at the end."""

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.votes import Proposal
from bot.rendering.blocks import Block, actions, context, literal
from bot.rendering.buttons import EDIT, PAGE, READ, value_of, value_within
from bot.rendering.calls import title_blocks
from bot.rendering.modal.argument_form import form_of
from bot.rendering.modal.questions import approval_inputs, note_input
from bot.rendering.modal.view import asking, call_cautions, care_blocks, index_in_title, modal
from bot.rendering.pages import pages_shown
from bot.sentences import in_form


def render_reading_view(
    state: Approval,
    index: int,
    page: int,
    *,
    pages_read: int,
    proposal: Proposal | None = None,
) -> Block:
    """Draw one page (from 1) of everything an action says.

    Args:
        state: the record.
        index: the action.
        page: which page. Numbers beyond the last page show the last one.
        pages_read: how many pages, from the first in order, this person was shown before this one.
        proposal: shows the call as this proposal would run it. The reading then ends with agreeing.

    Returns:
        A view. Its last page can be submitted by a person who was shown all others, which approves the call.
    """
    action = state.actions[index].proposed if proposal else state.actions[index]
    pages = pages_shown(state, action)
    page = min(max(page, 1), len(pages))
    blocks = [*title_blocks(action), context("page", in_form.page(page, len(pages))), *care_blocks(action)]
    blocks += call_cautions(action)
    if proposal:
        blocks.append(context("proposed", in_form.as_proposed(mention(proposal.by))))
    for name, lines in pages[page - 1]:
        blocks += [context(f"{name}:label", in_form.SECTIONS[name]), literal(name, "\n".join(lines))]
    done = page == len(pages) and pages_read >= page - 1 and state.is_open_at(index)
    may_edit = done and action.allows("edit") and not proposal
    if may_edit and not _has_inputs(action):
        blocks.append(context("no-form", in_form.TOO_LONG_TO_EDIT))
    if turns := _turns(state, action, page, len(pages), may_edit=may_edit and _has_inputs(action)):
        blocks.append(actions("turns", turns))
    meta = asking(state, READ, index, page=page, vote=proposal.name if proposal else "")
    submit = in_form.AGREE if proposal else approve_label(action) if action.allows("approve") else None
    submit = submit if done else None
    if submit and not proposal:
        blocks.append(note_input())
    if submit:
        blocks += approval_inputs(action, beside_proposal=proposal is not None)
    return modal(READ.verb, in_form.read_title(index_in_title(state, index)), blocks, meta, submit=submit)


def approve_label(action: Action) -> str:
    return in_form.APPROVE_AS_ASKED if action.proposal else in_form.APPROVE


def _turns(state: Approval, action: Action, page: int, last: int, *, may_edit: bool) -> list[Block]:
    buttons = []
    if page > 1:
        buttons.append(PAGE.drawn(page - 1, value_within(state), in_form.PREVIOUS))
    if page < last:
        buttons.append(PAGE.drawn(page + 1, value_within(state)))
    if may_edit:
        buttons.append(EDIT.drawn(action.index, value_of(state, [action.index]), in_form.EDIT))
    return buttons


def _has_inputs(action: Action) -> bool:
    return form_of(action.request.args, action.config.args_schema, action.terms.masked).has_inputs
