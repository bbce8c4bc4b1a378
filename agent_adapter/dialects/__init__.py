"""The wire forms in which frameworks pause and resume. Pure: no framework is imported."""

from collections.abc import Mapping, Sequence
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
from agent_adapter.errors import InvalidRequestError, UnknownDialectError

KEYS_TOLD = 20
"""How many keys of a payload an error tells."""


class Dialect(Protocol):
    """Two converters, and how its pauses are told from others."""

    @property
    def LOOKED_FOR(self) -> str:  # noqa: N802 - most dialects are modules, and this is a constant of them
        """The keys that mark a pause of this dialect."""

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
    "accept_reject": generic.ACCEPT_REJECT,
    "accept_reject_response": generic.ACCEPT_REJECT_RESPONSE,
    "generic": generic.TEXT,
}
"""Each dialect by its name: those that are recognised, and those that only a caller can name."""


def detect(payload: Any) -> str:
    """Name the dialect of a pause.

    Raises:
        UnknownDialectError: with the keys that were looked for and those that were found.
    """
    for name, dialect in RECOGNISED.items():
        if dialect.recognises(payload):
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
        raise InvalidRequestError(f"{name!r} is no dialect; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]


def _found(payload: Any) -> str:
    if not isinstance(payload, dict):
        return f"{type(payload).__name__}, not an object"
    told = ", ".join(repr(key)[:KEY_TOLD] for key in islice(payload, KEYS_TOLD))
    more = f" and {len(payload) - KEYS_TOLD} more" if len(payload) > KEYS_TOLD else ""
    return f"the keys {told}{more}" if payload else "an empty object"
