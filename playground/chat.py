"""`chat.*`: posting, editing and deleting, and `blocks.validate`."""

from dataclasses import asdict
from typing import Any

from playground.conversations import visible_channel
from playground.errors import SlackError
from playground.limits import (
    TEXT_OF_AN_UPDATE,
    check_message,
    check_metadata,
    invalid_arguments,
    message_problems,
    view_problems,
)
from playground.web_api import Answer, Call, method
from playground.workspace import BOT_USER, TEAM, Channel, Message

_STYLE = "link_names parse mrkdwn unfurl_links unfurl_media"


def check_style(call: Call) -> None:
    """Refuse a switch that is not a boolean, and an unknown way to parse."""
    for name in ("link_names", "mrkdwn", "unfurl_links", "unfurl_media"):
        call.flag(name)
    if call.arguments.get("parse", "none") not in ("none", "full"):
        raise invalid_arguments("must be one of: none, full [json-pointer:/parse]")


@method(
    "chat.postMessage",
    f"channel text blocks thread_ts reply_broadcast metadata {_STYLE}",
    "post",
    "chat:write",
)
def post_message(call: Call) -> Answer:
    """Write in a channel or a thread."""
    channel = _writable_channel(call)
    text, blocks = call.arguments.get("text"), call.json("blocks")
    check_style(call)
    check_message(text, blocks)
    message = call.state.post(
        channel.id,
        BOT_USER,
        text,
        blocks,
        thread_ts=_thread(call, channel),
        metadata=_metadata(call),
        broadcast=call.flag("reply_broadcast"),
    )
    return {"channel": channel.id, "ts": message.ts, "message": message.to_slack()}


@method("chat.postEphemeral", f"channel user text blocks thread_ts {_STYLE}", "tier4", "chat:write")
def post_ephemeral(call: Call) -> Answer:
    """Write to one person in a channel."""
    channel, user = _writable_channel(call), call.text("user")
    person = call.state.workspace.people.get(user)
    if person is None or person.deleted or user not in channel.members:
        raise SlackError("user_not_in_channel")
    text, blocks = call.arguments.get("text"), call.json("blocks")
    check_style(call)
    check_message(text, blocks)
    message = call.state.post(
        channel.id, BOT_USER, text, blocks, thread_ts=_thread(call, channel), ephemeral_for=user
    )
    return {"message_ts": message.ts}


@method("chat.update", f"channel ts text blocks metadata reply_broadcast {_STYLE}", "tier3", "chat:write")
def update(call: Call) -> Answer:
    """Change one of the app's messages. Blocks that are not given again are gone; metadata stays."""
    channel = _writable_channel(call)
    message = _own_message(call, channel, "cant_update_message")
    text, blocks = call.arguments.get("text"), call.json("blocks")
    check_style(call)
    check_message(text, blocks, longest_text=TEXT_OF_AN_UPDATE)
    if blocks and _loses_rich_text(message.blocks, blocks):
        raise SlackError("block_mismatch")
    if call.json("metadata") is not None:
        message.metadata = _metadata(call)
    call.state.edit(message, text, blocks)
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": message.to_slack()}


@method("chat.delete", "channel ts", "tier3", "chat:write")
def delete(call: Call) -> Answer:
    """Delete one of the app's messages."""
    channel = visible_channel(call, call.text("channel"))
    message = _own_message(call, channel, "cant_delete_message")
    call.state.delete(message)
    return {"channel": channel.id, "ts": message.ts}


@method("chat.getPermalink", "channel message_ts", "special", json_body=False)
def permalink(call: Call) -> Answer:
    """The address of a message."""
    channel = visible_channel(call, call.text("channel"))
    message = channel.messages.get(call.text("message_ts"))
    if message is None or message.ephemeral_for:
        raise SlackError("message_not_found")
    address = f"https://{TEAM['domain']}.slack.com/archives/{channel.id}/p{message.ts.replace('.', '')}"
    return {"channel": channel.id, "permalink": address}


@method("blocks.validate", "blocks message view", "special")
def validate(call: Call) -> Answer:
    """Slack's verdict on blocks, a message or a view, without sending it."""
    blocks, message, view = call.json("blocks"), call.json("message"), call.json("view")
    if sum(given is not None for given in (blocks, message, view)) != 1:
        raise invalid_arguments("must provide exactly one of: blocks, message, view [json-pointer:/]")
    if message is not None:
        blocks = message.get("blocks") if isinstance(message, dict) else message
    problems = view_problems(view) if view is not None else message_problems(blocks)[0]
    if not problems:
        return {}
    raise SlackError("invalid_blocks", errors=[asdict(problem) for problem in problems])


def _writable_channel(call: Call) -> Channel:
    channel = visible_channel(call, call.text("channel"))
    if channel.is_archived:
        raise SlackError("is_archived")
    if BOT_USER not in channel.members and "chat:write.public" not in call.state.grant.scopes:
        raise SlackError("not_in_channel")
    return channel


def _own_message(call: Call, channel: Channel, refusal: str) -> Message:
    message = channel.messages.get(call.text("ts"))
    if message is None:
        raise SlackError("message_not_found")
    if message.user != BOT_USER or message.ephemeral_for:
        raise SlackError(refusal)
    return message


def _thread(call: Call, channel: Channel) -> str | None:
    thread_ts = call.optional_text("thread_ts")
    if thread_ts is None:
        return None
    first = channel.messages.get(thread_ts)
    if first is None or first.ephemeral_for:
        raise SlackError("thread_not_found")
    if first.is_reply:
        raise SlackError("cannot_reply_to_message")
    return thread_ts


def _metadata(call: Call) -> dict[str, Any] | None:
    metadata: dict[str, Any] | None = call.json("metadata")
    if metadata in (None, {}):
        return None
    check_metadata(metadata)
    return metadata


def _loses_rich_text(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> bool:
    """Whether Slack would say that rich text cannot be replaced: it wants other text in both versions."""
    before, after = ({block["type"] for block in blocks} for blocks in (old, new))
    if "rich_text" not in before or "rich_text" in after:
        return False
    return not ({"section", "header"} & before and {"section", "header"} & after)
