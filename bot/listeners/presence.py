"""Whether a button or a form is where the bot put it. A copy elsewhere decides nothing."""

from bot.domain.approval import Approval
from bot.domain.bulk import calls_on
from bot.domain.ids import MessageId
from bot.listeners.payloads import Click, Submission
from bot.rendering.buttons import Scope


def has_button(state: Approval, click: Click, scope: Scope) -> bool:
    """Whether the subject of a button exists, and the pressed message can have this button."""
    if scope == "page":
        return _is_index(click.index, len(state.actions))
    # A button for the whole request has no subject.
    is_known = click.number >= 0 if scope == "card" else _is_index(click.number, _count(state, scope))
    if click.is_on_home or click.is_in_list:
        # A list shows too little of a call: its buttons lead to a review, or end a standing approval.
        return is_known and scope in {"message", "standing"}
    if not is_known:
        return False
    if click.view is not None:
        return not click.in_review or scope != "action" or _is_shown_whole(state, click)
    return any(_carries(state, message, click, scope) for message in _messages(state, click))


def _is_shown_whole(state: Approval, click: Click) -> bool:
    """Whether a page of a review shows all of the action that is decided in it, or the last of its pages."""
    last = max(state.actions[click.number].pages, 1)
    pieces = click.meta.pieces if click.meta else ()
    return any(index == click.number and page >= last for index, page in pieces)


def has_form(state: Approval, submission: Submission, scope: Scope) -> bool:
    """Whether the subject of a form exists."""
    return _is_index(submission.meta.index, _count(state, scope))


def _count(state: Approval, scope: Scope) -> int:
    return len(state.admission.places) if scope in {"place", "message"} else len(state.actions)


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
            return click.number in calls_on(state, message)


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
