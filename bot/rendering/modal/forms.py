"""The forms behind the buttons: to reject, answer, confirm, agree, hand over, approve later calls; and the list of the latter."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action, question_name
from bot.domain.approval import Approval, decided_together
from bot.domain.masking import hide
from bot.domain.standing import StandingTerms
from bot.rendering import buttons
from bot.rendering.blocks import Block, actions, context, input_block, literal, section, words_apart
from bot.rendering.calls import arguments_text, call_blocks, caution_blocks, title_blocks
from bot.rendering.card.thread import given_words, name_blocks, revoke_button, used_words
from bot.rendering.modal import questions
from bot.rendering.modal.field_types import option
from bot.rendering.modal.review import approve_label, votes_block, written_blocks, written_text
from bot.rendering.modal.view import (
    asking,
    call_cautions,
    call_view,
    care_blocks,
    modal,
    render_notice_view,
    which_call_blocks,
    whole_call_blocks,
)
from bot.rendering.pages import PAGE_SIZE, sections
from bot.rendering.subject import LONG, subject_of
from bot.sentences import in_form, in_home, words
from bot.text.literal import clip, units

_ABOVE_INPUT = 8_000
_LASTS = tuple(timedelta(minutes=minutes) for minutes in (15, 30, 60, 120, 240, 480))
_USES = (1, 2, 5, 10, 20, 50, 100)
_USUAL = StandingTerms()


def render_reject_view(state: Approval, index: int) -> Block:
    """Draw the question why an action is rejected; the answer may stay empty."""
    action = state.actions[index]
    blocks = [*which_call_blocks(action), *questions.reason_inputs(action.terms.reject_reasons)]
    if not action.is_alone:
        blocks.append(questions.tick(questions.AGAIN, in_form.WHAT_THEN, in_form.PROPOSE_AGAIN))
    if action.config.allow_always:
        blocks.append(questions.tick(questions.ALWAYS, in_form.LATER_CALLS, in_form.REJECT_LATER_CALLS))
    return call_view(state, buttons.REJECT, index, in_form.REJECT, blocks, in_form.REJECT)


def render_reject_all_view(state: Approval, place: int) -> Block:
    """Draw the question why all open actions of a place are rejected."""
    rejected = decided_together(state, state.admission.places[place].actions, "reject")
    if not rejected:
        return render_notice_view(in_form.REJECT, in_form.NOTHING_TO_REJECT)
    calls = [state.actions[index] for index in rejected]
    about = words_apart("about", in_form.to_be_rejected(rejected, subject_of(calls, LONG)))
    # The reasons that the policy offers for each of them.
    first, *others = (call.terms.reject_reasons for call in calls)
    blocks = [
        about,
        *questions.reason_inputs([reason for reason in first if all(reason in each for each in others)]),
    ]
    rejects = in_form.several(in_form.REJECT, len(rejected))
    return modal(
        buttons.REJECT_ALL.verb, rejects, blocks, asking(state, buttons.REJECT_ALL, place), submit=rejects
    )


def render_confirm_view(state: Approval, index: int) -> Block:
    """Draw a call of high risk, and below it the question for one of its values."""
    return _approving(state, buttons.CONFIRM, index, in_form.HIGH_RISK, [questions.note_input()])


def render_for_run_view(state: Approval, index: int) -> Block:
    """Draw a call, and say that approving it here holds for every later call of its tool in the run."""
    return _approving(state, buttons.FOR_RUN, index, in_form.ABOUT_FOR_RUN, [])


def render_note_view(state: Approval, index: int) -> Block:
    """Draw a call, and below it the question for a note that goes with its approval."""
    return _approving(state, buttons.NOTE, index, "", [questions.note_input()])


def _approving(state: Approval, button: buttons.Button, index: int, about: str, asked: list[Block]) -> Block:
    action = state.actions[index]
    said = [section("about", about)] if about else []
    blocks = [
        *title_blocks(action),
        *said,
        *_whole_call_blocks(action),
        *questions.approval_inputs(action),
        *asked,
    ]
    return call_view(state, button, index, in_form.APPROVE, blocks, approve_label(action))


def render_changes_view(state: Approval, index: int) -> Block:
    """Draw the question what has to change before people approve."""
    wanted = questions.words_input(in_form.WHAT_TO_CHANGE, most=questions.MAX_REASON, optional=False)
    blocks = [*which_call_blocks(state.actions[index]), context("about", in_form.ABOUT_CHANGES), wanted]
    return call_view(state, buttons.CHANGES, index, in_form.CHANGES_TO, blocks, in_form.ASK_FOR_CHANGES)


def render_agree_view(state: Approval, index: int) -> Block:
    """Draw what somebody wrote, for others to agree with. An edit that does not fit was read page by page before."""
    action = state.actions[index]
    found = action.proposal
    if found is None or not state.is_open_at(index):
        return render_notice_view(in_form.NOTHING_TO_AGREE, in_form.PROPOSAL_GONE)
    text = written_text(action, found)
    call = action if found.is_vote else action.as_written(found)
    blocks = [*title_blocks(action), *care_blocks(call), *written_blocks(action, found)]
    said: Any = None
    match found.decision:
        case EditDecision(edited_action=edited):
            blocks += whole_call_blocks(edited.args, found.terms.masked)
            said = hide(edited.args, found.terms.masked)
        case RespondDecision(message=message):
            said = message
    blocks += caution_blocks("proposal:", action.request.name, said)
    if units(text) > PAGE_SIZE and found.decision.type != "edit":
        blocks.append(context("too-long", in_form.TOO_LONG_TO_AGREE))
        return call_view(state, buttons.AGREE, index, "", blocks)
    if found.decision.type == "edit":
        blocks += questions.approval_inputs(action.agreed(found))
    blocks.append(votes_block(action, found))
    return call_view(state, buttons.AGREE, index, in_form.AGREE_TO, blocks, in_form.AGREE, vote=found.name)


def render_hand_over_view(state: Approval, place: int) -> Block:
    """Draw the question who looks at a place from now on."""
    blocks = [section("about", in_form.ABOUT_HANDING_OVER), questions.person_input(in_form.WHO_LOOKS)]
    meta, verb = asking(state, buttons.HAND_OVER, place), in_form.HAND_OVER
    return modal(buttons.HAND_OVER.verb, verb, blocks, meta, submit=verb)


def render_respond_view(state: Approval, index: int) -> Block:
    """Draw the question, and room for an answer in the tool's place."""
    action = state.actions[index]
    is_read = question_name(action) is not None and not action.must_read
    whole = [*title_blocks(action), *_whole_call_blocks(action)]
    blocks = [*(call_blocks(action, alone=False) if is_read else whole), *questions.answer_inputs(action)]
    return call_view(state, buttons.RESPOND, index, in_form.ANSWER, blocks, in_form.ANSWER)


def _whole_call_blocks(action: Action) -> list[Block]:
    """Draw arguments and description above an input. What is longer was read page by page before."""
    blocks = [*care_blocks(action), *call_cautions(action)]
    for name, lines in sections(action):
        text = clip("\n".join(lines), _ABOVE_INPUT)
        blocks += [context(f"{name}:label", in_form.SECTIONS[name]), literal(name, text)]
    return blocks


def render_standing_view(state: Approval, index: int) -> Block:
    """Draw the form that approves an action and says for which later calls that holds."""
    action = state.actions[index]
    limits = action.standing
    assert limits is not None
    same = ("arguments", in_form.SAME_ARGUMENTS), ("tool", in_form.ANY_ARGUMENTS)
    scope = ("run", in_form.THIS_RUN), ("agent", in_form.every_run(state.interrupt.agent))
    durations, uses = _up_to(limits.lasts, _LASTS, _USUAL.lasts), _up_to(limits.uses, _USES, _USUAL.uses)
    lasts = [(str(int(each.total_seconds())), words.duration_words(each)) for each in durations]
    blocks = [
        *title_blocks(action),
        literal("arguments", arguments_text(action)),
        *care_blocks(action),
        *caution_blocks("", action.request.name, action.shown(on_card=True)),
        section("about", in_form.ABOUT_STANDING),
        _choice("same", in_form.WHICH_CALLS, _as_wide_as(limits.same, *same)),
        _choice("scope", in_form.WHICH_RUNS, _as_wide_as(limits.scope, *scope)),
        _choice("lasts", in_form.HOW_LONG, lasts),
        _choice("uses", in_form.HOW_MANY, [(str(each), str(each)) for each in uses]),
        *questions.approval_inputs(action),
    ]
    meta, approves = asking(state, buttons.STANDING, index), in_form.APPROVE_FROM_NOW_ON
    return modal(buttons.STANDING.verb, approves, blocks, meta, submit=approves)


def parse_standing_terms(view: dict[str, Any]) -> StandingTerms:
    """Read for which later calls an approval is meant to hold; what was not chosen is as narrow as can be."""
    narrowest = {
        "same": "arguments",
        "scope": "run",
        "lasts": str(int(_LASTS[0].total_seconds())),
        "uses": "1",
    }
    chosen = {name: questions.given(view, name) or least for name, least in narrowest.items()}
    return StandingTerms.model_validate({**chosen, "lasts": timedelta(seconds=int(str(chosen["lasts"])))})


def _as_wide_as(widest: str, narrow: tuple[str, str], wide: tuple[str, str]) -> list[tuple[str, str]]:
    return [narrow, wide] if widest == wide[0] else [narrow]


def _up_to(most: Any, offered: Sequence[Any], usual: Any) -> list[Any]:
    """Give what is offered below a limit, and the limit: first what is usual."""
    found = [*(each for each in offered if each < most), most]
    return sorted(found, key=lambda each: each != min(usual, most))


def _choice(name: str, label: str, options: Sequence[tuple[str, str]]) -> Block:
    drawn = [option(text, value) for value, text in options]
    return input_block(name, label, {"type": "static_select", "options": drawn, "initial_option": drawn[0]})


def standing_row(state: Approval, index: int, number: int) -> list[Block]:
    """Draw one standing approval of a list, with the button that ends it."""
    at = f"rule:{number}"
    where = in_home.given_in(words.place_name(state.place_of(index).channel))
    return [
        section(at, f"{given_words(state, index)} {used_words(state.standing[index])} {where}"),
        *name_blocks(f"{at}:name", state.actions[index]),
        actions(f"{at}:revoke", [revoke_button(state, index, place=number)]),
    ]
