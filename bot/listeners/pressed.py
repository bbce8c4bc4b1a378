"""What Slack sends about a click or a form, read once; and whether it is where the bot put it, and asks what its record asks now. Pure.

Buttons and views carry the name of their question. Slack brings it back, so what Redis says about a message proves nothing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from bot.domain.approval import Approval, question
from bot.domain.ids import MessageId, parse_action_id, parse_button_value, parse_choice_value
from bot.domain.votes import Press
from bot.rendering.buttons import READ, REVIEW, Scope
from bot.rendering.modal.view import HOME, ViewMeta, question_in
from bot.sentences import in_answer
from bot.use_cases.answers import Answer


class MalformedError(ValueError):
    """A click that names no button."""


@dataclass(frozen=True, slots=True)
class Click:
    """One pressed button, or one choice in a menu."""

    user: str
    verb: str
    subject: str
    """Index of the action, number of the place, or number of the page. A part after a dot makes the button unique."""
    number: int
    """The subject as a number; -1 when it is not a number."""
    interrupt_id: str
    trigger_id: str
    channel: str
    thread_ts: str | None
    """The thread of the message, where the answer to this person goes."""
    ts: str
    press: Press
    """By which another delivery of the same click is known."""
    view: Mapping[str, Any] | None = None
    """The modal in which it was pressed."""
    meta: ViewMeta | None = None
    """What this modal carries."""
    named: frozenset[int] = frozenset()
    """The actions that the question of this button named."""
    question: str = ""
    """What was asked when this button was drawn. Some in views carry none."""
    is_on_home: bool = False
    """Whether it was pressed on the Home tab itself."""
    listed: str = ""
    """What the list shows, where this was pressed in the view of one, or on top of it."""
    from_menu: bool = False
    """Whether it was chosen from a menu, which asks no question first."""

    @property
    def index(self) -> int:
        """The action that this modal is about."""
        return self.meta.index if self.meta else -1

    @property
    def vote(self) -> str:
        """The proposal that this modal is about, or the vote."""
        return self.meta.vote if self.meta else ""

    @property
    def in_review(self) -> bool:
        """Whether it was pressed in a review itself."""
        return self.view is not None and self.view.get("callback_id") == REVIEW.verb

    @property
    def in_reading(self) -> bool:
        """Whether it was pressed in a reading."""
        return self.view is not None and self.view.get("callback_id") == READ.verb

    @property
    def review(self) -> str:
        """What the review carries in which, or on top of which, it was pressed."""
        if self.meta is None:
            return ""
        return self.meta.dump() if self.in_review else self.meta.review

    @property
    def is_in_list(self) -> bool:
        """Whether it was pressed in the view that shows a person's lists."""
        return self.view is not None and self.view.get("callback_id") == HOME

    @property
    def part(self) -> MessageId:
        """The message that the subject names as `<place>.<part>`. Without a part, the card of the place."""
        part = self.subject.partition(".")[2]
        return MessageId.stored(self.number, int(part) if part.isdecimal() else 0)


@dataclass(frozen=True, slots=True)
class Submission:
    """One submitted form."""

    user: str
    form: str
    meta: ViewMeta
    view: dict[str, Any]
    press: Press
    """By which another delivery of the same form is known."""

    @property
    def first_input(self) -> str | None:
        """The input that shows an error about the whole form."""
        return next((b["block_id"] for b in self.view["blocks"] if b["type"] == "input"), None)


def id_of(body: Mapping[str, Any], of: str) -> str:
    """Give the id of the person, the team or the enterprise of a payload; empty without one. A command names it elsewhere."""
    found = body.get(of)
    return str((found.get("id") if isinstance(found, dict) else body.get(f"{of}_id")) or "")


def team_of_person(body: Mapping[str, Any]) -> str:
    """Give the workspace of the person who acts."""
    user = body.get("user")
    return str(user.get("team_id") or "") if isinstance(user, dict) else id_of(body, "team")


def parse_click(body: Mapping[str, Any]) -> Click:
    """Read a `block_actions` payload. One that names no button, or no choice of a menu, is a MalformedError."""
    match body.get("actions"):
        case [{"type": "overflow", "action_id": str(), "selected_option": {"value": str(chosen)}}, *_]:
            # A choice in a menu carries the name and the value of its button.
            name, value = parse_choice_value(chosen)
            from_menu = True
        case [{"type": "overflow"}, *_]:
            raise MalformedError("the click names no choice: actions holds no selected_option with a value")
        case [{"action_id": str(name)} as pressed, *_]:
            value, from_menu = pressed.get("value", ""), False
        case _:
            raise MalformedError("the click names no button: actions holds no object with an action_id")
    verb, subject = parse_action_id(name)
    interrupt_id, named, question = parse_button_value(value)
    number = subject.partition(".")[0]
    message, view = body.get("message") or {}, body.get("view")
    # A message that only one person sees is not in the payload.
    thread = message.get("thread_ts") or (body.get("container") or {}).get("thread_ts")
    channel, ts = (body.get("channel") or {}).get("id", ""), message.get("ts", "")
    asked = f"{channel} {ts}" if channel and ts else ""
    click = Click(
        user=body["user"]["id"],
        verb=verb,
        subject=subject,
        number=int(number) if number.isdecimal() else -1,
        interrupt_id=interrupt_id,
        trigger_id=body["trigger_id"],
        channel=channel,
        # The first message of a thread has its own ts as thread_ts. Answers about it go to the channel.
        thread_ts=thread if thread != ts else None,
        ts=ts,
        press=Press("click", name_of_press(body), asked, question),
        named=named,
        question=question,
        from_menu=from_menu,
    )
    return _in_view(click, view) if view else click


def _in_view(click: Click, view: Mapping[str, Any]) -> Click:
    carried = view.get("private_metadata", "")
    if view.get("callback_id") == HOME:
        is_home = view["type"] == "home"
        return (
            replace(click, view=None, is_on_home=True)
            if is_home
            else replace(click, view=view, listed=carried)
        )
    meta = ViewMeta.load(carried) if carried else None
    if meta is None:
        return replace(click, view=view)
    return replace(
        click,
        view=view,
        meta=meta,
        # A view says what those of its buttons ask that carry no question.
        press=replace(click.press, question=click.question or meta.question),
        interrupt_id=meta.id,
        channel=meta.channel,
        ts=meta.ts,
        listed=meta.listed,
    )


def name_of_press(body: Mapping[str, Any]) -> str:
    """Name what was pressed, the same for each delivery of it: Slack gives each press a trigger of its own. Empty without one."""
    trigger = body.get("trigger_id")
    return hashlib.sha256(trigger.encode()).hexdigest()[:32] if trigger else ""


def parse_submission(body: Mapping[str, Any]) -> Submission:
    """Read a `view_submission` payload."""
    view = body["view"]
    meta = ViewMeta.load(view["private_metadata"])
    return Submission(
        user=body["user"]["id"],
        form=view["callback_id"],
        meta=meta,
        view=view,
        press=Press("form", name_of_press(body), question=meta.question),
    )


# --- Whether it counts ----------------------------------------------------------------------------------------------

OUTDATED = Answer(False, in_answer.OUTDATED, why="outdated")
"""Nothing is there that was pressed."""


def why_not(state: Approval, click: Click, scope: Scope, *, decides: bool = False) -> Answer | None:
    """Say that a button is not where the bot put it, or asks something else than its record. `None` when all is well."""
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
