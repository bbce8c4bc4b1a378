"""The processes of one measurement: a private Redis, an app (a floor or the bot), an agent."""

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession
from redis import Redis

from benchmarks.slack import APP_TOKEN, SECRET
from playground.redis_server import ENDS_WITH_US, RedisServer, free_port

ROOT = Path(__file__).parent.parent
READY_WITHIN = 30.0


class EndedError(Exception):
    """A process that is measured has ended by itself, or does not do what it should; with what it logged."""


class Child:
    """A process that answers lines of JSON, or none at all."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log

    async def ask(self, **question: Any) -> dict[str, Any]:
        """Send one line and read one."""
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(question)}\n".encode())
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """Read one line."""
        assert self._process.stdout
        line = await self._process.stdout.readline()
        if not line:
            raise EndedError(self.said)
        found: dict[str, Any] = json.loads(line)
        return found

    @property
    def cpu(self) -> float:
        """Seconds of processor time that it has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def rss(self) -> int:
        """Bytes of memory that it holds."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    @property
    def said(self) -> str:
        """The end of what it has logged."""
        return self._log.read_text()[-2_000:]

    async def ended(self) -> int:
        """Wait until it ends by itself; give its exit code."""
        return await self._process.wait()

    def check(self) -> None:
        """Say what a process that should run has died of."""
        if self._process.returncode is not None:
            raise EndedError(self.said)

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()


@asynccontextmanager
async def child(*arguments: str, **environment: str):
    """Run `python <arguments>` while the body runs."""
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        # An own folder: the bot would read `.env` from where it stands.
        log, variables = Path(folder) / "stderr", {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        with log.open("w") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, cwd=folder, env=variables, stdin=PIPE, stdout=PIPE, stderr=errors,
                limit=1 << 26, preexec_fn=ENDS_WITH_US,
            )  # fmt: skip
        running = Child(process, log)
        try:
            yield running
        finally:
            await running.end()


@contextmanager
def private_redis():
    """Run a Redis of our own, with an append-only file that is not rewritten in the middle of a measurement."""
    with _server() as server:
        yield server.url


@contextmanager
def replicated_redis():
    """Run the same with one replica, and wait until it follows."""
    port = str(free_port())
    with (
        _server("--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0") as primary,
        _server("--replicaof", "127.0.0.1", port),
        Redis.from_url(primary.url) as redis,
    ):
        deadline = time.monotonic() + READY_WITHIN
        redis.set("written", 1, px=1_000)
        while not redis.wait(1, 1_000):
            if time.monotonic() > deadline:
                raise EndedError("the replica does not follow")
        yield primary.url


@contextmanager
def _server(*options: str):
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        server = RedisServer(Path(folder), ("--auto-aof-rewrite-percentage", "0", *options))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def app(
    kind: str,
    redis_url: str,
    api_url: str,
    *,
    over_socket: bool,
    profile: Path | None = None,
    **environment: str,
):
    """Run a floor (`N`, `B`, `BS`) or the bot (`bot`) until it takes clicks; give its port and process.

    With `profile`, the bot runs under cProfile and writes what it found there when it ends.
    """
    port = _free_port()
    settings = {
        "REDIS_URL": redis_url,
        "SLACK_API_URL": api_url,
        "SLACK_BOT_TOKEN": "xoxb-bench",
        "SLACK_SIGNING_SECRET": SECRET,
        "ASSENT_HTTP_HOST": "127.0.0.1",
        "ASSENT_HTTP_PORT": str(port),
        **({"SLACK_APP_TOKEN": APP_TOKEN} if over_socket or kind == "BS" else {}),
        **environment,
        "ASSENT_POLICY": environment.get("ASSENT_POLICY") or str(Path(__file__).with_name("policy.yaml")),
    }
    under = ["-m", "cProfile", "-o", str(profile)] if profile else []
    command = [*under, "-m", "bot"] if kind == "bot" else ["-m", "benchmarks.floors", kind]
    async with child(*command, **settings) as process:
        if kind != "BS":
            await _until_ready(
                process, f"http://127.0.0.1:{port}/{'readyz' if kind == 'bot' else ''}", says_so=kind == "bot"
            )
        yield port, process


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


async def _until_ready(process: Child, url: str, *, says_so: bool) -> None:
    deadline, answer = time.monotonic() + READY_WITHIN, "nothing"
    async with ClientSession() as session:
        while time.monotonic() < deadline:
            process.check()
            try:
                async with session.get(url) as response:
                    if response.status == 200 or not says_so:
                        return
                    answer = await response.text()
            except ClientError:
                pass
            await asyncio.sleep(0.05)
    raise EndedError(
        f"not ready after {READY_WITHIN:g} seconds. It answers {answer}, and has logged: {process.said}"
    )
