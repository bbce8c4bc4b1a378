"""`python -m benchmarks`: measure everything in one run and print the table. Quote its ratios, not its times."""

import argparse
import asyncio
import pstats
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import uvloop

from benchmarks import approvals, clicks, drawing, neighbours, receipts, waiting
from benchmarks.figures import table
from benchmarks.slack import Slack


async def measure(rounds: int, *, quick: bool) -> str:
    """Run all of it, and write what was found."""
    plan = clicks.Plan(slow_seconds=3, fast_seconds=2, burst=900) if quick else clicks.Plan()
    window, count = (20.0, 2_000) if quick else (60.0, 10_000)
    async with Slack().running() as slack:
        # All of them only wait for a minute or two, so they wait together.
        announce("idle agent; approvals with Slack's limits on; a channel that another agent floods")
        still, shown, channels = await asyncio.gather(
            waiting.idle(window), approvals.measure(window), neighbours.channel()
        )
        announce("neighbours")
        others = await neighbours.measure(slack, quick=quick)
        announce("10,000 waiting")
        many = await waiting.crowd()
        announce(f"{count:,} pending")
        beside = await waiting.pending(slack, count, rounds)
        announce("receipts in tools")
        checks = receipts.measure()
        announce("cards")
        cards = drawing.measure()
        found = []
        for number in range(1, rounds + 1):
            announce(f"clicks, round {number} of {rounds}")
            found.append(await clicks.one_round(slack, plan))
    rows = [
        *clicks.rows(found),
        *waiting.rows(still, many, beside, count),
        *receipts.rows(checks),
        *drawing.rows(cards),
        *approvals.rows(shown),
        *neighbours.rows(others, channels),
    ]
    return f"{table(rows)}\n\nCPU a click, us: {_cpu(found)}"


async def beside(*, quick: bool) -> str:
    """Measure the neighbours alone."""
    async with Slack().running() as slack:
        found = await neighbours.measure(slack, quick=quick)
    return table(neighbours.rows(found, await neighbours.channel()))


def _cpu(rounds: list[dict[str, dict[str, float]]]) -> str:
    costs = {name: [found[name]["cpu"] for found in rounds] for name in rounds[0] if "cpu" in rounds[0][name]}
    return ", ".join(f"{name} {median(values):.0f}" for name, values in costs.items())


def profile(what: str) -> None:
    """Print where the bot spends its time during 1,800 clicks over `http` or `socket`, or over HTTP where they are `signed`."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "bot.prof"
        uvloop.run(_profiled(found, what))
        pstats.Stats(str(found)).sort_stats("cumulative").print_stats(
            r"/(bot|agent_adapter|slack_bolt|logging)/", 40
        )


async def _profiled(found: Path, what: str) -> None:
    clicks_made, kind = clicks.Plan().burst, "signed" if what == "signed" else "bot"
    async with (
        Slack().running() as slack,
        clicks.stage(kind, slack, hurried=clicks_made, over_socket=what == "socket", profile=found) as made,
    ):
        await made.burst(clicks_made)


def announce(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


def main() -> None:
    asked = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What the bot costs, against floors."
    )
    asked.add_argument("--rounds", type=int, help="of clicks; 5, or 1 with --quick")
    asked.add_argument("--quick", action="store_true", help="a look in some minutes, not to be quoted")
    asked.add_argument(
        "--neighbours", action="store_true", help="what one agent does to the others, and nothing else"
    )
    asked.add_argument(
        "--profile", choices=["http", "socket", "signed"], help="where the bot's time goes, and nothing else"
    )
    options = asked.parse_args()
    if options.profile:
        return profile(options.profile)
    if options.neighbours:
        sys.stdout.write(f"{uvloop.run(beside(quick=options.quick))}\n")
        return None
    rounds = options.rounds or (1 if options.quick else 5)
    sys.stdout.write(f"{uvloop.run(measure(rounds, quick=options.quick))}\n")
    return None


if __name__ == "__main__":
    main()
