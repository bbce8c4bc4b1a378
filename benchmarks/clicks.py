"""Clicks: how many a second, how soon acknowledged, how soon the agent goes on."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.cards import AGENT, PRESSED, all_drawn, all_looked_at
from benchmarks.figures import Bound, Row
from benchmarks.processes import Child, EndedError, app, child, private_redis, replicated_redis
from benchmarks.slack import (
    TEAM,
    Click,
    HttpPeople,
    NotAcknowledgedError,
    Prepare,
    Press,
    Slack,
    Timed,
    at_once,
    at_rate,
)
from playground.demo.keys import make_signing

REPLICATED = {"replicated", "confirmed"}
"""The bot with a Redis that has a replica. The clicks of `confirmed` wait for it."""
BOTS = {"bot", "signed", *REPLICATED}
"""The variants that are our bot. `signed` has a signing key, and its agent a ring."""
SPREAD = 20
"""The actions of one record are pressed so many records apart, so that two presses of it are never on their way."""
WARM_UP = 20
AGENT_WITHIN = 15.0
"""Seconds after the last click within which every agent must have gone on."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one round does with each variant, and for how long."""

    slow_rate: float = 50
    slow_seconds: float = 4
    fast_rate: float = 300
    fast_seconds: float = 3
    burst: int = 1_800
    """With the others, fewer cards than a bot remembers: people press what was posted lately."""


@dataclass
class Stage:
    """An app with people who press and an agent that waits; each click of a floor is a record of its own, and runs it."""

    press: Press
    prepare: Prepare
    app: Child
    agent: Child
    actions: int
    url: str
    """Of its Redis."""
    port: int
    unused: list[str]
    ready: list[str] = field(default_factory=list)
    """Records of which one action is open."""
    figures: dict[str, float] = field(default_factory=dict)

    def records(self, count: float) -> list[str]:
        """Take fresh ones."""
        return [self.unused.pop() for _ in range(int(count))]

    def clicks(self, count: float) -> list[Click]:
        """Take fresh records for about so many clicks on all their actions."""
        records = self.records(count / self.actions)
        placed = [(number + SPREAD * index, index, record) for number, record in enumerate(records)
                  for index in range(self.actions)]  # fmt: skip
        return [(record, index) for _, index, record in sorted(placed)]

    async def warm_up(self) -> None:
        await at_once(self.press, self.prepare, self.clicks(3 * WARM_UP), 4)

    async def burst(self, count: int) -> None:
        """Note clicks a second, 32 at once, and what each costs the app."""
        clicks, used = self.clicks(count), self.app.cpu
        self.figures["rate"] = await at_once(self.press, self.prepare, clicks, 32)
        self.figures["cpu"] = 1e6 * (self.app.cpu - used) / len(clicks)

    async def get_ready(self, count: float) -> None:
        """Decide all but the last action of so many cards.

        So each click that is timed runs an agent, as each click of a floor does: a process that is woken a third as
        often is slower to wake.
        """
        self.ready = self.records(count)
        if before := [(record, index) for index in range(self.actions - 1) for record in self.ready]:
            await at_once(self.press, self.prepare, before, 8)
            await all_looked_at(self.url)

    async def steady(self, rate: float) -> None:
        """Decide what is ready, and note when clicks were acknowledged and when the agent went on."""
        clicks = [(record, self.actions - 1) for record in self.ready]
        timed = await at_rate(self.press, self.prepare, clicks, rate)
        acks = [click.acked - click.sent for click in timed]
        waits = await self._until_agent(timed)
        self.figures[f"ack{rate:g}"] = 1000 * median(acks)
        self.figures[f"agent{rate:g}"] = 1000 * median(waits)
        self.figures[f"agent99-{rate:g}"] = 1000 * quantiles(waits, n=100)[98]

    async def _until_agent(self, timed: Sequence[Timed]) -> list[float]:
        last = {click.record: click.sent for click in timed}
        async with asyncio.timeout(AGENT_WITHIN):
            while True:
                ran = (await self.agent.ask(report=True))["ran"]
                if last.keys() <= ran.keys():
                    return [ran[record] - sent for record, sent in last.items()]
                await asyncio.sleep(0.1)


@asynccontextmanager
async def stage(
    kind: str,
    slack: Slack,
    *,
    timed: float = 0,
    hurried: float = 0,
    over_socket: bool = False,
    redis_url: str | None = None,
    profile: Path | None = None,
    policy: str = "",
    paced: bool = True,
):
    """Set up one variant (`N`, `B`, `BS` or one of `BOTS`) for so many clicks at a steady rate and in bursts."""
    over_socket = over_socket or kind == "BS"
    async with AsyncExitStack() as stack:
        url = redis_url or stack.enter_context(replicated_redis() if kind in REPLICATED else private_redis())
        actions = PRESSED if kind in BOTS else 1
        keys = _keys(Path(stack.enter_context(TemporaryDirectory()))) if kind == "signed" else {}
        count = int(timed + (hurried + 4 * WARM_UP) / actions) + 1
        port, process = await stack.enter_async_context(
            app(
                "bot" if kind in BOTS else kind,
                url,
                f"{slack.url}/api/",
                over_socket=over_socket,
                profile=profile,
                ASSENT_POLICY=policy,
                ASSENT_PACE=str(paced).lower(),
                ASSENT_DURABILITY="replica" if kind == "confirmed" else "local",
                **keys,
            )
        )
        if over_socket:
            await slack.wait_for_sockets(1 if kind == "BS" else 2)
        agent = await stack.enter_async_context(
            child("-m", "benchmarks.agents", "asks" if kind in BOTS else "floor", url, **keys)
        )
        ids = [f"{AGENT}.{number:032x}" for number in range(count)]
        if kind in BOTS:
            ids = (await agent.ask(count=count))["ids"]
            await all_drawn(url)
        else:
            await agent.ask(ids=ids)
        if over_socket:
            made = Stage(slack.press, slack.envelopes, process, agent, actions, url, port, ids)
        else:
            people = await stack.enter_async_context(HttpPeople().connected(port))
            made = Stage(people.press, people.requests, process, agent, actions, url, port, ids)
        try:
            await made.warm_up()
            yield made
        except NotAcknowledgedError as error:
            raise EndedError(process.said) from error
        process.check()


def _keys(folder: Path) -> dict[str, str]:
    """Make a key and a ring with it, as the bot and its agent are told of them."""
    made = make_signing(folder, team=TEAM)
    return {
        "ASSENT_SIGNING_KEY_FILE": str(made.key_path),
        "ASSENT_SEAL_KEY_FILE": str(made.seal_path),
        "ASSENT_RING": str(made.ring_path),
    }


async def in_turn(stages: Collection[Stage], rate: float, seconds: float) -> None:
    """Time clicks on each of them, one right after the other: a machine's pace is not the same a minute later."""
    for made in stages:
        await made.get_ready(rate * seconds)
    for made in stages:
        await made.steady(rate)


async def one_round(slack: Slack, plan: Plan) -> dict[str, dict[str, float]]:
    """Run every variant once, in turn."""
    slow, fast = plan.slow_rate * plan.slow_seconds, plan.fast_rate * plan.fast_seconds
    async with AsyncExitStack() as stack:
        stages = {
            kind: await stack.enter_async_context(
                stage(kind, slack, timed=2 * slow + fast, hurried=plan.burst)
            )
            for kind in ("N", "B", "bot", "signed")
        }
        slack.delay = 0.1
        await in_turn([stages["bot"]], plan.slow_rate, plan.slow_seconds)
        slack.delay = 0.0
        slow_slack = {**stages["bot"].figures}
        await in_turn(stages.values(), plan.slow_rate, plan.slow_seconds)
        await in_turn([stages["B"], stages["bot"], stages["signed"]], plan.fast_rate, plan.fast_seconds)
        for made in stages.values():
            await made.burst(plan.burst)
        found = {"bot, slow Slack": slow_slack, **{kind: made.figures for kind, made in stages.items()}}
    for kind in ("BS", "bot"):
        async with stage(kind, slack, hurried=plan.burst, over_socket=True) as made:
            await made.burst(plan.burst)
            found[f"{kind} over Socket Mode"] = made.figures
    for kind in sorted(REPLICATED):
        async with stage(kind, slack, hurried=plan.burst) as made:
            await made.burst(plan.burst)
            found[kind] = made.figures
    return found


def rows(rounds: Sequence[dict[str, dict[str, float]]]) -> list[Row]:
    """Compare ours with the floors."""

    def of(variant: str, figure: str) -> list[float]:
        return [found[variant][figure] for found in rounds]

    def agent(name: str, figure: str, must: float, aim: float) -> Row:
        return Row(
            name, "ms", "less", Bound(must, "B"), Bound(aim, "B"), of("bot", figure), {"B": of("B", figure)}
        )

    n, b, bs = of("N", "rate"), of("B", "rate"), of("BS over Socket Mode", "rate")
    return [
        Row("clicks/s, 32 at once, HTTP", "", "more", Bound(1.1, "N"), Bound(0.75, "B"), of("bot", "rate"), {"N": n, "B": b}),
        Row("clicks/s, 32 at once, Socket Mode", "", "more", Bound(0.55, "BS"), Bound(0.75, "BS"),
            of("bot over Socket Mode", "rate"), {"BS": bs}),
        Row("ack p50 at 50/s", "ms", "less", Bound(0.3, "N"), Bound(0.2, "N"), of("bot", "ack50"), {"N": of("N", "ack50")}),
        agent("click to agent p50 at 50/s", "agent50", 1.4, 1.25),
        agent("click to agent p50 at 300/s", "agent300", 1.4, 1.25),
        agent("click to agent p99 at 300/s", "agent99-300", 2.5, 2.0),
        Row("click to agent p50, every Slack call 100 ms", "ms", "less", Bound(1.1, "fast Slack"), Bound(1.05, "fast Slack"),
            of("bot, slow Slack", "agent50"), {"fast Slack": of("bot", "agent50")}),
        Row("clicks/s, 32 at once, HTTP, signed", "", "more", Bound(0.75, "unsigned"), Bound(0.85, "unsigned"),
            of("signed", "rate"), {"unsigned": of("bot", "rate")}),
        Row("click to agent p50 at 50/s, signed", "ms", "less", Bound(1.4, "unsigned"), Bound(1.25, "unsigned"),
            of("signed", "agent50"), {"unsigned": of("bot", "agent50")}),
        Row("click to agent p50 at 300/s, signed", "ms", "less", Bound(1.4, "unsigned"), Bound(1.25, "unsigned"),
            of("signed", "agent300"), {"unsigned": of("bot", "agent300")}),
        Row("clicks/s, 32 at once, HTTP, confirmed by a replica", "", "more", Bound(0.5, "local"), Bound(0.7, "local"),
            of("confirmed", "rate"), {"local": of("replicated", "rate")}),
    ]  # fmt: skip
