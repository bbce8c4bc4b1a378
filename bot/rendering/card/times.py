"""What a card and its thread show about time: who is looking, who wants more of it, whom a reminder calls."""

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.rendering.blocks import Block, context
from bot.rendering.card.outcomes import may_have_run
from bot.sentences import in_thread, on_card, words

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
        return [context("lost", on_card.lost_for_good(may_have_run=may_have_run(state)))]
    made = {
        (mention(remark.by), missing, remark.decision): None
        for remark in state.remarks.values()
        if remark.by and (missing := _missing(state, place, remark))
    }
    # What a call may be approved in spite of comes first: not all are named.
    named = sorted(made, key=lambda each: each[2] == "approve")
    return [context("lost", on_card.lost(named, _SHOWN_DECISIONS))] if made else []


def _missing(state: Approval, place: Place, remark: Remark) -> tuple[int, ...]:
    """Give the actions of a lost decision that are still open, and that its person has not decided again."""
    if remark.kind != "lost":
        return ()
    return tuple(
        index
        for index in sorted({*remark.actions} & {*place.actions})
        if state.is_open_at(index) and all(vote.user != remark.by for vote in state.votes.get(index, ()))
    )


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
            return in_thread.lost(person, remark.actions, remark.decision)
        case "lost_for_good":
            return in_thread.lost_for_good(person, remark.actions, remark.decision)
        case "hand_over":
            return in_thread.handed_over(person, called)
