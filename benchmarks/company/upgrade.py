"""`python -m benchmarks.company.upgrade COMMIT…`: bots and agents go from version to version while people decide.

It begins with the code of the first commit and ends with the code that is here. Bots are replaced first, one after the
other, then agents. The checker says whether anything was lost, doubled or late. What is played needs the git history.
"""

import argparse
import asyncio
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from itertools import chain
from pathlib import Path

from benchmarks.company.checker import check, read_history
from benchmarks.company.day import Day, Phase
from benchmarks.company.stage import Company, Stage
from benchmarks.processes import ROOT

PACKAGES = ("agent_adapter", "bot")


def phases(versions: int) -> tuple[Phase, ...]:
    """Give a day in which first the bots and then the agents take each next version."""
    first = Phase("the first version", 1, 1.0)
    return (
        first,
        *chain.from_iterable(
            (
                Phase(f"bots of version {number}", 2, 1.0, events=("upgrade_bots",)),
                Phase(f"agents of version {number}", 2, 1.0, events=("upgrade_agents",)),
            )
            for number in range(2, versions + 1)
        ),
    )


def unpack(commit: str, code: Path) -> Path:
    """Put the bot and the library of a commit into a new folder, with the agents and people of today beside them."""
    packed = subprocess.run(["git", "archive", commit, *PACKAGES], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(code, filter="data")
    (code / "benchmarks").symlink_to(ROOT / "benchmarks")
    return code


def main() -> int:
    """Play it, and say what each invariant found; 1 when one is broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.company.upgrade", description=__doc__.splitlines()[0]
    )
    parser.add_argument("commits", nargs="+", help="earlier versions, oldest first")
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--bots", type=int, default=2)
    parser.add_argument("--per-minute", type=float, default=6.0, help="questions of an agent")
    parser.add_argument("--folder", type=Path, help="what is written down")
    options = parser.parse_args()
    played = options.folder or Path(tempfile.mkdtemp(prefix="assent-upgrade-"))
    if played.exists() and any(played.iterdir()):
        parser.error(f"{played} is not empty: choose another --folder")
    with tempfile.TemporaryDirectory(prefix="assent-versions-") as folder:
        earlier = [unpack(commit, Path(folder) / str(n)) for n, commit in enumerate(options.commits, 1)]
        versions = [*earlier, ROOT]
        day = Day(
            options.minutes, options.agents, options.agents, options.per_minute, phases=phases(len(versions))
        )
        company = Company(options.agents, options.bots, options.agents, is_clustered=False)
        asyncio.run(Stage(company, day, (0.0, options.minutes), played, versions).run())
    history = read_history(played)
    findings = check(history)
    sys.stdout.write(f"{len(history.asked)} questions, {len(versions)} versions, in {played}\n")
    for finding in findings:
        sys.stdout.write(
            f"{'BROKEN' if finding.faults else 'holds':6}  {finding.invariant} ({finding.looked})\n"
        )
        sys.stdout.writelines(f"        {fault}\n" for fault in finding.faults[:20])
    return int(any(finding.faults or not finding.looked for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
