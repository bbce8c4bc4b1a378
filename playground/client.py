"""The control API as Python calls, for tests and the demo."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from aiohttp import ClientSession, ClientTimeout

from playground.elements import all_options
from playground.errors import ControlError
from playground.inputs import Json, find_element
from playground.journal import KEPT


class Control:
    """Acts for people in the playground, looks at it and changes it. An async context manager.

    Every method raises `ControlError` with the stand-in's own sentence when it asks for something impossible.

    Args:
        url: The playground's address, without a path.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    async def __aenter__(self) -> Self:
        self._http = ClientSession(timeout=ClientTimeout(total=60))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def state(self) -> Json:
        """People, groups, channels, faults, limits, and how many sockets are open."""
        return await self._get("state")

    async def messages(self, channel: str | None = None, *, as_user: str | None = None) -> list[Json]:
        """All messages, oldest first; with `as_user` also those that only this person sees."""
        found: list[Json] = (await self._get("messages", channel=channel, **{"as": as_user}))["messages"]
        return found

    async def views(self, user: str) -> list[Json]:
        """A person's open modals, bottom first."""
        found: list[Json] = (await self._get("views", user=user))["views"]
        return found

    async def home(self, user: str) -> Json | None:
        """A person's Home tab."""
        found: Json | None = (await self._get("views", user=user))["home"]
        return found

    async def deliveries(self, type: str | None = None) -> list[Json]:
        """What was sent to the app, and what it answered."""
        found = (await self._get("deliveries", limit=str(KEPT)))["deliveries"]
        return [delivery for delivery in found if type in (None, delivery["type"])]

    async def calls(self, method: str | None = None, *, since: int = 0) -> list[Json]:
        """The calls of the Web API that the app made."""
        found: list[Json] = (await self._get("calls", method=method, since=str(since)))["calls"]
        return found

    async def click(
        self,
        user: str,
        channel: str,
        ts: str,
        action_id: str,
        *,
        block_id: str | None = None,
        selected: Any = None,
    ) -> Json:
        """Press a button of a message, or choose from one of its menus."""
        return await self._post(
            "click",
            user=user,
            channel=channel,
            ts=ts,
            action_id=action_id,
            block_id=block_id,
            selected=selected,
        )

    async def choose(self, user: str, channel: str, ts: str, action_id: str, choice: str) -> Json:
        """Choose from a menu of a message, by the words of the choice."""
        shown = await self.messages(channel, as_user=user)
        blocks = next((message["blocks"] for message in shown if message["ts"] == ts), None)
        if blocks is None:
            raise ControlError(f"{user} sees no message {ts} in {channel}.", 404)
        options = all_options(find_element(blocks, action_id, None)[1])
        values = [option["value"] for option in options if option["text"]["text"] == choice]
        if not values:
            words = ", ".join(option["text"]["text"] for option in options) or "nothing"
            raise ControlError(f"{action_id} does not offer {choice!r}; it offers {words}.", 404)
        return await self.click(user, channel, ts, action_id, selected=values[0])

    async def click_view(
        self,
        user: str,
        view_id: str,
        action_id: str,
        *,
        block_id: str | None = None,
        selected: Any = None,
        values: Json | None = None,
    ) -> Json:
        """Press a button inside a modal or Home tab."""
        return await self._post(
            f"views/{view_id}/click",
            user=user,
            action_id=action_id,
            block_id=block_id,
            selected=selected,
            values=values,
        )

    async def submit(self, user: str, view_id: str, values: Json | None = None) -> Json:
        """Fill in a modal and submit it; a value of `None` clears its input."""
        return await self._request("POST", f"views/{view_id}/submit", {"user": user, "values": values or {}})

    async def close_view(self, user: str, view_id: str, *, clear: bool = False) -> Json:
        """Close a modal, or with `clear` the whole stack."""
        return await self._post(f"views/{view_id}/close", user=user, clear=clear)

    async def command(self, user: str, channel: str, command: str, text: str = "") -> Json:
        """Type a slash command."""
        return await self._post("command", user=user, channel=channel, command=command, text=text)

    async def event(self, event: Json, *, event_id: str | None = None) -> Json:
        """Deliver an Events API event; with the id of an earlier one, as Slack repeats it."""
        return await self._post("event", event=event, event_id=event_id)

    async def message(self, user: str, channel: str, text: str, *, thread_ts: str | None = None) -> Json:
        """Write a message, or with `thread_ts` an answer in a thread."""
        answer = await self._post("message", user=user, channel=channel, text=text, thread_ts=thread_ts)
        written: Json = answer["message"]
        return written

    async def person(self, id: str, **fields: Any) -> Json:
        """Create or change a person."""
        return await self._post("people", id=id, **fields)

    async def group(self, id: str, **fields: Any) -> Json:
        """Create or change a user group."""
        return await self._post("groups", id=id, **fields)

    async def channel(self, id: str, **fields: Any) -> Json:
        """Create or change a channel."""
        return await self._post("channels", id=id, **fields)

    async def fault(self, method: str, kind: str, *, times: int | None = 1, **fields: Any) -> str:
        """Switch a fault on; `times=None` keeps it until it is removed.

        Returns:
            Its id.
        """
        answer = await self._request(
            "POST", "faults", {"method": method, "kind": kind, "times": times, **fields}
        )
        fault_id: str = answer["id"]
        return fault_id

    async def remove_fault(self, fault_id: str) -> None:
        """Switch one fault off."""
        await self._request("DELETE", f"faults/{fault_id}")

    async def clear_faults(self) -> None:
        """Switch every fault off."""
        await self._request("DELETE", "faults")

    async def delivery(
        self,
        *,
        duplicate: bool | None = None,
        delay: float | None = None,
        disconnect: str | None = None,
        trim: bool | None = None,
        forge: Json | None = None,
    ) -> None:
        """Change how clicks, forms and events are delivered, or ask the sockets to reconnect.

        Args:
            duplicate: Deliver every event, click and form twice.
            delay: Seconds to wait before anything is sent.
            disconnect: `warning` or `refresh_requested`, sent to every socket at once.
            forge: Put these fields over what clicks, forms and commands say of themselves; `{}` ends it.
            trim: Give text inputs back trimmed and with plain line ends, also the untouched ones.
        """
        await self._post(
            "delivery", duplicate=duplicate, delay=delay, disconnect=disconnect, trim=trim, forge=forge
        )

    async def deliver_again(self, delivery_id: str) -> Json:
        """Deliver a click, form or command once more, byte for byte."""
        return await self._post(f"deliveries/{delivery_id}/again")

    async def deliver_to(self, events_url: str | None) -> None:
        """Deliver by signed HTTP, or with `None` over Socket Mode."""
        await self._request("POST", "delivery", {"events_url": events_url})

    async def verify_url(self) -> bool:
        """Whether the app's URL answers Slack's challenge."""
        return bool((await self._post("verification"))["verified"])

    async def close_sockets(self) -> None:
        """Close every socket without a word."""
        await self._post("sockets/close")

    async def set_limits(self, *, enabled: bool) -> None:
        """Switch the rate limits on or off."""
        await self._post("limits", enabled=enabled)

    async def revoke_token(self, *, revoked: bool = True) -> None:
        """Revoke the bot's token, or give it back."""
        await self._post("token", revoked=revoked)

    async def install_in(self, enterprise_id: str | None) -> None:
        """Have the app installed in a whole organisation, or with `None` in the workspace."""
        await self._request("POST", "token", {"enterprise_id": enterprise_id})

    async def set_scopes(self, *scopes: str) -> None:
        """Say what the bot's token may do from now on."""
        await self._post("token", scopes=list(scopes))

    async def delete(self, user: str, channel: str, ts: str, *, event: bool = False) -> None:
        """Delete anybody's message, as an admin may; with `event` the app is sent the event."""
        await self._post("delete", user=user, channel=channel, ts=ts, event=event)

    async def reset(self) -> None:
        """Set everything back to the defaults; sockets stay."""
        await self._post("reset")

    async def stream(self) -> AsyncIterator[Json]:
        """Follow every change from now on, with `async for`."""
        async with aclosing(self._changes()) as changes:
            async for change in changes:
                if change:
                    yield change

    async def wait_for_message(
        self,
        predicate: Callable[[Json], bool],
        *,
        channel: str | None = None,
        as_user: str | None = None,
        within: float = 30.0,
    ) -> Json:
        """Wait for a message that `predicate` accepts; it may be there already.

        Raises:
            TimeoutError: None came; the sentence says what is there in its place.
        """

        async def look(change: Json) -> Json | None:
            if not change:
                return next(filter(predicate, await self.messages(channel, as_user=as_user)), None)
            seen = change.get("ephemeral_for") in (None, as_user) and channel in (None, change.get("channel"))
            return change if change["type"] == "message" and seen and predicate(change) else None

        try:
            return await self._wait(look, within)
        except TimeoutError as error:
            texts = [message["text"] for message in await self.messages(channel, as_user=as_user)]
            raise TimeoutError(f"No such message within {within} s; there are {texts[-5:]}.") from error

    async def wait_for_view(
        self, user: str, predicate: Callable[[Json], bool] = lambda _: True, *, within: float = 30.0
    ) -> Json:
        """Wait for the modal on top of a person's stack; with `predicate`, for one that it accepts.

        Raises:
            TimeoutError: None came; the sentence says what is open in its place.
        """

        async def look(change: Json) -> Json | None:
            views = change.get("views", []) if change else await self.views(user)
            return next(filter(predicate, views[-1:]), None) if change.get("user", user) == user else None

        try:
            return await self._wait(look, within)
        except TimeoutError as error:
            titles = [view["title"]["text"] for view in await self.views(user)]
            raise TimeoutError(f"No such view within {within} s; open are {titles}.") from error

    async def _wait(self, look: Callable[[Json], Awaitable[Json | None]], within: float) -> Json:
        """Look at what there is once the stream is open, then at every change."""
        async with asyncio.timeout(within), aclosing(self._changes()) as changes:
            async for change in changes:
                if found := await look(change):
                    return found
        raise TimeoutError

    async def _changes(self) -> AsyncGenerator[Json]:
        """Every change from now on; an empty one first, when nothing can be missed any more."""
        unbounded = ClientTimeout(total=None)
        async with self._http.get(f"{self._url}/control/stream", timeout=unbounded) as response:
            async for line in response.content:
                if line.startswith(b": watching"):
                    yield {}
                elif line.startswith(b"data: "):
                    yield json.loads(line[6:])

    async def _get(self, path: str, **query: str | None) -> Json:
        return await self._request("GET", path, query={key: value for key, value in query.items() if value})

    async def _post(self, path: str, **body: Any) -> Json:
        return await self._request(
            "POST", path, {key: value for key, value in body.items() if value is not None}
        )

    async def _request(
        self, verb: str, path: str, body: Json | None = None, query: Json | None = None
    ) -> Json:
        address = f"{self._url}/control/{path}"
        async with self._http.request(verb, address, json=body, params=query) as response:
            answer: Json = await response.json()
            if response.status != 200:
                raise ControlError(answer["error"], response.status)
            return answer
