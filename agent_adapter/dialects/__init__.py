"""The wire forms in which frameworks pause and resume. Pure: no framework is imported."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from agent_adapter.contract.arguments import KEY_TOLD
from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.dialects import (
    camel_case,
    generic,
    human_interrupt,
    langchain,
    langchain_per_call,
    spoon,
)
from agent_adapter.dialects.generic import custom
from agent_adapter.errors import InvalidRequestError, UnknownDialectError

__all__ = ["DIALECTS", "RECOGNISED", "Dialect", "answering", "by_name", "choose", "custom", "detect"]

KEYS_TOLD = 20
"""How many keys of a payload an error tells."""


class Dialect(Protocol):
    """Two converters, and how its pauses are told from others."""

    @property
    def LOOKED_FOR(self) -> str:  # noqa: N802 - most dialects are modules, and this is a constant of them
        """The keys that mark a pause of this dialect."""

    @property
    def KEYS(self) -> frozenset[str]:  # noqa: N802
        """All keys that its framework writes. A pause with others is a program's own, and reads its own answers."""

    def recognises(self, payload: Any) -> bool:
        """Tell whether this looks like a pause of this dialect, well formed or not."""

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause."""

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to a pause, one decision per action."""


RECOGNISED: Mapping[str, Dialect] = {
    "langchain_per_call": langchain_per_call,
    "spoon": spoon,
    "langchain": langchain,
    "camel_case": camel_case.PLAIN,
    "human_interrupt": human_interrupt.OBJECT,
    "human_interrupt_list": human_interrupt.LIST,
}
"""Those whose pauses can be told from all others, in the order of looking."""

DIALECTS: Mapping[str, Dialect] = {
    **RECOGNISED,
    "langchain_js": camel_case.LANGCHAIN_JS,
    "human_interrupt_classic": human_interrupt.CLASSIC,
    "dev_utils": human_interrupt.DEV_UTILS,
    "dev_utils_0_1": human_interrupt.DEV_UTILS_0_1,
    "boolean": generic.BOOLEAN,
    "text": generic.TEXT,
    "approve_reject": generic.APPROVE_REJECT,
    "accept_reject": generic.ACCEPT_REJECT,
    "accept_reject_response": generic.ACCEPT_REJECT_RESPONSE,
}
"""Each dialect by its name: those that are recognised, and those that only a caller can name."""


def detect(payload: Any) -> str:
    """Name the dialect of a pause.

    Raises:
        UnknownDialectError: with the keys that were looked for and those that were found. Also for a pause with keys that
            its framework does not write: who reads the answer is not known then.
    """
    for name, dialect in RECOGNISED.items():
        if dialect.recognises(payload):
            _check_keys(payload, name, dialect)
            return name
    looked_for = "; ".join(f"{name}: {dialect.LOOKED_FOR}" for name, dialect in RECOGNISED.items())
    others = ", ".join(name for name in DIALECTS if name not in RECOGNISED)
    raise UnknownDialectError(
        f"this pause is of no known dialect: looked for {looked_for}; found {_found(payload)}. "
        f"Dialects that have to be named: {others}"
    )


def choose(payload: Any, named: str | None = None) -> str:
    """Name the dialect of a pause: the named one if it can be of that, otherwise the one that its keys tell.

    Args:
        payload: The pause's value.
        named: The dialect of pauses whose keys do not tell it. The others keep theirs, so that one name serves a run
            with pauses of several kinds.

    Raises:
        UnknownDialectError: as in `detect`.
        InvalidRequestError: when there is no dialect of this name.
    """
    if named is not None and by_name(named).recognises(payload):
        return named
    return detect(payload)


def by_name(name: str) -> Dialect:
    """Give the dialect of this name.

    Raises:
        InvalidRequestError: with the names that there are.
    """
    if name not in DIALECTS:
        raise InvalidRequestError(f"{name!r} is not the name of a dialect; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]


def answering(name: str) -> Dialect:
    """Give the dialect in which a stored record is answered: one that is not offered any more is among them.

    Raises:
        InvalidRequestError: with the names that there are.
    """
    return generic.RETIRED if name == "generic" else by_name(name)


def _check_keys(payload: Any, name: str, dialect: Dialect) -> None:
    parts = payload if isinstance(payload, list) else [payload]
    keys = dict.fromkeys(key for part in parts if isinstance(part, dict) for key in part)
    if others := [key for key in keys if key not in dialect.KEYS]:
        raise UnknownDialectError(
            f"this pause looks like {name}, but has keys that {name} does not write: {_listed(others)}. Name its dialect"
        )


def _found(payload: Any) -> str:
    if not isinstance(payload, dict):
        return f"{type(payload).__name__}, not an object"
    return f"the keys {_listed(payload)}" if payload else "an empty object"


def _listed(keys: Collection[str]) -> str:
    told = ", ".join(repr(key)[:KEY_TOLD] for key in islice(keys, KEYS_TOLD))
    return told + (f" and {len(keys) - KEYS_TOLD} more" if len(keys) > KEYS_TOLD else "")
