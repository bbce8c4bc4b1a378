"""The form of an edit: what is typed is kept at every step, and the last step decides.

The last step decides exactly what it showed: its view carries the digest of these arguments, and any others are shown
again instead.
"""

import re
from dataclasses import replace
from typing import Any

from agent_adapter.contract.hitl import EditDecision, EditedAction
from bot.domain.approval import Approval
from bot.domain.drafts import Draft
from bot.domain.errors import DoneBeforeError
from bot.listeners.pressed import Click, Submission
from bot.listeners.services import Services
from bot.listeners.submissions import (
    Reply,
    approval_objection,
    beside,
    beside_first,
    notice,
    refusing,
    replacing,
)
from bot.rendering.blocks import Block
from bot.rendering.modal.argument_form import Edited, Errors, Unchanged, merged
from bot.rendering.modal.editing import (
    CHECK,
    START_OVER,
    asked_anew,
    form_for,
    render_check_view,
    render_edit_view,
    shown_as,
    with_chosen,
)
from bot.rendering.modal.field_types import EMPTY, OTHERS
from bot.rendering.modal.questions import parse_typed
from bot.rendering.modal.view import fits, pressed_at
from bot.runtime.offload import offload
from bot.sentences import in_answer, in_field, in_form
from bot.text.literal import mrkdwn, one_line
from bot.use_cases.answers import Answer

_ROWS = re.compile(r"([a-z]+) ([0-9]{1,9}) (.+)")
"""What a button of a list carries: what it does, a row, and the list."""
_SAID = 5
"""The most sentences above a form."""


async def open_form(services: Services, state: Approval, click: Click) -> None:
    """Show the form, with what this person typed into it before."""
    draft = await services.store.draft(state.id, click.number, click.user)
    note = "" if draft.is_empty else in_form.KEPT
    await services.open(click, await offload(state, render_edit_view, state, click.number, draft, note=note))


async def change_form(services: Services, state: Approval, click: Click) -> None:
    """Do what a button in the form says, and keep what was typed until then."""
    view = click.view or {}

    async def pressed(draft: Draft) -> Draft:
        if click.subject == START_OVER:
            return Draft()
        draft = merged(draft, view)
        rows = _ROWS.fullmatch(click.subject)
        return await offload(state, _with_rows, state, click.index, draft, rows) if rows else draft

    draft = await services.store.change_draft(state.id, click.index, click.user, pressed)
    drawn = await offload(state, render_edit_view, state, click.index, draft)
    try:
        await services.turn(click, drawn)
    except DoneBeforeError:
        # Another press was quicker. Its draft has this press, or this draft has it.
        newest = await services.store.draft(state.id, click.index, click.user)
        drawn = await offload(state, render_edit_view, state, click.index, newest)
        await services.turn(replace(click, view={"id": view["id"]}), drawn)


def _with_rows(state: Approval, index: int, draft: Draft, rows: re.Match[str]) -> Draft:
    return form_for(state.actions[index], draft).with_rows(rows[1], int(rows[2]), rows[3])


async def submit(services: Services, state: Approval, submission: Submission) -> Answer:
    """Go on to the next step, or decide at the last one."""
    index, user = submission.meta.index, submission.user
    if submission.meta.step == CHECK:
        draft = await services.store.draft(state.id, index, user)
        return await _decide(services, state, submission, draft)

    async def typed(draft: Draft) -> Draft:
        return merged(draft, submission.view)

    draft = await services.store.change_draft(state.id, index, user, typed)
    if asked := await offload(state, _asked_first, state, submission, draft):
        return Answer(True, reply=asked)
    found = await offload(state, _read, state, index, draft)
    if isinstance(found, Edited):
        return await _check(services, state, submission, draft, found.args)
    return Answer(True, reply=await offload(state, _objections, state, submission, draft, found))


def _asked_first(state: Approval, submission: Submission, draft: Draft) -> Reply | None:
    """Show what a choice or an emptied field brings with it: it is answered before anything is judged."""
    form = form_for(state.actions[submission.meta.index], draft)
    if form.is_too_much:
        return beside(OTHERS.block_id, in_answer.CHOOSE_FEWER)
    if not (asked := asked_anew(form, submission.view)):
        return None
    note = in_field.EMPTIED if EMPTY.block_id in asked else ""
    return _show(submission, render_edit_view(state, submission.meta.index, draft, note=note))


async def _check(
    services: Services, state: Approval, submission: Submission, draft: Draft, args: dict[str, Any]
) -> Answer:
    """Show what was asked beside what would run, or say beside the input why it cannot run."""
    index = submission.meta.index
    decision = _edit(state, index, args)
    if why_not := await services.decisions.why_no_edit(state, index, decision, submission.user):
        block = await offload(state, _changed_input, state, index, draft)
        in_sight = block in {found["block_id"] for found in submission.view["blocks"]}
        reply = beside(block, why_not) if block and in_sight else beside_first(submission, why_not)
        return refusing(reply)
    view = await offload(state, render_check_view, state, index, args)
    if not fits(view):
        return Answer(True, reply=beside_first(submission, in_answer.TOO_MUCH_TO_SHOW))
    return Answer(True, reply=_show(submission, view))


def _objections(state: Approval, submission: Submission, draft: Draft, found: Errors | Unchanged) -> Reply:
    if isinstance(found, Unchanged):
        return beside_first(submission, in_answer.NOTHING_CHANGED)
    return _errors(state, submission, draft, found.by_block)


def _edit(state: Approval, index: int, args: dict[str, Any]) -> EditDecision:
    return EditDecision(edited_action=EditedAction(name=state.actions[index].request.name, args=args))


def _changed_input(state: Approval, index: int, draft: Draft) -> str | None:
    return form_for(state.actions[index], draft).changed_input


def _read(state: Approval, index: int, draft: Draft) -> Edited | Unchanged | Errors:
    action = state.actions[index]
    config = action.config
    return form_for(action, draft).read(action.request.args, config.args_schema, config.integers)


def _errors(state: Approval, submission: Submission, draft: Draft, by_block: dict[str, str]) -> Reply:
    """Say what is wrong beside the inputs. Those that are not in sight are shown first."""
    inputs = {block["block_id"] for block in submission.view["blocks"] if block["type"] == "input"}
    if found := {block: sentence for block, sentence in by_block.items() if block in inputs}:
        return {"response_action": "errors", "errors": found}
    form = form_for(state.actions[submission.meta.index], draft)
    named = {block: unit for block in by_block if (unit := form.unit_of(block))}
    said = [mrkdwn(f"{one_line(unit.label())}: {by_block[block]}") for block, unit in named.items()]
    draft = with_chosen(draft, [unit.block_id for unit in named.values()])
    note = in_form.not_accepted(said[:_SAID])
    return _show(submission, render_edit_view(state, submission.meta.index, draft, note=note))


async def _decide(services: Services, state: Approval, submission: Submission, draft: Draft) -> Answer:
    index, user = submission.meta.index, submission.user
    found = await offload(state, _read, state, index, draft)
    if not isinstance(found, Edited) or shown_as(found.args) != submission.meta.shown:
        again = await _show_form_again(state, submission, draft, in_form.CHANGED_SINCE)
        return Answer(True, reply=again)
    decision = _edit(state, index, found.args)
    if objection := approval_objection(state.actions[index].as_decided(decision), submission):
        return refusing(objection)
    answer = await services.decisions.decide(
        state,
        user,
        {index: decision},
        typed=parse_typed(submission.view),
        press=submission.press,
    )
    if not answer.recorded:
        return replace(answer, reply=await _show_form_again(state, submission, draft, answer.sentence))
    services.tasks.start(services.store.forget_draft(state.id, index, user))
    return answer


async def _show_form_again(state: Approval, submission: Submission, draft: Draft, sentence: str) -> Reply:
    """Show the form again with what was typed, and why nothing was recorded. Nothing is shown to change once it is over."""
    index = submission.meta.index
    if not state.is_open_at(index):
        return notice(sentence)
    view = await offload(state, render_edit_view, state, index, draft, note=sentence)
    return _show(submission, view)


def _show(submission: Submission, view: Block) -> Reply:
    meta = submission.meta
    return replacing(pressed_at(view, meta.channel, meta.ts, meta.review, meta.listed))
