"""The registry of a worker that a test can kill: `python -m agent_adapter.worker tests.support.faults_worker:registry`.

What its tools did is on disk, and its graph's threads are too. The worker ends with whoever started it.
"""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent_adapter import approval_key
from agent_adapter.worker.resumable import Over
from tests.support.faults_bot import end_with_parent
from tests.support.workers import a_graph, an_openai_agent, threads_in


class NotesOnDisk:
    """Writes down what happened, at once and for good."""

    async def tell(self, over: Over) -> None:
        self._note(f"over {over.interrupt.run}")

    def ran(self, call: str, context: Any = None) -> None:
        time.sleep(float(os.environ.get("AGENT_SLOWNESS", "0")))
        self._note(f"{call} {approval_key(context)}")

    async def inside(self) -> None:
        """Nothing more: these processes are killed from outside."""

    def _note(self, line: str) -> None:
        with Path(os.environ["AGENT_NOTES"]).open("a") as notes:
            notes.write(f"{line}\n")


@asynccontextmanager
async def registry() -> AsyncIterator[list[Any]]:
    """Open the database of the threads."""
    end_with_parent()
    notes = NotesOnDisk()
    async with threads_in(os.environ["AGENT_THREADS"]) as saver:
        yield [a_graph(notes, saver), an_openai_agent(notes)]
