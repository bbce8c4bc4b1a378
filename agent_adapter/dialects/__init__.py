"""The wire forms in which frameworks pause and resume. Pure: no framework is imported."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from agent_adapter.contract.arguments import KEY_SHOWN
from agent_adapter.contract.hitl import HITLRequest, WireModel
from agent_adapter.contract.names import did_you_mean
from agent_adapter.dialects import camel_case, generic, human_interrupt, langchain, langchain_per_call, spoon
from agent_adapter.dialects.generic import custom
from agent_adapter.errors import InvalidRequestError, UnknownDialectError

__all__ = ["DIALECTS", "FORMS", "RECOGNISED", "Dialect", "by_name", "custom", "detect"]

KEYS_SHOWN = 20
"""How many keys of a payload an error shows."""


class Dialect(Protocol):
    """Reads pauses, writes answers, and recognises its own pauses."""

    @property
    def LOOKED_FOR(self) -> str:  # noqa: N802 - most dialects are modules, and this is a constant of them
        """The keys that mark a pause of this dialect."""

    @property
    def KEYS(self) -> frozenset[str]:  # noqa: N802  # likewise
        """All keys that its framework writes. A pause with other keys comes from a program that reads its own answers."""

    def recognises(self, payload: Any) -> bool:
        """Whether this looks like a pause of this dialect, well formed or not."""

    def to_request(self, payload: Any) -> HITLRequest:
        """Read a pause, or raise an InvalidRequestError that names the place."""

    def to_resume(self, decisions: Sequence[Any], payload: Any) -> Any:
        """Write the answer to the pause that `to_request` read. The decisions are in action order, and each has to fit."""


RECOGNISED: Mapping[str, Dialect] = {
    "langchain_per_call": langchain_per_call,
    "spoon": spoon,
    "langchain": langchain,
    "camel_case": camel_case.PLAIN,
    "human_interrupt": human_interrupt.OBJECT,
    "human_interrupt_list": human_interrupt.LIST,
}
"""The dialects whose pauses can be recognised, in the order in which they are tried."""

DIALECTS: Mapping[str, Dialect] = {
    **RECOGNISED,
    "langchain_js": camel_case.LANGCHAIN_JS,
    "dev_utils": human_interrupt.DEV_UTILS,
    "dev_utils_0_1": human_interrupt.DEV_UTILS_0_1,
    "boolean": generic.BOOLEAN,
    "text": generic.TEXT,
    "approve_reject": generic.APPROVE_REJECT,
    "accept_reject": generic.ACCEPT_REJECT,
}
"""All dialects by name: those that are recognised, and those that the caller has to name."""

FORMS: Mapping[str, type[WireModel]] = {
    "langchain": HITLRequest,
    **dict.fromkeys(("camel_case", "langchain_js"), camel_case.Pause),
}
"""The fields of the dialects that people write by hand, too."""


def detect(payload: Any) -> str:
    """Name the dialect of a pause.

    A pause with keys that its framework does not write is an error, because it is then not known how the answer is read.
    """
    for name, dialect in RECOGNISED.items():
        if dialect.recognises(payload):
            _check_keys(payload, name, dialect)
            return name
    looked_for = "; ".join(f"{name}: {dialect.LOOKED_FOR}" for name, dialect in RECOGNISED.items())
    others = ", ".join(name for name in DIALECTS if name not in RECOGNISED)
    raise UnknownDialectError(
        f"this pause is not in a known dialect: looked for {looked_for}; found {_found(payload)}. "
        f"Dialects that have to be named: {others}"
    )


def by_name(name: str) -> Dialect:
    """Return the dialect with this name."""
    if name not in DIALECTS:
        raise InvalidRequestError(
            f"{name!r} is not the name of a dialect{did_you_mean(name, DIALECTS)}; the names are {', '.join(DIALECTS)}"
        )
    return DIALECTS[name]


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
    shown = ", ".join(repr(key)[:KEY_SHOWN] for key in islice(keys, KEYS_SHOWN))
    return shown + (f" and {len(keys) - KEYS_SHOWN} more" if len(keys) > KEYS_SHOWN else "")
