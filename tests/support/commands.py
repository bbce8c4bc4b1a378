"""Commands of the bot as processes of their own, each forked from one that has imported everything: that takes most of their time.

`python -m tests.support.commands` is that one. It reads a command a line, and answers with its exit code.
"""

import asyncio
import functools
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_ONE_AT_A_TIME = threading.Lock()


@asynccontextmanager
async def program(*command: str, errors: int = STDOUT, **options: Any) -> AsyncIterator[Process]:
    """Start a process of its own, which ends with the body."""
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=errors, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run_bot(
    *arguments: str, folder: Path, environment: Mapping[str, str], within: float = 40
) -> tuple[int, str, str]:
    """Run `python -m bot` with these arguments to its end; give its exit code, its output and its errors."""
    async with asyncio.timeout(within):
        return await asyncio.to_thread(_run, arguments, folder, environment)


def _run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
    with (
        _ONE_AT_A_TIME,
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as output,
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as errors,
    ):
        asked = {"arguments": arguments, "folder": str(folder), "environment": dict(environment)}
        origin = _origin()
        origin.stdin.write(json.dumps({**asked, "output": output.name, "errors": errors.name}) + "\n")
        origin.stdin.flush()
        return int(origin.stdout.readline()), output.read(), errors.read()


@functools.cache
def _origin() -> subprocess.Popen[str]:
    """Start it once for each process that runs tests. It ends when its input does."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _serve() -> None:
    import bot.cli.commands  # noqa: F401  # so that no command has to

    for line in sys.stdin:
        asked = json.loads(line)
        if not (child := os.fork()):
            return _become(**asked)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def _become(
    arguments: Sequence[str], folder: str, environment: Mapping[str, str], output: str, errors: str
) -> None:
    for number, path, mode in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY),
        (2, errors, os.O_WRONLY),
    ):
        os.dup2(os.open(path, mode), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["bot", *arguments]
    runpy.run_module("bot", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
