"""The only caller of Slack's Web API. It says which errors a call raises, and no retry posts a message twice."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncServerErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter import tracing
from bot.domain.errors import (
    DoneBeforeError,
    InterruptFaultError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.domain.ids import Label, MessageId
from bot.runtime.metrics import SLACK_CALLS
from bot.sentences import in_refusal
from bot.slack.manifest import EMAIL_SCOPE, SCOPES

WORKSPACE_FAULTS = {
    "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
    "no_permission", "org_login_required", "ekm_access_denied", "not_allowed_token_type", "accesslimited",
    "team_access_not_granted", "app_missing_action_url",
}  # fmt: skip
# A trigger opens one view, and a view's hash changes with what it shows.
_DONE_BEFORE = {"exchanged_trigger_id", "hash_conflict"}
_HISTORY_OF_DIRECT_MESSAGES = "im:history"
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
    """The app and bot of our token. Empty until Slack has said it."""

    team_id: str = ""
    team: str = ""
    url: str = ""
    user: str = ""
    user_id: str = ""
    bot_id: str = ""
    app_id: str = ""
    enterprise_id: str = ""
    """The organisation, if the app is installed in all of it; else empty."""
    home: str = ""
    """Where the app is installed: the workspace, or the whole organisation."""
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Seen:
    """Our messages in a part of a channel or thread."""

    labels: Mapping[str, Label]
    """By `ts`."""
    messages: Mapping[str, Mapping[str, Any]]
    """All messages, also those of others, by `ts`."""
    oldest: str
    latest: str
    """The range that was really read. It is smaller than requested when there are many messages."""
    at: float = 0.0
    """When Slack was asked, by the monotonic clock."""


class SlackClient:
    """Posts with a client that never retries, and makes repeatable calls with a client that does."""

    def __init__(
        self, token: str, base_url: str, session: aiohttp.ClientSession, *, within: float = 10.0
    ) -> None:
        self.me = Identity()
        self._answered = 0.0
        self.within = within
        # slack_sdk ignores its own `timeout` when it gets a session. The timeout of the session counts.
        self.posting = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
        self.repeating = AsyncWebClient(
            token=token,
            base_url=base_url,
            session=session,
            retry_handlers=[AsyncConnectionErrorRetryHandler(), AsyncServerErrorRetryHandler()],
        )

    @property
    def quiet_for(self) -> float:
        """Seconds since Slack last carried out a call."""
        return time.monotonic() - self._answered

    async def who_am_i(self) -> Identity:
        """Ask Slack whose token this is and what it may do; the answer is kept in `me`."""
        answer = await self._call(self.repeating, "auth.test")
        bot_id, team_id = str(answer.get("bot_id", "")), str(answer["team_id"])
        app_id = self.me.app_id
        if not app_id or self.me.bot_id != bot_id:
            # To which app a bot belongs never changes.
            app_id = str((await self._call(self.repeating, "bots.info", bot=bot_id))["bot"]["app_id"])
        organisation = str((answer.get("is_enterprise_install") and answer.get("enterprise_id")) or "")
        self.me = Identity(
            team_id=team_id,
            **{name: str(answer.get(name, "")) for name in ("team", "url", "user", "user_id")},
            bot_id=bot_id,
            app_id=app_id,
            enterprise_id=organisation,
            home=organisation or team_id,
            scopes=_listed(answer["_scopes"]),
        )
        return self.me

    async def post_message(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Mapping[str, Any]],
        thread_ts: str | None,
        label: Label | None = None,
    ) -> str:
        """Post one message and return its `ts`. A message of a card has a label, by which it is found again.

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
            metadata=label and label.metadata,
            parse="none",
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(answer["ts"])

    async def update_message(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Mapping[str, Any]],
        label: Label,
    ) -> None:
        """Replace what one of our messages shows."""
        await self._call(
            self.repeating,
            "chat.update",
            channel=channel,
            ts=ts,
            text=text,
            blocks=list(blocks),
            metadata=label.metadata,
            parse="none",
            link_names=False,
        )

    async def delete_message(self, channel: str, ts: str) -> None:
        """Delete one of our messages."""
        await self._call(self.repeating, "chat.delete", channel=channel, ts=ts)

    async def find_message(
        self,
        channel: str,
        *,
        thread_ts: str | None,
        since: float,
        interrupt_id: str,
        part: MessageId,
        besides: str = "",
    ) -> str | None:
        """Look for a part of a card that was posted since then (unix seconds).

        Args:
            channel: Where to look.
            thread_ts: In which thread; `None` for the channel itself.
            since: Unix seconds.
            interrupt_id: The record.
            part: Which message of it.
            besides: The `ts` of one that is known, and not looked for.
        """
        # A minute for clocks that differ.
        async for answer in self._pages(
            "conversations.replies" if thread_ts else "conversations.history",
            channel=channel,
            ts=thread_ts,
            oldest=f"{since - 60:.6f}",
            limit=200,
            include_all_metadata=True,
        ):
            for message in answer.get("messages", ()):
                label = Label.of(message, self.me.bot_id)
                is_part = label is not None and (label.interrupt_id, label.part) == (interrupt_id, part)
                if is_part and message["ts"] != besides:
                    return str(message["ts"])
        return None

    async def look(self, channel: str, thread_ts: str | None, oldest: str, latest: str) -> "Seen":
        """Read which of our messages stand in a channel, or in a thread, from one `ts` to another, in one call."""
        at = time.monotonic()
        answer = await self._call(
            self.repeating,
            "conversations.replies" if thread_ts else "conversations.history",
            channel=channel,
            ts=thread_ts,
            oldest=oldest,
            latest=latest,
            inclusive=True,
            limit=200,
            include_all_metadata=True,
        )
        found = {str(message["ts"]): message for message in answer.get("messages", ())}
        labels = {ts: Label.of(message, self.me.bot_id) for ts, message in found.items()}
        if found and answer.get("has_more"):
            # A history begins with its newest message, a thread with its oldest.
            oldest, latest = (oldest, max(found)) if thread_ts else (min(found), latest)
        return Seen({ts: label for ts, label in labels.items() if label}, found, oldest, latest, at)

    async def thread_author(self, channel: str, thread_ts: str) -> str | None:
        """Name the person who wrote the first message of a thread; `None` when no person did.

        Raises:
            InterruptFaultError: when there is no such message, or nobody can see any more who wrote it.
        """
        first: Mapping[str, Any] = {}
        # The `ts` of a reply gives only the reply, which names the first message.
        for _ in range(2):
            answer = await self._call(
                self.repeating, "conversations.replies", channel=channel, ts=thread_ts, limit=1
            )
            first = next(iter(answer.get("messages", ())), {})
            if first.get("thread_ts", thread_ts) == thread_ts:
                break
            thread_ts = str(first["thread_ts"])
        if not first or first.get("subtype") == "tombstone":
            cure = in_refusal.at_place(channel, in_refusal.AUTHOR_UNKNOWN)
            raise InterruptFaultError("conversations.replies", "thread_not_found", [cure], place=channel)
        return str(first.get("user") or "") or None

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> str:
        """Open a modal for the person who clicked less than three seconds ago, and give its id."""
        answer = await self._call(self.posting, "views.open", trigger_id=trigger_id, view=dict(view))
        return str(answer["view"]["id"])

    async def push_view(self, trigger_id: str, view: Mapping[str, Any]) -> str:
        """Open a modal on top of the one in which the person clicked, and give its id."""
        answer = await self._call(self.posting, "views.push", trigger_id=trigger_id, view=dict(view))
        return str(answer["view"]["id"])

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Show a person's Home tab."""
        await self._call(self.repeating, "views.publish", user_id=user, view=dict(view))

    async def update_view(self, view_id: str, view_hash: str | None, view: Mapping[str, Any]) -> None:
        """Replace an open modal, unless it changed since `view_hash`."""
        await self._call(self.repeating, "views.update", view_id=view_id, hash=view_hash, view=dict(view))

    async def tell_user(self, channel: str, user: str, text: str, *, thread_ts: str | None = None) -> None:
        """Show a sentence to this person only."""
        said = {"channel": channel, "user": user, "text": text, "thread_ts": thread_ts}
        await self._call(self.posting, "chat.postEphemeral", **said)

    async def open_direct_message(self, user_id: str) -> str:
        """Give the channel in which the bot and one person talk."""
        answer = await self._call(self.repeating, "conversations.open", users=user_id)
        return str(answer["channel"]["id"])

    async def reach(self, place: str) -> str:
        """Give the channel for a place in which the bot can post: a channel, or a person to write to.

        Raises:
            InterruptFaultError: saying why it cannot.
            SlackError: when Slack does not say.
        """
        self.check_reach(place)
        if place[0] in "UW":
            return await self.open_direct_message(place)
        found = await self.channel(place)
        for code, is_so in (
            ("is_archived", found.get("is_archived")),
            ("not_in_channel", not (found.get("is_member") or found.get("is_im"))),
        ):
            if is_so:
                cure = in_refusal.at_place(place, in_refusal.AT_PLACE[code])
                raise InterruptFaultError("conversations.info", code, [cure], place=place)
        return place

    def check_reach(self, channel: str) -> None:
        """Refuse a place in which the bot can post a message and not find it again.

        Raises:
            InterruptFaultError: naming the scope.
        """
        scope = _HISTORY_OF_DIRECT_MESSAGES
        if channel.startswith("D") and self.me.scopes and scope not in self.me.scopes:
            cure = in_refusal.at_place(channel, in_refusal.missing_scopes([scope]))
            raise InterruptFaultError("conversations.history", "missing_scope", [cure], place=channel)

    async def user(self, user_id: str) -> Mapping[str, Any]:
        """Answer of `users.info`."""
        answer = await self._call(self.repeating, "users.info", user=user_id)
        user: Mapping[str, Any] = answer["user"]
        return user

    async def user_with_email(self, email: str) -> str | None:
        """Give the id of the person with this e-mail address; `None` when nobody here has it.

        Raises:
            SlackError: when Slack does not say, or the app may not ask.
        """
        if self.me.scopes and EMAIL_SCOPE not in self.me.scopes:
            cure = in_refusal.missing_scopes([EMAIL_SCOPE])
            raise InterruptFaultError("users.lookupByEmail", "missing_scope", [cure])
        try:
            answer = await self._call(self.repeating, "users.lookupByEmail", email=email)
        except SlackError as error:
            if error.code == "users_not_found":
                return None
            raise
        return str(answer["user"]["id"])

    async def group_members(self, group_id: str) -> frozenset[str]:
        """Members of a user group."""
        answer = await self._call(self.repeating, "usergroups.users.list", usergroup=group_id)
        return frozenset(answer["users"])

    async def group_names(self) -> dict[str, str]:
        """Handles of all user groups, by id."""
        answer = await self._call(self.repeating, "usergroups.list")
        return {str(group["id"]): f"@{group.get('handle', '')}" for group in answer["usergroups"]}

    async def groups_with_members(self) -> dict[str, frozenset[str]]:
        """Members of all user groups, by the id of the group, in one call."""
        answer = await self._call(self.repeating, "usergroups.list", include_users=True)
        return {str(group["id"]): frozenset(group.get("users") or ()) for group in answer["usergroups"]}

    async def channel_members(self, channel: str) -> frozenset[str]:
        """Members of a channel."""
        pages = self._pages("conversations.members", channel=channel, limit=999)
        return frozenset([member async for answer in pages for member in answer["members"]])

    async def own_channels(self, user: str) -> list[str]:
        """Channels in which the bot is, and its direct messages where it may see them. Of a user, those that it can see."""
        kinds = ["public_channel", "private_channel", *(["im"] if "im:read" in self.me.scopes else [])]
        pages = self._pages(
            "users.conversations", types=",".join(kinds), exclude_archived=True, limit=200, user=user
        )
        return [str(channel["id"]) async for answer in pages for channel in answer.get("channels", ())]

    async def channel(self, channel: str) -> Mapping[str, Any]:
        """Answer of `conversations.info`."""
        answer = await self._call(self.repeating, "conversations.info", channel=channel)
        found: Mapping[str, Any] = answer["channel"]
        return found

    async def _pages(self, method: str, **arguments: Any) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = ""
        while cursor is not None:
            answer = await self._call(self.repeating, method, **arguments, cursor=cursor)
            yield answer
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None

    async def _call(self, client: AsyncWebClient, method: str, **arguments: Any) -> dict[str, Any]:
        with tracing.step("assent.slack_call", method=method) as span:
            try:
                data = await self._ask(client, method, arguments)
            except SlackError as error:
                result = error.code if error.code.isidentifier() else "unanswered"
                span.note(result=result, retry_after=getattr(error, "retry_after", None))
                SLACK_CALLS.labels(method, result).inc()
                raise
            span.note(result="ok")
            SLACK_CALLS.labels(method, "ok").inc()
            self._answered = time.monotonic()
            return data

    async def _ask(self, client: AsyncWebClient, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        request: dict[str, Any] = {"json": given}
        is_reading = method.startswith(("bots.", "conversations.", "users.", "usergroups."))
        if is_reading and method != "conversations.open":
            query = {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}
            request = {"http_verb": "GET", "params": query}
        try:
            # One limit for a call and its retries, so that none takes longer than its lease.
            async with asyncio.timeout(self.within):
                answer = await client.api_call(method, **request)
        except SlackApiError as error:
            place = str(arguments.get("channel") or arguments.get("users") or "")
            raise _as_our_error(method, error, place) from error
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError, AttributeError) as error:
            # An AttributeError is how slack_sdk 3.47 meets plain text in place of JSON.
            raise SlackUnclearError(method, str(error) or type(error).__name__, answered=False) from error
        data = answer.data if isinstance(answer.data, dict) else {}
        if method == "auth.test":
            data = {**data, "_scopes": answer.headers.get("x-oauth-scopes", "")}
        return data


def as_json(value: Any) -> bytes:
    """Write what a call sends, ten times as fast as `json`. That is asked for what orjson refuses: half of a surrogate pair."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value).encode()


def _as_our_error(method: str, error: SlackApiError, channel: str) -> SlackError:
    response = error.response
    status = getattr(response, "status_code", 200)
    data = response.data if isinstance(getattr(response, "data", None), dict) else {}
    code = str(data.get("error", f"http_{status}"))
    if status == 429 or code in _BUSY:
        return SlackBusyError(method, float(response.headers.get("Retry-After", 1)))
    # An answer that is not Slack's comes from something in between, such as a proxy.
    if status >= 500 or "error" not in data or code in _UNCLEAR:
        return SlackUnclearError(method, code, answered=True)
    if code in _DONE_BEFORE:
        return DoneBeforeError(method, code)
    # Slack may list every scope that would do; those that the app has are not what is missing.
    lacking = _listed(data.get("needed")) - _listed(data.get("provided"))
    if code in WORKSPACE_FAULTS and not _is_about_one_place(method, code, channel, lacking):
        add = f"add the scope {', '.join(sorted(lacking))} and install the app again"
        return WorkspaceFaultError(method, code, [add if lacking else "check SLACK_BOT_TOKEN"])
    restricted = "restricted_action"
    cure = in_refusal.AT_PLACE.get(restricted if code.startswith(restricted) else code)
    if code == "missing_scope":
        cure = in_refusal.missing_scopes(sorted(lacking))
    if cure:
        said = in_refusal.at_place(channel, cure) if channel else cure
        return InterruptFaultError(method, code, [said], place=channel)
    return InterruptFaultError(method, code, [str(problem) for problem in data.get("errors", ())])


def _listed(scopes: object) -> frozenset[str]:
    return frozenset(filter(None, re.split(r"[,\s]+", str(scopes or ""))))


def _is_about_one_place(method: str, code: str, channel: str, lacking: frozenset[str]) -> bool:
    """Say whether the app lacks something for one place or one person only, and not everywhere."""
    if code == "missing_scope":
        # Writing takes one scope wherever it is, and direct messages are opened only where the policy says so.
        # Reading takes one for each kind of conversation.
        is_reading = method.startswith("conversations.") and method != "conversations.open"
        return is_reading and not lacking & SCOPES.keys()
    return code == "no_permission" and bool(channel)
