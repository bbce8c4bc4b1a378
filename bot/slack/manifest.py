"""The Slack app as Slack's "from a manifest" page takes it, and the scopes that the bot needs. Pure."""

import re
from collections.abc import Iterable
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]  # PyYAML brings no types

Mode = Literal["socket", "http"]

EVENTS_PATH = "/slack/events"
"""Takes clicks, forms and events in HTTP mode."""

SCOPES = {
    "chat:write": "post and edit cards",
    "users:read": "tell members from guests, bots and people who left",
    "channels:read": "look at public channels and their members",
    "groups:read": "look at private channels and their members",
    "channels:history": "find a card again that was posted just before a crash",
    "groups:history": "likewise in private channels",
}
"""What the bot's token must be allowed, and what for."""
GROUP_SCOPE = "usergroups:read"
"""Needed only when a user group is among the approvers."""
DIRECT_SCOPES = {
    "im:write": "ask somebody in a direct message",
    "im:history": "find a card again there that was posted just before a crash",
}
"""Needed only when a policy asks in direct messages."""

EMAIL_SCOPE = "users:read.email"
"""Needed only when a policy lets people decide who are on call: they are found by their e-mail addresses."""

COMMAND = "/approvals"
COMMAND_SCOPE = "commands"
"""A bot needs it only when a policy lets people approve later calls: `/approvals rules` lists and revokes them. Without
it, `/approvals` is missing as well."""

HOME_OPENED = "app_home_opened"
"""The event of somebody who opens the Home tab."""
LEFT_CHANNEL = "member_left_channel"
GROUP_CHANGED = "subteam_members_changed"
"""The event of a changed user group. Slack sends it only with `GROUP_SCOPE`."""
_ADDRESS = re.compile(r"https://[\w.:\[\]-]+(/[\w.~%-]*)*", re.ASCII)


def needed_scopes(
    approvers: Iterable[str], *, direct: bool = False, standing: bool = False
) -> tuple[str, ...]:
    """Give the scopes that a bot needs.

    Args:
        approvers: Whom its rules name.
        direct: Whether it asks in direct messages.
        standing: Whether people may approve later calls.
    """
    groups = any(entry.startswith("S") for entry in approvers)
    optional = [*([GROUP_SCOPE] if groups else []), *(DIRECT_SCOPES if direct else ())]
    return (*SCOPES, *optional, *([COMMAND_SCOPE] if standing else []))


def build_manifest(
    mode: Mode = "socket",
    url: str | None = None,
    *,
    groups: bool = False,
    direct: bool = False,
    on_call: bool = False,
) -> dict[str, Any]:
    """Build the manifest of the app.

    Args:
        mode: `socket` needs no public address; with `http` Slack calls the bot.
        url: Where Slack reaches the bot in HTTP mode, such as `https://assent.example.com`.
        groups: Whether user groups may be approvers.
        direct: Whether people may be asked in direct messages.
        on_call: Whether people who are on call may be approvers.

    Raises:
        ValueError: HTTP mode without an `https://` address, or with blanks, line breaks or more than a path in it.
    """
    events = [HOME_OPENED, LEFT_CHANNEL, *([GROUP_CHANGED] if groups else [])]
    reached_at: dict[str, str] = {}
    if mode == "http":
        if not _ADDRESS.fullmatch(url or ""):
            raise ValueError(
                "HTTP mode needs the address at which Slack reaches the bot, of a host and at most a path: --url https://…"
            )
        reached_at = {"request_url": f"{(url or '').rstrip('/')}{EVENTS_PATH}"}
    return {
        "_metadata": {"major_version": 1, "minor_version": 1},
        "display_information": {
            "name": "Assent",
            "description": "Approve, edit or reject what AI agents are about to do",
            "background_color": "#1d3c34",
        },
        "features": {
            "bot_user": {"display_name": "assent", "always_online": True},
            # Without its messages tab an app can write to nobody directly.
            "app_home": {"home_tab_enabled": True, "messages_tab_enabled": direct},
            "slash_commands": [
                {
                    "command": COMMAND,
                    "description": "What waits for you, and what was asked for you",
                    "usage_hint": "[mine | rules | help]",
                    "should_escape": True,
                    **({"url": reached_at["request_url"]} if reached_at else {}),
                }
            ],
        },
        "oauth_config": {
            "scopes": {
                "bot": [
                    *needed_scopes(["S"] if groups else [], direct=direct, standing=True),
                    *([EMAIL_SCOPE] if on_call else []),
                ]
            }
        },
        "settings": {
            "interactivity": {"is_enabled": True, **reached_at},
            "event_subscriptions": {**reached_at, "bot_events": events},
            "socket_mode_enabled": mode == "socket",
            "org_deploy_enabled": False,
            "token_rotation_enabled": False,
        },
    }


def to_yaml(manifest: dict[str, Any]) -> str:
    """Write a manifest for Slack's page."""
    text: str = yaml.safe_dump(manifest, sort_keys=False, width=1_000)
    return text
