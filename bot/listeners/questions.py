"""Whether what was pressed asks the same as its record does now. If it asks something else, it decides nothing.

Buttons and views carry the name of their question. Slack brings it back, so what Redis says about a message proves nothing.
"""

from bot.domain.approval import Approval
from bot.domain.bulk import calls_on
from bot.domain.question import question
from bot.listeners.payloads import Click
from bot.rendering.buttons import Scope
from bot.rendering.modal.view import ViewMeta, question_in
from bot.sentences import in_answer


def why_not_pressed(state: Approval, click: Click, scope: Scope) -> str:
    """Say that a button, or the view around it, asks something else than its record; empty when they ask the same."""
    if click.meta and (sentence := why_not_submitted(state, click.meta, _scope_of_view(click))):
        return sentence
    if click.meta and not click.question:
        # The view says what its buttons ask.
        return ""
    return _why_not(click.question, question(state, _asked_by(state, click, scope)))


def why_not_submitted(state: Approval, meta: ViewMeta, scope: Scope) -> str:
    """Say that a view asks something else than its record; empty when it asks the same."""
    if meta.vote and state.actions[meta.index].written(meta.vote) is None:
        # Nothing is decided with it. The answer says that it is gone.
        return ""
    return _why_not(meta.question, question_in(state, scope, meta))


def _why_not(drawn: str, now: str) -> str:
    """Compare what was asked when something was drawn with what is asked now."""
    return "" if drawn == now else in_answer.ASKS_OTHERWISE


def _scope_of_view(click: Click) -> Scope:
    # A view with buttons is a review, or it is about one action.
    return "message" if click.in_review else "action"


def _asked_by(state: Approval, click: Click, scope: Scope) -> tuple[int, ...]:
    """Give the actions that a button is about."""
    match scope:
        case "action" | "standing":
            return (click.number,)
        case "message":
            here = calls_on(state, click.part) or state.admission.places[click.number].actions
            return tuple(index for index in click.named if index < len(state.actions)) or here
        case "place":
            return state.admission.places[click.number].actions
        case _:
            return tuple(range(len(state.actions)))
