"""What a test can change: the workspace, the faults, the delivery, the token."""

from collections.abc import Callable
from dataclasses import fields

from playground.control import Asked, Handler, Json
from playground.delivery import Outbox
from playground.errors import ControlError
from playground.http_delivery import HttpDelivery
from playground.sockets import Sockets
from playground.state import Grant, State
from playground.workspace import Channel, Group, Person


class Switches:
    """Changes what people and the app meet."""

    def __init__(
        self, state: State, outbox: Outbox, sockets: Sockets, deliver_to: Callable[[str | None], None]
    ) -> None:
        self._state = state
        self._outbox = outbox
        self._sockets = sockets
        self._deliver_to = deliver_to

    def handlers(self) -> dict[str, Handler]:
        """The paths that change how the stand-in behaves."""
        return {
            "POST people": self.people,
            "POST groups": self.groups,
            "POST channels": self.channels,
            "POST faults": self.add_fault,
            "DELETE faults": self.clear_faults,
            "DELETE faults/{fault_id}": self.remove_fault,
            "POST delivery": self.delivery,
            "POST deliveries/{delivery_id}/again": self.again,
            "POST verification": self.verification,
            "POST sockets/close": self.close_sockets,
            "POST limits": self.limits,
            "POST token": self.token,
            "POST reset": self.reset,
        }

    async def people(self, asked: Asked) -> Json:
        """Create or change a person."""
        id = asked.text("id")
        person = self._state.workspace.people.get(id) or Person(id, asked.get("name") or id)
        _set(person, asked)
        self._state.workspace.people[id] = person
        self._state.changed()
        return person.to_control()

    async def groups(self, asked: Asked) -> Json:
        """Create or change a user group."""
        id = asked.text("id")
        self._known(asked.texts("users"))
        group = self._state.workspace.groups.get(id) or Group(id, asked.get("handle") or id)
        _set(group, asked)
        self._state.workspace.groups[id] = group
        self._state.changed()
        return group.to_control()

    async def channels(self, asked: Asked) -> Json:
        """Create or change a channel."""
        id, members = asked.text("id"), asked.texts("members")
        self._known(members)
        channel = self._state.workspace.channels.get(id) or Channel(id, asked.get("name") or id)
        _set(
            channel,
            Asked(
                {**asked.fields, "members": dict.fromkeys(channel.members if members is None else members)}
            ),
        )
        self._state.workspace.channels[id] = channel
        self._state.changed()
        return channel.to_control()

    async def add_fault(self, asked: Asked) -> Json:
        """Switch a fault on."""
        fault = self._state.faults.add(dict(asked.fields))
        self._state.changed()
        return {"id": fault.id}

    async def clear_faults(self, _: Asked) -> Json:
        """Switch every fault off."""
        self._state.faults.clear()
        self._state.changed()
        return {}

    async def remove_fault(self, asked: Asked) -> Json:
        """Switch one fault off."""
        self._state.faults.remove(asked.text("fault_id"))
        self._state.changed()
        return {}

    async def delivery(self, asked: Asked) -> Json:
        """Change how things are delivered from now on."""
        asked.only("duplicate", "delay", "disconnect", "events_url", "trim", "forge")
        reason, delay = asked.get("disconnect"), asked.get("delay")
        if reason not in (None, "warning", "refresh_requested"):
            raise ControlError("disconnect is warning or refresh_requested.")
        if delay is not None and (not isinstance(delay, int | float) or delay < 0):
            raise ControlError("delay is a number of seconds.")
        url = asked.get("events_url")
        if url is not None and not asked.text("events_url").startswith(("http://", "https://")):
            raise ControlError(
                f"events_url is an address such as http://127.0.0.1:3000/slack/events, not {url!r}."
            )
        self._outbox.duplicate = asked.flag("duplicate", self._outbox.duplicate)
        self._outbox.delay = self._outbox.delay if delay is None else float(delay)
        self._state.views.trims = asked.flag("trim", self._state.views.trims)
        if "forge" in asked.fields:
            self._outbox.forge = asked.object("forge")
        if "events_url" in asked.fields:
            self._deliver_to(url)
        if reason:
            await self._sockets.disconnect(reason)
        return {"duplicate": self._outbox.duplicate, "delay": self._outbox.delay}

    async def again(self, asked: Asked) -> Json:
        """Send what a person did once more, byte for byte."""
        delivery = await self._outbox.again(asked.text("delivery_id"))
        return {"ack": delivery.ack(), "delivery": delivery.id, "response": delivery.response}

    async def verification(self, _: Asked) -> Json:
        """Ask the app's URL for Slack's challenge."""
        transport = self._outbox.transport
        if not isinstance(transport, HttpDelivery):
            raise ControlError("url_verification needs HTTP delivery: give an events_url first.", 409)
        return {"verified": await transport.verify()}

    async def close_sockets(self, _: Asked) -> Json:
        """Close every socket without a word."""
        closed = len(self._sockets)
        await self._sockets.close()
        return {"closed": closed}

    async def limits(self, asked: Asked) -> Json:
        """Switch the rate limits."""
        self._state.rate_limits.enabled = asked.flag("enabled", True)
        self._state.rate_limits.clear()
        self._state.changed()
        return {"enabled": self._state.rate_limits.enabled}

    async def token(self, asked: Asked) -> Json:
        """Revoke the bot's token, or change its scopes."""
        asked.only("revoked", "scopes", "enterprise_id")
        grant = self._state.grant
        given = asked.texts("scopes")
        scopes = grant.scopes if given is None else tuple(given)
        organisation = asked.get("enterprise_id") if "enterprise_id" in asked.fields else grant.enterprise_id
        self._state.grant = Grant(scopes, asked.flag("revoked", grant.revoked), organisation)
        self._state.changed()
        return {"revoked": self._state.grant.revoked, "scopes": list(scopes)}

    async def reset(self, _: Asked) -> Json:
        """Everything back to the defaults; sockets stay."""
        self._state.reset()
        self._outbox.reset()
        self._state.changed()
        return {}

    def _known(self, users: list[str] | None) -> None:
        for user in users or ():
            self._state.workspace.person(user)


def _set(entry: Person | Group | Channel, asked: Asked) -> None:
    kinds = {
        field.name: type(getattr(entry, field.name)) for field in fields(entry) if field.name != "messages"
    }
    for name, value in asked.fields.items():
        if name not in kinds or not isinstance(value, kinds[name]):
            raise ControlError(f"{name} cannot be set to {value!r}; there are {', '.join(kinds)}.")
    for name, value in asked.fields.items():
        setattr(entry, name, value)
