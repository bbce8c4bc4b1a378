"""`python -m benchmarks.failovers`: planned and unplanned failovers under approvals. Is what Slack accepted kept?

Two bots, four agents and a stand-in for Slack go on working while the primary changes. Each failover has its own approvals
and is one line in `failovers.jsonl`. The same command goes on where it was stopped.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from agent_adapter import ApprovalClient
from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import freeze_meta, open_redis
from benchmarks.approving import LOOK_AFTER, Load
from benchmarks.processes import app, child
from bot.store.audit import AuditStore
from bot.store.records import ApprovalStore
from playground.client import Control
from playground.clusters import Cluster
from playground.sentinels import Sentinels
from tests.faults.flow import PEOPLE
from tests.support.faults import CHANNEL, Watcher, watching

AGENTS = ("billing", "payroll", "refunds", "deploys")
BOTS = 2
WARM, AFTER = 2.0, 3.0
"""Seconds of approvals before the primary changes, and after it."""
KINDS = ("planned", "unplanned")
Service = Sentinels | Cluster


@dataclass(frozen=True)
class Campaign:
    """What is tried, and the folder in which it is written down."""

    folder: Path
    options: argparse.Namespace

    @property
    def _lines(self) -> Path:
        return self.folder / "failovers.jsonl"

    def begin(self) -> None:
        """Write down how it is tried.

        Raises:
            SystemExit: when this folder has what was tried otherwise.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        given = {name: value for name, value in vars(self.options).items() if name not in {*KINDS, "folder"}}
        settings = self.folder / "settings.json"
        if settings.exists() and json.loads(settings.read_text()) != given:
            sys.exit(
                f"{settings} says that this folder was begun with other options: choose another --folder"
            )
        settings.write_text(json.dumps(given, indent=2) + "\n")

    def done(self) -> list[dict[str, Any]]:
        """Give the failovers so far. A line that was not written to its end does not count."""
        text = self._lines.read_text() if self._lines.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]

    def left(self) -> list[str]:
        """Say which kinds are still to be tried, in any order."""
        done = [each["kind"] for each in self.done()]
        left = [kind for kind in KINDS for _ in range(getattr(self.options, kind) - done.count(kind))]
        random.shuffle(left)
        return left

    def note(self, found: dict[str, Any]) -> None:
        """Keep what one failover did, on a line of its own also after one that was not finished."""
        unfinished = self._lines.exists() and not self._lines.read_text().endswith("\n")
        with self._lines.open("a") as lines:
            lines.write("\n" * unfinished + json.dumps(found) + "\n")


@dataclass(frozen=True)
class Stage:
    """Everything that runs during a campaign."""

    service: Service
    clients: list[ApprovalClient]
    slack: Control
    store: ApprovalStore
    audit: AuditStore
    watcher: Watcher

    async def fail_over(self, kind: str, options: argparse.Namespace) -> dict[str, Any]:
        """Have approvals, change the primary in the middle of them, and say what became of them."""
        change = partial(hand_over, pause=not options.no_pause) if kind == "planned" else kill_primary
        load, stop = Load(self.clients, self.slack, self.store, self.watcher), asyncio.Event()
        running = asyncio.create_task(load.run(stop, options.rate))
        await asyncio.sleep(WARM)
        started = time.monotonic()
        try:
            await asyncio.to_thread(change, self.service)
            took = time.monotonic() - started
            await asyncio.sleep(AFTER)
        finally:
            stop.set()
        await running
        counts = await load.counts(self.audit)
        return {"kind": kind, "took": round(took, 2), **counts._asdict()}


def hand_over(service: Service, *, pause: bool) -> None:
    """Do it in order, as an operator."""
    match service:
        case Sentinels():
            service.fail_over(pause=pause)
        case Cluster():
            service.fail_over(random.choice(service.primaries()))


def kill_primary(service: Service) -> None:
    """Kill the primary, and start it again when another server has taken over."""
    match service:
        case Sentinels():
            service.bring_back(service.kill_primary())
        case Cluster():
            killed = random.choice(service.primaries())
            service.kill(killed)
            service.bring_back(killed)


@asynccontextmanager
async def stage(options: argparse.Namespace) -> AsyncIterator[Stage]:
    """Start everything, and end it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assent-")))
        service = Cluster(folder) if options.on == "cluster" else Sentinels(folder, options.min_replicas)
        stack.callback(service.stop)
        service.start()
        slack = await stack.enter_async_context(child("-m", "playground", "--no-limits"))
        known = await slack.answer()
        control = await stack.enter_async_context(Control(known["url"]))
        settings = {
            "SLACK_BOT_TOKEN": known["SLACK_BOT_TOKEN"],
            "SLACK_APP_TOKEN": known["SLACK_APP_TOKEN"],
            "ASSENT_APPROVERS": ",".join(PEOPLE),
            "ASSENT_CHANNEL": CHANNEL,
            "ASSENT_PACE": "false",
            "ASSENT_DURABILITY": options.durability,
        }
        for _ in range(BOTS):
            bot = app("bot", service.url, known["SLACK_API_URL"], over_socket=True, **settings)
            await stack.enter_async_context(bot)
        redis = await stack.enter_async_context(open_redis(service.url, keeps_bytes=True))
        keys: Keys = await freeze_meta(redis, "assent")
        yield Stage(
            service,
            [
                await stack.enter_async_context(ApprovalClient.from_url(service.url, agent=name))
                for name in AGENTS
            ],
            control,
            ApprovalStore(redis, keys),
            AuditStore(redis, keys),
            await stack.enter_async_context(watching(control)),
        )


def table(found: Sequence[dict[str, Any]]) -> str:
    """Sum up the failovers of each kind."""
    head = ("failovers", "kind", "accepted", "reached the agent", "lost", "of that, untold", "doubled", f"wrong after {LOOK_AFTER:g} s", "longest pause, s")  # fmt: skip
    rows = [head, tuple("---" for _ in head)]
    for kind in KINDS:
        if ours := [each for each in found if each["kind"] == kind]:
            sums = [
                str(sum(each[name] for each in ours))
                for name in ("accepted", "reached", "lost", "untold", "doubled", "wrong")
            ]
            pauses = [each["longest"] for each in ours]
            rows.append((str(len(ours)), kind, *sums, f"{median(pauses):.1f} (at most {max(pauses):.1f})"))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


async def run(campaign: Campaign) -> None:
    """Try what is left."""
    if not (left := campaign.left()):
        return
    async with stage(campaign.options) as everything:
        for number, kind in enumerate(left, 1):
            found = await everything.fail_over(kind, campaign.options)
            campaign.note(found)
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {number} of {len(left)}: {json.dumps(found)}\n")


def main() -> int:
    """Do what the command line says. Fails when something was doubled, wrong, lost untold, or lost where clicks wait for replicas."""
    asked = argparse.ArgumentParser(
        prog="python -m benchmarks.failovers", description=__doc__.splitlines()[0]
    )
    asked.add_argument("--planned", type=int, default=3, help="how many failovers in order; 3")
    asked.add_argument("--unplanned", type=int, default=3, help="how often the primary is killed; 3")
    asked.add_argument("--on", choices=["sentinel", "cluster"], default="sentinel")
    asked.add_argument("--rate", type=float, default=20, help="approvals a second; 20")
    asked.add_argument("--durability", choices=["local", "replica"], default="local", help="of the bots")
    asked.add_argument(
        "--min-replicas", type=int, default=1, help="`min-replicas-to-write` behind Sentinels; 1"
    )
    asked.add_argument(
        "--no-pause", action="store_true", help="planned ones behind Sentinels without CLIENT PAUSE before"
    )
    asked.add_argument("--set", action="append", default=[], metavar="ASSENT_X=…", help="for bots and agents")
    asked.add_argument(
        "--folder", type=Path, default=Path(".data/failovers"), help="where it is written down"
    )
    options = asked.parse_args()
    os.environ.update(each.split("=", 1) for each in options.set)
    campaign = Campaign(options.folder, options)
    campaign.begin()
    asyncio.run(run(campaign))
    found = campaign.done()
    sys.stdout.write(f"{table(found)}\n")
    faults = ("untold" if options.durability == "local" else "lost", "doubled", "wrong")
    return int(any(each[name] for each in found for name in faults))


if __name__ == "__main__":
    sys.exit(main())
