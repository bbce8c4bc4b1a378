"""People, and those who are on call: `oncall:payments` means the people that the schedule `payments` names now. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_ON_CALL = "oncall:"
_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")


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


def is_person(text: str) -> bool:
    """Whether this is a person's Slack id."""
    return _PERSON.fullmatch(text) is not None


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
