"""Who somebody is, as Slack says: looked up through a short cache, never guessed."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from bot.slack_client import SlackClient

_T = TypeVar("_T")

FRESH_FOR = 60.0
"""Seconds for which an answer of Slack is believed."""
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Person:
    """What decides whether somebody may decide."""

    id: str
    team_id: str
    is_deactivated: bool = False
    is_bot: bool = False
    is_guest: bool = False
    is_stranger: bool = False
    """From outside the workspace, through Slack Connect."""


class Directory:
    """Looks people and their memberships up."""

    def __init__(self, slack: SlackClient) -> None:
        self._slack = slack
        self._kept: dict[tuple[str, str], tuple[float, object]] = {}
        self._asking: dict[tuple[str, str], asyncio.Task[object]] = {}

    @property
    def team(self) -> str:
        """The workspace that the bot is installed in; nobody belongs to it before it is known."""
        return self._slack.me.team_id

    async def person(self, user_id: str) -> Person:
        """Say who this is.

        Raises:
            SlackError: when Slack does not say; nobody may decide then.
        """
        return await self._fresh(("user", user_id), lambda: self._ask_person(user_id))

    async def matching(self, user_id: str, approvers: Iterable[str], channel: str) -> frozenset[str]:
        """Tell which entries of an approver list this person matches: their id, their groups, `channel`.

        Raises:
            SlackError: when Slack does not say.
        """
        found = set()
        for entry in approvers:
            if entry == user_id or (entry[0] not in "UW" and user_id in await self._members(entry, channel)):
                found.add(entry)
        return frozenset(found)

    def forget(self, kind: str, name: str) -> None:
        """Ask Slack again the next time, since it said that this changed."""
        self._kept.pop((kind, name), None)
        # An answer that is on its way may be of before the change: nobody else waits for it, and it is not kept.
        self._asking.pop((kind, name), None)

    async def _members(self, entry: str, channel: str) -> frozenset[str]:
        if entry == "channel":
            return await self._fresh(("channel", channel), lambda: self._slack.channel_members(channel))
        return await self._fresh(("group", entry), lambda: self._slack.group_members(entry))

    async def _ask_person(self, user_id: str) -> Person:
        user = await self._slack.user(user_id)
        return Person(
            id=user_id,
            team_id=str(user.get("team_id", "")),
            is_deactivated=bool(user.get("deleted")),
            is_bot=bool(user.get("is_bot") or user.get("is_app_user")),
            is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
            is_stranger=bool(user.get("is_stranger")),
        )

    async def _fresh(self, name: tuple[str, str], ask: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        kept = self._kept.get(name)
        if kept and time.monotonic() - kept[0] < FRESH_FOR:
            return cast("_T", kept[1])
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._ask(name, ask()))
        # A click that cannot wait any longer leaves the question running, and the next one finds the answer.
        return cast("_T", await asyncio.shield(asking))

    async def _ask(self, name: tuple[str, str], answer: Coroutine[Any, Any, object]) -> object:
        asked_at = time.monotonic()
        try:
            found = await answer
            if self._is_asked_now(name):
                self._keep(name, (asked_at, found))
            return found
        finally:
            if self._is_asked_now(name):
                del self._asking[name]

    def _is_asked_now(self, name: tuple[str, str]) -> bool:
        return self._asking.get(name) is asyncio.current_task()

    def _keep(self, name: tuple[str, str], answer: tuple[float, object]) -> None:
        if len(self._kept) >= REMEMBERED:
            self._kept.clear()
        self._kept[name] = answer
