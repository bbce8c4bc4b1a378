"""The payloads that Slack sends when people act, key for key."""

import time

from playground.inputs import Json
from playground.views import View
from playground.workspace import APP_ID, BOT_USER, TEAM, Channel, Message, Person, random_id

TOKEN = "playground-verification-token"  # noqa: S105 - Slack's old proof of origin; nothing checks it


def block_actions(person: Person, trigger_id: str, action: Json, place: Json) -> Json:
    """Somebody pressed a button or chose from a menu."""
    return {
        "type": "block_actions",
        **_who(person),
        "trigger_id": trigger_id,
        **place,
        "actions": [action],
    }


def in_message(message: Message, channel: Channel, state: Json, response_url: str) -> Json:
    """Where a click on a message happened."""
    container: Json = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": message.ephemeral_for is not None,
    }
    if message.is_reply:
        container["thread_ts"] = message.thread_ts
    place: Json = {
        "container": container,
        "channel": {"id": channel.id, "name": _name(channel)},
        "state": {"values": state},
        "response_url": response_url,
    }
    # Slack does not send what only the reader could see back to the app.
    return place if message.ephemeral_for else place | {"message": message.to_slack()}


def in_view(view: View) -> Json:
    """Where a click in a modal or Home tab happened."""
    return {"container": {"type": "view", "view_id": view.id}, "view": view.to_slack()}


def action_of(block: Json, element: Json, chosen: Json) -> Json:
    """One entry of `actions`."""
    action = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block["block_id"],
        "action_ts": f"{time.time():.6f}",
    }
    shown = {key: element[key] for key in ("text", "value", "style") if key in element}
    return action | (shown if element["type"] == "button" else {}) | chosen


def view_submission(person: Person, trigger_id: str, view: View) -> Json:
    """Somebody submitted a modal."""
    return {
        "type": "view_submission",
        **_who(person),
        "trigger_id": trigger_id,
        "view": view.to_slack(),
        "response_urls": [],
    }


def view_closed(person: Person, view: View, *, is_cleared: bool) -> Json:
    """Somebody closed a modal."""
    return {"type": "view_closed", **_who(person), "view": view.to_slack(), "is_cleared": is_cleared}


def slash_command(
    person: Person, channel: Channel, command: str, text: str, response_url: str, trigger_id: str
) -> Json:
    """Somebody wrote a slash command."""
    return {
        "token": TOKEN,
        "team_id": TEAM["id"],
        "team_domain": TEAM["domain"],
        "channel_id": channel.id,
        "channel_name": _name(channel),
        "user_id": person.id,
        "user_name": person.name.lower(),
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def event_callback(event: Json, *, is_ext_shared: bool) -> Json:
    """An event in the envelope of the Events API."""
    return {
        "token": TOKEN,
        "team_id": TEAM["id"],
        "api_app_id": APP_ID,
        "event": {"event_ts": f"{time.time():.6f}", **event},
        "type": "event_callback",
        "event_id": random_id("Ev"),
        "event_time": int(time.time()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM["id"],
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": is_ext_shared,
        "event_context": random_id("EC"),
    }


def _who(person: Person) -> Json:
    name = person.name.lower()
    return {
        "user": {"id": person.id, "username": name, "name": name, "team_id": person.team_id},
        "api_app_id": APP_ID,
        "token": TOKEN,
        "team": {"id": TEAM["id"], "domain": TEAM["domain"]},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def _name(channel: Channel) -> str:
    return "directmessage" if channel.is_im else channel.name
