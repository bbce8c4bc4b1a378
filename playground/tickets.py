"""What an interaction lends the app for a while: `trigger_id` and `response_url`."""

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

from playground.errors import SlackError
from playground.timing import Timing
from playground.workspace import Message

KEPT = 5_000
"""How many used and expired tickets are remembered. An unknown one gets another error."""
USES_OF_A_RESPONSE_URL = 5


@dataclass(slots=True)
class Trigger:
    """The right to open one view for one person."""

    user: str
    expires: float
    from_view: bool
    used: bool = False


@dataclass(slots=True)
class ResponseUrl:
    """The right to answer where a person acted."""

    user: str
    channel: str
    expires: float
    message: Message | None
    """The message that the person acted on, if any."""
    uses: int = 0


class Tickets:
    """Every ticket that was handed out lately."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._triggers: OrderedDict[str, Trigger] = OrderedDict()
        self._response_urls: OrderedDict[str, ResponseUrl] = OrderedDict()

    def new_trigger(self, user: str, *, from_view: bool) -> str:
        """A `trigger_id`."""
        trigger_id = f"{time.time_ns() // 1000}.{secrets.randbelow(10**10)}.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(user, time.monotonic() + self._timing.trigger, from_view)
        if len(self._triggers) > KEPT:
            self._triggers.popitem(last=False)
        return trigger_id

    def exchange(self, trigger_id: str) -> Trigger:
        """Use a `trigger_id` up.

        Raises:
            SlackError: `invalid_trigger_id`, `exchanged_trigger_id`, `expired_trigger_id`.
        """
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        if time.monotonic() > trigger.expires:
            raise SlackError("expired_trigger_id")
        trigger.used = True
        return trigger

    def new_response_url(self, user: str, channel: str, message: Message | None) -> str:
        """The last part of a `response_url`."""
        key = secrets.token_urlsafe(18)
        self._response_urls[key] = ResponseUrl(
            user, channel, time.monotonic() + self._timing.response_url, message
        )
        if len(self._response_urls) > KEPT:
            self._response_urls.popitem(last=False)
        return key

    def use(self, key: str) -> ResponseUrl:
        """Use a `response_url` once.

        Raises:
            SlackError: `expired_url`, `used_url`.
        """
        ticket = self._response_urls.get(key)
        if ticket is None or time.monotonic() > ticket.expires:
            raise SlackError("expired_url")
        if ticket.uses >= USES_OF_A_RESPONSE_URL:
            raise SlackError("used_url")
        ticket.uses += 1
        return ticket
