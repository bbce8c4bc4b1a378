"""How a caller names the dialects of a run's pauses: one for all, or by the payload."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_adapter.contract.hitl import Decision
from agent_adapter.dialects import Dialect, by_name, custom, detect
from agent_adapter.dialects.generic import BOOLEAN, Generic
from agent_adapter.errors import InvalidRequestError, UnknownDialectError

Reading: TypeAlias = str | Generic | Callable[[Decision], Any]
"""How an answer is read: the name of a dialect, the result of `custom`, or a function that writes the answer to an approval
or a rejection."""
ByPayload: TypeAlias = Callable[[Any], Reading | None]
Named: TypeAlias = "str | Generic | ByPayload | Naming | None"
"""The `dialect` argument of `run`: one reading for all pauses whose keys do not show it; or a function that gets the payload of a
pause and returns its reading, or `None` if its keys show it."""


@dataclass(frozen=True)
class Naming:
    """Chooses the dialect of each pause of a run."""

    for_all: Dialect | None = None
    """The dialect of pauses whose keys do not show it."""
    by_payload: ByPayload | None = None
    """The dialect by the payload; the keys of the pause do not matter."""
    otherwise: ByPayload | None = None
    """What an integration knows about its framework, if the caller says nothing."""

    @classmethod
    def of(cls, named: "Named", *, otherwise: ByPayload | None = None) -> "Naming":
        """Read the `dialect` argument of a caller."""
        match named:
            case Naming():
                return named
            case None:
                return cls(otherwise=otherwise)
            case str() | Generic():
                return cls(_dialect_of(named, "dialect"), otherwise=otherwise)
            case _ if callable(named):
                return cls(by_payload=named, otherwise=otherwise)
        raise InvalidRequestError(f"dialect: {named!r} is neither a name nor a function of the payload")

    def dialect(self, payload: Any) -> Dialect:
        """Return the dialect of a pause, or raise an UnknownDialectError that says how to name it."""
        if (dialect := _called(self.by_payload, payload)) is not None:
            return dialect
        if self.for_all is not None and self.for_all.recognises(payload):
            return self.for_all
        if (dialect := _called(self.otherwise, payload)) is not None:
            return dialect
        try:
            return by_name(detect(payload))
        except UnknownDialectError as error:
            raise UnknownDialectError(_how_to_name(payload, error)) from None


def _how_to_name(payload: Any, error: UnknownDialectError) -> str:
    """Say what to write for a pause in an unknown form, for somebody who sees one for the first time."""
    # One name for all pauses does not apply to a pause that looks like a framework's.
    choice = '"boolean"' if BOOLEAN.recognises(payload) else 'lambda payload: "boolean"'
    sentence = (
        f"nobody was asked. The run paused with {repr(payload)[:200]}, and only you know how it reads the answer. "
        "Say so and go on with the thread, which still waits:\n"
        f"    run(graph, None, approvals=approvals, config=config, dialect={choice})\n"
        '"boolean" hands it True or False, "approve_reject" the word approve or reject, "text" the words that a person '
        "types; docs/reference/dialects.md has the others."
    )
    if isinstance(payload, dict | list):
        sentence += f"\nIf it is meant to be in the form of a framework: {error}"
    return sentence


def _called(function: ByPayload | None, payload: Any) -> Dialect | None:
    if function is None:
        return None
    try:
        given = function(payload)
    except Exception as error:
        raise InvalidRequestError(f"dialect: the callable raised {error!r}; nobody was asked") from error
    return None if given is None else _dialect_of(given, "dialect: a callable gave")


def _dialect_of(reading: Any, where: str) -> Dialect:
    if isinstance(reading, str):
        return by_name(reading)
    if isinstance(reading, Generic):
        return reading
    if callable(reading):
        return custom(reading)
    raise InvalidRequestError(
        f"{where} {reading!r}: pass the name of a dialect, or a function of the decision"
    )
