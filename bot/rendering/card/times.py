"""What a card and its thread show about time: who is looking, who wants more of it, whom a reminder calls."""

from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.rendering.blocks import Block, context
from bot.sentences import in_thread, on_card, words


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
        case "hand_over":
            return in_thread.handed_over(person, called)
