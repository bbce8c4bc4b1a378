"""A primary and its replicas, which can be frozen and killed."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from redis import Redis

from playground.redis_server import RedisServer, find_executable, free_port

REPLICAS = 2
_FAST = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class Group:
    """The servers, over one folder of data."""

    def __init__(self, folder: Path, count: int) -> None:
        port = str(free_port())
        self.primary = RedisServer(folder / "p", ("--port", port, "--bind", "127.0.0.1", *_FAST))
        follows = ("--replicaof", "127.0.0.1", port, *_FAST)
        self.replicas = [RedisServer(folder / f"{number}", follows) for number in range(count)]

    def start(self) -> None:
        """Start all of them, and wait until every replica confirms a write."""
        for server in (self.primary, *self.replicas):
            server.start()
        with Redis.from_url(self.primary.url) as redis:
            for _ in range(20):
                redis.set("written", 1, px=1_000)
                if redis.wait(len(self.replicas), 1_000) == len(self.replicas):
                    return
        raise AssertionError("the replicas do not follow")

    def stop(self) -> None:
        """End all of them."""
        for server in (*self.replicas, self.primary):
            server.kill()


@contextmanager
def replicated(count: int = REPLICAS) -> Iterator[Group]:
    """Run a primary and so many replicas while the body runs."""
    # A unix socket's path may have about 100 characters.
    with TemporaryDirectory(prefix="assent-") as folder:
        group = Group(Path(folder), count)
        try:
            group.start()
            yield group
        finally:
            group.stop()


def server_version() -> tuple[int, ...]:
    """Give the version of the server of this machine."""
    said = subprocess.run([find_executable(), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v=(\d+)\.(\d+)", said)
    assert found, said
    return tuple(map(int, found.groups()))


def has_waitaof() -> bool:
    """Whether it has WAITAOF."""
    return server_version() >= (7, 2)
