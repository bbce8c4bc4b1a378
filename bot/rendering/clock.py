"""What a card and its thread show about time: who is looking, who wants more of it, whom a reminder calls."""

from datetime import timedelta

from bot.ids import action_id
from bot.rendering.blocks import Block, actions, button, context, when, who
from bot.schedule import Remark
from bot.state import ApprovalState

MOST_CALLED = 20
"""People and groups called in one message."""
MOST_NUMBERS = 20
"""Actions named in one message."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def claim_blocks(state: ApprovalState, number: int) -> list[Block]:
    """Say who is looking at what is asked in a place."""
    claim = state.claim_at(number)
    if claim is None:
        return []
    return [
        context(
            "looking",
            f"{who(claim.user)} is looking at this, until {when(claim.until)}. Whoever may decide still can.",
        )
    ]


def clock_blocks(state: ApprovalState, number: int) -> list[Block]:
    """Draw the buttons of a place that decide nothing: to claim it, to hand it over, to get more time."""
    buttons = []
    if state.places[number].claim and any(state.is_open_at(i) for i in state.places[number].actions):
        if state.claim_at(number):
            buttons.append(button(action_id("hand_over", number), "Hand over…", state.id))
        else:
            buttons.append(button(action_id("claim", number), "I am looking at this", state.id))
    extension = state.admission.extension if state.admission else None
    if extension and state.may_extend:
        label = f"Extend by {duration_words(extension.by)}"
        buttons.append(button(action_id("extend", state.extended), label, state.id))
    return [actions("clock", buttons)] if buttons else []


def duration_words(duration: timedelta) -> str:
    """Write a duration as people say it: 30 minutes, 1 hour 30 minutes."""
    left, words = int(duration.total_seconds()), []
    for seconds, unit in _UNITS:
        count, left = divmod(left, seconds)
        if count:
            words.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(words)


def remark_text(remark: Remark) -> str:
    """Write a remark as mrkdwn; nothing in it is an agent's."""
    match remark.kind:
        case "remind":
            return f"Still to be decided: {_which(remark)}. {_called(remark)}".strip()
        case "escalate":
            nobody = f"Nobody has decided {_which(remark)} yet"
            if remark.also_in:
                return f"{nobody}, so it is asked in {place_name(remark.also_in)} as well."
            return f"{nobody}. {_called(remark)} may decide now, too."
        case "propose":
            says = f"{who(remark.by or '')} proposes changes to {_which(remark)}"
            if remark.also_in:
                return f"{says}, so it is asked in {place_name(remark.also_in)} as well."
            return f"{says}. {_called(remark)} may agree." if remark.mentions else f"{says}."
        case "extend":
            until = f", until {when(remark.until)}" if remark.until else ""
            return f"{who(remark.by or '')} gave everybody more time{until}."
        case "hand_over":
            return (
                f"{who(remark.by or '')} hands this over to {_called(remark)}. Whoever may decide still can."
            )


def place_name(channel: str) -> str:
    """Name where something is asked."""
    return "a direct message" if channel.startswith("D") else f"<#{channel}>"


def _which(remark: Remark) -> str:
    named = ", ".join(str(index + 1) for index in remark.actions[:MOST_NUMBERS])
    more = len(remark.actions) - MOST_NUMBERS
    subject = "action" if len(remark.actions) == 1 else "actions"
    return f"{subject} {named}" + (f" and {more} more" if more > 0 else "")


def _called(remark: Remark) -> str:
    names = [who(name) for name in remark.mentions[:MOST_CALLED]]
    more = len(remark.mentions) - MOST_CALLED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
