"""The wire forms in which frameworks pause and resume. Pure: no framework is imported."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.dialects import langchain, langchain_per_call
from agent_adapter.errors import UnknownDialectError


class Dialect(Protocol):
    """Two converters, and how its pauses are told from others."""

    LOOKED_FOR: str
    """The keys that mark a pause of this dialect."""

    def recognises(self, payload: Any) -> bool:
        """Tell whether this looks like a pause of this dialect, well formed or not."""

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause."""

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause, one decision per action."""


DIALECTS: Mapping[str, Dialect] = {
    "langchain": langchain,
    "langchain_per_call": langchain_per_call,
}
"""Each dialect by its name."""


def detect(payload: Any) -> str:
    """Name the dialect of a pause.

    Raises:
        UnknownDialectError: with the keys that were looked for and those that were found.
    """
    for name, dialect in DIALECTS.items():
        if dialect.recognises(payload):
            return name
    looked_for = "; ".join(f"{name}: {dialect.LOOKED_FOR}" for name, dialect in DIALECTS.items())
    raise UnknownDialectError(
        f"this pause is of no known dialect: looked for {looked_for}; found {_found(payload)}"
    )


def _found(payload: Any) -> str:
    if not isinstance(payload, dict):
        return f"{type(payload).__name__}, not an object"
    return f"the keys {', '.join(map(repr, payload))}" if payload else "an empty object"
