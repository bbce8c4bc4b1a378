"""Composition root, with `served.py`: builds and connects what a bot has once. It also starts and stops a process."""

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
from redis.exceptions import TimeoutError as RedisTimeoutError
from slack_bolt.authorization import AuthorizeResult

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop, Work
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import (
    end_task,
    known_replicas,
    on_change,
    open_redis,
)
from agent_adapter.redis.server_check import check_server, explaining, judge_server, read_info
from bot.api.rates import Rates
from bot.api.routes import build_api
from bot.domain.errors import NotConfirmedError, SettingsError
from bot.http.application import Malformed, build_site
from bot.http.bodies import Bodies
from bot.http.connections import Connections, most_connections
from bot.jobs.leased_loop import Worker
from bot.jobs.policy_watch import PolicyKeeper
from bot.jobs.redis_restore import RestoreGuard
from bot.jobs.slack_link import SlackLink
from bot.listeners import bind
from bot.listeners.actions import Buttons
from bot.listeners.bolt_app import BoltApp
from bot.listeners.commands import Commands
from bot.listeners.views import Forms
from bot.on_call.schedules import Schedules
from bot.runtime.bot_keys import UNSIGNED, BotKeys
from bot.runtime.health import NOT_YET, Health
from bot.runtime.host_clock import Look, apart
from bot.runtime.lateness import blaming
from bot.runtime.metrics import build_registry
from bot.runtime.offload import SWITCH_EVERY
from bot.runtime.settings import NOT_KEPT, Settings
from bot.runtime.tasks import Tasks
from bot.served import Process, Served
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.slack.pacing import Pacing
from bot.slack.socket_mode import Sockets
from bot.store.audit import AuditStore
from bot.store.durability import LOCAL, Durability, durability_on, missing_on
from bot.store.records import ApprovalStore
from bot.use_cases.agent_limits import Quota

logger = logging.getLogger(__name__)

HEARTBEAT = 5.0
_AUDIT_CONNECTIONS = 4
"""For reading the audit trail, which may take long."""
SWEEPS = 3
"""A loop has to make progress within this many sweeps."""
DRAIN_WITHIN = 12.0
"""Seconds to finish running work. HTTP and Socket Mode close as well, so a bot ends within twenty seconds of SIGTERM."""
LEAVE_WITHIN = 1.0
"""Seconds to note in Redis that this bot ends. If Redis does not answer, its last heartbeat becomes too old by itself."""
LINGER = 1.0
"""Seconds for which the rest of a refused body is read and dropped before its connection is closed."""
COLLECT_AFTER = (10_000, 3, 300)
"""Thresholds of the garbage collection. A click creates no cycles. Collecting the newest 30,000 objects takes some milliseconds,
and collecting all objects takes longer."""


@dataclass
class Bot:
    """One running bot process."""

    settings: Settings
    health: Health = field(default_factory=Health)
    process: str = field(default_factory=lambda: secrets.token_hex(6))
    port: int = 0
    """The port of the HTTP server."""
    served: Served = field(init=False)
    slack: SlackClient = field(init=False)
    directory: Directory = field(init=False)
    policies: PolicyKeeper = field(init=False)
    _owed: dict[str, int] = field(default_factory=dict)
    _owed_ages: dict[str, float] = field(default_factory=dict)
    _look: Look | None = None
    _aside: dict[str, int] = field(default_factory=dict)
    _listening: asyncio.Server | None = None
    _runner: web.AppRunner | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        """Read the policy and the keys.

        Raises:
            SettingsError: when the policy file or a key cannot be used.
        """
        self.policies = PolicyKeeper(self.settings, self.health)
        self.served = Served(self.settings)
        self.health.signed = self.bot_keys is not None

    @property
    def store(self) -> ApprovalStore:
        return self.served.store

    @property
    def audit(self) -> AuditStore:
        return self.served.audit

    @property
    def restore_guard(self) -> RestoreGuard:
        return self.served.restore_guard

    @property
    def drawing(self) -> Worker:
        return self.served.drawing

    @property
    def bot_keys(self) -> BotKeys | None:
        """`None` when what people decide is not signed."""
        return self.served.bot_keys

    async def start(self) -> None:
        """Connect to Redis and serve health. Then connect to Slack as soon as Slack allows it.

        Raises:
            ServerUnreachableError, ServerUnsuitableError: when this Redis cannot be used.
            SettingsError: when a key does not sign.
        """
        settings, stack = self.settings, self._stack
        self._warn_of_unsigned()
        await self.served.try_keys()
        redis = await self._open_redis()
        address = address_of(settings.redis_url)
        timeout = aiohttp.ClientTimeout(total=settings.slack_timeout)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        self.slack = SlackClient(
            settings.slack_bot_token, settings.slack_api_url, session, within=settings.slack_timeout
        )
        await self._open_namespace(redis, address)
        await self._try_confirming(address)
        schedules = Schedules(
            session,
            lambda: self.policies.policy.schedules,
            self.slack.user_with_email,
            self.health,
            settings.pagerduty_url,
            settings.pagerduty_token,
            settings.calendar_addresses,
        )
        self.directory = Directory(self.slack, schedules)
        self.served.restore_guard = RestoreGuard(self.store, self.slack, self.health, self.process)
        # The wake-ups listen over a connection of their own, and notice it later.
        on_change(redis, self.restore_guard.doubt)
        process = Process(
            self.process, self.health, self.slack, self.directory, self.policies, session, Tasks()
        )
        bolt = BoltApp(
            self.slack,
            self.directory,
            logger=_quiet_bolt(),
            client=self.slack.repeating,
            authorize=_authorized_by(self.slack, settings.slack_bot_token),
            # Bolt would poll every 10 ms for the acknowledgement. Our listeners acknowledge before they return.
            process_before_response=True,
            signing_secret=settings.slack_signing_secret or "socket-mode",
        )
        connections, bodies = Connections(most_connections()), Bodies()
        site = build_site(
            self.health,
            build_registry(self.health, lambda: self._owed, lambda: self._aside, lambda: self._owed_ages),
            bolt=bolt,
            signing_secret=None if settings.socket_mode else settings.slack_signing_secret,
            api=build_api(
                self.served.api(self.health, Quota(lambda: self.policies.policy, self.store)),
                Rates(settings.api_requests_per_minute, connections.most // 2),
                bodies,
            ),
            connections=connections,
            bodies=bodies,
        )
        await self._serve(site, connections)
        stack.push_async_callback(self._leave)
        # First, because other checks depend on when a bot was last seen.
        await self._look_at_the_clock()
        self._run("heartbeat", partial(self._heartbeat, redis))
        self._compose(bolt, process)
        self.health.recover("redis")
        logger.info("bot.started", extra={"bot": self.process, "port": self.port})

    async def stop(self) -> None:
        """Take no more work, finish what is running, close everything."""
        if self._listening:
            self._listening.close()
        if self._runner:
            await self._runner.cleanup()
        await self._stack.aclose()
        logger.info("bot.stopped", extra={"bot": self.process})

    def _warn_of_unsigned(self) -> None:
        if self.bot_keys is None:
            logger.warning("receipts.unsigned", extra={"reason": UNSIGNED})

    async def _open_redis(self) -> Redis:
        url = self.settings.redis_url
        redis = open_redis(
            url, namespace=self.settings.namespace, credentials=self.settings.redis_credentials
        )
        self._stack.push_async_callback(redis.aclose)
        for warning in await check_server(redis, address_of(url)):
            logger.warning(warning)
        return redis

    async def _open_namespace(self, redis: Redis, address: str) -> None:
        settings = self.settings
        keys = await self.served.find(redis)
        durability = await self._agree_on_durability(redis, address)
        trail = await self._stack.enter_async_context(
            open_redis(
                settings.redis_url,
                namespace=settings.namespace,
                connections=_AUDIT_CONNECTIONS,
                keeps_bytes=True,
                credentials=settings.redis_credentials,
            )
        )
        # A task that is cancelled while it connects would leave the connection open.
        await check_server(trail, address)
        self.served.open(keys, redis, trail, durability, lambda: self.slack.me.team_id)

    async def _agree_on_durability(self, redis: Redis, address: str) -> Durability:
        mode, replicas = self.settings.durability, self.settings.durability_replicas
        if mode == "local":
            return LOCAL
        with explaining(address):
            info = await read_info(redis)
            found = durability_on(info, address, mode, replicas, await known_replicas(redis))
        logger.info("redis.durability", extra={"mode": mode, "replicas": found.replicas})
        return found

    async def _try_confirming(self, address: str) -> None:
        """Ask once, as a click does: this user of Redis may lack the right to, and this server the command."""
        if self.store.durability.mode == "local":
            return
        try:
            with explaining(address):
                await self.store.confirming.ask()
        except NotConfirmedError as error:
            logger.warning("redis.not_confirmed", extra={"reason": str(error)})

    async def _look_at_server(self, redis: Redis) -> None:
        address = self.store.scripts.address
        with explaining(address):
            info = await read_info(redis)
        self.health.warn("redis", "; ".join(judge_server(info, address)))

    async def _look_at_durability(self, redis: Redis) -> None:
        """Warn while no click can be confirmed, so that Slack shows each as failed."""
        if self.store.durability.mode == "local":
            return
        with explaining(self.store.scripts.address):
            info = await read_info(redis, "replication")
        self.health.warn("durability", missing_on(info, self.store.durability))

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

    def _compose(self, bolt: BoltApp, process: Process) -> None:
        settings, tasks, served = self.settings, process.tasks, self.served
        pacing = Pacing(self.store.scripts, self.store.keys, enabled=settings.pace)
        served.compose(process, pacing)
        self._bind(bolt, process)
        self._stack.push_async_callback(self._drain, tasks, served.drawing, served.falling_due)
        served.start(process, self._run)
        sockets = None
        if settings.socket_mode and settings.slack_app_token:
            sockets = Sockets(bolt, settings.slack_app_token, others=self._others)
            self._stack.push_async_callback(sockets.close)
        self._run("policy", partial(self.policies.watch, self.slack))
        link = SlackLink(self.slack, self.health, self.policies, sockets, self._wake, self.bot_keys)
        self._run("link to Slack", link.keep, fatal=(SettingsError,))

    def _bind(self, bolt: BoltApp, process: Process) -> None:
        """Bind what handles clicks to what Slack sends."""
        served, services = self.served, self.served.services(process)
        bind(
            bolt,
            Buttons(services, served.home),
            Forms(services),
            Commands(served.standing, served.home, process.slack, process.tasks),
            served.home,
            process.directory,
            served.slack_watch.on_deleted,
        )

    def _wake(self) -> None:
        self.drawing.wake()

    async def _drain(self, tasks: Tasks, *workers: Worker) -> None:
        draining = [tasks.drain(), *(worker.drain() for worker in workers)]
        held = [in_background(each, name="drain") for each in draining]
        # A timeout around `gather` would wait on for a task that does not end when it is cancelled.
        _, late = await asyncio.wait(held, timeout=DRAIN_WITHIN)
        for each in late:
            each.cancel()

    async def _leave(self) -> None:
        with contextlib.suppress(AgentAdapterError, TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN):
                await self.store.heartbeat(self.process, alive=False)

    async def _heartbeat(self, redis: Redis, loop: Loop) -> None:
        # This notices a silent Redis before other loops count as stuck.
        within = loop.within / 2
        while True:
            loop.expect(within=2 * loop.within)
            due, reason = time.monotonic() + within, ""
            self.health.look_at_calls()
            try:
                async with asyncio.timeout(within):
                    # A failover can have made it a replica, and an operator can have changed its settings.
                    await self._look_at_server(redis)
                    await self.served.check(redis)
                    await self._look_at_durability(redis)
                    await self._count(await self._look_at_the_clock())
            except TimeoutError:
                reason = await blaming(f"Redis does not answer within {within:.0f} seconds", due)
            except AgentAdapterError as error:
                is_silent = isinstance(error.__cause__, RedisTimeoutError)
                reason = await blaming(str(error)) if is_silent else str(error)
                # After a failover the address can lead to another server.
                await redis.connection_pool.disconnect(inuse_connections=False)
            if reason:
                self.health.fault("redis", reason)
                loop.hinder(reason)
            else:
                self.health.recover("redis")
                loop.beat()
            await asyncio.sleep(min(HEARTBEAT, self.settings.sweep_seconds))

    async def _count(self, at: int) -> None:
        """Count the owed work, for the metrics."""
        self._owed = await self.store.owed()
        self._aside = await self.served.quarantine.count()
        self._owed_ages = await self.served.owed_ages.look(at)

    async def _others(self) -> int:
        return len((await self.restore_guard.beat()).others)

    async def _look_at_the_clock(self) -> int:
        asked = time.monotonic()
        at = (await self.restore_guard.beat(quiet_for=self._quiet_for())).at
        look, before = Look(at, asked, time.monotonic()), self._look
        self._look = look
        self.health.warn("clock", apart(at / 1000, time.time()))
        if before and look.stepped_since(before):
            logger.warning("redis.clock_set", extra={"at": at})
            within = int((look.answered - before.asked) * 1000)
            await self.store.heartbeat(self.process, stepped_within=within, quiet_for=self._quiet_for())
        return at

    def _quiet_for(self) -> float | None:
        fault = self.health.slack_fault
        # A bot that starts takes over from one that stopped. It is not a fault that it has not asked Slack yet.
        return 0.0 if fault == NOT_YET else None if fault else self.slack.quiet_for

    def _run(
        self,
        name: str,
        work: Work,
        *,
        every: float = 0.0,
        fatal: tuple[type[Exception], ...] = (),
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
    """Say to Bolt whose app this is. If Bolt asked Slack itself and Slack failed, it would answer a click with 200."""

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
        SettingsError: when the policy file cannot be used, or nobody is left who can decide.
        AgentAdapterError: when this Redis cannot be used, or a loop fails again and again.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    # Before the bot runs, a SIGHUP must not end it. The rules are being read anyway.
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    if not settings.audit_dir:
        logger.warning("audit.not_kept", extra={"reason": NOT_KEPT})
    async with running(settings) as bot:
        # Objects from the start stay. Without this, each full garbage collection walks them, and clicks wait 50 ms.
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
