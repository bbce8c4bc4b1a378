"""`python -m benchmarks.company`: a company for some minutes, and whether anything was lost, doubled or late."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.company.checker import check, read_history
from benchmarks.company.day import Day
from benchmarks.company.report import write_report
from benchmarks.company.stage import Company, Stage


def main() -> int:
    """Run what is left of the day in the folder, and say what was found; 1 when an invariant is broken."""
    options = _options()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="assent-company-"))
    company = Company(options.agents, options.bots, options.channels, is_clustered=not options.single)
    day = Day(options.minutes, options.agents, options.channels, options.per_minute, options.seed)
    keep_plan(folder, {"day": _asdict(day), "company": asdict(company), "leg": options.leg})
    for number, span in enumerate(day.legs(options.leg), 1):
        leg = folder / f"leg-{number}"
        if not (leg / "done").exists():
            _say(f"leg {number}: minutes {span[0]:.1f} to {span[1]:.1f}, in {leg}")
            # A leg that was cut short cannot be checked: the stand-in for Slack forgets with its process.
            shutil.rmtree(leg, ignore_errors=True)
            asyncio.run(Stage(company, day, span, leg).run())
            (leg / "done").touch()
    legs = sorted(folder.glob("leg-*"))
    write_report(folder, legs)
    findings = [finding for leg in legs for finding in check(read_history(leg))]
    sys.stdout.write((folder / "report.md").read_text())
    return int(any(finding.faults or not finding.looked for finding in findings))


def keep_plan(folder: Path, plan: dict[str, object]) -> None:
    """Note what is run in this folder.

    Raises:
        SystemExit: when something else was begun there.
    """
    path = folder / "plan.json"
    folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and json.loads(path.read_text()) != plan:
        sys.exit(f"{path} says that another day was begun there: give the same arguments, or another folder")
    path.write_text(json.dumps(plan, indent=1))


def _asdict(day: Day) -> dict[str, object]:
    return {name: value for name, value in asdict(day).items() if name != "phases"}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.company", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the day (60)")
    parser.add_argument(
        "--folder", type=Path, help="what is written; a second call with it goes on or reports"
    )
    parser.add_argument(
        "--leg", type=float, default=10.0, help="minutes after which everything is started anew"
    )
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--bots", type=int, default=4, help="at most 4 of them take clicks")
    parser.add_argument("--channels", type=int, default=10)
    parser.add_argument(
        "--per-minute", type=float, default=1.5, help="questions of an agent in a usual minute"
    )
    parser.add_argument("--single", action="store_true", help="one Redis, without failovers")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    sys.exit(main())
