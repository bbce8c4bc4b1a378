"""A log of what somebody did and got, one JSON object a line, written at once."""

import json
import time
from pathlib import Path
from typing import Any


class Notes:
    """Appends to one file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path

    def __call__(self, what: str, **fields: Any) -> None:
        """Write one line, with the time."""
        # It is closed each time: a process that is killed has written what it did.
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps({'at': time.time(), 'what': what, **fields})}\n")


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Give all lines of a file. Without a file, there are none."""
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )
