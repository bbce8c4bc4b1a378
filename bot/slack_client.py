"""The only caller of Slack's Web API: what a call may raise is said here, and nothing is posted twice by a retry."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncServerErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import (
    InterruptFaultError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.ids import EVENT_TYPE, PartId
from bot.metrics import SLACK_CALLS

_CURES = {
    "channel_not_found": "check the id; into a private channel the bot must be invited",
    "not_in_channel": "invite the bot there",
    "is_archived": "unarchive it, or ask elsewhere",
    "restricted_action": "let the bot post there, in the channel's settings",
    "thread_not_found": "the message to answer is gone: ask in the channel",
}
WORKSPACE_FAULTS = {
    "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
    "no_permission", "org_login_required", "ekm_access_denied", "not_allowed_token_type", "accesslimited",
    "team_access_not_granted", "app_missing_action_url",
}  # fmt: skip
# Two spellings are documented.
_BUSY = {"ratelimited", "rate_limited", "message_limit_exceeded"}
_UNCLEAR = {
    "fatal_error",
    "internal_error",
    "request_timeout",
    "service_unavailable",
    "update_failed",
    "team_added_to_org",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose token we have. Empty until Slack has said it."""

    team_id: str = ""
    team: str = ""
    url: str = ""
    user: str = ""
    user_id: str = ""
    bot_id: str = ""
    scopes: frozenset[str] = frozenset()


class SlackClient:
    """Posts with one client that never retries, and everything that may be repeated with one that does."""

    def __init__(
        self, token: str, base_url: str, session: aiohttp.ClientSession, *, within: float = 10.0
    ) -> None:
        self.me = Identity()
        self._within = within
        # slack_sdk's own `timeout` does nothing beside a session: the session's holds.
        self.posting = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
        self.repeating = AsyncWebClient(
            token=token,
            base_url=base_url,
            session=session,
            retry_handlers=[AsyncConnectionErrorRetryHandler(), AsyncServerErrorRetryHandler()],
        )

    async def who_am_i(self) -> Identity:
        """Ask Slack whose token this is and what it may do; the answer is kept in `me`."""
        answer = await self._call(self.repeating, "auth.test")
        self.me = Identity(
            team_id=str(answer["team_id"]),
            team=str(answer.get("team", "")),
            url=str(answer.get("url", "")),
            user=str(answer.get("user", "")),
            user_id=str(answer.get("user_id", "")),
            bot_id=str(answer.get("bot_id", "")),
            scopes=frozenset(filter(None, re.split(r"[,\s]+", answer["_scopes"]))),
        )
        return self.me

    async def post_message(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Mapping[str, Any]],
        thread_ts: str | None,
        interrupt_id: str,
        part: PartId,
    ) -> str:
        """Post one message of a card and return its `ts`.

        Raises:
            SlackBusyError, InterruptFaultError, WorkspaceFaultError: nothing was posted.
            SlackUnclearError: it may have been posted: look before posting again.
        """
        answer = await self._call(
            self.posting,
            "chat.postMessage",
            channel=channel,
            text=text,
            blocks=list(blocks),
            thread_ts=thread_ts,
            metadata={"event_type": EVENT_TYPE, "event_payload": {"id": interrupt_id, "part": str(part)}},
            parse="none",
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(answer["ts"])

    async def update_message(
        self, channel: str, ts: str, *, text: str, blocks: Sequence[Mapping[str, Any]]
    ) -> None:
        """Replace what one of our messages shows."""
        await self._call(
            self.repeating,
            "chat.update",
            channel=channel,
            ts=ts,
            text=text,
            blocks=list(blocks),
            parse="none",
            link_names=False,
        )

    async def delete_message(self, channel: str, ts: str) -> None:
        """Take one of our messages away."""
        await self._call(self.repeating, "chat.delete", channel=channel, ts=ts)

    async def find_message(
        self, channel: str, *, thread_ts: str | None, since: float, interrupt_id: str, part: PartId
    ) -> str | None:
        """Look for a part of a card that was posted since then (unix seconds) and not saved."""
        method = "conversations.replies" if thread_ts else "conversations.history"
        # A minute for clocks that differ.
        arguments = {
            "channel": channel,
            "oldest": f"{since - 60:.6f}",
            "limit": 200,
            "include_all_metadata": True,
            **({"ts": thread_ts} if thread_ts else {}),
        }
        cursor = ""
        while True:
            answer = await self._call(
                self.repeating, method, **arguments, **({"cursor": cursor} if cursor else {})
            )
            for message in answer.get("messages", ()):
                metadata = message.get("metadata") or {}
                ours = metadata.get("event_type") == EVENT_TYPE and message.get("bot_id") == self.me.bot_id
                if ours and metadata.get("event_payload") == {"id": interrupt_id, "part": str(part)}:
                    return str(message["ts"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return None

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> None:
        """Open a modal for the person who clicked less than three seconds ago."""
        await self._call(self.posting, "views.open", trigger_id=trigger_id, view=dict(view))

    async def push_view(self, trigger_id: str, view: Mapping[str, Any]) -> None:
        """Open a modal on top of the one in which the person clicked."""
        await self._call(self.posting, "views.push", trigger_id=trigger_id, view=dict(view))

    async def update_view(self, view_id: str, view_hash: str | None, view: Mapping[str, Any]) -> None:
        """Replace an open modal, unless it changed since `view_hash`."""
        await self._call(self.repeating, "views.update", view_id=view_id, hash=view_hash, view=dict(view))

    async def tell_user(self, channel: str, user: str, text: str, *, thread_ts: str | None = None) -> None:
        """Say something that only this person sees."""
        await self._call(
            self.posting, "chat.postEphemeral", channel=channel, user=user, text=text, thread_ts=thread_ts
        )

    async def open_direct_message(self, user_id: str) -> str:
        """Give the channel in which the bot and one person talk."""
        answer = await self._call(self.repeating, "conversations.open", users=user_id)
        return str(answer["channel"]["id"])

    async def user(self, user_id: str) -> Mapping[str, Any]:
        """Answer of `users.info`."""
        answer = await self._call(self.repeating, "users.info", user=user_id)
        user: Mapping[str, Any] = answer["user"]
        return user

    async def group_members(self, group_id: str) -> frozenset[str]:
        """Members of a user group."""
        answer = await self._call(self.repeating, "usergroups.users.list", usergroup=group_id)
        return frozenset(answer["users"])

    async def channel_members(self, channel: str) -> frozenset[str]:
        """Members of a channel."""
        members: set[str] = set()
        cursor = ""
        while True:
            answer = await self._call(
                self.repeating, "conversations.members", channel=channel, limit=999, cursor=cursor
            )
            members.update(answer["members"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return frozenset(members)

    async def channel(self, channel: str) -> Mapping[str, Any]:
        """Answer of `conversations.info`."""
        answer = await self._call(self.repeating, "conversations.info", channel=channel)
        found: Mapping[str, Any] = answer["channel"]
        return found

    async def _call(self, client: AsyncWebClient, method: str, **arguments: Any) -> dict[str, Any]:
        try:
            data = await self._ask(client, method, arguments)
        except SlackError as error:
            SLACK_CALLS.labels(method, error.code if error.code.isidentifier() else "unanswered").inc()
            raise
        SLACK_CALLS.labels(method, "ok").inc()
        return data

    async def _ask(self, client: AsyncWebClient, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        as_query = (
            method.startswith(("conversations.", "users.", "usergroups.")) and method != "conversations.open"
        )
        try:
            # The limit of a call with its repetitions, so that none outlives the lease it is made under.
            async with asyncio.timeout(self._within):
                answer = await client.api_call(
                    method, **({"http_verb": "GET", "params": _query(given)} if as_query else {"json": given})
                )
        except SlackApiError as error:
            raise _sorted_error(method, error, str(arguments.get("channel", ""))) from error
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError, AttributeError) as error:
            # An AttributeError is how slack_sdk 3.47 meets plain text in place of JSON.
            raise SlackUnclearError(method, str(error) or type(error).__name__, answered=False) from error
        data = answer.data if isinstance(answer.data, dict) else {}
        if method == "auth.test":
            data = {**data, "_scopes": answer.headers.get("x-oauth-scopes", "")}
        return data


def _query(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: int(value) if isinstance(value, bool) else value for name, value in arguments.items()}


def _sorted_error(method: str, error: SlackApiError, channel: str) -> SlackError:
    response = error.response
    status = getattr(response, "status_code", 200)
    data = response.data if isinstance(getattr(response, "data", None), dict) else {}
    code = str(data.get("error", f"http_{status}"))
    if status == 429 or code in _BUSY:
        return SlackBusyError(method, float(response.headers.get("Retry-After", 1)))
    # An answer without a word of Slack's comes from something in between, such as a proxy.
    if status >= 500 or "error" not in data or code in _UNCLEAR:
        return SlackUnclearError(method, code, answered=True)
    if code in WORKSPACE_FAULTS:
        return WorkspaceFaultError(method, code, [_workspace_cure(data.get("needed"))])
    cure = [f"{channel}: {_CURES[code]}"] if code in _CURES else []
    return InterruptFaultError(method, code, [*cure, *map(str, data.get("errors", ()))])


def _workspace_cure(needed: str | None) -> str:
    return f"add the scope {needed} and install the app again" if needed else "check SLACK_BOT_TOKEN"
