"""What a card and its thread show about time: who is looking, who wants more of it, whom a reminder calls."""

from dataclasses import replace

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.rendering.blocks import Block, context
from bot.rendering.subject import subject_of
from bot.sentences import in_thread, on_card, words
from bot.text.set_apart import mrkdwn_line


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


def remark_text(state: Approval, place: Place, remark: Remark) -> str:
    """Write a remark as mrkdwn. It names what a place shows of the calls, as they were asked: it is never changed."""
    named = [index for index in remark.actions if index in place.actions] or place.actions
    calls = [replace(state.actions[index], recorded=None, votes=(), stricter=None) for index in named]
    about = mrkdwn_line(subject_of(calls))
    person = mention(remark.by) if remark.by else words.SOMEBODY
    called = [mention(name) for name in remark.mentions]
    match remark.kind:
        case "remind":
            return in_thread.reminder(about, called)
        case "escalate":
            return in_thread.escalated(about, called, remark.also_in)
        case "propose":
            return in_thread.proposed(person, about, called, remark.also_in)
        case "extend":
            return in_thread.extended(person, about, remark.until)
        case "hand_over":
            return in_thread.handed_over(person, about, called)
