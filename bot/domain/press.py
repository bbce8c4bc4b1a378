"""What a person has pressed or submitted, by which the same delivery is known again. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

_IN_ORDER = json.JSONEncoder(sort_keys=True)


@dataclass(frozen=True, slots=True)
class Press:
    """One click, or one submitted form. What it decides is recorded once, however often it is delivered."""

    how: Literal["click", "form"] = "form"
    name: str = ""
    """The same for each delivery, over HTTP and over Socket Mode; empty where nothing tells one press from another."""
    message: str = ""
    """Channel and ts of the message that was pressed; empty for a form."""

    @classmethod
    def of(cls, body: Mapping[str, Any], how: Literal["click", "form"]) -> Self:
        """Name what Slack delivers.

        The message is left out: it is most of the body, and the trigger already differs for each press.
        """
        sent = {name: value for name, value in body.items() if name != "message"}
        name = hashlib.sha256(_IN_ORDER.encode(sent).encode()).hexdigest()[:32]
        match body:
            case {"channel": {"id": str(channel)}, "message": {"ts": str(ts)}}:
                message = f"{channel} {ts}"
            case _:
                message = ""
        return cls(how, name if "trigger_id" in body else "", message)


UNNAMED = Press()
"""A press that nothing tells from another."""
