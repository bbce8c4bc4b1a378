"""Where something stands in a trace, as a record carries it: W3C Trace Context. Pure.

It is a diagnostic that anybody may have written. So what has not exactly its form is as if it were not there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

TRACEPARENT = "traceparent"
"""The field of a record, named like the header of HTTP."""
_PARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of a trace, by its ids."""

    parent: str
    """`00-<trace id>-<span id>-<flags>`."""

    @classmethod
    def read(cls, fields: Mapping[str, str | None]) -> Self | None:
        """Read it from fields of a record or from headers. `None` when it is not there, or does not have its form."""
        parent = fields.get(TRACEPARENT) or ""
        return cls(parent) if _PARENT.fullmatch(parent) else None

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
