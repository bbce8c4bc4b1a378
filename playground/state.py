"""All that one run of the stand-in knows; a reset makes it anew."""

from dataclasses import dataclass, field
from typing import Any

from playground.errors import SlackError
from playground.faults import Faults
from playground.feed import Feed
from playground.inputs import complete
from playground.rate_limits import RateLimits
from playground.tickets import Tickets
from playground.timing import Timing
from playground.views import Views
from playground.workspace import Message, Workspace

SCOPES = (
    "chat:write",
    "commands",
    "users:read",
    "channels:read",
    "groups:read",
    "channels:history",
    "groups:history",
    "im:history",
    "im:read",
    "im:write",
    "usergroups:read",
    "users:read.email",
)


SIGNING_SECRET = "playground-signing-secret"  # noqa: S105 - valid here only


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the app was given to speak with, and to recognise, the stand-in."""

    bot_token: str = "xoxb-playground"  # noqa: S105 - valid here only
    app_token: str = "xapp-playground"  # noqa: S105 - valid here only
    signing_secret: str = SIGNING_SECRET


@dataclass(slots=True)
class Grant:
    """What the bot's token may do."""

    scopes: tuple[str, ...] = SCOPES
    revoked: bool = False
    enterprise_id: str | None = None
    """The organisation, where the app is installed in all of it."""

    def require(self, *scopes: str) -> None:
        """Refuse unless one of the scopes was granted.

        Raises:
            SlackError: `missing_scope`, with what is needed and what there is.
        """
        if scopes and not set(scopes) & set(self.scopes):
            raise SlackError("missing_scope", needed=scopes[0], provided=",".join(self.scopes))


@dataclass
class State:
    """The workspace, and what the app and its people are doing in it."""

    timing: Timing
    feed: Feed
    rate_limits: RateLimits
    hint: str = ""
    """What the page says above the first card."""
    lines: str = ""
    """What the page shows to paste where no card is yet."""
    workspace: Workspace = field(default_factory=Workspace)
    views: Views = field(default_factory=Views)
    faults: Faults = field(default_factory=Faults)
    grant: Grant = field(default_factory=Grant)
    tickets: Tickets = field(init=False)
    socket_tickets: set[str] = field(default_factory=set)
    """What `apps.connections.open` gave out and no socket has used; it outlives a reset."""

    def __post_init__(self) -> None:
        self.tickets = Tickets(self.timing)

    def reset(self) -> None:
        """Set everything back to the defaults. Open streams stay open."""
        self.workspace, self.views, self.faults, self.grant = Workspace(), Views(), Faults(), Grant()
        self.tickets = Tickets(self.timing)
        self.rate_limits.reset()

    def post(
        self,
        channel: str,
        user: str,
        text: str | None,
        blocks: list[dict[str, Any]] | None = None,
        **fields: Any,
    ) -> Message:
        """Add a message that was checked before, and send the change to all watchers."""
        ts = self.workspace.next_ts()
        message = Message(channel, ts, user, text or "", complete(blocks or []), **fields)
        self.workspace.add_message(message)
        self.message_changed(message)
        return message

    def edit(self, message: Message, text: str | None, blocks: list[dict[str, Any]] | None) -> None:
        """Show something else in a message: blocks that are not given again are gone."""
        message.text = text or ""
        message.blocks = complete(blocks or [])
        message.edited = self.workspace.next_ts()
        self.message_changed(message)

    def delete(self, message: Message) -> None:
        """Take a message away."""
        self.workspace.remove_message(message)
        if message.is_tombstone:
            self.message_changed(message)
        else:
            self.feed.publish({"type": "deleted", "channel": message.channel, "ts": message.ts})

    def message_changed(self, message: Message) -> None:
        """Tell who watches."""
        if self.feed.watched:
            self.feed.publish({**message.to_control(), "type": "message"})

    def views_changed(self, user: str) -> None:
        """Tell who watches."""
        if self.feed.watched:
            self.feed.publish({"type": "view", "user": user, "views": self.shown_views(user)})

    def changed(self) -> None:
        """Send to all watchers that people, channels, faults or sockets have changed."""
        self.feed.publish({"type": "state"})

    def shown_views(self, user: str) -> list[dict[str, Any]]:
        """A person's open modals, bottom first."""
        return [view.to_slack() for view in self.views.stack(user)]
