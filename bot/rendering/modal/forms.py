"""The forms behind the buttons: to reject, answer, confirm, agree, hand over."""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.bulk import decided_together
from bot.domain.masking import hide
from bot.domain.options import question_name
from bot.domain.votes import Written
from bot.rendering.blocks import Block, actions, context, literal, section, words_apart
from bot.rendering.buttons import (
    AGREE,
    CHANGES,
    CONFIRM,
    FOR_RUN,
    HAND_OVER,
    IN_SIGHT,
    MORE,
    NOTE,
    REJECT,
    REJECT_ALL,
    RESPOND,
    buttons_behind,
    value_of,
)
from bot.rendering.calls import call_blocks, title_blocks
from bot.rendering.cautions import caution_blocks
from bot.rendering.modal.questions import (
    MAX_REASON,
    always_input,
    answer_inputs,
    approval_inputs,
    changes_input,
    note_input,
    person_input,
    reason_inputs,
    words_input,
)
from bot.rendering.modal.reading import approve_label, people_of, votes_block, written_blocks, written_text
from bot.rendering.modal.view import (
    asking,
    call_cautions,
    care_blocks,
    index_in_title,
    modal,
    render_notice_view,
    which_call_blocks,
    whole_call_blocks,
)
from bot.rendering.pages import PAGE_SIZE, sections
from bot.rendering.subject import LONG, subject_of
from bot.sentences import in_form
from bot.text.literal import clip, units

_ABOVE_INPUT = 8_000


def render_reject_view(state: Approval, index: int) -> Block:
    """Draw the question why an action is rejected; the answer may stay empty."""
    action = state.actions[index]
    blocks = [
        *which_call_blocks(action),
        *reason_inputs(action.terms.reject_reasons),
        *([] if action.is_alone else [changes_input()]),
        *([always_input()] if action.config.allow_always else []),
    ]
    return modal(
        REJECT.verb,
        in_form.reject_title(index_in_title(state, index)),
        blocks,
        asking(state, REJECT, index),
        submit=in_form.REJECT,
    )


def render_reject_all_view(state: Approval, place: int) -> Block:
    """Draw the question why all open actions of a place are rejected."""
    rejected = decided_together(state, state.admission.places[place].actions, "reject")
    if not rejected:
        return render_notice_view(in_form.REJECT, in_form.NOTHING_TO_REJECT)
    blocks = [
        words_apart("about", in_form.to_be_rejected(rejected, _about(state, rejected))),
        *reason_inputs(_shared_reasons(state, rejected)),
    ]
    rejects = in_form.reject_several(len(rejected))
    return modal(REJECT_ALL.verb, rejects, blocks, asking(state, REJECT_ALL, place), submit=rejects)


def _about(state: Approval, indices: Sequence[int]) -> str:
    return subject_of([state.actions[index] for index in indices], LONG)


def _shared_reasons(state: Approval, rejected: Sequence[int]) -> list[str]:
    """Give the reasons that the policy offers for each of these actions."""
    first, *others = (state.actions[index].terms.reject_reasons for index in rejected)
    return [reason for reason in first if all(reason in each for each in others)]


def render_confirm_view(state: Approval, index: int) -> Block:
    """Draw a call of high risk, and below it the question for one of its values."""
    action = state.actions[index]
    about = section("about", in_form.HIGH_RISK)
    blocks = [
        *title_blocks(action),
        about,
        *_whole_call_blocks(action),
        *approval_inputs(action),
        note_input(),
    ]
    return modal(
        CONFIRM.verb,
        in_form.approve_title(index_in_title(state, index)),
        blocks,
        asking(state, CONFIRM, index),
        submit=approve_label(action),
    )


def render_for_run_view(state: Approval, index: int) -> Block:
    """Draw a call, and say that approving it here holds for every later call of its tool in the run."""
    action = state.actions[index]
    blocks = [*title_blocks(action), section("about", in_form.ABOUT_FOR_RUN), *_whole_call_blocks(action)]
    blocks += approval_inputs(action)
    meta = asking(state, FOR_RUN, index)
    return modal(
        FOR_RUN.verb,
        in_form.approve_title(index_in_title(state, index)),
        blocks,
        meta,
        submit=in_form.APPROVE,
    )


def render_more_view(state: Approval, index: int) -> Block:
    """Draw the buttons of an action that its card has no room for."""
    action = state.actions[index]
    behind = buttons_behind(action, value_of(state, [index]))
    rows = [actions(f"more:{at}", behind[at : at + IN_SIGHT]) for at in range(0, len(behind), IN_SIGHT)]
    blocks = [*which_call_blocks(action), *rows]
    return modal(MORE.verb, in_form.title(index_in_title(state, index)), blocks, asking(state, MORE, index))


def render_note_view(state: Approval, index: int) -> Block:
    """Draw a call, and below it the question for a note that goes with its approval."""
    action = state.actions[index]
    blocks = [*title_blocks(action), *_whole_call_blocks(action), *approval_inputs(action), note_input()]
    meta, submit = asking(state, NOTE, index), approve_label(action)
    return modal(NOTE.verb, in_form.approve_title(index_in_title(state, index)), blocks, meta, submit=submit)


def render_changes_view(state: Approval, index: int) -> Block:
    """Draw the question what has to change before people approve."""
    wanted = words_input(in_form.WHAT_TO_CHANGE, most=MAX_REASON, optional=False)
    blocks = [*which_call_blocks(state.actions[index]), context("about", in_form.ABOUT_CHANGES), wanted]
    meta, submit = asking(state, CHANGES, index), in_form.ASK_FOR_CHANGES
    return modal(
        CHANGES.verb, in_form.changes_title(index_in_title(state, index)), blocks, meta, submit=submit
    )


def render_agree_view(state: Approval, index: int) -> Block:
    """Draw what somebody wrote, for others to agree with. An edit that does not fit was read page by page before."""
    action = state.actions[index]
    found = action.proposal
    if found is None or not state.is_open_at(index):
        return render_notice_view(in_form.NOTHING_TO_AGREE, in_form.PROPOSAL_GONE)
    text, people = written_text(action, found), people_of(action, found)
    call = action if found.is_vote else action.as_written(found)
    blocks = [
        *title_blocks(action),
        section("about", in_form.proposal(people, found.decision.type)),
        *care_blocks(call),
        *written_blocks(action, found),
    ]
    if isinstance(found.decision, EditDecision):
        blocks += whole_call_blocks(found.decision.edited_action.args, found.terms.masked)
    blocks += caution_blocks("proposal:", action.request.name, _words_of(found))
    if units(text) > PAGE_SIZE and found.decision.type != "edit":
        blocks.append(context("too-long", in_form.TOO_LONG_TO_AGREE))
        return modal(AGREE.verb, in_form.title(index_in_title(state, index)), blocks, None)
    if found.decision.type == "edit":
        blocks += approval_inputs(action.agreed(found))
    blocks.append(votes_block(action, found))
    meta = asking(state, AGREE, index, vote=found.name)
    return modal(
        AGREE.verb, in_form.agree_title(index_in_title(state, index)), blocks, meta, submit=in_form.AGREE
    )


def _words_of(found: Written) -> Any:
    match found.decision:
        case EditDecision(edited_action=edited):
            return hide(edited.args, found.terms.masked)
        case RespondDecision(message=message):
            return message
        case _:
            return None


def render_hand_over_view(state: Approval, place: int) -> Block:
    """Draw the question who looks at a place from now on."""
    blocks = [section("about", in_form.ABOUT_HANDING_OVER), person_input(in_form.WHO_LOOKS)]
    meta = asking(state, HAND_OVER, place)
    return modal(HAND_OVER.verb, in_form.HAND_OVER, blocks, meta, submit=in_form.HAND_OVER)


def render_respond_view(state: Approval, index: int) -> Block:
    """Draw the question, and room for an answer in the tool's place."""
    action = state.actions[index]
    is_read = question_name(action) is not None and not action.must_read
    whole = [*title_blocks(action), *_whole_call_blocks(action)]
    blocks = [*(call_blocks(action, alone=False) if is_read else whole), *answer_inputs(action)]
    return modal(
        RESPOND.verb,
        in_form.answer_title(index_in_title(state, index)),
        blocks,
        asking(state, RESPOND, index),
        submit=in_form.ANSWER,
    )


def _whole_call_blocks(action: Action) -> list[Block]:
    """Draw arguments and description above an input. What is longer was read page by page before."""
    blocks = [*care_blocks(action), *call_cautions(action)]
    for name, lines in sections(action):
        text = clip("\n".join(lines), _ABOVE_INPUT)
        blocks += [context(f"{name}:label", in_form.SECTIONS[name]), literal(name, text)]
    return blocks
