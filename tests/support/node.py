"""The examples for Node: their packages as the lock file names them, built, and run as another process."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.support.lanes import require

EXAMPLES = Path(__file__).parents[2] / "examples" / "node"
SCRIPTS = Path(__file__).parents[1] / "node"


def build_examples() -> None:
    """Check and build the TypeScript; skip where there is no Node or no registry."""
    install(EXAMPLES)
    built = _run(EXAMPLES, "npm", "run", "build")
    assert built.returncode == 0, built.stdout


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


@asynccontextmanager
async def example(
    name: str, *arguments: str, port: int, key: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a built example beside a bot."""
    process = await asyncio.create_subprocess_exec(
        "node",
        str(EXAMPLES / "dist" / f"{name}.js"),
        *arguments,
        cwd=EXAMPLES,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "ASSENT_URL": f"http://127.0.0.1:{port}", "ASSENT_KEY": key},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
