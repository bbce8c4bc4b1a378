"""Resumes runs whose process has ended: `python -m agent_adapter.worker module:registry`."""

from agent_adapter.worker.loop import Finished, Over, Paused, Resumable, ResumeWorker

__all__ = ["Finished", "Over", "Paused", "Resumable", "ResumeWorker"]
