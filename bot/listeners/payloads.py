"""What Slack sends about a click or a form, read once. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.ids import MessageId, parse_action_id, parse_button_value, parse_choice_value
from bot.domain.press import Press
from bot.rendering.buttons import READ, REVIEW
from bot.rendering.modal.view import HOME, ViewMeta


@dataclass(frozen=True, slots=True)
class Origin:
    """The app, the workspace and the person of a payload. Empty where the payload does not say."""

    app: str
    team: str
    organisation: str
    user: str
    user_team: str


@dataclass(frozen=True, slots=True)
class Click:
    """One pressed button, or one choice in a menu."""

    user: str
    verb: str
    subject: str
    """Index of the action, number of the place, or number of the page. A part after a dot makes the button unique."""
    interrupt_id: str
    trigger_id: str
    channel: str
    thread_ts: str | None
    """The thread of the message, where the answer to this person goes."""
    ts: str
    view: Mapping[str, Any] | None
    """The modal in which it was pressed."""
    press: Press
    """By which another delivery of the same click is known."""
    index: int = -1
    """The action that this modal is about."""
    vote: str = ""
    """The proposal that this modal is about, or the vote."""
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
    meta: ViewMeta | None = None
    """What this modal carries."""

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
    def number(self) -> int:
        """The subject as a number; -1 when it is not a number."""
        number = self.subject.partition(".")[0]
        return int(number) if number.isdecimal() else -1

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


def parse_origin(body: Mapping[str, Any]) -> Origin:
    """Read where a payload comes from. A command has this in other fields than a click."""
    user = body.get("user")
    return Origin(
        app=str(body.get("api_app_id") or ""),
        team=_id(body, "team"),
        organisation=_id(body, "enterprise"),
        user=_id(body, "user"),
        user_team=str(user.get("team_id") or "") if isinstance(user, Mapping) else _id(body, "team"),
    )


def _id(body: Mapping[str, Any], of: str) -> str:
    found = body.get(of)
    return str((found.get("id") if isinstance(found, Mapping) else body.get(f"{of}_id")) or "")


def malformed(body: Mapping[str, Any]) -> str:
    """Say why a click cannot be read; empty when it can, or when the payload is not a click."""
    match body:
        case {
            "type": "block_actions",
            "actions": [{"type": "overflow", "action_id": str(), "selected_option": {"value": str()}}, *_],
        }:
            return ""
        case {"type": "block_actions", "actions": [{"type": "overflow"}, *_]}:
            return "the click names no choice: actions holds no selected_option with a value"
        case {"type": "block_actions", "actions": [{"action_id": str()}, *_]}:
            return ""
        case {"type": "block_actions"}:
            return "the click names no button: actions holds no object with an action_id"
    return ""


def parse_click(body: Mapping[str, Any]) -> Click:
    """Read a `block_actions` payload."""
    pressed = body["actions"][0]
    name, value = _name_and_value(pressed)
    verb, subject = parse_action_id(name)
    view = body.get("view")
    is_list = view is not None and view.get("callback_id") == HOME
    is_home = is_list and view is not None and view["type"] == "home"
    carried = (view or {}).get("private_metadata", "")
    meta = ViewMeta.load(carried) if carried and not is_list else None
    interrupt_id, named, question = parse_button_value(value)
    message = body.get("message") or {}
    # A message that only one person sees is not in the payload.
    thread = message.get("thread_ts") or (body.get("container") or {}).get("thread_ts")
    return Click(
        user=body["user"]["id"],
        verb=verb,
        subject=subject,
        interrupt_id=meta.id if meta else interrupt_id,
        trigger_id=body["trigger_id"],
        channel=meta.channel if meta else (body.get("channel") or {}).get("id", ""),
        # The first message of a thread has its own ts as thread_ts. Answers about it go to the channel.
        thread_ts=thread if thread != message.get("ts") else None,
        ts=meta.ts if meta else message.get("ts", ""),
        view=None if is_home else view,
        index=meta.index if meta else -1,
        vote=meta.vote if meta else "",
        named=named,
        question=question,
        is_on_home=is_home,
        listed=meta.listed if meta else carried if is_list and not is_home else "",
        from_menu=pressed.get("type") == "overflow",
        meta=meta,
        press=Press.of(body, "click"),
    )


def _name_and_value(pressed: Mapping[str, Any]) -> tuple[str, str]:
    """Read the name and the value of a button. A choice in a menu carries both."""
    if pressed.get("type") != "overflow":
        return pressed["action_id"], pressed.get("value", "")
    return parse_choice_value(pressed["selected_option"]["value"])


def parse_submission(body: Mapping[str, Any]) -> Submission:
    """Read a `view_submission` payload."""
    view = body["view"]
    return Submission(
        user=body["user"]["id"],
        form=view["callback_id"],
        meta=ViewMeta.load(view["private_metadata"]),
        view=view,
        press=Press.of(body, "form"),
    )
