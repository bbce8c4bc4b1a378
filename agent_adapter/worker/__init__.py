"""Goes on with runs whose process has ended: `python -m agent_adapter.worker module:registry`."""

from agent_adapter.resumables import Finished, GoneOn, Over, Paused, Resumable
from agent_adapter.worker.loop import ResumeWorker

__all__ = ["Finished", "GoneOn", "Over", "Paused", "Resumable", "ResumeWorker"]
