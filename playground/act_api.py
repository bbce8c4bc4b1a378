"""What people do: the half of the control API that acts."""

from playground.control import Asked, Handler, Json
from playground.errors import ControlError
from playground.interactions import Interactions
from playground.state import State


class ActApi:
    """Presses, fills in, writes."""

    def __init__(self, state: State, interactions: Interactions) -> None:
        self._state = state
        self._interactions = interactions

    def handlers(self) -> dict[str, Handler]:
        """The paths on which people act."""
        return {
            "POST click": self.click,
            "POST views/{view_id}/click": self.click_in_view,
            "POST views/{view_id}/submit": self.submit,
            "POST views/{view_id}/close": self.close,
            "POST command": self.command,
            "POST event": self.event,
            "POST message": self.message,
            "POST delete": self.delete,
        }

    async def click(self, asked: Asked) -> Json:
        """Press a button of a message."""
        asked.only("user", "channel", "ts", "action_id", "block_id", "selected")
        return await self._interactions.click(
            asked.text("user"),
            asked.text("channel"),
            asked.text("ts"),
            asked.text("action_id"),
            asked.get("block_id"),
            asked.get("selected"),
        )

    async def click_in_view(self, asked: Asked) -> Json:
        """Press a button of a modal or Home tab."""
        asked.only("user", "view_id", "action_id", "block_id", "selected", "values")
        return await self._interactions.click_in_view(
            asked.text("user"),
            asked.text("view_id"),
            asked.text("action_id"),
            asked.get("block_id"),
            asked.get("selected"),
            asked.object("values"),
        )

    async def submit(self, asked: Asked) -> Json:
        """Fill in a modal and submit it."""
        asked.only("user", "view_id", "values")
        return await self._interactions.submit(
            asked.text("user"), asked.text("view_id"), asked.object("values")
        )

    async def close(self, asked: Asked) -> Json:
        """Close a modal."""
        asked.only("user", "view_id", "clear")
        clear = asked.flag("clear", False)
        return await self._interactions.close(asked.text("user"), asked.text("view_id"), clear=clear)

    async def command(self, asked: Asked) -> Json:
        """Write a slash command."""
        asked.only("user", "channel", "command", "text")
        return await self._interactions.command(
            asked.text("user"), asked.text("channel"), asked.text("command"), asked.get("text") or ""
        )

    async def event(self, asked: Asked) -> Json:
        """Deliver an event. The answer describes the first attempt."""
        delivery = await self._interactions.event(asked.object("event"), asked.get("event_id"))
        return {"ack": delivery.ack(), "delivery": delivery.id}

    async def message(self, asked: Asked) -> Json:
        """A person writes. Where they mention the app, it is sent the event."""
        asked.only("user", "channel", "text", "thread_ts")
        person = self._state.workspace.person(asked.text("user"))
        channel = self._state.workspace.channel(asked.text("channel"))
        thread_ts = asked.text("thread_ts") if asked.get("thread_ts") is not None else None
        if thread_ts and thread_ts not in channel.messages:
            raise ControlError(f"There is no message {thread_ts} in {channel.id}.", 404)
        message = self._state.post(channel.id, person.id, asked.text("text"), thread_ts=thread_ts)
        return {"message": message.to_control()}

    async def delete(self, asked: Asked) -> Json:
        """A person deletes a message: their own one, or any one, as admins can."""
        asked.only("user", "channel", "ts", "event")
        person = self._state.workspace.person(asked.text("user"))
        channel = self._state.workspace.channel(asked.text("channel"))
        message = channel.messages.get(asked.text("ts"))
        if message is None or message.is_tombstone:
            raise ControlError(f"There is no message {asked.text('ts')} in {channel.id}.", 404)
        before = message.to_slack()
        self._state.delete(message)
        if asked.flag("event", False):
            await self._interactions.event(
                {
                    "type": "message",
                    "subtype": "message_deleted",
                    "hidden": True,
                    "channel": channel.id,
                    "deleted_ts": message.ts,
                    "previous_message": before,
                }
            )
        return {"deleted": message.ts, "by": person.id}
