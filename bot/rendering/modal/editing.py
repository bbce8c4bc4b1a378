"""The form of an edit, step by step: the new values, and then what was asked beside what would run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import EditDecision, EditedAction
from agent_adapter.contract.wire import LEFT_OUT
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.drafts import Draft
from bot.domain.subject import facts_of
from bot.domain.votes import position_of
from bot.rendering.arguments import changes_of
from bot.rendering.blocks import Block, actions, context, section
from bot.rendering.buttons import EDIT, FORM, value_within
from bot.rendering.calls import caution_blocks, title_blocks
from bot.rendering.changes import changes_blocks
from bot.rendering.modal.argument_form import Form, form_of, schema_problem
from bot.rendering.modal.field_types import OTHERS, options_of
from bot.rendering.modal.form_tree import several
from bot.rendering.modal.questions import approval_inputs
from bot.rendering.modal.view import call_cautions, call_view, care_blocks, whole_call_blocks
from bot.rendering.pages import PAGE_SIZE
from bot.sentences import in_form
from bot.text.literal import clip, units

CHECK = "check"
"""The step of the form after its inputs."""
START_OVER, CHANGE_MORE = "start_over", "back"
"""What the buttons in the form do, as the subject of `FORM`."""

_LEADING = 3
"""Without a headline, so many of the arguments that matter first lead."""


def render_edit_view(state: Approval, index: int, draft: Draft | None = None, *, note: str = "") -> Block:
    """Draw the form that changes an action's arguments, with what this person typed, and first what they have to know (mrkdwn)."""
    action, draft = state.actions[index], draft or Draft()
    form, schema = form_for(action, draft), action.config.args_schema
    without = schema == LEFT_OUT
    about = in_form.ABOUT_EDIT_WITHOUT_SCHEMA if without else in_form.about_edit(schema_problem(schema))
    blocks = [section("note", clip(note, 2_800))] if note else []
    blocks += [*title_blocks(action), context("about", about), *care_blocks(action)]
    blocks += call_cautions(action, as_json=True)
    blocks += form.blocks(form.in_sight)
    if draft.typed:
        blocks.append(actions("form", [FORM.drawn(START_OVER, value_within(state), in_form.START_OVER)]))
    submit = in_form.SEE_CHANGES if form.has_inputs else None
    return call_view(state, EDIT, index, in_form.EDIT, blocks, submit)


def render_check_view(state: Approval, index: int, args: dict[str, Any]) -> Block:
    """Draw what was asked beside what would run: the last step of an edit. Submitting it decides."""
    action = state.actions[index]
    changes = changes_of(action.request.args, args, action.terms.masked)
    size = sum(units(line) for change in changes for line in change.lines)
    about = section("about", in_form.BEFORE_AND_AFTER)
    blocks = [*title_blocks(action), about, *changes_blocks("changes", changes)]
    blocks += whole_call_blocks(args, action.terms.masked, PAGE_SIZE - size)
    blocks += care_blocks(action)
    blocks += caution_blocks("after:", action.request.name, args)
    blocks.append(actions("form", [FORM.drawn(CHANGE_MORE, value_within(state), in_form.CHANGE_MORE)]))
    # This step shows what changes, so the policy's question is not asked again.
    if action.is_high_risk:
        blocks += approval_inputs(action.edited(args))
    position = position_of(EditDecision(edited_action=EditedAction(name=action.request.name, args=args)))
    # Where more people have to agree with the very same changes, the last step only proposes them.
    is_enough = len(action.voters(position)) + 1 >= action.needed(position)
    label = in_form.APPROVE_WITH_CHANGES if is_enough else in_form.PROPOSE_CHANGE
    carried = {"step": CHECK, "shown": shown_as(args)}
    return call_view(state, EDIT, index, in_form.CHANGES_TO, blocks, label, **carried)


def shown_as(args: dict[str, Any]) -> str:
    """Name the arguments that the last step shows, so that no others are approved with it."""
    return digest("edited", encode(args))


def form_for(action: Action, draft: Draft) -> Form:
    """Make the form of an action, as one person has filled it in. What its card is about comes first."""
    args, schema = action.request.args, action.config.args_schema
    facts = facts_of(action.shown(), schema).shown[:_LEADING]
    leading = ([(name,) for name in action.headline], [fact.path for fact in facts], [()])
    return form_of(args, schema, action.terms.masked, draft, leading)


def with_chosen(draft: Draft, block_ids: Iterable[str]) -> Draft:
    """Show these inputs as well."""
    chosen = [*several(draft.typed.get(OTHERS.block_id)), *block_ids]
    return replace(draft, typed={**draft.typed, OTHERS.block_id: chosen})


def asked_anew(form: Form, view: Mapping[str, Any]) -> set[str]:
    """Name the inputs, lists and boxes with something that the submitted view did not have."""
    return {block_id for block_id, _ in _asked(form.blocks(form.in_sight)) - _asked(view["blocks"])}


def _asked(blocks: Iterable[Block]) -> set[tuple[str, str]]:
    asking = (block for block in blocks if block["type"] in {"input", "actions"})
    return {
        (block["block_id"], value)
        for block in asking
        for value in ("", *(option["value"] for option in options_of(block)))
    }
