"""Where something stands in a trace, as a record carries it: W3C Trace Context. Pure.

It is a diagnostic that anybody may have written. So what has not exactly its form is as if it were not there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
"""The fields of a record, named like the headers of HTTP."""
MAX_STATE = 512
"""Characters of a `tracestate`: what the standard says that everybody should pass on."""
MAX_MEMBERS = 32

_PARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
_MEMBER = re.compile(
    r"((?:[a-z0-9][a-z0-9_*/-]{0,240}@)?[a-z][a-z0-9_*/-]{0,13}|[a-z][a-z0-9_*/-]{0,255})"
    r"=[ -+\--<>-~]{0,255}[!-+\--<>-~]"
)


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of a trace, by its ids."""

    parent: str
    """`00-<trace id>-<span id>-<flags>`."""
    state: str = ""
    """What tracing systems add for themselves; often empty."""

    @classmethod
    def read(cls, fields: Mapping[str, str | None]) -> Self | None:
        """Read it from fields of a record or from headers. `None` when it is not there, or does not have its form."""
        parent, state = fields.get(TRACEPARENT) or "", fields.get(TRACESTATE) or ""
        if not _PARENT.fullmatch(parent):
            return None
        return cls(parent, state if _is_state(state) else "")

    @property
    def trace_id(self) -> str:
        return self.parent[3:35]

    @property
    def span_id(self) -> str:
        return self.parent[36:52]

    @property
    def flags(self) -> int:
        return int(self.parent[53:], 16)

    @property
    def is_sampled(self) -> bool:
        """Whether the program that began the trace records it."""
        return bool(self.flags & 1)


def _is_state(text: str) -> bool:
    if len(text) > MAX_STATE:
        return False
    members = [_MEMBER.fullmatch(member.strip(" \t")) for member in text.split(",")]
    keys = {member[1] for member in members if member}
    return len(keys) == len(members) <= MAX_MEMBERS
