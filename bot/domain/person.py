"""The facts about a person that decide what they may decide. Pure."""

import re
from dataclasses import dataclass, field

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
