"""`python -m benchmarks.company.upgrade COMMIT…`: bots and agents go from version to version while people decide.

It begins with the code of the first commit and ends with the code that is here, also where it is not committed. Bots are
replaced first, one after the other, then agents. The checker says whether anything was lost, doubled or late. What is played
needs the git history.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path

from benchmarks.company.checker import check, read_history
from benchmarks.company.day import Day, Phase
from benchmarks.company.stage import Company, Stage
from benchmarks.processes import ROOT, EndedError

PACKAGES = ("agent_adapter", "bot")
_STARTS = "import bot.app, benchmarks.company.agent"
"""What has to work with the code of a version, since today's agents run with it."""


def phases(versions: Sequence[str]) -> tuple[Phase, ...]:
    """Give a day in which first the bots and then the agents take each next version. The names of versions are shown."""
    first, *others = versions
    return (
        Phase(f"all bots and agents are {first}", 1, 1.0),
        *chain.from_iterable(
            (
                Phase(f"bots are replaced by {name}", 2, 1.0, events=("upgrade_bots",)),
                Phase(f"agents are replaced by {name}", 2, 1.0, events=("upgrade_agents",)),
            )
            for name in others
        ),
    )


def name_of(commit: str) -> str:
    """Give the short hash of a commit.

    Raises:
        SystemExit: when there is none of that name.
    """
    found = _git("rev-parse", "--verify", "--quiet", "--short", f"{commit}^{{commit}}")
    if found.returncode:
        sys.exit(f"no commit is called {commit!r} here: choose one that `git log --oneline` lists")
    return found.stdout.decode().strip()


def unpack(commit: str, code: Path) -> Path:
    """Put the bot and the library of a commit into a new folder, with the agents and people of today beside them.

    Raises:
        SystemExit: when today's agents do not work with them.
    """
    packed = _git("archive", commit, *PACKAGES)
    if packed.returncode:
        sys.exit(_too_old(commit, packed.stderr))
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(code, filter="data")
    (code / "benchmarks").symlink_to(ROOT / "benchmarks")
    started = subprocess.run(
        [sys.executable, "-c", _STARTS],
        cwd=code,
        env={**os.environ, "PYTHONPATH": str(code)},
        check=False,
        capture_output=True,
    )
    if started.returncode:
        sys.exit(_too_old(commit, started.stderr))
    return code


def _too_old(commit: str, said: bytes) -> str:
    reason = (said.decode().strip().splitlines() or ["it does not start"])[-1]
    return f"{commit} is too old to be played with the agents of today ({reason}): choose a later commit"


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=ROOT, check=False, capture_output=True)


def main() -> int:
    """Play it, and say what each invariant found; 1 when one is broken, or when there was nothing to look at."""
    options, played = _options()
    try:
        return _play(options, played)
    except KeyboardInterrupt:
        sys.exit(f"stopped before the end, so nothing was checked. What was written down is in {played}")
    except EndedError as error:
        sys.exit(
            f"{error}\nA bot or an agent ended by itself, and said this. What was written down is in {played}"
        )


def _play(options: argparse.Namespace, played: Path) -> int:
    names = [name_of(commit) for commit in options.commits]
    here = f"the code here ({_git('describe', '--always', '--dirty').stdout.decode().strip()})"
    with tempfile.TemporaryDirectory(prefix="assent-versions-") as folder:
        versions = [*(unpack(name, Path(folder) / str(n)) for n, name in enumerate(names, 1)), ROOT]
        day = Day(
            options.minutes, options.agents, options.agents, options.per_minute, phases=phases([*names, here])
        )
        company = Company(options.agents, options.bots, options.agents, is_clustered=False)
        asyncio.run(Stage(company, day, (0.0, options.minutes), played, versions, say=_say).run())
    history = read_history(played)
    findings = check(history)
    sys.stdout.write(f"{len(history.asked)} questions, from {', '.join(names)} to {here}, in {played}\n")
    for finding in findings:
        sys.stdout.write(
            f"{'BROKEN' if finding.faults else 'holds':6}  {finding.invariant} ({finding.looked})\n"
        )
        sys.stdout.writelines(f"        {fault}\n" for fault in finding.faults[:20])
    if is_empty := any(not finding.looked for finding in findings):
        sys.stdout.write("Where it says (0), there was nothing to look at: give it more --minutes.\n")
    return int(is_empty or any(finding.faults for finding in findings))


def _options() -> tuple[argparse.Namespace, Path]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.company.upgrade",
        description=__doc__.partition("`: ")[2],
    )
    parser.add_argument(
        "commits",
        nargs="+",
        metavar="COMMIT",
        help="earlier versions, oldest first: hashes, tags or branches",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=6.0,
        help="for how long agents ask, all versions together (%(default)s)",
    )
    parser.add_argument("--agents", type=int, default=6, help="how many agents (%(default)s)")
    parser.add_argument(
        "--bots", type=int, default=2, help="how many bots; at most 4 of them take clicks (%(default)s)"
    )
    parser.add_argument("--per-minute", type=float, default=6.0, help="questions of an agent (%(default)s)")
    parser.add_argument(
        "--folder", type=Path, help="where to write what happens; otherwise a new one in /tmp"
    )
    options = parser.parse_args()
    for name in ("minutes", "agents", "bots", "per_minute"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} has to be more than 0")
    if options.folder and options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty: choose another --folder")
    return options, options.folder or Path(tempfile.mkdtemp(prefix="assent-upgrade-"))


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    sys.exit(main())
