"""The workspace: people, user groups, channels and messages."""

import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from playground.errors import ControlError

TEAM = {"id": "T0PLAY", "name": "Playground", "domain": "playground"}
APP_ID = "A0PLAY"
BOT_ID = "B0PLAY"
BOT_USER = "U0BOT"
SLACKBOT = "USLACKBOT"


@dataclass(slots=True)
class Person:
    """Somebody with an account, or the trace of one."""

    id: str
    name: str
    real_name: str = ""
    team_id: str = TEAM["id"]
    deleted: bool = False
    is_bot: bool = False
    is_app_user: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    tz: str = "Europe/Amsterdam"
    email: str = ""
    enterprise_user: dict[str, Any] = field(default_factory=dict)
    """Their organisation, and their workspaces in it."""

    def to_control(self) -> dict[str, Any]:
        """The person as the control API shows it."""
        return asdict(self)

    def to_slack(self) -> dict[str, Any]:
        """The `user` object of `users.info`."""
        name = self.real_name or self.name
        shown = asdict(self)
        # Only an app with a scope of its own is told it.
        del shown["email"]
        return {
            **shown,
            "name": self.name.lower(),
            "real_name": name,
            "profile": {"real_name": name, "display_name": self.name, "team": self.team_id},
        }


@dataclass(slots=True)
class Group:
    """A user group, mentioned as `<!subteam^id>`."""

    id: str
    handle: str
    users: list[str] = field(default_factory=list)

    def to_control(self) -> dict[str, Any]:
        """The group as the control API shows it."""
        return asdict(self)

    def to_slack(self) -> dict[str, Any]:
        """One entry of `usergroups.list`."""
        return {
            "id": self.id,
            "team_id": TEAM["id"],
            "is_usergroup": True,
            "name": self.handle,
            "handle": self.handle,
            "user_count": len(self.users),
            "date_delete": 0,
        }


@dataclass(slots=True)
class Message:
    """One message, in a channel or seen by one person alone."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    thread_ts: str | None = None
    metadata: dict[str, Any] | None = None
    edited: str | None = None
    ephemeral_for: str | None = None
    broadcast: bool = False
    is_tombstone: bool = False
    """Left of a deleted message whose thread has replies."""
    replies: list[str] = field(default_factory=list)
    selections: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """(person, block, action) -> what the person has chosen in the message's own menus."""

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts

    def to_slack(self, *, with_metadata: bool = False) -> dict[str, Any]:
        """The message as Slack shows it to an app."""
        shown: dict[str, Any] = {
            "type": "message",
            "user": self.user,
            "ts": self.ts,
            "team": TEAM["id"],
            "text": self.text,
        }
        if self.is_tombstone:
            shown |= {"subtype": "tombstone", "hidden": True}
        if self.user == BOT_USER:
            shown |= {"bot_id": BOT_ID, "app_id": APP_ID}
        if self.blocks:
            shown["blocks"] = self.blocks
        if self.edited:
            shown["edited"] = {"user": self.user, "ts": self.edited}
        if self.replies:
            shown |= {
                "thread_ts": self.ts,
                "reply_count": len(self.replies),
                "latest_reply": self.replies[-1],
            }
        elif self.thread_ts:
            shown["thread_ts"] = self.thread_ts
        if with_metadata and self.metadata:
            shown["metadata"] = self.metadata
        return shown

    def to_control(self) -> dict[str, Any]:
        """The message as the control API shows it."""
        shown: dict[str, Any] = {
            "channel": self.channel,
            "ts": self.ts,
            "user": self.user,
            "text": self.text,
            "blocks": self.blocks,
        }
        optional = {
            "thread_ts": self.thread_ts,
            "metadata": self.metadata,
            "edited": {"ts": self.edited} if self.edited else None,
            "ephemeral_for": self.ephemeral_for,
            "reply_count": len(self.replies) or None,
        }
        return shown | {key: value for key, value in optional.items() if value is not None}


@dataclass(slots=True)
class Channel:
    """A conversation and everything written in it, oldest first."""

    id: str
    name: str
    is_private: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False
    is_im: bool = False
    user: str | None = None
    """The other side of a direct message."""
    members: dict[str, None] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The prefix of the scopes that read it."""
        return "im" if self.is_im else "groups" if self.is_private else "channels"

    def to_slack(self) -> dict[str, Any]:
        """The `channel` object of `conversations.info`."""
        shown: dict[str, Any] = {
            "id": self.id,
            "is_im": self.is_im,
            "is_archived": self.is_archived,
            "is_org_shared": False,
            "context_team_id": TEAM["id"],
        }
        if self.is_im:
            return shown | {"user": self.user, "is_open": True}
        return shown | {
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": not self.is_private,
            "is_group": False,
            "is_mpim": False,
            "is_private": self.is_private,
            "is_general": False,
            "is_shared": self.is_ext_shared,
            "is_ext_shared": self.is_ext_shared,
            "is_pending_ext_shared": False,
            "is_member": BOT_USER in self.members,
        }

    def to_control(self) -> dict[str, Any]:
        """The channel as the control API shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "is_private": self.is_private,
            "is_archived": self.is_archived,
            "is_ext_shared": self.is_ext_shared,
            "is_im": self.is_im,
            "members": list(self.members),
        } | ({"user": self.user} if self.is_im else {})


class Workspace:
    """All that people of one workspace can see, with the people themselves."""

    def __init__(self) -> None:
        self.people = {person.id: person for person in _people()}
        self.groups = {group.id: group for group in [Group("S0OPS", "ops", ["U0DANA", "U0ERIK"])]}
        self.channels = {channel.id: channel for channel in _channels()}
        self._last_ts = 0

    def person(self, user: str) -> Person:
        """Somebody in the workspace.

        Raises:
            ControlError: Nobody has this id.
        """
        person = self.people.get(user)
        if person is None:
            raise ControlError(f"There is nobody called {user!r}; there are {', '.join(self.people)}.", 404)
        return person

    def channel(self, channel: str) -> Channel:
        """A channel.

        Raises:
            ControlError: There is none with this id.
        """
        found = self.channels.get(channel)
        if found is None:
            raise ControlError(f"There is no channel {channel!r}; there are {', '.join(self.channels)}.", 404)
        return found

    def next_ts(self) -> str:
        """A timestamp that no message has: later than any before it."""
        self._last_ts = max(time.time_ns() // 1000, self._last_ts + 1)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def add_message(self, message: Message) -> None:
        """Put a message where it belongs, counting it as a reply of its thread."""
        messages = self.channels[message.channel].messages
        messages[message.ts] = message
        if message.is_reply and not message.ephemeral_for and message.thread_ts in messages:
            messages[message.thread_ts].replies.append(message.ts)

    def remove_message(self, message: Message) -> None:
        """Take a message away again. While others reply to it, a note that it was deleted stays in its place."""
        messages = self.channels[message.channel].messages
        if message.replies:
            message.user, message.text, message.is_tombstone = SLACKBOT, "This message was deleted.", True
            message.blocks, message.metadata, message.edited = [], None, None
            return
        messages.pop(message.ts, None)
        parent = messages.get(message.thread_ts or "")
        if parent and message.ts in parent.replies:
            parent.replies.remove(message.ts)
            if parent.is_tombstone and not parent.replies:
                del messages[parent.ts]

    def messages(self, channel: str | None = None, seen_by: str | None = None) -> Iterator[Message]:
        """Messages of one channel, or of all, oldest first; ephemeral ones only for their reader."""
        channels = [self.channels[channel]] if channel else self.channels.values()
        for each in channels:
            for message in each.messages.values():
                if message.ephemeral_for in (None, seen_by):
                    yield message

    def direct_message(self, user: str) -> Channel:
        """The conversation between the bot and one person."""
        channel_id = f"D{user[1:]}"
        if channel_id not in self.channels:
            members = dict.fromkeys((BOT_USER, user))
            self.channels[channel_id] = Channel(channel_id, "", is_im=True, user=user, members=members)
        return self.channels[channel_id]


def _people() -> Iterable[Person]:
    return (
        Person("U0DANA", "Dana"),
        Person("U0ERIK", "Erik"),
        Person("U0MIRA", "Mira"),
        Person("U0NOOR", "Noor"),
        Person("U0GUEST", "Gus", is_restricted=True),
        Person("U0LEFT", "Lena", deleted=True),
        Person("U0CONN", "Cory", team_id="T0OTHER", is_stranger=True),
        Person("U0ROBO", "Robo", is_bot=True),
        Person(BOT_USER, "Assent", is_bot=True),
    )


def _channels() -> Iterable[Channel]:
    asked = dict.fromkeys((BOT_USER, "U0DANA", "U0ERIK", "U0MIRA", "U0NOOR", "U0GUEST"))
    return (
        Channel("C0APPROVALS", "approvals", members=dict(asked)),
        Channel("C0PRIVATE", "private-ops", is_private=True, members=dict.fromkeys(("U0DANA", "U0ERIK"))),
        Channel("C0OLD", "old", is_archived=True, members=dict(asked)),
        Channel("C0SHARED", "shared", is_ext_shared=True, members=asked | {"U0CONN": None}),
    )


def random_id(prefix: str) -> str:
    """An id in Slack's manner."""
    return prefix + secrets.token_hex(5).upper()
