"""People, groups and those who are on call, and how sentences mention them. Pure.

`oncall:payments` means the people that the schedule `payments` names now.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_adapter.contract.names import is_person
from bot.sentences import on_card, words
from bot.text.literal import clip, mrkdwn, one_line

_ON_CALL = "oncall:"


@dataclass(frozen=True, slots=True)
class Person:
    """The facts about a person that decide whether they may decide."""

    id: str
    team_id: str
    """Their workspace, or their organisation when the app is installed in a whole organisation."""
    is_deactivated: bool = False
    is_bot: bool = False
    is_guest: bool = False
    is_stranger: bool = False
    """From outside the workspace, through Slack Connect."""
    workspaces: frozenset[str] = field(default=frozenset(), compare=False)
    """The workspaces in which they act as a member and not as a stranger."""
    name: str = field(default="", compare=False)
    """What they call themselves. It says nothing about who they are."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Where a schedule is kept."""

    kind: Literal["pagerduty", "calendar"]
    key: str
    """The id of the schedule in PagerDuty, or the name of a calendar in the settings."""
    people: Mapping[str, str] = field(default_factory=dict)
    """Slack's ids of people, by their e-mail address or as the calendar names them."""


def is_on_call(entry: str) -> bool:
    """Whether an entry of an approver list means people who are on call."""
    return entry.startswith(_ON_CALL)


def entry_of(schedule: str) -> str:
    """Give the entry that means the people of a schedule."""
    return f"{_ON_CALL}{schedule}"


def schedule_of(entry: str) -> str:
    """Give the name of the schedule that such an entry means."""
    return entry.removeprefix(_ON_CALL)


_NOBODY: Mapping[str, str] = {}
_NO_SCHEDULE: Mapping[str, Sequence[str]] = {}
_GROUP = re.compile(r"S[A-Z0-9]{2,20}")


def mention(name: str) -> str:
    """Mention a person or a group where this is a Slack id, and name a schedule; any other name is shown as text."""
    if is_person(name):
        return f"<@{name}>"
    if _GROUP.fullmatch(name):
        return f"<!subteam^{name}>"
    return _of_schedule(name, ()) if is_on_call(name) else _plain(name)


def _plain(name: str) -> str:
    return mrkdwn(clip(one_line(name), 60))


def _of_schedule(entry: str, people: Sequence[str]) -> str:
    return on_card.on_call(schedule_of(entry), [mention(person) for person in people])


def approver_names(
    approvers: Sequence[str],
    *,
    at_most: int,
    channel: str = "",
    named_only: Mapping[str, str] = _NOBODY,
    on_call: Mapping[str, Sequence[str]] = _NO_SCHEDULE,
    together: bool = True,
) -> str:
    """Mention who may decide; a longer list is counted. Of people who do not decide together, one is enough. The people in `named_only` are named, so Slack does not notify them. Of a schedule, those in `on_call` are mentioned."""
    anyone = on_card.anyone_in(channel or on_card.THIS_CHANNEL)
    # Those who are notified come first, so that they are not among the ones that are only counted.
    ordered = sorted(approvers, key=named_only.__contains__)
    names = [
        anyone
        if name == "channel"
        else _of_schedule(name, () if name in named_only else on_call.get(name, ()))
        if is_on_call(name)
        else _plain(named_only[name] or name)
        if name in named_only
        else mention(name)
        for name in ordered
    ]
    return (words.and_more if together else words.or_more)(names, at_most)
