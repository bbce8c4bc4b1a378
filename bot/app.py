"""Composition root: the only place that builds and connects objects. It also starts and stops a process."""

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
from datetime import timedelta
from functools import partial

import aiohttp
from aiohttp import web
from redis.asyncio import Redis
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from agent_adapter.background import in_background
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop, Work
from agent_adapter.redis.pool import (
    address_of,
    end_task,
    open_redis,
)
from agent_adapter.redis.private import RecordCipher
from agent_adapter.redis.server_check import check_keys, check_server
from bot.api.agents import Agents
from bot.api.keys import KeyRing
from bot.api.questions import SealedQuestions
from bot.api.rates import Rates
from bot.api.routes import build_api
from bot.domain.errors import SettingsError
from bot.http.application import Malformed, build_site
from bot.http.bodies import Bodies
from bot.http.connections import Connections, most_connections
from bot.jobs.admit import Admissions
from bot.jobs.anchor_targets import Sender
from bot.jobs.anchoring import EVERY as ANCHORS_EVERY
from bot.jobs.anchoring import Anchoring
from bot.jobs.audit_mover import EVERY as AUDIT_EVERY
from bot.jobs.audit_mover import AuditMover
from bot.jobs.deadlines import Deadlines
from bot.jobs.digest import EVERY as DIGEST_EVERY
from bot.jobs.digest import Digests
from bot.jobs.inboxes import InboxReader
from bot.jobs.leased_loop import Worker
from bot.jobs.policy_watch import PolicyKeeper
from bot.jobs.presenter import Presenter
from bot.jobs.quarantine import Quarantine
from bot.jobs.queues import LOOK_EVERY as QUEUES_EVERY
from bot.jobs.queues import Queues
from bot.jobs.redis_restore import RestoreGuard
from bot.jobs.sealer import LOOK_EVERY as SEALING_EVERY
from bot.jobs.sealer import Sealer
from bot.jobs.silence_check import SilenceCheck
from bot.jobs.slack_call import Line
from bot.jobs.slack_link import SlackLink
from bot.jobs.slack_trouble import SlackTrouble
from bot.jobs.slack_watch import LOOK_EVERY, SlackWatch
from bot.jobs.waiting_sweep import EVERY as WAITING_EVERY
from bot.jobs.waiting_sweep import WaitingSweep
from bot.jobs.wake_ups import QUIET, WakeUps
from bot.listeners import bind
from bot.listeners.actions import Buttons
from bot.listeners.bolt_app import BoltApp
from bot.listeners.commands import Commands
from bot.listeners.home import HomeTab
from bot.listeners.replies import Replies
from bot.listeners.services import Services
from bot.listeners.views import Forms
from bot.listeners.why import WhyShortcut
from bot.on_call.schedules import Schedules
from bot.runtime.bot_keys import UNSIGNED, BotKeys, load_bot_keys
from bot.runtime.health import NOT_YET, Health
from bot.runtime.host_clock import Look
from bot.runtime.log_key import RingLogKey, load_log_key
from bot.runtime.metrics import build_registry
from bot.runtime.offload import SWITCH_EVERY
from bot.runtime.settings import NOT_KEPT, Settings
from bot.runtime.statements import Signing
from bot.runtime.tasks import Tasks
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.slack.pacing import Pacing
from bot.slack.socket_mode import Sockets
from bot.store.audit import AuditStore
from bot.store.digest import SentDigests
from bot.store.namespace import agree_on_seal, open_namespace
from bot.store.records import ApprovalStore
from bot.tlog.anchors import anchor_of
from bot.use_cases.agent_limits import Quota
from bot.use_cases.assign import Assignments
from bot.use_cases.decide import Decisions
from bot.use_cases.home import Home
from bot.use_cases.judge import Judge
from bot.use_cases.propose import Proposals
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.why import Reasons

logger = logging.getLogger(__name__)

HEARTBEAT = 5.0
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
    store: ApprovalStore = field(init=False)
    audit: AuditStore = field(init=False)
    sent_digests: SentDigests = field(init=False)
    slack: SlackClient = field(init=False)
    directory: Directory = field(init=False)
    policies: PolicyKeeper = field(init=False)
    bot_keys: BotKeys | None = field(init=False)
    """`None` when what people decide is not signed."""
    log_key: RingLogKey | None = field(init=False)
    """`None` when the audit trail is not sealed."""
    restore_guard: RestoreGuard = field(init=False)
    drawing: Worker = field(init=False)
    _cipher: RecordCipher = field(init=False)
    _owed: dict[str, int] = field(default_factory=dict)
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
        self.bot_keys = load_bot_keys(self.settings)
        self.log_key = load_log_key(self.settings)
        self._cipher = RecordCipher.from_setting(self.settings.record_key)
        self.health.signed = self.bot_keys is not None

    async def start(self) -> None:
        """Connect to Redis and serve health. Then connect to Slack as soon as Slack allows it.

        Raises:
            ServerUnreachableError, ServerUnsuitableError: when this Redis cannot be used.
            SettingsError: when the signing key does not sign.
        """
        settings, stack = self.settings, self._stack
        await self._try_signing()
        redis, keys = await self._open_redis()
        address = address_of(settings.redis_url)
        self.store = ApprovalStore(redis, keys, address=address, signing=self._signing(), cipher=self._cipher)
        self.audit = AuditStore(redis, keys, settings.audit_dir, address=address, cipher=self._cipher)
        self.sent_digests = SentDigests(redis, keys, address=address)
        timeout = aiohttp.ClientTimeout(total=settings.slack_timeout_seconds)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        self.slack = SlackClient(
            settings.slack_bot_token, settings.slack_api_url, session, within=settings.slack_timeout_seconds
        )
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
        self.restore_guard = RestoreGuard(self.store, self.slack, self.health, self.process)
        await self.restore_guard.begin()
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
            build_registry(self.health, lambda: self._owed, lambda: self._aside),
            bolt=bolt,
            signing_secret=None if settings.socket_mode else settings.slack_signing_secret,
            api=self._build_api(redis, keys, bodies, waits=connections.most // 2),
            connections=connections,
            bodies=bodies,
        )
        await self._serve(site, connections)
        stack.push_async_callback(self._leave)
        # First, because other checks depend on when a bot was last seen.
        await self._look_at_the_clock()
        self._run("heartbeat", partial(self._heartbeat, redis))
        self._compose(bolt)
        self._anchor(session)
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

    def _signing(self) -> Signing | None:
        if self.bot_keys is None:
            return None
        keys = self.bot_keys
        return Signing(
            keys.signer, self.settings.namespace, lambda: self.slack.me.team_id, keys.ring, keys.seal
        )

    async def _try_signing(self) -> None:
        if self.bot_keys is None:
            logger.warning("receipts.unsigned", extra={"reason": UNSIGNED})
            return
        await self.bot_keys.try_out()
        if self.bot_keys.ring.accepts_unsigned:
            until = f"{self.bot_keys.ring.unsigned_until:%Y-%m-%d}"
            logger.warning("receipts.unsigned_accepted", extra={"until": until})

    async def _open_redis(self) -> tuple[Redis, Keys]:
        url = self.settings.redis_url
        redis = open_redis(url)
        self._stack.push_async_callback(redis.aclose)
        for warning in await check_server(redis, address_of(url)):
            logger.warning(warning)
        keys = await open_namespace(redis, self.settings.namespace, address=address_of(url))
        seal = self.bot_keys.seal if self.bot_keys else None
        await agree_on_seal(redis, keys, seal, address=address_of(url))
        return redis, keys

    def _build_api(self, redis: Redis, keys: Keys, bodies: Bodies, *, waits: int) -> web.Application:
        url, bot_keys = self.settings.redis_url, self.bot_keys
        agents = Agents(
            url,
            keys.namespace,
            bot_keys.ring if bot_keys else None,
            record_cipher=self._cipher,
            marks=SealedQuestions(lambda: bot_keys.trust, bot_keys.ring, keys.namespace)
            if bot_keys
            else None,
        )
        self.health.loops.include(agents.loops)
        return build_api(
            KeyRing(redis, keys, address=address_of(url), trust=lambda: bot_keys.trust if bot_keys else None),
            agents,
            Rates(self.settings.api_requests_per_minute, waits),
            bodies,
            Quota(lambda: self.policies.policy, self.store),
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
        proposals = Proposals(lambda: self.policies.policy, self.slack, self.directory)
        judge = Judge(self.directory)
        standing = StandingApprovals(store, judge)
        pacing = Pacing(store.scripts, store.keys, enabled=settings.pace)
        slack_watch = SlackWatch(
            store,
            self.slack,
            pacing,
            self.health,
            self.restore_guard,
            every=min(LOOK_EVERY, settings.sweep_seconds),
        )
        trouble = SlackTrouble(store, self.health)
        lease = int(settings.lease_seconds * 1000)
        queues = Queues(
            store,
            self.slack,
            pacing,
            self.health,
            trouble,
            lease,
            every=min(QUEUES_EVERY, settings.sweep_seconds),
        )

        async def deleted(channel: str, ts: str) -> None:
            await slack_watch.on_deleted(channel, ts)
            await queues.on_deleted(channel, ts)

        why = WhyShortcut(Reasons(store, self.audit, self.slack, self.directory), self.slack, tasks)
        home = HomeTab(Home(store, judge, self.directory, standing), why, self.slack, tasks)
        services = Services(
            store,
            judge,
            Decisions(store, judge, proposals),
            Assignments(store, judge),
            standing,
            self.slack,
            tasks,
            home.refresh,
            home.refresh_list,
        )
        bind(
            bolt,
            Buttons(services, home),
            Forms(services),
            Commands(standing, home, why, self.slack, tasks),
            why,
            Replies(store, self.slack, tasks),
            home,
            self.directory,
            deleted,
        )
        stalled_after = timedelta(seconds=settings.stalled_after_seconds)
        presenter = Presenter(
            store,
            Admissions(
                store,
                self.slack,
                self.directory,
                self.policies,
                standing,
                Quota(lambda: self.policies.policy, store),
                self.restore_guard,
                trouble,
            ),
            Line(self.slack, pacing, store, self.health, self.restore_guard, trouble, lease),
            stalled_after,
        )
        self.drawing = Worker(
            store,
            "undrawn",
            presenter.present,
            lease=settings.lease_seconds,
            sweep=settings.sweep_seconds,
            wait=presenter.wait,
        )
        rules = (lambda: self.policies.policy) if self.bot_keys else None
        falling_due = Worker(
            store,
            "due",
            Deadlines(
                store,
                SilenceCheck(slack_watch, judge, store.refused, rules).why_not,
                on_call=lambda entry: self.directory.members(entry, ""),
                stalled_after=stalled_after,
            ).on_due,
            lease=settings.lease_seconds,
            sweep=min(1.0, settings.sweep_seconds),
        )
        self._stack.push_async_callback(self._drain, tasks, self.drawing, falling_due)
        sealer = (
            Sealer(self.audit, self.audit.logs, self.log_key, self.health, self.process)
            if self.log_key and self.audit.logs
            else None
        )
        if sealer:
            self._run("sealing", sealer.run, every=SEALING_EVERY)
        mover = AuditMover(
            self.audit, self.health, self.process, settings.audit_max_bytes, settings.audit_days, sealer
        )
        self._run("audit", mover.run, every=AUDIT_EVERY)
        if settings.digest_channel:
            digests = Digests(
                self.audit,
                self.sent_digests,
                self.slack,
                self.health,
                lambda: self.policies.policy,
                settings.digest_channel,
                self.process,
            )
            self._run("digest", digests.run, every=DIGEST_EVERY)
        self._run("waiting lists", WaitingSweep(store).run, every=WAITING_EVERY)
        self._run("deadlines", falling_due.run)
        self._run("drawing", self.drawing.run)
        self._run("queues", queues.run)
        self._run("lookout", slack_watch.run)
        self._run("lost cards", partial(self.restore_guard.run, slack_watch.turn_to_read))
        inboxes = InboxReader(store, self.drawing.wake, sweep=settings.sweep_seconds)
        self._run("inboxes", inboxes.run)
        wake_ups = WakeUps(
            settings.redis_url,
            store.keys,
            inboxes,
            self.drawing.wake,
            self.restore_guard,
            address=address_of(settings.redis_url),
        )
        self._run("wake-ups", wake_ups.run, every=QUIET)
        sockets = (
            Sockets(bolt, settings.slack_app_token, others=self._others) if settings.slack_app_token else None
        )
        if sockets:
            self._stack.push_async_callback(sockets.close)
        self._run("policy", partial(self.policies.watch, self.slack))
        link = SlackLink(self.slack, self.health, self.policies, sockets, self.drawing.wake, self.bot_keys)
        self._run("link to Slack", link.keep, fatal=(SettingsError,))

    def _anchor(self, session: aiohttp.ClientSession) -> None:
        """Send anchors of the sealed log, where there are both."""
        targets, logs, key = self.settings.anchor_targets, self.audit.logs, self.log_key
        if not (targets and logs and key):
            return
        lanes = self.audit.keys.all_lanes()
        anchoring = Anchoring(
            lambda: anchor_of(logs.log(lane, key) for lane in lanes),
            logs.beside,
            targets,
            Sender(self.slack, session),
            self.health,
            timedelta(hours=self.settings.anchor_hours),
        )
        self._run("anchors", anchoring.run, every=ANCHORS_EVERY)

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
        within, quarantine = loop.within / 2, Quarantine(self.store)
        while True:
            loop.beat(within=2 * loop.within)
            self.health.look_at_calls()
            try:
                async with asyncio.timeout(within):
                    # A failover can have made it a replica, and an operator can have changed its settings.
                    await check_server(redis, self.store.scripts.address)
                    await check_keys(redis, self.store.keys, self.store.scripts.address)
                    await self._look_at_the_clock()
                    self._owed = await self.store.owed()
                    self._aside = await quarantine.count()
                self.health.recover("redis")
            except TimeoutError:
                self.health.fault("redis", f"Redis does not answer within {within:.0f} seconds")
            except AgentAdapterError as error:
                self.health.fault("redis", str(error))
                # After a failover the address can lead to another server.
                await redis.connection_pool.disconnect(inuse_connections=False)
            await asyncio.sleep(min(HEARTBEAT, self.settings.sweep_seconds))

    async def _others(self) -> int:
        return (await self.restore_guard.beat()).others

    async def _look_at_the_clock(self) -> None:
        asked = time.monotonic()
        at = (await self.restore_guard.beat(quiet_for=self._quiet_for())).at
        look, before = Look(at, asked, time.monotonic()), self._look
        self._look = look
        if before and look.stepped_since(before):
            logger.warning("redis.clock_set", extra={"at": at})
            within = int((look.answered - before.asked) * 1000)
            await self.store.heartbeat(self.process, stepped_within=within, quiet_for=self._quiet_for())

    def _quiet_for(self) -> float | None:
        fault = self.health.slack_fault
        # A bot that starts takes over from one that stopped. It is not a fault that it has not asked Slack yet.
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
        SettingsError: when the policy file cannot be used, or Slack does not know somebody or something that it names.
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
