"""The old name of `agent_adapter.gating`. It goes with version 0.3."""

import warnings

from agent_adapter.gating import Gate as Policy
from agent_adapter.gating import (
    InterruptOn,
    InterruptOnConfig,
    Options,
    Review,
    check_tools,
    from_camel_case,
)

__all__ = [
    "InterruptOn",
    "InterruptOnConfig",
    "Options",
    "Policy",
    "Review",
    "check_tools",
    "from_camel_case",
]

warnings.warn(
    "agent_adapter.policy is now agent_adapter.gating; the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
