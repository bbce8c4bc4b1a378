"""Run tests over one mutation: in a copy of the checkout, so that nobody ever finds a fault in theirs."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutations.mutation import Mutation

HERE = Path(__file__).parents[1]
HANGS = 20
"""Seconds after which a single test counts as one that hangs."""
NOTHING_STARTS = "nothing starts"
"""In place of a test: not even importing works."""


@dataclass(frozen=True)
class Result:
    """What became of one mutation."""

    place: str
    """As `Mutation.place`."""
    verdict: str
    """`caught`, `survived`, `uncovered`: no test runs it, or `timed out`: the machine was too busy, try it again."""
    by: str = ""
    """The test that caught it."""
    tests: int = 0
    seconds: float = 0.0


class Copy:
    """A copy of the checkout's files, into which one mutation is put at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if not (root / name).exists():
                continue  # deleted, and not committed yet
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name, follow_symlinks=False)

    @contextlib.contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Have the mutation in the copy for as long as the body runs."""
        path = self.folder / mutation.file
        source, stat = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutation.applied(source), encoding="utf-8")
        # Python knows compiled files by the second and the size.
        os.utime(path, (time.time(), stat.st_mtime + 1 + mutation.start))
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def first_failure(self, tests: Sequence[str], seconds: float) -> str:
        """Run tests until one fails, and give that one; or '' when all pass.

        Raises:
            TimeoutError: when they take longer.
            FileNotFoundError: when the file of a test is not there.
        """
        for file in {test.partition("::")[0] for test in tests}:
            (self.folder / file).stat()
        failed = self.folder / ".data" / "failed"
        failed.parent.mkdir(exist_ok=True)
        failed.unlink(missing_ok=True)
        options = ["-q", "-x", "--no-header", "--timeout", str(HANGS), "-p", "mutations.failing"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(HERE), "MUTATIONS_FAILED": str(failed)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            if not failed.exists():
                raise TimeoutError from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            return ""
        return failed.read_text() if failed.exists() else NOTHING_STARTS


def judge(copy: Copy, mutation: Mutation, tests: Sequence[str], seconds: float) -> Result:
    """Put the mutation in, and tell whether a test fails because of it."""
    if not tests:
        return Result(mutation.place, "uncovered")
    began = time.monotonic()
    try:
        with copy.mutated(mutation):
            by = copy.first_failure(tests, seconds)
    except TimeoutError:
        return Result(mutation.place, "timed out", tests=len(tests), seconds=seconds)
    took = round(time.monotonic() - began, 1)
    return Result(mutation.place, "caught" if by else "survived", by, len(tests), took)
