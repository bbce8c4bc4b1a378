"""People who are on call, as approvers: `oncall:payments` means the people that the schedule `payments` names now. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_PREFIX = "oncall:"


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
    return entry.startswith(_PREFIX)


def entry_of(schedule: str) -> str:
    """Give the entry that means the people of a schedule."""
    return f"{_PREFIX}{schedule}"


def schedule_of(entry: str) -> str:
    """Give the name of the schedule that such an entry means."""
    return entry.removeprefix(_PREFIX)
