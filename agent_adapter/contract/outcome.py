"""What became of an approved call, as the agent reports it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import WrittenModel
from agent_adapter.contract.wire import to_model

RUNS = frozenset({"approve", "edit"})
"""The decisions after which a call runs, and so has an outcome."""
MAX_OUTCOME = 2_000
"""Characters of a result or an error that are kept."""


class Outcome(WrittenModel):
    """What became of an approved call: `Outcome.done("paid as tr_1")` or `Outcome.failed(error)`."""

    status: Literal["done", "failed"]
    text: str = ""
    """The result, or the error. Of a longer text, the first 2,000 characters are kept."""
    length: int | None = None
    """How many characters the whole text has, if only its beginning is kept."""

    @classmethod
    def done(cls, result: object = "") -> Self:
        """The call has run. A result that is not a text is written with `str`."""
        return cls(status="done", text=_written(result))

    @classmethod
    def failed(cls, error: object = "") -> Self:
        """The call has failed. An exception is written with the name of its class."""
        words = _written(error)
        if isinstance(error, BaseException):
            words = ": ".join(filter(None, (type(error).__name__, words)))
        return cls(status="failed", text=words)

    @model_validator(mode="before")
    @classmethod
    def _shortened(cls, given: Any) -> Any:
        text = given.get("text") if isinstance(given, dict) else None
        if not isinstance(text, str) or len(text) <= MAX_OUTCOME:
            return given
        return {**given, "text": text[:MAX_OUTCOME], "length": len(text)}

    @field_validator("text")
    @classmethod
    def _storable(cls, text: str) -> str:
        """Write what is not Unicode, such as half of a surrogate pair in a file name, as an escape."""
        return text.encode(errors="backslashreplace").decode()[:MAX_OUTCOME]


@dataclass(frozen=True, slots=True)
class Reported:
    """The outcome of a call, as the record keeps it."""

    outcome: Outcome
    reported_at: datetime
    is_repeat: bool = False
    """Whether an outcome was reported before this report. The first one is kept, and is the one here."""


def dump_outcome(outcome: Outcome) -> str:
    """Write an outcome as it is stored; the store adds the time."""
    return encode(outcome.model_dump(mode="json", exclude_none=True))


def load_outcome(text: str) -> Outcome:
    """Read a stored outcome."""
    return to_model(Outcome.model_validate, decode(text), where="outcome")


def _written(value: object) -> str:
    try:
        return "" if value is None else str(value)
    except Exception:  # noqa: BLE001  # the code of others; an outcome without words is better than none
        return ""
