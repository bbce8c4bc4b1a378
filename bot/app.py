"""Composition root: the one place that builds and connects objects, and the life of a process."""

import asyncio
import contextlib
import gc
import logging
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import aiohttp
from aiohttp import web
from redis.asyncio import Redis
from redis.exceptions import RedisError
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from agent_adapter.background import in_background
from agent_adapter.connection import (
    address_of,
    end_task,
    entries_of,
    freeze_meta,
    open_blocking_redis,
    open_redis,
)
from agent_adapter.contract.keys import Keys, Lane
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop, Work
from agent_adapter.servers import check_keys, check_server, explained
from bot.api.agents import Agents
from bot.api.rates import Rates
from bot.api.routes import build_api
from bot.aside import SWITCH_EVERY
from bot.attention import Attention
from bot.bodies import Bodies
from bot.clock import Clock
from bot.connections import Connections, most_connections
from bot.decisions import Decisions
from bot.errors import SettingsError
from bot.grants import Grants
from bot.health import NOT_YET, Health
from bot.keys import KeyRing
from bot.listeners import bind
from bot.listeners.actions import Buttons
from bot.listeners.commands import Commands
from bot.listeners.door import Door
from bot.listeners.views import Forms
from bot.lookout import LOOK_EVERY, Lookout
from bot.metrics import build_registry
from bot.pacing import Pacing
from bot.people import Directory
from bot.policy_keeper import PolicyKeeper
from bot.presenter import Presenter
from bot.proposals import Proposals
from bot.pulse import Look
from bot.quarantine import Quarantine
from bot.rewind import Rewind
from bot.room import Room
from bot.settings import Settings
from bot.silence import Silence
from bot.slack_client import SlackClient
from bot.slack_link import SlackLink
from bot.sockets import Sockets
from bot.store import ApprovalStore
from bot.tasks import Tasks
from bot.web import Malformed, build_site
from bot.work import Worker

logger = logging.getLogger(__name__)

WAKE_BLOCK = 5.0
WAKE_AT_MOST = 0.1
"""Seconds between two looks at the wake-ups: a burst of clicks is one reason to draw, not a hundred."""
HEARTBEAT = 5.0
SWEEPS = 3
"""Sweeps within which a loop has to make progress."""
DRAIN_WITHIN = 12.0
"""With what HTTP (five seconds) and Socket Mode take to close, a bot ends within twenty seconds of SIGTERM."""
LEAVE_WITHIN = 1.0
"""Seconds in which to say that this bot goes. Where Redis does not hear it, its sign of life ends by itself."""
LINGER = 1.0
"""Seconds for which the rest of a refused body is thrown away before its connection is closed."""
COLLECT_AFTER = (10_000, 3, 300)
"""Of garbage: a click makes hundreds of objects and no cycle. To look at the newest 30,000 objects takes some milliseconds, and to look
at all remembered records longer."""


@dataclass
class Bot:
    """One running bot process."""

    settings: Settings
    health: Health = field(default_factory=Health)
    process: str = field(default_factory=lambda: secrets.token_hex(6))
    port: int = 0
    """Where HTTP is served."""
    store: ApprovalStore = field(init=False)
    slack: SlackClient = field(init=False)
    directory: Directory = field(init=False)
    policies: PolicyKeeper = field(init=False)
    rewind: Rewind = field(init=False)
    drawing: Worker = field(init=False)
    _owed: dict[str, int] = field(default_factory=dict)
    _look: Look | None = None
    _aside: dict[str, int] = field(default_factory=dict)
    _listening: asyncio.Server | None = None
    _runner: web.AppRunner | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        """Read the policy.

        Raises:
            SettingsError: when the policy file will not do.
        """
        self.policies = PolicyKeeper(self.settings, self.health)

    async def start(self) -> None:
        """Connect to Redis and serve health; then Slack, as soon as it lets us.

        Raises:
            ServerUnreachableError, ServerUnsuitableError: when this Redis will not do.
        """
        settings, stack = self.settings, self._stack
        redis, keys = await self._open_redis()
        self.store = ApprovalStore(redis, keys, address=address_of(settings.redis_url))
        timeout = aiohttp.ClientTimeout(total=settings.slack_timeout_seconds)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        self.slack = SlackClient(
            settings.slack_bot_token, settings.slack_api_url, session, within=settings.slack_timeout_seconds
        )
        self.directory = Directory(self.slack)
        self.rewind = Rewind(self.store, self.slack, self.health, self.process)
        await self.rewind.begin()
        bolt = Door(
            self.slack,
            self.directory,
            logger=_quiet_bolt(),
            client=self.slack.repeating,
            authorize=_authorized_by(self.slack, settings.slack_bot_token),
            # Bolt's own wait for an acknowledgement polls every 10 ms; here a listener writes, acknowledges, returns.
            process_before_response=True,
            signing_secret=settings.slack_signing_secret or "socket-mode",
        )
        connections, bodies = Connections(most_connections()), Bodies()
        site = build_site(
            self.health,
            build_registry(self.health, lambda: self._owed, lambda: self._aside),
            bolt=bolt,
            signing_secret=None if settings.socket_mode else settings.slack_signing_secret,
            api=self._build_api(redis, keys, bodies, waits=connections.most // 2),
            connections=connections,
            bodies=bodies,
        )
        await self._serve(site, connections)
        stack.push_async_callback(self._leave)
        # Before anything is judged by when a bot was last seen.
        await self._look_at_the_clock()
        self._run("heartbeat", partial(self._heartbeat, redis))
        self._compose(bolt)
        self.health.mend("redis")
        logger.info("bot.started", extra={"bot": self.process, "port": self.port})

    async def stop(self) -> None:
        """Stop taking work, finish what is held, close everything."""
        if self._listening:
            self._listening.close()
        if self._runner:
            await self._runner.cleanup()
        await self._stack.aclose()
        logger.info("bot.stopped", extra={"bot": self.process})

    async def _open_redis(self) -> tuple[Redis, Keys]:
        url = self.settings.redis_url
        redis = open_redis(url)
        self._stack.push_async_callback(redis.aclose)
        for warning in await check_server(redis, address_of(url)):
            logger.warning(warning)
        return redis, await freeze_meta(redis, self.settings.namespace, address=address_of(url))

    def _build_api(self, redis: Redis, keys: Keys, bodies: Bodies, *, waits: int) -> web.Application:
        url = self.settings.redis_url
        agents = Agents(redis, keys, url=url, process=self.process)
        self.health.loops.include(agents.loops)
        return build_api(
            KeyRing(redis, keys, address=address_of(url)),
            agents,
            Rates(self.settings.api_requests_per_minute, waits),
            bodies,
            Room(self.policies, self.store),
        )

    async def _serve(self, site: web.Application, connections: Connections) -> None:
        self._runner = web.AppRunner(
            site,
            handle_signals=False,
            access_log=None,
            logger=_http_log(),
            shutdown_timeout=5,
            auto_decompress=False,
            lingering_time=LINGER,
        )
        await self._runner.setup()
        server = self._runner.server
        assert server
        self._listening = await asyncio.get_running_loop().create_server(
            lambda: connections.accept(server), self.settings.http_host, self.settings.http_port
        )
        self.port = self._listening.sockets[0].getsockname()[1]

    def _compose(self, bolt: AsyncApp) -> None:
        settings, store = self.settings, self.store
        tasks = Tasks()
        proposals = Proposals(lambda: self.policies.policy, self.slack)
        decisions = Decisions(store, self.directory, proposals)
        attention, grants = Attention(decisions), Grants(decisions)
        pacing = Pacing(store.scripts, store.keys, enabled=settings.pace)
        lookout = Lookout(
            store,
            self.slack,
            pacing,
            self.health,
            self.rewind,
            every=min(LOOK_EVERY, settings.sweep_seconds),
        )
        bind(
            bolt,
            Buttons(decisions, attention, grants, self.slack, tasks),
            Forms(decisions, attention, tasks),
            Commands(grants, self.slack, tasks),
            self.directory,
            lookout.deleted,
        )
        presenter = Presenter(
            store,
            self.slack,
            self.directory,
            pacing,
            self.policies,
            grants,
            Room(self.policies, store),
            self.health,
            self.rewind,
            int(settings.lease_seconds * 1000),
        )
        self.drawing = Worker(
            store,
            "undrawn",
            presenter.present,
            lease=settings.lease_seconds,
            sweep=settings.sweep_seconds,
            wait=presenter.wait,
        )
        falling_due = Worker(
            store,
            "due",
            Clock(store, Silence(lookout, decisions).why_not).fall_due,
            lease=settings.lease_seconds,
            sweep=min(1.0, settings.sweep_seconds),
        )
        self._stack.push_async_callback(self._drain, tasks, self.drawing, falling_due)
        self._run("deadlines", falling_due.run)
        self._run("drawing", self.drawing.run)
        self._run("lookout", lookout.run)
        self._run("lost cards", partial(self.rewind.run, lookout.turn_to_read))
        for lane in store.keys.all_lanes():
            self._run(f"wake-ups {lane.prefix}", partial(self._listen, lane), every=WAKE_BLOCK)
        sockets = (
            Sockets(bolt, settings.slack_app_token, others=self._others) if settings.slack_app_token else None
        )
        if sockets:
            self._stack.push_async_callback(sockets.close)
        self._run("policy", partial(self.policies.watch, self.slack))
        link = SlackLink(self.slack, self.health, self.policies, sockets, self.drawing.wake)
        self._run("link to Slack", link.keep, fatal=(SettingsError,))

    async def _drain(self, tasks: Tasks, *workers: Worker) -> None:
        draining = [tasks.drain(), *(worker.drain() for worker in workers)]
        held = [in_background(each, name="drain") for each in draining]
        # Not `gather` within a time-out, which waits on for whatever does not end by its cancellation.
        _, late = await asyncio.wait(held, timeout=DRAIN_WITHIN)
        for each in late:
            each.cancel()

    async def _listen(self, lane: Lane, loop: Loop) -> None:
        """Wake the presenter when something is published or decided."""
        redis = open_blocking_redis(self.settings.redis_url, block=WAKE_BLOCK)
        # Only what comes from now on: the sets hold what was missed.
        cursor = "$"
        try:
            while True:
                try:
                    for entry, _ in entries_of(
                        await redis.xread({lane.wake: cursor}, block=int(WAKE_BLOCK * 1000))
                    ):
                        cursor = entry
                        self.drawing.wake()
                    loop.beat()
                    if "redis" in self.health.faults:
                        # After a failover the address leads elsewhere: this connection has to follow.
                        await redis.connection_pool.disconnect()
                    await asyncio.sleep(WAKE_AT_MOST)
                except (RedisError, OSError) as error:
                    logger.warning("wake.disconnected", extra={"reason": str(error)})
                    # Whatever answers next may be of an older state.
                    self.rewind.doubt()
                    loop.hinder(str(explained(self.store.scripts.address, error)))
                    await asyncio.sleep(0.5)
                    self.drawing.wake()
        finally:
            await redis.aclose()

    async def _leave(self) -> None:
        with contextlib.suppress(AgentAdapterError, TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN):
                await self.store.heartbeat(self.process, alive=False)

    async def _heartbeat(self, redis: Redis, loop: Loop) -> None:
        # So that a silent Redis is known before other loops count as stuck.
        within, quarantine = loop.within / 2, Quarantine(self.store)
        while True:
            loop.beat(within=2 * loop.within)
            self.health.look_at_calls()
            try:
                async with asyncio.timeout(within):
                    # A failover may have made it a replica, and an operator may have changed it.
                    await check_server(redis, self.store.scripts.address)
                    await check_keys(redis, self.store.keys, self.store.scripts.address)
                    await self._look_at_the_clock()
                    self._owed = await self.store.owed()
                    self._aside = await quarantine.count()
                self.health.mend("redis")
            except TimeoutError:
                self.health.fault("redis", f"Redis does not answer within {within:.0f} seconds")
            except AgentAdapterError as error:
                self.health.fault("redis", str(error))
                # After a failover the address may lead elsewhere.
                await redis.connection_pool.disconnect(inuse_connections=False)
            await asyncio.sleep(min(HEARTBEAT, self.settings.sweep_seconds))

    async def _others(self) -> int:
        return (await self.rewind.beat()).others

    async def _look_at_the_clock(self) -> None:
        asked = time.monotonic()
        at = (await self.rewind.beat(quiet_for=self._quiet_for())).at
        look, before = Look(at, asked, time.monotonic()), self._look
        self._look = look
        if before and look.stepped_since(before):
            logger.warning("redis.clock_set", extra={"at": at})
            within = int((look.answered - before.asked) * 1000)
            await self.store.heartbeat(self.process, stepped_within=within, quiet_for=self._quiet_for())

    def _quiet_for(self) -> float | None:
        fault = self.health.slack_fault
        # A bot that starts takes over from one that stopped; what it has not asked yet is no fault.
        return 0.0 if fault == NOT_YET else None if fault else self.slack.quiet_for

    def _run(
        self, name: str, work: Work, *, every: float = 0.0, fatal: tuple[type[Exception], ...] = ()
    ) -> None:
        within = SWEEPS * max(every, self.settings.sweep_seconds)
        task = self.health.loops.start(name, work, within=within, fatal=fatal)
        self._stack.push_async_callback(end_task, task)


def _http_log() -> logging.Logger:
    http = logging.getLogger("aiohttp.server")
    if not any(isinstance(known, Malformed) for known in http.filters):
        http.addFilter(Malformed())
    return http


def _quiet_bolt() -> logging.Logger:
    """Keep Bolt's errors only: it warns at each start that SLACK_BOT_TOKEN is ignored, which it is not."""
    bolt = logging.getLogger("slack_bolt")
    bolt.setLevel(logging.ERROR)
    return bolt


def _authorized_by(slack: SlackClient, token: str) -> Callable[[], Awaitable[AuthorizeResult]]:
    """Tell Bolt whose app this is: asking by itself, it would answer a click with 200 when Slack fails to say."""

    async def authorize() -> AuthorizeResult:
        me = slack.me
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team_id, bot_token=token, bot_id=me.bot_id, bot_user_id=me.user_id
        )

    return authorize


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Bot]:
    """Run a bot while the body runs."""
    bot = Bot(settings)
    try:
        await bot.start()
        yield bot
    finally:
        await bot.stop()


async def main(settings: Settings) -> None:
    """Run a bot until SIGTERM or SIGINT.

    Raises:
        SettingsError: when the policy file will not do, or Slack does not know whom or what the policy names.
        AgentAdapterError: when this Redis will not do, or a loop fails again and again.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    # A hangup before the bot runs ends nothing: the rules are being read anyway.
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    async with running(settings) as bot:
        # What start-up made stays; without this, each full collection walks it again and holds clicks up for 50 ms.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        sys.setswitchinterval(SWITCH_EVERY)
        loop.add_signal_handler(signal.SIGHUP, bot.policies.look_now)
        stopped = in_background(stop.wait(), name="signals")
        broken = in_background(bot.health.loops.until_broken(), name="loops", expected=(Exception,))
        await asyncio.wait([stopped, broken], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if broken.done():
            broken.result()
        broken.cancel()
