"""What people do: press, fill in, submit, close, command. Each is delivered once, and the app's answer is carried out."""

from typing import Any

from playground import payloads
from playground.delivery import Outbox
from playground.errors import ControlError, SlackError
from playground.inputs import Json, find_element, interactive_elements, mistakes, state_of, state_values
from playground.journal import Delivery
from playground.limits import check_message
from playground.state import State
from playground.views import View
from playground.workspace import BOT_USER, Message, Person


class Interactions:
    """Acts for everybody in the workspace.

    Anybody may act, also people whom Slack would no longer let in: whether the app refuses them is what a test asks.
    """

    def __init__(self, state: State, outbox: Outbox, base_url: str) -> None:
        self._state = state
        self._outbox = outbox
        self._base_url = base_url

    async def click(
        self,
        user: str,
        channel: str,
        ts: str,
        action_id: str,
        block_id: str | None,
        selected: Any,
    ) -> Json:
        """Press a button of a message, or choose from one of its menus.

        Raises:
            ControlError: There is no such person, message or element.
        """
        person, where = self._state.workspace.person(user), self._state.workspace.channel(channel)
        message = where.messages.get(ts)
        if message is None or message.ephemeral_for not in (None, user):
            raise ControlError(f"{user} sees no message {ts} in {channel}.", 404)
        block, element = find_element(message.blocks, action_id, block_id)
        chosen = _choice(element, selected)
        if chosen and element["type"] != "overflow":
            key = (user, block["block_id"], action_id)
            message.selections[key] = {"type": element["type"], **chosen}
        place = payloads.in_message(
            message, where, _state_of_message(message, user), self._response_url(user, channel, message)
        )
        return await self._act(person, block, element, chosen, place)

    async def click_in_view(
        self,
        user: str,
        view_id: str,
        action_id: str,
        block_id: str | None,
        selected: Any,
        values: Json,
    ) -> Json:
        """Press a button inside a modal or Home tab; `values` is what was typed there before."""
        person, view = self._state.workspace.person(user), self._state.views.opened_by(user, view_id)
        block, element = find_element(view.blocks, action_id, block_id)
        _fill_in(view, values)
        chosen = _choice(element, selected)
        if chosen and element["type"] != "overflow":
            view.values[(block["block_id"], action_id)] = {"type": element["type"], **chosen}
        return await self._act(person, block, element, chosen, payloads.in_view(view), from_view=True)

    async def submit(self, user: str, view_id: str, values: Json) -> Json:
        """Fill in a modal and submit it.

        Returns:
            The acknowledgement, what became of the view, and the errors that the person reads.
        """
        person, view = self._state.workspace.person(user), self._state.views.opened_by(user, view_id)
        if "submit" not in view.given:
            raise ControlError(f"View {view_id} has no submit button.")
        _fill_in(view, values)
        if found := mistakes(view.blocks, view.state_values()):
            return self._answer(user, result="invalid", errors=found, ack={"ok": True, "ms": 0})
        trigger_id = self._state.tickets.new_trigger(user, from_view=True)
        payload = payloads.view_submission(person, trigger_id, view)
        delivery = await self._outbox.interact(
            payload, summary=f"submit {view.given.get('callback_id', '')}", accepts_response=True
        )
        return self._answer(user, delivery, **self._obey(view, delivery))

    async def close(self, user: str, view_id: str, *, clear: bool = False) -> Json:
        """Close a modal, or with `clear` all of them."""
        person, view = self._state.workspace.person(user), self._state.views.opened_by(user, view_id)
        clear = clear or bool(view.given.get("clear_on_close"))
        closed = self._state.views.clear(user) if clear else self._state.views.close(view)
        self._state.views_changed(user)
        delivery = None
        for each in closed:
            if each.given.get("notify_on_close"):
                payload = payloads.view_closed(person, each, is_cleared=clear)
                delivery = await self._outbox.interact(payload, summary="close", accepts_response=False)
        return self._answer(user, delivery)

    async def command(self, user: str, channel: str, command: str, text: str) -> Json:
        """Write a slash command; what the app says in its acknowledgement is shown."""
        person, where = self._state.workspace.person(user), self._state.workspace.channel(channel)
        key = self._response_url(user, channel, None)
        trigger_id = self._state.tickets.new_trigger(user, from_view=False)
        payload = payloads.slash_command(person, where, command, text, key, trigger_id)
        delivery = await self._outbox.interact(
            payload, kind="slash_commands", summary=command, accepts_response=True
        )
        said = delivery.response
        said = {"text": said} if isinstance(said, str) else said
        messages = []
        if delivery.ok and said:
            try:
                messages = [self.say(user, channel, said).to_control()]
            except SlackError as error:
                self._outbox.fail(delivery, f"the answer was refused: {error.answer()}")
        return self._answer(user, delivery, messages=messages)

    async def event(self, event: Json, event_id: str | None = None) -> Delivery:
        """Deliver an Events API event; with the id of an earlier one, as Slack repeats it."""
        if not isinstance(event.get("type"), str):
            raise ControlError("An event is an object with a type.")
        channel = event.get("channel")
        where = self._state.workspace.channels.get(channel) if isinstance(channel, str) else None
        payload = payloads.event_callback(event, is_ext_shared=bool(where and where.is_ext_shared))
        if event_id:
            payload["event_id"] = event_id
        return await self._outbox.event(payload)

    def say(self, user: str, channel: str, said: Json, thread_ts: str | None = None) -> Message:
        """Show what the app answered: to the person alone, or to all with `in_channel`.

        Raises:
            SlackError: Slack would refuse the message.
        """
        text, blocks = said.get("text"), said.get("blocks")
        check_message(text, blocks)
        reader = None if said.get("response_type") == "in_channel" else user
        return self._state.post(
            channel, BOT_USER, text, blocks, ephemeral_for=reader, thread_ts=said.get("thread_ts", thread_ts)
        )

    async def _act(
        self,
        person: Person,
        block: Json,
        element: Json,
        chosen: Json,
        place: Json,
        *,
        from_view: bool = False,
    ) -> Json:
        trigger_id = self._state.tickets.new_trigger(person.id, from_view=from_view)
        action = payloads.action_of(block, element, chosen)
        payload = payloads.block_actions(person, trigger_id, action, place)
        delivery = await self._outbox.interact(
            payload, summary=f"click {element['action_id']}", accepts_response=False
        )
        return self._answer(person.id, delivery)

    def _obey(self, view: View, delivery: Delivery) -> Json:
        """Do what the acknowledgement says with a submitted view."""
        if not delivery.ok:
            return {"result": "failed"}
        try:
            return self._respond(view, delivery.response)
        except SlackError as error:
            self._outbox.fail(delivery, f"the answer was refused: {error.answer()}")
            return {"result": "failed"}
        finally:
            self._state.views_changed(view.user)

    def _respond(self, view: View, response: Any) -> Json:
        views = self._state.views
        if not response:
            views.close(view)
            return {"result": "closed"}
        action = response.get("response_action") if isinstance(response, dict) else None
        match action:
            case "errors":
                return {"result": "errors", "errors": _checked_errors(view, response.get("errors"))}
            case "update":
                views.update(view, response.get("view"))
            case "push":
                views.push(view.user, response.get("view"))
            case "clear":
                views.clear(view.user)
            case _:
                raise SlackError("invalid_response_action")
        return {"result": action}

    def _response_url(self, user: str, channel: str, message: Message | None) -> str:
        return f"{self._base_url}/response/{self._state.tickets.new_response_url(user, channel, message)}"

    def _answer(self, user: str, delivery: Delivery | None = None, **more: Any) -> Json:
        answer: Json = {"ack": {"ok": True, "ms": None}, "views": self._state.shown_views(user)}
        if delivery:
            answer |= {"ack": delivery.ack(), "delivery": delivery.id}
        return answer | more


def _choice(element: Json, selected: Any) -> Json:
    """What the person chose, as the action and the state say it."""
    if element["type"] == "button":
        return {}
    if element["type"] == "overflow":
        options = [option for option in element["options"] if option["value"] == selected]
        if not options:
            raise ControlError(f"{element['action_id']} does not offer {selected!r}.")
        return {"selected_option": options[0]}
    chosen = state_of(element, selected)
    return {key: value for key, value in chosen.items() if key != "type"}


def _state_of_message(message: Message, user: str) -> Json:
    chosen = {
        (block_id, action_id): value
        for (who, block_id, action_id), value in message.selections.items()
        if who == user
    }
    return state_values(message.blocks, chosen)


def _fill_in(view: View, values: Json) -> None:
    """Put plain values into a view's inputs, by block; what is not named stays untouched."""
    holders = {
        block["block_id"]: (block, element)
        for block, element in interactive_elements(view.blocks)
        if element["type"] not in ("button", "overflow")
    }
    for block_id, value in values.items():
        if block_id not in holders:
            known = ", ".join(holders) or "none at all"
            raise ControlError(f"There is no input {block_id!r} in the view; it has {known}.", 404)
        _, element = holders[block_id]
        view.values[(block_id, element["action_id"])] = state_of(element, value)


def _checked_errors(view: View, errors: Any) -> dict[str, str]:
    """The app's errors; Slack wants text for the ids of `input` blocks and nothing else."""
    inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
        raise SlackError("invalid_errors", inputs=sorted(inputs))
    if not all(isinstance(text, str) and text for text in errors.values()):
        raise SlackError("invalid_errors")
    return errors
