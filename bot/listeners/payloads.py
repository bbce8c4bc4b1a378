"""What Slack sends about a click or a form, read once. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.ids import PartId, parse_action_id
from bot.rendering.modals import ViewMeta


@dataclass(frozen=True, slots=True)
class Origin:
    """For which app something was delivered, where, and on whose behalf. Empty where the payload does not say."""

    app: str
    team: str
    organisation: str
    user: str
    user_team: str


@dataclass(frozen=True, slots=True)
class Click:
    """One pressed button."""

    user: str
    verb: str
    subject: str
    """Index of the action, number of the place, or number of the page; what stands after a dot tells buttons apart."""
    interrupt_id: str
    trigger_id: str
    channel: str
    thread_ts: str | None
    """Where a word to this person goes: the thread that the message stands in."""
    ts: str
    view: Mapping[str, Any] | None
    """The modal in which it was pressed."""
    index: int = -1
    """The action that this modal is about."""
    vote: str = ""
    """The proposal that this modal is about, or the vote."""

    @property
    def number(self) -> int:
        """The subject as a number, -1 when it is none."""
        number = self.subject.partition(".")[0]
        return int(number) if number.isdecimal() else -1

    @property
    def part(self) -> PartId:
        """The message of a place that the subject names, as `<place>.<part>`; the card itself where it names none."""
        part = self.subject.partition(".")[2]
        return PartId(self.number, int(part) if part.isdecimal() else 0)


@dataclass(frozen=True, slots=True)
class Submission:
    """One submitted form."""

    user: str
    form: str
    meta: ViewMeta
    view: Mapping[str, Any]

    @property
    def first_input(self) -> str | None:
        """Where an error about the whole form is shown."""
        return next((b["block_id"] for b in self.view["blocks"] if b["type"] == "input"), None)


def parse_origin(body: Mapping[str, Any]) -> Origin:
    """Read from where any payload comes. A command says it in other fields than a click."""
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
    """Say why a payload is no click that could be read; empty when it is one, or something else."""
    match body:
        case {"type": "block_actions", "actions": [{"action_id": str()}, *_]}:
            return ""
        case {"type": "block_actions"}:
            return "the click names no button: actions holds no object with an action_id"
    return ""


def parse_click(body: Mapping[str, Any]) -> Click:
    """Read a `block_actions` payload."""
    pressed = body["actions"][0]
    verb, subject = parse_action_id(pressed["action_id"])
    view = body.get("view")
    meta = ViewMeta.load(view["private_metadata"]) if view and view.get("private_metadata") else None
    message = body.get("message") or {}
    thread = message.get("thread_ts")
    return Click(
        user=body["user"]["id"],
        verb=verb,
        subject=subject,
        interrupt_id=meta.id if meta else pressed.get("value", ""),
        trigger_id=body["trigger_id"],
        channel=meta.channel if meta else (body.get("channel") or {}).get("id", ""),
        # The parent of a thread carries its own ts as thread_ts; what concerns it is said in the channel.
        thread_ts=thread if thread != message.get("ts") else None,
        ts=meta.ts if meta else message.get("ts", ""),
        view=view,
        index=meta.index if meta else -1,
        vote=meta.vote if meta else "",
    )


def parse_submission(body: Mapping[str, Any]) -> Submission:
    """Read a `view_submission` payload."""
    view = body["view"]
    return Submission(
        user=body["user"]["id"],
        form=view["callback_id"],
        meta=ViewMeta.load(view["private_metadata"]),
        view=view,
    )
