"""What is wrong with calls that were approved: nobody knows what became of them, nobody has started them, or nobody can."""

from typing import Literal

from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.rendering.blocks import Block, section
from bot.sentences import on_card

Alarm = Literal["stopped", "not_started", "unused"]


def alarm(state: Approval, place: Place) -> Alarm | None:
    """Say what is wrong with the approved calls of a place; `None` while the agent goes on, and where all are reported."""
    runs = state.running(place.actions)
    if state.unused:
        return "unused"
    if all(index in state.outcomes for index in runs):
        return None
    if state.claim_has_lapsed or state.stalled:
        return "stopped"
    if state.is_untaken and not state.outcomes:
        # A process that gave the answer back may have run a part of it.
        return "stopped" if state.was_given_back else "not_started"
    return None


def alarm_text(state: Approval, place: Place) -> str:
    """Say what is wrong, and what to do; empty where nothing is."""
    unknown = sum(index not in state.outcomes for index in state.running(place.actions))
    match alarm(state, place):
        case "stopped":
            return on_card.stopped(unknown)
        case "not_started":
            return on_card.not_started(unknown, state.interrupt.agent)
        case "unused":
            return on_card.NOT_USED_WHY
        case None:
            return ""


def alarm_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw the same, as large as any text."""
    text = alarm_text(state, place)
    return [section("alarm", text)] if text else []
