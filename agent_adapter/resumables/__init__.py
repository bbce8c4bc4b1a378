"""The old name of `agent_adapter.worker`. It goes with version 0.3."""

import warnings

from agent_adapter.worker import Finished, GoneOn, Over, Paused, Resumable
from agent_adapter.worker.resumable import Notify as Tell
from agent_adapter.worker.resumable import Turn

__all__ = ["Finished", "GoneOn", "Over", "Paused", "Resumable", "Tell", "Turn"]

warnings.warn(
    "agent_adapter.resumables is now agent_adapter.worker; the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
