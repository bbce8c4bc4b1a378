"""Looks people up in Slack, with a short cache. Nothing about a person is guessed."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Protocol, TypeVar, cast

from agent_adapter.background import in_background
from agent_adapter.contract.names import is_person
from bot.domain.admission import Terms
from bot.domain.errors import SlackError
from bot.domain.person import Person, entry_of, is_on_call, schedule_of
from bot.slack.client import Identity, SlackClient
from bot.slack.manifest import GROUP_SCOPE

_T = TypeVar("_T")

FRESH_FOR = 60.0
"""Seconds for which an answer of Slack is kept."""
REMEMBERED = 10_000
MOST_ON_CALL = 3
"""People of one schedule whom a card mentions."""
UNKNOWN = frozenset({"user_not_found", "user_not_visible", "no_such_subteam", "channel_not_found"})
"""What Slack answers about an id that this workspace does not have, or no longer."""
_ALL_GROUPS = ("groups", "")


class OnCall(Protocol):
    """Who is on call."""

    def names(self) -> Iterable[str]:
        """Name the schedules."""

    async def people(self, name: str) -> frozenset[str]:
        """Name the people of a schedule; nobody while it does not answer."""


class Directory:
    """Looks up people and their memberships. A SlackError says that Slack does not say: then nobody may decide."""

    def __init__(self, slack: SlackClient, on_call: OnCall | None = None) -> None:
        self._slack = slack
        self._on_call = on_call
        self._kept: dict[tuple[str, str], tuple[float, object]] = {}
        self._asking: dict[tuple[str, str], tuple[float, asyncio.Task[object]]] = {}
        self._came_from: dict[str, dict[str, float]] = {}

    @property
    def team(self) -> str:
        """The workspace or organisation where the bot is installed. Until it is known, nobody belongs to it."""
        return self._slack.me.home

    def came_from(self, user_id: str, team_id: str) -> None:
        """Note from which workspace somebody has just acted, as Slack delivered it.

        Another workspace makes them a stranger for a minute, whatever Slack answers about them.
        """
        teams = self._came_from.pop(user_id, {})
        self._came_from[user_id] = {**teams, team_id: time.monotonic()}
        if len(self._came_from) > REMEMBERED:
            del self._came_from[next(iter(self._came_from))]

    def recall(
        self, user_id: str, approvers: Iterable[str], channel: str, *, within: float = inf
    ) -> tuple[Person, frozenset[str]] | None:
        """Give what `person` and `matching` would give, if no question to Slack is needed."""
        person = cast("Person | None", self._recall(("user", user_id), within))
        if person is None:
            return None
        found = set()
        for entry in approvers:
            members = self._recall_members(entry, channel, within)
            if members is None:
                return None
            if user_id in members:
                found.add(entry)
        return self._as_acting(person), frozenset(found)

    async def person(self, user_id: str, *, within: float = inf) -> Person:
        """Say who this is, by an answer of Slack that is at most this many seconds old."""

        async def ask() -> Person:
            user = await _unless_unknown(self._slack.user(user_id), {"deleted": True})
            return person_of(user_id, user, self._slack.me)

        return self._as_acting(await self._fresh(("user", user_id), ask, within))

    def _as_acting(self, person: Person) -> Person:
        now = time.monotonic()
        for team, at in self._came_from.get(person.id, {}).items():
            if team not in person.workspaces and now - at < FRESH_FOR:
                return replace(person, is_stranger=True)
        return person

    async def matching(
        self, user_id: str, approvers: Iterable[str], channel: str, *, within: float = inf
    ) -> frozenset[str]:
        """Name the entries of an approver list that this person matches: their id, their groups, `channel`."""
        return frozenset(
            [entry for entry in approvers if user_id in await self.members(entry, channel, within=within)]
        )

    async def named(self, terms: Terms) -> Terms:
        """Give terms with the names of those whom a card names, and with those who are on call now."""
        schedules = [entry for entry in terms.approvers if is_on_call(entry)]
        found = {entry: sorted(await self.members(entry, "")) for entry in schedules}
        on_call = {entry: tuple(people[:MOST_ON_CALL]) for entry, people in found.items() if people}
        return terms.naming({entry: await self._name(entry) for entry in terms.named_only}, on_call)

    async def schedules_of(self, user_id: str) -> list[str]:
        """Name the entries of the schedules by which somebody is on call now."""
        entries = [entry_of(name) for name in self._on_call.names()] if self._on_call else []
        found = await asyncio.gather(*(self.members(entry, "") for entry in entries))
        return [entry for entry, people in zip(entries, found, strict=True) if user_id in people]

    async def groups_of(self, user_id: str) -> list[str]:
        """Name the user groups that somebody is in; none where the app may not see groups."""
        if GROUP_SCOPE not in self._slack.me.scopes:
            return []
        groups = await self._fresh(_ALL_GROUPS, self._slack.groups_with_members, inf)
        return [group for group, members in groups.items() if user_id in members]

    async def channels_of(self, user_id: str) -> list[str]:
        """Name the channels that somebody is in, as far as the app sees them."""
        ask = partial(self._slack.own_channels, user_id)
        return await self._fresh(("channels of", user_id), ask, inf)

    async def _name(self, entry: str) -> str:
        """Give the name of a person or user group; empty where Slack does not say."""
        if is_on_call(entry):
            return ""
        try:
            if is_person(entry):
                return (await self.person(entry)).name
            groups = await self._fresh(("group names", ""), self._slack.group_names, inf)
        except SlackError:
            return ""
        return groups.get(entry, "")

    async def thread_author(self, channel: str, thread_ts: str) -> str | None:
        """Name the person who began a thread; `None` when no person did."""
        ask = partial(self._slack.thread_author, channel, thread_ts)
        return await self._fresh(("thread", f"{channel} {thread_ts}"), ask, inf)

    def forget(self, kind: str, name: str) -> None:
        """Ask Slack again the next time, because Slack said that this has changed."""
        for changed in ((kind, name), *([_ALL_GROUPS] if kind == "group" else [])):
            self._kept.pop(changed, None)
            # An answer that is on its way can be older than the change. It is not kept, and no new question waits for it.
            self._asking.pop(changed, None)

    async def members(self, entry: str, channel: str, *, within: float = inf) -> frozenset[str]:
        """Name the people that an entry of an approver list means. While a schedule does not answer, it means nobody."""
        known = self._recall_members(entry, channel, within)
        if known is not None:
            return known

        async def ask() -> frozenset[str]:
            if entry == "channel":
                return await self._slack.channel_members(channel)
            if is_on_call(entry):
                return await self._on_call.people(schedule_of(entry)) if self._on_call else frozenset()
            return await _unless_unknown(self._slack.group_members(entry), frozenset())

        return await self._fresh(_list_of(entry, channel), ask, within)

    def name_of(self, user_id: str) -> str:
        """Give the name of somebody who was looked up just now; empty when Slack would have to be asked."""
        person = cast("Person | None", self._recall(("user", user_id), inf))
        return person.name if person else ""

    def _recall_members(self, entry: str, channel: str, within: float) -> frozenset[str] | None:
        if entry[0] in "UW":
            return frozenset((entry,))
        members = cast("frozenset[str] | None", self._recall(_list_of(entry, channel), within))
        if members is not None:
            return members
        groups = cast("Mapping[str, frozenset[str]] | None", self._recall(_ALL_GROUPS, within))
        return (groups or {}).get(entry)

    def _recall(self, name: tuple[str, str], within: float) -> object | None:
        asked_at, found = self._kept.get(name, (-inf, None))
        return found if asked_at > time.monotonic() - min(within, FRESH_FOR) else None

    async def _fresh(
        self, name: tuple[str, str], ask: Callable[[], Coroutine[Any, Any, _T]], within: float
    ) -> _T:
        oldest = time.monotonic() - min(within, FRESH_FOR)
        kept = self._kept.get(name)
        if kept and kept[0] > oldest:
            return cast("_T", kept[1])
        asked_at, asking = self._asking.get(name, (oldest, None))
        if asking is None or asked_at <= oldest:
            asked_at = time.monotonic()
            asking = in_background(
                self._ask(name, ask(), asked_at), name="asking Slack", expected=(SlackError,)
            )
            self._asking[name] = asked_at, asking
        # When a click cannot wait any longer, the question goes on, and the next click finds the answer.
        return cast("_T", await asyncio.shield(asking))

    async def _ask(
        self, name: tuple[str, str], answer: Coroutine[Any, Any, object], asked_at: float
    ) -> object:
        try:
            found = await answer
            if self._is_asked_now(name):
                if len(self._kept) >= REMEMBERED:
                    self._kept.clear()
                self._kept[name] = asked_at, found
            return found
        finally:
            if self._is_asked_now(name):
                del self._asking[name]

    def _is_asked_now(self, name: tuple[str, str]) -> bool:
        return self._asking.get(name, (0.0, None))[1] is asyncio.current_task()


def _list_of(entry: str, channel: str) -> tuple[str, str]:
    """Name the list of people that an entry of an approver list means, as it is kept."""
    if entry == "channel":
        return "channel", channel
    return ("on call" if is_on_call(entry) else "group"), entry


async def _unless_unknown(answer: Coroutine[Any, Any, _T], nobody: _T) -> _T:
    """Who is gone counts for nobody, so that the others on the same list can decide."""
    try:
        return await answer
    except SlackError as error:
        if error.code not in UNKNOWN:
            raise
        return nobody


def person_of(user_id: str, user: Mapping[str, Any], me: Identity) -> Person:
    """Read what Slack says about a user."""
    team_id, workspaces = str(user.get("team_id", "")), {me.team_id}
    profile = user.get("profile") or {}
    if me.enterprise_id:
        theirs = user.get("enterprise_user") or {}
        team_id, workspaces = str(theirs.get("enterprise_id", "")), {team_id, *theirs.get("teams", ())}
    return Person(
        id=user_id,
        team_id=team_id,
        is_deactivated=bool(user.get("deleted")),
        is_bot=bool(user.get("is_bot") or user.get("is_app_user")),
        is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        is_stranger=bool(user.get("is_stranger")),
        workspaces=frozenset(workspaces - {""}),
        name=str(profile.get("display_name") or profile.get("real_name") or user.get("name") or ""),
    )
