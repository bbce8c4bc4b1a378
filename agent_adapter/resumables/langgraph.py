"""The old name of `agent_adapter.worker.langgraph`. It goes with version 0.3."""

import warnings

from agent_adapter.worker.langgraph import FRAMEWORK, ResumableGraph

__all__ = ["FRAMEWORK", "ResumableGraph"]

warnings.warn(
    "agent_adapter.resumables.langgraph is now agent_adapter.worker.langgraph; "
    "the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
