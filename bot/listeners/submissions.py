"""What a submitted form does: it becomes a decision, or stays open with the reason next to an input."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_adapter.contract.hitl import (
    ApproveDecision,
    Decision,
    EditDecision,
    RejectDecision,
    RespondDecision,
)
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.standing import StandingTerms
from bot.listeners.pressed import Submission
from bot.listeners.services import Services
from bot.rendering.blocks import Block
from bot.rendering.modal.forms import parse_standing_terms
from bot.rendering.modal.questions import (
    AGAIN,
    ALWAYS,
    CONFIRM,
    TYPED,
    is_ticked,
    parse_answer,
    parse_note,
    parse_person,
    parse_reason,
    parse_typed,
)
from bot.rendering.modal.view import ViewMeta, render_notice_view
from bot.rendering.pages import call_written
from bot.runtime.offload import offload
from bot.sentences import in_answer, to_agent
from bot.use_cases import bulk
from bot.use_cases.answers import Answer, closed

Reply = dict[str, Any]
"""What Slack does with the form: close it, replace it, or show an error next to an input."""


@dataclass(frozen=True, slots=True)
class Meant:
    """What a person decides with a form, and what they write or choose beside it."""

    decision: Decision
    note: str | None = None
    changes: str | None = None
    standing: StandingTerms | None = None


Read = Callable[[Approval, Submission], Meant | Answer | Reply]
"""Reads what a form means, or gives the answer that refuses it."""
Handle = Callable[[Services, Approval, Submission], Awaitable[Answer]]
"""Does what a form means. Where its answer has no reply, the form closes."""


def deciding(read: Read) -> Handle:
    """Record the decision that this function reads from a form."""
    return partial(_decide, read=read)


async def _decide(services: Services, state: Approval, submission: Submission, *, read: Read) -> Answer:
    meant = await offload(state, _meant, state, submission, read)
    if isinstance(meant, Answer):
        return meant
    if isinstance(meant, dict):
        return refusing(meant)
    return await services.decisions.decide(
        state,
        submission.user,
        {submission.meta.index: meant.decision},
        typed=parse_typed(submission.view),
        note=meant.note,
        changes=meant.changes,
        standing=meant.standing,
        press=submission.press,
    )


def _meant(state: Approval, submission: Submission, read: Read) -> Meant | Answer | Reply:
    meant = read(state, submission)
    if not isinstance(meant, Meant):
        return meant
    call = state.actions[submission.meta.index].as_decided(meant.decision)
    return approval_objection(call, submission) or meant


def confirm_objection(submission: Submission) -> Reply | None:
    """Say that the box of a form that asks once more is not ticked. `None` when it is, or there is none."""
    if _asks(CONFIRM, submission) and not is_ticked(submission.view, CONFIRM):
        return beside(CONFIRM, in_answer.RUN_IT_FIRST)
    return None


def approval_objection(call: Action, submission: Submission) -> Reply | None:
    """Say that something else was typed than the value, or that a box is not ticked. `None` when all is well."""
    if objection := confirm_objection(submission):
        return objection
    if not _asks(TYPED, submission) or call.to_type.is_typed(parse_typed(submission.view)):
        return None
    return beside(TYPED, in_answer.WRONG_VALUE)


# --- Decisions, read from forms -------------------------------------------------------------------------------------


def approval(_state: Approval, submission: Submission) -> Meant:
    """Approve the call as it was asked, with a note where one was typed."""
    return Meant(ApproveDecision(), note=parse_note(submission.view))


def approval_for_run(_state: Approval, _submission: Submission) -> Meant:
    """Approve the call as it was asked, and every later call of its tool in the run."""
    return Meant(ApproveDecision(always=True))


def approval_from_now_on(_state: Approval, submission: Submission) -> Meant:
    """Approve the call, and later calls like it within the chosen limits."""
    return Meant(ApproveDecision(), standing=parse_standing_terms(submission.view))


def rejection(state: Approval, submission: Submission) -> Meant | Reply:
    """Reject the call, with a reason where one was typed. Where the box says so, the agent is asked for another one."""
    view = submission.view
    if is_ticked(view, AGAIN):
        return for_changes(state, submission)
    return Meant(RejectDecision(message=parse_reason(view), always=is_ticked(view, ALWAYS)))


def for_changes(_state: Approval, submission: Submission) -> Meant | Reply:
    """Reject the call with words that its model can act on."""
    wanted = parse_reason(submission.view)
    if wanted is None:
        return beside_first(submission, in_answer.ONLY_SPACES)
    always = is_ticked(submission.view, ALWAYS)
    return Meant(RejectDecision(message=to_agent.changes(wanted), always=always), changes=wanted)


def answer(state: Approval, submission: Submission) -> Meant | Reply:
    """Answer in the tool's place."""
    message = parse_answer(state.actions[submission.meta.index], submission.view)
    if message is None:
        return beside_first(submission, in_answer.ONE_ANSWER)
    return Meant(RespondDecision(message=message))


def vote(state: Approval, submission: Submission) -> Meant | Answer:
    """Decide what somebody else has voted for."""
    decision = voted(state, submission.meta, submission.user)
    return decision if isinstance(decision, Answer) else Meant(decision)


def voted(state: Approval, meta: ViewMeta, user: str) -> Decision | Answer:
    """Give the decision that somebody else has voted for, or say why this person cannot agree with it."""
    action = state.actions[meta.index]
    if not state.is_open_at(action.index):
        return Answer(False, closed(state, [action.index]), why="outdated")
    found = action.written(meta.vote)
    if found is None:
        return Answer(False, in_answer.GONE, why="outdated")
    if isinstance(found.decision, EditDecision):
        call = call_written(action, found)
        if not state.has_read(call, user):
            return Answer(False, in_answer.read_proposal_first(action.number))
    return found.decision


# --- Forms that do more than decide one action ------------------------------------------------------------------------


async def agree(services: Services, state: Approval, submission: Submission) -> Answer:
    """Agree with a proposal, or with a vote."""
    index, name, typed = submission.meta.index, submission.meta.vote, parse_typed(submission.view)
    stricter = state.proposals.get(index)
    if stricter is None or stricter.name != name:
        return await _decide(services, state, submission, read=vote)
    if objection := approval_objection(state.actions[index].proposed, submission):
        return refusing(objection)
    decisions = services.decisions
    return await decisions.agree(state, submission.user, index, name, typed=typed, press=submission.press)


async def reject_all(services: Services, state: Approval, submission: Submission) -> Answer:
    """Reject all open actions of a place."""
    reason, place = parse_reason(submission.view), submission.meta.index
    return await bulk.reject_all(
        services.decisions, state, submission.user, place, message=reason, press=submission.press
    )


async def finish_review(services: Services, state: Approval, submission: Submission) -> Answer:
    """Approve the calls that the end of a review named, with a note where one was typed."""
    if objection := confirm_objection(submission):
        return Answer(True, reply=objection)
    user, named, note = submission.user, submission.meta.named, parse_note(submission.view)
    return await bulk.approve_reviewed(
        services.decisions, state, user, named, note=note, press=submission.press
    )


async def hand_over(services: Services, state: Approval, submission: Submission) -> Answer:
    """Assign a place to the person who was chosen. Nobody decides with it, so no refusal is entered."""
    to = parse_person(submission.view)
    answer = await services.assignments.hand_over(state, submission.user, submission.meta.index, to)
    return Answer(True, reply=closing(answer))


def _asks(block_id: str, submission: Submission) -> bool:
    return any(block["block_id"] == block_id for block in submission.view["blocks"])


# --- Replies ----------------------------------------------------------------------------------------------------------


def closing(answer: Answer) -> Reply:
    """Close the form, and give the answer if the card does not show it."""
    if answer.recorded and not answer.sentence:
        # The whole stack of views: an edit can be open on top of a reading.
        return {"response_action": "clear"}
    return notice(answer.sentence, title=in_answer.RECORDED if answer.recorded else in_answer.NOT_DONE)


def refusing(reply: Reply) -> Answer:
    """Keep the form open: what was submitted decides nothing yet, whatever became of the record since."""
    return Answer(False, is_final=True, reply=reply)


def notice(sentence: str, *, title: str = "") -> Reply:
    """Replace the form with a sentence."""
    return replacing(render_notice_view(title or in_answer.NOT_DONE, sentence))


def replacing(view: Block) -> Reply:
    """Show another view instead of the form."""
    return {"response_action": "update", "view": view}


def beside_first(submission: Submission, sentence: str) -> Reply:
    """Show a sentence next to the first input, so that the form keeps what was typed. Without inputs, replace the form."""
    return beside(submission.first_input, sentence) if submission.first_input else notice(sentence)


def beside(block: str, sentence: str) -> Reply:
    """Show a sentence next to an input."""
    return {"response_action": "errors", "errors": {block: sentence}}
