"""What Slack sends about a click or a form, read once. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.domain.ids import MessageId, parse_action_id, parse_button_value, parse_choice_value
from bot.domain.votes import Press
from bot.rendering.buttons import READ, REVIEW
from bot.rendering.modal.view import HOME, ViewMeta


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
    """Read a `block_actions` payload.

    Raises:
        MalformedError: when it names no button, or no choice of a menu.
    """
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
