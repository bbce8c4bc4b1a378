"""The old name of `agent_adapter.worker.openai_agents`. It goes with version 0.3."""

import warnings

from agent_adapter.worker.openai_agents import FRAMEWORK, ResumableAgent

__all__ = ["FRAMEWORK", "ResumableAgent"]

warnings.warn(
    "agent_adapter.resumables.openai_agents is now agent_adapter.worker.openai_agents; "
    "the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
