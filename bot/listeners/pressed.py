"""Whether a button or a form is where the bot put it, and asks what its record asks now. Anything else decides nothing.

Buttons and views carry the name of their question. Slack brings it back, so what Redis says about a message proves nothing.
"""

from math import inf

from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.domain.question import question
from bot.listeners.payloads import Click, Submission
from bot.rendering.buttons import Button, Scope
from bot.rendering.modal.view import ViewMeta, question_in
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer

OUTDATED = Answer(False, in_answer.OUTDATED, why="outdated")
"""Nothing is there that was pressed."""


def remembered(store: ApprovalStore, interrupt_id: str, button: Button) -> Approval | None:
    """Give a record as this process last read it, for what is about one call as it was asked; `None` for anything else.

    What is about several needs the newest messages, and a proposal may have been changed in Redis since it was shown.
    """
    state = store.recall(interrupt_id) if button.scope in {"action", "page"} else None
    return None if state and state.proposals else state


def why_not(state: Approval, click: Click, scope: Scope, *, decides: bool = False) -> Answer | None:
    """Say that a button is not where the bot put it, or asks something else than its record. `None` when all is well.

    Args:
        state: The record.
        click: What was pressed.
        scope: What the button is about.
        decides: Whether it decides. Then it is on a message, in a reading, or for one call in a review.
    """
    is_there = click.in_reading if scope == "page" else click.in_review and scope == "action"
    if decides and (click.from_menu or click.is_on_home or (click.view and not is_there)):
        return OUTDATED
    if not has_button(state, click, scope):
        return OUTDATED
    sentence = why_not_pressed(state, click, scope)
    return Answer(False, sentence, draws_anew=True, why="outdated") if sentence else None


def has_button(state: Approval, click: Click, scope: Scope) -> bool:
    """Whether the subject of a button exists, and the pressed message can have this button."""
    if scope == "page":
        return _is_index(click.index, len(state.recorded))
    # A button for the whole request has no subject.
    if not 0 <= click.number < (_count(state, scope) if scope != "card" else inf):
        return False
    if click.view is None and not click.is_on_home:
        return any(_carries(state, message, click, scope) for message in _messages(state, click))
    if click.is_on_home or click.is_in_list:
        # A list shows too little of a call: its buttons lead to a review, or end a standing approval.
        return scope in {"message", "standing"}
    return not click.in_review or scope != "action" or _is_shown_whole(state, click)


def _is_shown_whole(state: Approval, click: Click) -> bool:
    """Whether a page of a review shows all of the action that is decided in it, or the last of its pages."""
    last = max(state.actions[click.number].pages, 1)
    pieces = click.meta.pieces if click.meta else ()
    return any(index == click.number and page >= last for index, page in pieces)


def has_form(state: Approval, submission: Submission, scope: Scope) -> bool:
    """Whether the subject of a form exists."""
    return _is_index(submission.meta.index, _count(state, scope))


def _count(state: Approval, scope: Scope) -> int:
    return len(state.admission.places) if scope in {"place", "message"} else len(state.recorded)


def _is_index(index: int, count: int) -> bool:
    # It comes back as JSON, and Python would count a negative index from the end.
    return type(index) is int and 0 <= index < count


def _carries(state: Approval, message: MessageId, click: Click, scope: Scope) -> bool:
    """Whether a message of this card can have this button."""
    match scope:
        case "message":
            return message == click.part
        case "place":
            return message == MessageId(click.number)
        case "card" | "standing":
            return True
        case _:
            return click.number in state.calls_on(message)


def _messages(state: Approval, click: Click) -> list[MessageId]:
    """Name the message of this card that was pressed. Several are possible when it was pressed before its post was noted."""
    if (click.channel, click.ts) in state.gone:
        return []
    noted = [part for part, s in state.shown.items() if (s.channel, s.ts) == (click.channel, click.ts)]
    return noted or [
        part
        for number, place in state.places.items()
        if place.channel == click.channel
        for part in (MessageId(number), *MessageId(number).parts(len(place.parts)))
        if part not in state.shown
    ]


def why_not_pressed(state: Approval, click: Click, scope: Scope) -> str:
    """Say that a button, or the view around it, asks something else than its record; empty when they ask the same."""
    # A view with buttons is a review, or it is about one action.
    of_view: Scope = "message" if click.in_review else "action"
    if click.meta and (sentence := why_not_submitted(state, click.meta, of_view)):
        return sentence
    if click.meta and not click.question:
        # The view says what its buttons ask.
        return ""
    asked = (click.number,) if scope in {"action", "standing"} else _asked_by(state, click, scope)
    return _why_not(click.question, question(state, asked))


def why_not_submitted(state: Approval, meta: ViewMeta, scope: Scope) -> str:
    """Say that a view asks something else than its record; empty when it asks the same."""
    if meta.vote and state.actions[meta.index].written(meta.vote) is None:
        # Nothing is decided with it. The answer says that it is gone.
        return ""
    return _why_not(meta.question, question_in(state, scope, meta))


def _why_not(drawn: str, now: str) -> str:
    """Compare what was asked when something was drawn with what is asked now."""
    return "" if drawn == now else in_answer.ASKS_OTHERWISE


def _asked_by(state: Approval, click: Click, scope: Scope) -> tuple[int, ...]:
    """Give the actions that a button for several is about."""
    match scope:
        case "message":
            here = state.calls_on(click.part) or state.admission.places[click.number].actions
            return tuple(index for index in click.named if index < len(state.actions)) or here
        case "place":
            return state.admission.places[click.number].actions
        case _:
            return tuple(range(len(state.actions)))
