"""`python -m benchmarks.growth`: what 1,000 to 1,000,000 pending records cost, and 50,000 waits in one process.

Each step keeps its figures and the records of its Redis in the folder, so a second call goes on where the first one ended.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from redis import Redis

from agent_adapter import ApprovalClient
from benchmarks import clicks
from benchmarks.cards import KEYS, all_looked_at, ask_in_bulk, dump_interrupt, interrupt, show_in_bulk
from benchmarks.charts import lines
from benchmarks.processes import Child
from benchmarks.slack import Slack
from benchmarks.waiting import waiting_agent
from playground.redis_server import RedisServer

STEPS = (1_000, 10_000, 100_000, 1_000_000)
WAITS = 50_000
FEW_WAITS = 1_000
DAYS = 7 * 86_400_000
"""The longest life of a question: no deadline passes while this runs."""
CHUNK = 20_000
SAVED_EVERY = 200_000
"""Records after which a call that was stopped goes on."""
QUESTIONS = 300
CLICKS = 350
RATE = 50.0
REST = 20.0
"""Seconds of a bot to which nothing happens."""
SWEEP = 5.0
"""Seconds between two looks at whether the bot is at rest."""
BUSY = 0.02
"""The share of a core that Redis takes at least while a bot sweeps."""
SWEPT_WITHIN = 300.0
LOADED_WITHIN = 300.0
"""Seconds in which Redis reads some GB from disk."""
SPARE = 2 << 30
"""Bytes of memory that stay free."""
GUESS = 4_000
"""Bytes of a record, as long as none was weighed."""

Figures = dict[str, float]


class TooLargeError(Exception):
    """The machine has not enough memory for the next step."""


@dataclass
class Server:
    """A Redis whose records outlive it, in one snapshot and without a log: only its memory and its time are looked at."""

    folder: Path

    @contextmanager
    def running(self) -> Iterator[str]:
        self.folder.mkdir(exist_ok=True)
        options = ("--appendonly", "no", "--dir", str(self.folder), "--dbfilename", "pending.rdb")
        # A unix socket's path may have about 100 characters, and the folder is the user's.
        with tempfile.TemporaryDirectory(prefix="assent-bench-") as short:
            server = RedisServer(Path(short), options, ready_within=LOADED_WITHIN)
            server.start()
            try:
                yield server.url
            finally:
                server.kill()


async def measure(folder: Path, most: int, slack: Slack) -> tuple[dict[int, Figures], str]:
    """Give the figures of every step up to this count, and the sentence that says why it ended earlier."""
    found: dict[int, Figures] = {}
    for count in (step for step in STEPS if step <= most):
        try:
            found[count] = await _once(folder / f"pending-{count}.json", partial(_step, folder, count, slack))
        except TooLargeError as error:
            return found, str(error)
    return found, ""


async def _once(path: Path, work: Callable[[], Awaitable[Figures]]) -> Figures:
    if (figures := _kept(path)) is None:
        figures = await work()
        _keep(path, figures)
    return figures


def _kept(path: Path) -> Figures | None:
    return json.loads(path.read_text()) if path.exists() else None


def _keep(path: Path, figures: Figures) -> None:
    path.write_text(json.dumps(figures, indent=1))


async def _step(folder: Path, count: int, slack: Slack) -> Figures:
    with Server(folder / "redis").running() as url, ExitStack() as stack:
        redis = stack.enter_context(Redis.from_url(url, decode_responses=True, socket_timeout=900))
        figures = await _fill(redis, url, count)
        redis.save()
        say(f"{count:,} pending: {figures['bytes']:,.0f} bytes each; clicks, publishes and rest")
        # Without Slack's pace, a card is drawn at once, so what it costs is seen at once.
        served = _cpu(redis)
        async with clicks.stage("bot", slack, timed=CLICKS, redis_url=url, paced=False) as made:
            await _until_rest(redis)
            figures["start_redis_s"] = _cpu(redis) - served
            figures |= await _rest(redis, made.app)
            figures |= await _ask(redis, url, made.app)
            figures |= await _click(redis, url, made)
        return figures


async def _fill(redis: Redis, url: str, count: int) -> Figures:
    """Have so many pending records, and weigh them."""
    had = redis.zcard(KEYS.due)
    each = redis.info("memory")["used_memory"] / had if had else GUESS
    _check_memory(count, each * (count - had) * 1.15)
    while (left := count - redis.zcard(KEYS.due)) > 0:
        ids = ask_in_bulk(redis, min(left, CHUNK), lifetime=DAYS)
        await show_in_bulk(url, ids)
        # The audit is kept for some days, whatever is pending: it is weighed apart.
        redis.delete(KEYS.audit)
        say(f"{count - left + len(ids):,} of {count:,}")
        if (count - left + len(ids)) % SAVED_EVERY == 0:
            redis.save()
    used = redis.info("memory")
    return {
        "bytes": (used["used_memory"] - used["used_memory_startup"]) / count,
        "body": len(dump_interrupt(interrupt())),
    }


def _check_memory(count: int, needed: float) -> None:
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    if needed + SPARE > free:
        raise TooLargeError(
            f"{count:,} pending records need {needed / 1e9:.1f} GB more, and this machine has {free / 1e9:.1f} GB free, of "
            f"which {SPARE / 1e9:.1f} stay free: here it ends"
        )


async def _ask(redis: Redis, url: str, bot: Child) -> Figures:
    """Ask questions, and look at what each costs until its card is drawn."""
    served, used = _cpu(redis), bot.cpu
    async with ApprovalClient.from_url(url, agent="bench") as client:
        for _ in range(QUESTIONS):
            await client.publish(interrupt(apart=True))
    await all_looked_at(url)
    return {
        "ask_bot_us": 1e6 * (bot.cpu - used) / QUESTIONS,
        "ask_redis_us": 1e6 * (_cpu(redis) - served) / QUESTIONS,
    }


async def _click(redis: Redis, url: str, made: clicks.Stage) -> Figures:
    """Time clicks that settle a card, and look at what each costs until the card shows it."""
    await made.get_ready(CLICKS - RATE)
    served, used = _cpu(redis), made.app.cpu
    await made.steady(RATE)
    await all_looked_at(url)
    return {
        "click_ms": made.figures[f"agent{RATE:g}"],
        "click_bot_us": 1e6 * (made.app.cpu - used) / len(made.ready),
        "click_redis_us": 1e6 * (_cpu(redis) - served) / len(made.ready),
    }


async def _until_rest(redis: Redis) -> None:
    """Return once the bot has swept what there is, which it does when it starts and every ten minutes."""
    async with asyncio.timeout(SWEPT_WITHIN):
        share = 1.0
        while share > BUSY:
            before = _cpu(redis)
            await asyncio.sleep(SWEEP)
            share = (_cpu(redis) - before) / SWEEP


async def _rest(redis: Redis, bot: Child) -> Figures:
    """Look at a bot to which nothing happens."""
    began, used, served = time.monotonic(), bot.cpu, _cpu(redis)
    await asyncio.sleep(REST)
    passed = time.monotonic() - began
    own, served = bot.cpu - used, _cpu(redis) - served
    return {
        "rest_percent": 100 * own / passed,
        "rest_redis_percent": 100 * served / passed,
    }


def _cpu(redis: Redis) -> float:
    used = redis.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


async def crowd(count: int) -> Figures:
    """Weigh waits in one process, compared with a process that has a few; then look at it at rest."""
    few = FEW_WAITS
    async with waiting_agent(few) as (agent, _):
        before = agent.rss
    say(f"{count:,} waits in one process")
    async with waiting_agent(count) as (agent, _):
        first = await agent.ask(report=True)
        await asyncio.sleep(REST)
        last = await agent.ask(report=True)
        return {
            "count": count,
            "each": (agent.rss - before) / (count - few),
            "rss": agent.rss / (1 << 20),
            "rest_percent": 100 * (last["cpu"] - first["cpu"]) / (last["at"] - first["at"]),
        }


# --- What was found ---------------------------------------------------------------------------------------------------

RATIOS = {
    "ask_bot_us": "bot, a card",
    "ask_redis_us": "Redis, a card",
    "click_bot_us": "bot, a click",
    "click_redis_us": "Redis, a click",
}
"""Processor time, compared with 1,000 pending in the same run."""


def page(found: dict[int, Figures], waits: Figures | None) -> str:
    """Write the tables."""
    first = found[min(found)]
    head = ["Pending", "Bytes each", *RATIOS.values(), "Bot at rest", "Redis at rest", "Redis after a start"]
    rows = [
        [
            f"{count:,}",
            f"{figures['bytes']:,.0f}",
            *(f"{figures[name] / first[name]:.2f}" for name in RATIOS),
            f"{figures['rest_percent']:.1f} %",
            f"{figures['rest_redis_percent']:.1f} %",
            f"{figures['start_redis_s']:.1f} s",
        ]
        for count, figures in found.items()
    ]
    table = [head, ["---"] * len(head), *rows]
    text = "\n".join(f"| {' | '.join(row)} |" for row in table)
    if waits:
        text += (
            f"\n\n{waits['count']:,.0f} waits in one process: {waits['each']:,.0f} bytes each, {waits['rss']:,.0f} MiB in all, "
            f"{waits['rest_percent']:.2f} % of a core at rest."
        )
    return f"{text}\n"


def chart(found: dict[int, Figures]) -> str:
    """Draw the ratios."""
    first = found[min(found)]
    series = {
        words: [(float(count), figures[name] / first[name]) for count, figures in found.items()]
        for name, words in RATIOS.items()
    }
    return lines(
        "Processor time beside more pending records", "pending records", "ratio", series, is_log_x=True
    )


async def run(folder: Path, most: int, waits: int) -> str:
    """Do what the folder does not have yet; give the page."""
    crowded = await _once(folder / f"waits-{waits}.json", partial(crowd, waits)) if waits else None
    async with Slack().running() as slack:
        found, ended = await measure(folder, most, slack)
    return write_page(folder, found, crowded, ended)


def write_page(folder: Path, found: dict[int, Figures], waits: Figures | None, ended: str) -> str:
    """Write `growth.md` and `growth.svg` into the folder; give the page."""
    (folder / "growth.svg").write_text(chart(found) if found else "")
    text = f"{page(found, waits) if found else ''}\n{ended}\n"
    (folder / "growth.md").write_text(text)
    return text


def say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--folder", type=Path, help="figures and records; a second call with it goes on")
    parser.add_argument("--most", type=int, default=STEPS[-1], help="pending records at the end (1,000,000)")
    parser.add_argument("--waits", type=int, default=WAITS, help="waits in one process; 0 leaves them out")
    options: Any = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="assent-growth-"))
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(asyncio.run(run(folder, options.most, options.waits)))


if __name__ == "__main__":
    main()
