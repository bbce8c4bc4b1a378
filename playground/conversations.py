"""`conversations.*`: what the bot can see of channels and what was written there."""

import base64
import binascii
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from playground.errors import SlackError
from playground.web_api import Answer, Call, method
from playground.workspace import BOT_USER, Channel, Message

_PREFIXES = {"public_channel": "channels", "private_channel": "groups", "im": "im"}
LARGEST_LIMIT = 999
"""Slack wants a limit under 1,000."""
LARGEST_PAGE = 100
"""Slack may give fewer than asked for before the end is reached; here it always does."""


def visible_channel(call: Call, channel_id: str, *kinds: str) -> Channel:
    """A channel that the bot can see.

    Args:
        call: The call that asks.
        channel_id: The channel's id.
        kinds: What follows `channels:`, `groups:` or `im:` in the scope that is needed.

    Raises:
        SlackError: `channel_not_found`, also for a private channel without the bot; `missing_scope`.
    """
    channel = call.state.workspace.channels.get(channel_id)
    if channel is None or (channel.kind != "channels" and BOT_USER not in channel.members):
        raise SlackError("channel_not_found")
    for kind in kinds:
        call.state.grant.require(f"{channel.kind}:{kind}")
    return channel


@method("conversations.info", "channel include_locale include_num_members", "tier3", json_body=False)
def info(call: Call) -> Answer:
    """One channel."""
    channel = visible_channel(call, call.text("channel"), "read")
    shown = channel.to_slack()
    if call.flag("include_num_members"):
        shown["num_members"] = len(channel.members)
    return {"channel": shown}


@method("users.conversations", "types exclude_archived cursor limit user", "tier3", json_body=False)
def own_conversations(call: Call) -> Answer:
    """The channels in which the bot is, or those of a person that it can see."""
    kinds = (call.optional_text("types") or "public_channel").split(",")
    prefixes = {_PREFIXES[kind] for kind in kinds if kind in _PREFIXES}
    if len(prefixes) < len(kinds):
        raise SlackError("invalid_types")
    for prefix in sorted(prefixes):
        call.state.grant.require(f"{prefix}:read")
    hides = call.flag("exclude_archived")
    member = call.optional_text("user") or BOT_USER
    if member != BOT_USER and member not in call.state.workspace.people:
        raise SlackError("user_not_found")
    found = [
        channel
        for channel in call.state.workspace.channels.values()
        if channel.kind in prefixes
        and member in channel.members
        and (channel.kind == "channels" or BOT_USER in channel.members)
        and not (hides and channel.is_archived)
    ]
    page, cursor = _page(call, [channel.to_slack() for channel in found], 100)
    return {"channels": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.members", "channel cursor limit", "tier4", json_body=False)
def members(call: Call) -> Answer:
    """Who is in a channel."""
    channel = visible_channel(call, call.text("channel"), "read")
    page, cursor = _page(call, list(channel.members), 100)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.open", "channel users return_im prevent_creation", "tier3", "im:write")
def open_direct_message(call: Call) -> Answer:
    """The direct message with one person."""
    users = call.text("users").split(",")
    if len(users) > 1:
        raise SlackError("missing_scope", needed="mpim:write", provided=",".join(call.state.grant.scopes))
    person = call.state.workspace.people.get(users[0])
    if person is None:
        raise SlackError("user_not_found")
    if person.deleted:
        raise SlackError("user_disabled")
    if person.is_bot:
        raise SlackError("cannot_dm_bot")
    channel = call.state.workspace.direct_message(person.id)
    return {"channel": channel.to_slack() if call.flag("return_im") else {"id": channel.id}}


_HISTORY = "channel cursor limit oldest latest inclusive include_all_metadata"


@method("conversations.history", _HISTORY, "tier3", json_body=False)
def history(call: Call) -> Answer:
    """What was written in a channel, newest first, without the replies in threads."""
    channel = _readable_channel(call)
    in_range = _range(call)
    written = (
        message
        for message in reversed(channel.messages.values())
        if not message.ephemeral_for and (not message.is_reply or message.broadcast) and in_range(message)
    )
    return _messages(call, list(islice(written, _start(call) + _size(call, 100) + 1)))


@method("conversations.replies", f"{_HISTORY} ts", "tier3", json_body=False)
def replies(call: Call) -> Answer:
    """A thread, its first message first."""
    channel = _readable_channel(call)
    first = channel.messages.get(call.text("ts"))
    if first is None or first.ephemeral_for:
        raise SlackError("thread_not_found")
    if first.is_reply:
        return _messages(call, [first])
    in_range = _range(call)
    thread = [channel.messages[ts] for ts in first.replies if ts in channel.messages]
    return _messages(call, [first, *filter(in_range, thread)])


def _readable_channel(call: Call) -> Channel:
    channel = visible_channel(call, call.text("channel"), "history")
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _range(call: Call) -> Callable[[Message], bool]:
    oldest, latest = _time(call, "oldest", "0"), _time(call, "latest", "9999999999")
    if call.flag("inclusive"):
        return lambda message: oldest <= _seconds(message.ts) <= latest
    return lambda message: oldest < _seconds(message.ts) < latest


def _time(call: Call, name: str, default: str) -> tuple[int, str]:
    value = str(call.arguments.get(name) or default)
    if not value.replace(".", "", 1).isdecimal():
        raise SlackError(f"invalid_ts_{name}")
    return _seconds(value)


def _seconds(ts: str) -> tuple[int, str]:
    # As numbers two timestamps of one microsecond apart would be equal floats.
    seconds, _, fraction = ts.partition(".")
    return int(seconds or 0), fraction.ljust(6, "0")


def _messages(call: Call, found: list[Message]) -> Answer:
    page, cursor = _page(call, found, 100)
    with_metadata = call.flag("include_all_metadata")
    answer: dict[str, Any] = {
        "messages": [message.to_slack(with_metadata=with_metadata) for message in page],
        "has_more": bool(cursor),
    }
    return answer | ({"response_metadata": {"next_cursor": cursor}} if cursor else {})


def _page(call: Call, found: Sequence[Any], default: int) -> tuple[list[Any], str]:
    start, size = _start(call), _size(call, default)
    more = len(found) > start + size
    cursor = base64.b64encode(f"next:{start + size}".encode()).decode() if more else ""
    return list(found[start : start + size]), cursor


def _size(call: Call, default: int) -> int:
    return min(call.number("limit", default, LARGEST_LIMIT), LARGEST_PAGE)


def _start(call: Call) -> int:
    cursor = call.arguments.get("cursor") or ""
    if not cursor:
        return 0
    try:
        word, _, start = base64.b64decode(cursor, validate=True).decode().partition(":")
        if word == "next":
            return int(start)
    except (binascii.Error, ValueError):
        pass
    raise SlackError("invalid_cursor")
