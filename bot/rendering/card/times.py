"""What a card and its thread show about time: who is looking, who wants more of it, whom a reminder calls."""

from collections.abc import Callable
from functools import partial

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.rendering.blocks import Block, context
from bot.rendering.card.outcomes import lost_remarks, may_have_run
from bot.sentences import in_thread, on_card, words
from bot.sentences.kinds import Lost

_SHOWN_DECISIONS = 5


def assignment_blocks(state: Approval, number: int) -> list[Block]:
    """Say who is looking at what is asked in a place."""
    assignment = state.assignment_at(number)
    if assignment is None:
        return []
    return [
        context(
            "looking",
            # Nobody looks longer than anybody can decide.
            on_card.looking(mention(assignment.user), min(assignment.until, state.deadline)),
        )
    ]


def lost_blocks(state: Approval, place: Place) -> list[Block]:
    """Say whose decisions are lost, while people have to make them again; and what it means where nobody can."""
    if state.status == "refused" and state.code == "went_back":
        lost = _lost_in(state, place, is_meant=lambda _, index: state.recorded[index] is None)
        ran = may_have_run(state)
        return [context("lost", on_card.lost_for_good(lost, _SHOWN_DECISIONS, may_have_run=ran))]
    missing = _lost_in(state, place, is_meant=partial(_is_missing, state))
    return [context("lost", on_card.lost(missing, _SHOWN_DECISIONS))] if missing else []


def _lost_in(
    state: Approval, place: Place, is_meant: Callable[[Remark, int], bool] = lambda *_: True
) -> list[Lost]:
    """Give what each person decided in the same way. What a call may be approved in spite of comes first: not all are named."""
    made: dict[tuple[str, str, bool], set[int]] = {}
    for remark in lost_remarks(state):
        indices = {index for index in {*remark.actions} & {*place.actions} if is_meant(remark, index)}
        if remark.by and indices:
            made.setdefault((remark.by, remark.decision, remark.is_vote), set()).update(indices)
    found = [
        Lost(mention(by), sorted(indices), decision, is_vote)
        for (by, decision, is_vote), indices in made.items()
    ]
    return sorted(found, key=lambda lost: lost.decision == "approve")


def _is_missing(state: Approval, remark: Remark, index: int) -> bool:
    """Whether an action of a lost decision is still open, and its person has not decided it again."""
    voters = {vote.user for vote in state.votes.get(index, ())}
    return remark.kind == "lost" and state.is_open_at(index) and remark.by not in voters


def remark_text(remark: Remark) -> str:
    """Write a remark as mrkdwn; nothing in it is an agent's."""
    person = mention(remark.by) if remark.by else words.SOMEBODY
    called = [mention(name) for name in remark.mentions]
    match remark.kind:
        case "remind":
            return in_thread.reminder(remark.actions, called)
        case "escalate":
            return in_thread.escalated(remark.actions, called, remark.also_in)
        case "propose":
            return in_thread.proposed(person, remark.actions, called, remark.also_in)
        case "extend":
            return in_thread.extended(person, remark.until)
        case "lost":
            return in_thread.lost(Lost(person, remark.actions, remark.decision, remark.is_vote))
        case "lost_for_good":
            return in_thread.lost_for_good(Lost(person, remark.actions, remark.decision, remark.is_vote))
        case "hand_over":
            return in_thread.handed_over(person, called)
