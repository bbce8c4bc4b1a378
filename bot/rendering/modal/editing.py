"""The form of an edit, step by step: what to change, the new values, and what was asked beside what would run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import EditDecision, EditedAction
from agent_adapter.contract.identity import digest
from agent_adapter.contract.trim import LEFT_OUT
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.drafts import Draft
from bot.domain.votes import position_of
from bot.rendering.arguments import changes_of
from bot.rendering.blocks import Block, actions, context, plain, section
from bot.rendering.buttons import EDIT, FORM, value_within
from bot.rendering.calls import title_blocks
from bot.rendering.cautions import caution_blocks
from bot.rendering.changes import changes_blocks
from bot.rendering.modal.argument_form import MAX_BLOCKS, Form, form_of, schema_problem
from bot.rendering.modal.form_tree import Unit
from bot.rendering.modal.inputs import raw_of
from bot.rendering.modal.questions import approval_inputs
from bot.rendering.modal.view import (
    asking,
    call_cautions,
    care_blocks,
    index_in_title,
    modal,
    whole_call_blocks,
)
from bot.rendering.pages import PAGE_SIZE
from bot.sentences import in_form
from bot.text.literal import clip, units

CHOOSE, CHECK = "choose", "check"
"""The steps of the form before and after its inputs."""
START_OVER, CHOOSE_OTHERS, CHANGE_MORE = "start_over", "choose", "back"
"""What the buttons in the form do, as the subject of `FORM`."""

_PICK = "pick:"
_BOXES = 10
"""Slack's limit of checkboxes in one input."""
_SHORT = 75
"""The most characters of a choice and of its description."""
_DESCRIBED = 300
"""The most options that also show their value."""


def render_edit_view(state: Approval, index: int, draft: Draft | None = None, *, note: str = "") -> Block:
    """Draw the form that changes an action's arguments, with what this person typed before.

    Args:
        state: The record.
        index: The action.
        draft: What was typed.
        note: What the person has to know first, as mrkdwn.
    """
    action, draft = state.actions[index], draft or Draft()
    form = form_for(action, draft)
    seen = form.in_sight
    if form.must_choose and not (seen and form.fits(seen)):
        return render_choice_view(state, index, draft, note=note)
    blocks = [*_head(action, note), context("about", _about(action))]
    blocks += care_blocks(action)
    blocks += call_cautions(action, as_json=True)
    blocks += form.blocks(seen)
    if turns := _turns(state, draft, chosen=form.must_choose):
        blocks.append(actions("form", turns))
    submit = in_form.SEE_CHANGES if form.has_inputs else None
    return modal(
        EDIT.verb,
        in_form.edit_title(index_in_title(state, index)),
        blocks,
        asking(state, EDIT, index),
        submit=submit,
    )


def render_choice_view(state: Approval, index: int, draft: Draft, *, note: str = "") -> Block:
    """Draw the question which arguments are to be changed, each with its value."""
    action = state.actions[index]
    form = form_for(action, draft)
    offered = [unit for unit in form.units if unit.is_input]
    blocks = [*_head(action, note), *care_blocks(action)]
    room = (MAX_BLOCKS - len(blocks)) * _BOXES
    blocks += _choice_inputs(form, offered[:room])
    meta = asking(state, EDIT, index, step=CHOOSE)
    return modal(
        EDIT.verb, in_form.edit_title(index_in_title(state, index)), blocks, meta, submit=in_form.CONTINUE
    )


def render_check_view(state: Approval, index: int, args: dict[str, Any]) -> Block:
    """Draw what was asked beside what would run: the last step of an edit. Submitting it decides."""
    action = state.actions[index]
    changes = changes_of(action.request.args, args, action.terms.masked)
    size = sum(units(line) for change in changes for line in change.lines)
    blocks = [*_head(action), section("about", in_form.BEFORE_AND_AFTER), *changes_blocks("changes", changes)]
    blocks += whole_call_blocks(args, action.terms.masked, PAGE_SIZE - size)
    blocks += care_blocks(action)
    blocks += caution_blocks("after:", action.request.name, args)
    blocks.append(actions("form", [FORM.drawn(CHANGE_MORE, value_within(state), in_form.CHANGE_MORE)]))
    # This step shows what changes, so the policy's question is not asked again.
    if action.is_high_risk:
        blocks += approval_inputs(action.edited(args))
    meta = asking(state, EDIT, index, step=CHECK, shown=shown_as(args))
    return modal(
        EDIT.verb,
        in_form.check_title(index_in_title(state, index)),
        blocks,
        meta,
        submit=_last_label(action, args),
    )


def _last_label(action: Action, args: dict[str, Any]) -> str:
    """Label the last step. Where more people have to agree with the very same changes, it only proposes them."""
    edit = EditDecision(edited_action=EditedAction(name=action.request.name, args=args))
    position = position_of(edit)
    is_enough = len(action.voters(position)) + 1 >= action.needed(position)
    return in_form.APPROVE_WITH_CHANGES if is_enough else in_form.PROPOSE_CHANGE


def shown_as(args: dict[str, Any]) -> str:
    """Name the arguments that the last step shows, so that no others are approved with it."""
    return digest("edited", encode(args))


def form_for(action: Action, draft: Draft) -> Form:
    """Make the form of an action, as one person has filled it in."""
    return form_of(action.request.args, action.config.args_schema, action.terms.masked, draft)


def with_choice(draft: Draft, view: Mapping[str, Any]) -> Draft:
    """Add the inputs that a person chose to their draft."""
    values = view["state"]["values"]
    chosen = [
        option
        for block_id, state in values.items()
        if block_id.startswith(_PICK)
        for option in raw_of(state.get(block_id, {})) or ()
    ]
    return replace(draft, chosen=tuple(chosen))


def with_chosen(draft: Draft, block_ids: Iterable[str]) -> Draft:
    """Show these inputs as well."""
    return replace(draft, chosen=tuple(dict.fromkeys((*draft.chosen, *block_ids))))


def fits_one_view(action: Action, draft: Draft) -> bool:
    """Tell whether one view can hold what a person chose."""
    form = form_for(action, draft)
    return form.fits(form.in_sight)


def shows_more(action: Action, draft: Draft, view: Mapping[str, Any]) -> bool:
    """Tell whether the form has an input or a list now that the submitted view did not have."""
    form = form_for(action, draft)
    drawn = {
        block["block_id"] for block in form.blocks(form.in_sight) if block["type"] in {"input", "actions"}
    }
    return not drawn <= {block["block_id"] for block in view["blocks"]}


def _head(action: Action, note: str = "") -> list[Block]:
    said = [section("note", clip(note, 2_800))] if note else []
    return [*said, *title_blocks(action)]


def _about(action: Action) -> str:
    schema = action.config.args_schema
    if schema == LEFT_OUT:
        return in_form.ABOUT_EDIT_WITHOUT_SCHEMA
    return in_form.about_edit(schema_problem(schema))


def _turns(state: Approval, draft: Draft, *, chosen: bool) -> list[Block]:
    turns = []
    if chosen:
        turns.append(FORM.drawn(CHOOSE_OTHERS, value_within(state), in_form.CHOOSE_OTHERS))
    if draft.typed:
        turns.append(FORM.drawn(START_OVER, value_within(state), in_form.START_OVER))
    return turns


def _choice_inputs(form: Form, offered: list[Unit]) -> Iterator[Block]:
    is_described = len(offered) <= _DESCRIBED
    for first in range(0, len(offered), _BOXES):
        group = offered[first : first + _BOXES]
        options = [_option(form, unit, is_described=is_described) for unit in group]
        ticked = [option for option in options if option["value"] in form.draft.chosen]
        element = {"type": "checkboxes", "action_id": f"{_PICK}{first}", "options": options}
        yield {
            "type": "input",
            "block_id": f"{_PICK}{first}",
            "label": plain(in_form.which_to_change(first + 1, first + len(group))),
            "element": {**element, **({"initial_options": ticked} if ticked else {})},
            "optional": True,
        }


def _option(form: Form, unit: Unit, *, is_described: bool) -> Block:
    option: Block = {"text": plain(unit.label(_SHORT)), "value": unit.block_id}
    value = form.held_text(unit, _SHORT) if is_described else ""
    return {**option, "description": plain(value)} if value.strip() else option
