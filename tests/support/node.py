"""The npm package and the examples for Node: their packages as the lock files name them, built, and run as another process."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from asyncio.subprocess import Process
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from tests.support.commands import program
from tests.support.lanes import require

EXAMPLES = Path(__file__).parents[2] / "examples" / "node"
PACKAGE = Path(__file__).parents[2] / "packages" / "assent-js"
SCRIPTS = Path(__file__).parents[1] / "node"


def build_examples() -> None:
    """Check and build the TypeScript; skip where there is no Node or no registry."""
    install(EXAMPLES)
    with _alone(PACKAGE):
        npm(EXAMPLES, "run", "build")


def build_package() -> None:
    """Check and build the npm package; skip where there is no Node or no registry."""
    install(PACKAGE)
    with _alone(PACKAGE):
        npm(PACKAGE, "run", "build")


def npm(folder: Path, *arguments: str) -> str:
    """Run npm, and give what it prints."""
    return _output(folder, "npm", *arguments)


def node(folder: Path, *arguments: str) -> str:
    """Run Node, and give what it prints."""
    return _output(folder, "node", *arguments)


def _output(folder: Path, *command: str) -> str:
    done = _run(folder, *command)
    assert done.returncode == 0, done.stdout
    return done.stdout


def install(folder: Path) -> None:
    """Install what the folder's lock file names; skip where there is no Node or no registry."""
    require(
        "Node", shutil.which("node") and shutil.which("npm"), "node and npm (20 or newer) are not on PATH"
    )
    stamp, lock = folder / "node_modules" / ".installed", (folder / "package-lock.json").read_bytes()
    digest = hashlib.sha256(lock).hexdigest()
    with _alone(folder):
        if not stamp.exists() or stamp.read_text() != digest:
            installed = _run(folder, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
            require("Node", installed.returncode == 0, f"npm ci failed: {installed.stdout}")
            stamp.write_text(digest)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes that run tests waiting: npm removes all packages before it installs them."""
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"npm-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )


def example(name: str, *arguments: str, port: int, key: str) -> AbstractAsyncContextManager[Process]:
    """Run a built example beside a bot."""
    bot = {"ASSENT_URL": f"http://127.0.0.1:{port}", "ASSENT_KEY": key}
    command = ("node", str(EXAMPLES / "dist" / f"{name}.js"), *arguments)
    return program(*command, cwd=EXAMPLES, env={"PATH": os.environ["PATH"], **bot})


async def run_tests(name: str, **environment: str) -> tuple[int, str]:
    """Run one file of the package's own tests. Give the exit code, and what was printed."""
    command = ("node", "--test", "--test-force-exit", f"test/{name}")
    async with program(*command, cwd=PACKAGE, env={"PATH": os.environ["PATH"], **environment}) as process:
        printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode()
