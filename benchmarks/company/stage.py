"""One leg of the day: start everything, let it run, break what the day says, and keep what everybody wrote down."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cards import CHANNEL
from benchmarks.company.agent import LEG
from benchmarks.company.day import Day, Event, Span, channel_names
from benchmarks.company.notes import Notes, read_notes
from benchmarks.company.people import People, person_names
from benchmarks.processes import ROOT, Child, EndedError, app, child, private_redis
from playground.client import Control
from playground.clusters import Cluster, cluster

STAFF = 20
LEASE = 10
"""Seconds, so that the work of a bot that was killed is taken over within this short day."""
SLACK_TIMEOUT = 6
BACK_AFTER = 3.0
"""Seconds until what was killed is started again."""
LOOK_EVERY = 2.0
DRAIN_WITHIN = 240.0
"""Seconds that agents may take to end after the last minute."""
NOTED_WITHIN = 60.0
"""Seconds until the audit trail must have what agents did last."""


@dataclass(frozen=True, slots=True)
class Company:
    """How much of everything there is."""

    agents: int = 20
    bots: int = 4
    channels: int = 10
    is_clustered: bool = True
    urgent_seconds: float = 30.0
    """How long people may take for an urgent question."""


class Stage:
    """The processes of one leg."""

    def __init__(
        self,
        company: Company,
        day: Day,
        span: tuple[float, float],
        folder: Path,
        versions: Sequence[Path] = (ROOT,),
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Be ready to play it.

        Args:
            company: How much of everything there is.
            day: What happens when.
            span: The minutes of the day that are played.
            folder: What is written down.
            versions: Folders with the code of bots and agents. They begin with the first, and each upgrade takes the next.
            say: Is given each phase that begins, in words.
        """
        self.company, self.day, self.span, self.folder, self._say = company, day, span, folder, say
        self._versions = {"bot": list(versions), "agent": list(versions)}
        self.note = Notes(folder / "events.jsonl")
        self._machine = Notes(folder / "machine.jsonl")
        self._children: dict[str, Child] = {}
        self._servers: Cluster | None = None
        self._down: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Play the leg to its end. What was written stays in the folder."""
        async with AsyncExitStack() as stack:
            url = self._start_redis(stack)
            slack = await self._start_slack(stack)
            await self._start_bots(stack, url)
            self._people = People(
                slack,
                Notes(self.folder / "people.jsonl"),
                person_names(STAFF),
                self.company.urgent_seconds,
                self.day.seed,
            )
            await self._beside(stack, self._people.watch())
            await self._beside(stack, self._look())
            await self._beside(stack, self._keep_calls())
            await self._start_agents(stack, url)
            started = time.time() + 1.0
            self._write_leg(started)
            self.note("started")
            await self._play(started, stack, url)
            await self._drain()
            await self._keep_audit(url)
            self._weigh_audit()
            self.note("ended")

    # --- Start ----------------------------------------------------------------------------------------------------

    def _start_redis(self, stack: AsyncExitStack) -> str:
        if not self.company.is_clustered:
            return str(stack.enter_context(private_redis()))
        self._servers = stack.enter_context(cluster())
        return self._servers.url

    async def _start_slack(self, stack: AsyncExitStack) -> Control:
        server = await stack.enter_async_context(child("-m", "playground"))
        self._slack = await server.answer()
        self._children["slack"] = server
        control = await stack.enter_async_context(Control(self._slack["url"]))
        staff = person_names(STAFF)
        for person in staff:
            await control.person(person, name=person[2:].title())
        for channel in channel_names(self.company.channels):
            await control.channel(channel, name=channel.lower(), members=[*staff, "U0BOT"])
        self._control = control
        return control

    async def _start_bots(self, stack: AsyncExitStack, url: str) -> None:
        self._bots = {f"bot-{number}": url for number in range(self.company.bots)}
        # One after the other: a machine with few cores would have none of them ready in time.
        for name in self._bots:
            await self._start_bot(stack, name)

    async def _start_bot(self, stack: AsyncExitStack, name: str) -> None:
        names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
        _, process = await stack.enter_async_context(
            app(
                "bot",
                self._bots[name],
                self._slack["SLACK_API_URL"],
                over_socket=True,
                code=self._versions["bot"][0],
                **{each: self._slack[each] for each in names},
                ASSENT_APPROVERS=",".join(person_names(STAFF)),
                ASSENT_CHANNEL=CHANNEL,
                ASSENT_LEASE_SECONDS=str(LEASE),
                ASSENT_SLACK_TIMEOUT_SECONDS=str(SLACK_TIMEOUT),
            )
        )
        self._children[name] = process

    def _write_leg(self, started: float) -> None:
        begins, ends = self.span
        leg = {
            "day": asdict(self.day),
            "begins": begins,
            "ends": ends,
            "started": started,
            "urgent_seconds": self.company.urgent_seconds,
        }
        whole = self.folder / f"{LEG}.new"
        whole.write_text(json.dumps(leg))
        whole.rename(self.folder / LEG)

    async def _start_agents(self, stack: AsyncExitStack, url: str) -> None:
        names = self.day.agent_names()
        for name in names:
            await self._start_agent(stack, url, name)
        for name in names:
            await self._children[name].answer()

    async def _start_agent(self, stack: AsyncExitStack, url: str, name: str) -> None:
        arguments = ("-m", "benchmarks.company.agent", name, url, str(self.folder))
        running = child(*arguments, code=self._versions["agent"][0])
        self._children[name] = await stack.enter_async_context(running)

    async def _beside(self, stack: AsyncExitStack, work: Any) -> None:
        task = asyncio.ensure_future(work)

        async def end() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        stack.push_async_callback(end)

    async def _look(self) -> None:
        """Note what each process has used, again and again."""
        while True:
            used = {}
            for name, process in self._children.items():
                # It can end in this moment.
                with suppress(OSError):
                    if process.runs:
                        used[name] = {"cpu": process.cpu, "rss": process.rss}
            self._machine("used", load=os.getloadavg()[0], processes=used)
            await asyncio.sleep(LOOK_EVERY)

    # --- Play -----------------------------------------------------------------------------------------------------

    async def _play(self, started: float, stack: AsyncExitStack, url: str) -> None:
        begins, ends = self.span

        def time_of(minute: float) -> float:
            return started + (minute - begins) * 60

        for span in self.day.spans():
            if begins <= span.begins < ends:
                await asyncio.sleep(max(0.0, time_of(span.begins) - time.time()))
                self.note("phase", name=span.phase.name, minute=span.begins)
                self._say(span.phase.name)
                for event in span.phase.events:
                    await self._happen(event, span, stack, url)
        await asyncio.sleep(max(0.0, time_of(ends) - time.time()))
        for task in self._down:
            await task

    async def _happen(self, event: Event, span: Span, stack: AsyncExitStack, url: str) -> None:
        match event:
            case "outage":
                await self._take_down(60 * (span.ends - span.begins))
            case "kill_bot":
                await self._kill("bot-0", lambda name: self._start_bot(stack, name))
            case "kill_agent":
                last = self.day.agent_names()[-1]
                await self._kill(last, lambda name: self._start_agent(stack, url, name))
            case "upgrade_bots":
                del self._versions["bot"][0]
                for name in self._bots:
                    await self._replace(name, self._start_bot(stack, name))
            case "upgrade_agents":
                del self._versions["agent"][0]
                for name in self.day.agent_names():
                    await self._replace(name, self._start_agent(stack, url, name))
            case "hand_over" | "kill_primary" if self._servers:
                await asyncio.to_thread(self._fail_over, self._servers, killed=event == "kill_primary")

    async def _take_down(self, seconds: float) -> None:
        """Have Slack answer nothing but errors for most of a phase."""
        self._people.slack_works.clear()
        fault = await self._control.fault("*", "status", status=503, times=None)
        await self._control.close_sockets()
        self.note("slack_down")
        await asyncio.sleep(seconds * 0.95)
        await self._control.remove_fault(fault)
        self.note("slack_up")
        self._people.slack_works.set()

    async def _kill(self, name: str, start: Callable[[str], Awaitable[None]]) -> None:
        if not self._children[name].runs:
            # In a short day, it has not come back from the last time.
            return
        await self._children[name].kill()
        self.note("killed", name=name)

        async def start_again() -> None:
            while not self._children[name].runs:
                await asyncio.sleep(BACK_AFTER)
                try:
                    await start(name)
                except EndedError as error:
                    # It is started again when it ends, as systemd and Kubernetes do.
                    self.note("ended_at_start", name=name, said=str(error)[-500:])
            self.note("started_again", name=name)

        self._down.add(asyncio.create_task(start_again()))

    async def _replace(self, name: str, start: Awaitable[None]) -> None:
        """End a process in order, and start the next version in its place."""
        await self._children[name].end()
        await start
        self.note("replaced", name=name)

    def _fail_over(self, servers: Cluster, *, killed: bool) -> None:
        port = servers.primaries()[0]
        if not killed:
            servers.fail_over(port)
            return self.note("handed_over", name=f"redis-{port}")
        self.note("killed", name=f"redis-{port}")
        servers.kill(port)
        self.note("taken_over", name=f"redis-{port}")
        servers.bring_back(port)
        return self.note("started_again", name=f"redis-{port}")

    # --- End ------------------------------------------------------------------------------------------------------

    async def _drain(self) -> None:
        """Let people decide what is left, until every agent has ended."""
        self.note("draining")
        self._say("agents ask nothing more, and people decide what is left")
        agents = [self._children[name] for name in self.day.agent_names()]
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_WITHIN):
                await asyncio.gather(*(agent.ended() for agent in agents))
        for name, agent in zip(self.day.agent_names(), agents, strict=True):
            if agent.runs:
                self.note("not_ended", name=name, said=agent.said)

    async def _keep_audit(self, url: str) -> None:
        """Export the audit trail once it has what agents noted last."""
        done = {
            line["id"]
            for name in self.day.agent_names()
            for line in read_notes(self.folder / "agents" / f"{name}.jsonl")
            if line["what"] == "finished" and "error" not in line
        }
        deadline = time.monotonic() + NOTED_WITHIN
        while True:
            text = await _export(url)
            (self.folder / "audit.jsonl").write_text(text)
            entries = map(json.loads, text.splitlines())
            if done <= {entry["id"] for entry in entries if entry["event"] == "resumed"}:
                return
            if time.monotonic() > deadline:
                return
            await asyncio.sleep(LOOK_EVERY)

    def _weigh_audit(self) -> None:
        """Note what the audit trail takes in the primaries."""
        if servers := self._servers:
            keys = [
                (port, key)
                for port in servers.primaries()
                for key in servers.ask(port, "KEYS", "{assent}:audit")
            ]
            weights = [int(servers.ask(port, "MEMORY", "USAGE", key, "SAMPLES", 0)) for port, key in keys]
            self.note("audit", bytes=sum(weights))

    async def _keep_calls(self) -> None:
        """Note every call of the bots to Slack: the stand-in itself keeps the latest only."""
        note, seen = Notes(self.folder / "calls.jsonl"), 0
        while True:
            for call in await self._control.calls(since=seen):
                seen = call["n"]
                note("call", method=call["method"], status=call["http_status"], answered=call["at"])
            await asyncio.sleep(LOOK_EVERY)


async def _export(url: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "audit", "export", "--format", "jsonl",
        env={**os.environ, "REDIS_URL": url}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    text, _ = await process.communicate()
    return text.decode()
