"""What people and tests see: the half of the control API that reads."""

from playground.control import Asked, Handler, Json
from playground.errors import ControlError
from playground.journal import Journal
from playground.sockets import Sockets
from playground.state import State
from playground.workspace import TEAM


class ReadApi:
    """Looks at the workspace, and at what went over the wire."""

    def __init__(self, state: State, journal: Journal, sockets: Sockets) -> None:
        self._state = state
        self._journal = journal
        self._sockets = sockets

    def handlers(self) -> dict[str, Handler]:
        """The paths that read."""
        return {
            "GET state": self.state,
            "GET messages": self.messages,
            "GET views": self.views,
            "GET deliveries": self.deliveries,
            "GET calls": self.calls,
        }

    async def state(self, _: Asked) -> Json:
        """Who and what there is."""
        workspace, grant = self._state.workspace, self._state.grant
        return {
            "team": TEAM,
            "people": [person.to_control() for person in workspace.people.values()],
            "groups": [group.to_control() for group in workspace.groups.values()],
            "channels": [channel.to_control() for channel in workspace.channels.values()],
            "faults": self._state.faults.to_control(),
            "limits": self._state.rate_limits.enabled,
            "sockets": len(self._sockets),
            "hint": self._state.hint,
            "lines": self._state.lines,
            "token": {"revoked": grant.revoked, "scopes": list(grant.scopes)},
        }

    async def messages(self, asked: Asked) -> Json:
        """What was written, oldest first."""
        channel = asked.get("channel")
        if channel:
            self._state.workspace.channel(channel)
        found = self._state.workspace.messages(channel, asked.get("as"))
        return {"messages": [message.to_control() for message in found]}

    async def views(self, asked: Asked) -> Json:
        """A person's open modals, bottom first, and the Home tab."""
        user = asked.text("user")
        home = self._state.views.home(user)
        return {"views": self._state.shown_views(user), "home": home.to_slack() if home else None}

    async def deliveries(self, asked: Asked) -> Json:
        """The latest of what was sent to the app, oldest first."""
        latest = _whole(asked, "limit", 200)
        found = list(self._journal.deliveries())[-latest:]
        return {"deliveries": [delivery.to_control() for delivery in found]}

    async def calls(self, asked: Asked) -> Json:
        """What the app called."""
        found = self._journal.calls(asked.get("method"), _whole(asked, "since", 0))
        return {"calls": [call.to_control() for call in found]}


def _whole(asked: Asked, name: str, default: int) -> int:
    value = str(asked.get(name) or default)
    if not value.isdecimal():
        raise ControlError(f"{name} is a whole number, not {value!r}.")
    return int(value)
