"""A bot, put together: every part of the process, complete when it exists."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import aiohttp
from redis.asyncio import Redis
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.loops import Work
from agent_adapter.redis.address import address_of
from bot.api.agents import Agents, SealedQuestions
from bot.api.failures import Rates
from bot.api.keys import KeyRing
from bot.api.routes import ApiSpace, build_api
from bot.domain.errors import SettingsError
from bot.http.application import HttpServer, build_site
from bot.jobs.admit import Admissions
from bot.jobs.audit_mover import EVERY as AUDIT_EVERY
from bot.jobs.audit_mover import MOST_BYTES, AuditMover, posting_to
from bot.jobs.deadlines import Deadlines, SilenceCheck
from bot.jobs.heartbeat import EVERY as BEAT_EVERY
from bot.jobs.heartbeat import Heartbeat
from bot.jobs.inboxes import QUIET, InboxReader, WakeUps
from bot.jobs.leased_loop import Worker
from bot.jobs.policy_watch import PolicyKeeper
from bot.jobs.presenter import Presenter
from bot.jobs.redis_restore import RestoreGuard
from bot.jobs.slack_call import Line, SlackTrouble
from bot.jobs.slack_link import SlackLink
from bot.jobs.slack_watch import SlackWatch
from bot.listeners.actions import Buttons
from bot.listeners.deliveries import Deliveries, bind
from bot.listeners.home import HomeTab
from bot.listeners.services import Services
from bot.on_call.schedules import Schedules
from bot.runtime.bot_keys import BotKeys
from bot.runtime.health import Health
from bot.runtime.metrics import build_registry
from bot.runtime.offload import Tasks
from bot.runtime.settings import Settings
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.slack.pacing import Pacing
from bot.slack.socket_mode import Sockets
from bot.store.audit import AuditStore
from bot.store.durability import Durability
from bot.store.records import ApprovalStore
from bot.use_cases.agent_limits import Quota
from bot.use_cases.assign import Assignments
from bot.use_cases.decide import Decisions
from bot.use_cases.home import Home
from bot.use_cases.propose import Proposals
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge


@dataclass(frozen=True, slots=True)
class Opened:
    """What a process has read and opened before its parts are put together."""

    settings: Settings
    health: Health
    policies: PolicyKeeper
    bot_keys: BotKeys | None
    """`None` when what people decide is not signed."""
    cipher: Cipher
    session: aiohttp.ClientSession
    redis: Redis
    trail: Redis
    """A connection to the same Redis, for the audit trail."""
    keys: Keys
    durability: Durability


@dataclass(frozen=True, slots=True)
class Job:
    """A loop of the process."""

    name: str
    work: Work
    every: float = 0.0
    fatal: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class Bot:
    """One bot process."""

    process: str
    """Its name."""
    settings: Settings
    health: Health
    slack: SlackClient
    directory: Directory
    policies: PolicyKeeper
    tasks: Tasks
    store: ApprovalStore
    audit: AuditStore
    guard: RestoreGuard
    drawing: Worker
    falling_due: Worker
    heartbeat: Heartbeat
    http: HttpServer
    sockets: Sockets | None
    """`None` in HTTP mode."""
    jobs: Sequence[Job] = field(default=())
    """Everything that it does by itself, beside the heartbeat."""


def compose(opened: Opened) -> Bot:
    """Put a bot together. Nothing is asked of Redis or Slack."""
    settings, health, policies = opened.settings, opened.health, opened.policies
    process, tasks = secrets.token_hex(6), Tasks()
    slack = SlackClient(
        settings.slack_bot_token, settings.slack_api_url, opened.session, within=settings.slack_timeout
    )
    schedules = Schedules(
        opened.session,
        lambda: policies.policy.schedules,
        slack.user_with_email,
        health,
        settings.pagerduty_url,
        settings.pagerduty_token,
        settings.calendar_addresses,
    )
    directory = Directory(slack, schedules)
    store, audit = _records(opened)
    guard = RestoreGuard(store, slack, health, process)
    pacing = Pacing(store.scripts, store.keys, enabled=settings.pace)
    judge = Judge(directory)
    standing = StandingApprovals(store, judge)
    slack_watch = SlackWatch(store, slack, pacing, health, guard, every=settings.sweep_seconds)
    home = Home(store, judge, directory, standing)
    home_tab = HomeTab(home, slack, tasks)
    quota = Quota(lambda: policies.policy, store)
    trouble = SlackTrouble(store, health)
    presenter = Presenter(
        store,
        Admissions(store, slack, directory, policies, standing, quota, guard, trouble),
        Line(slack, pacing, store, health, guard, trouble, tasks, int(settings.lease_seconds * 1000)),
    )
    drawing = Worker(
        store,
        "undrawn",
        presenter.present,
        lease=settings.lease_seconds,
        sweep=settings.sweep_seconds,
        wait=presenter.wait,
    )
    rules = (lambda: policies.policy) if opened.bot_keys else None
    deadlines = Deadlines(
        store,
        SilenceCheck(slack_watch, judge, store.refused, rules).why_not,
        lambda entry: directory.members(entry, ""),
    )
    falling_due = Worker(
        store,
        "due",
        deadlines.on_due,
        lease=settings.lease_seconds,
        sweep=min(1.0, settings.sweep_seconds),
    )
    heartbeat = Heartbeat(
        process, store, opened.redis, guard, slack, health, every=min(BEAT_EVERY, settings.sweep_seconds)
    )
    proposals = Proposals(lambda: policies.policy, slack, directory)
    services = Services(
        store,
        judge,
        Decisions(store, judge, proposals),
        Assignments(store, judge),
        standing,
        slack,
        tasks,
        home_tab.refresh_list,
    )
    bolt = _bolt(settings, slack)
    bind(bolt, home_tab, directory, slack_watch.on_deleted)
    deliveries = Deliveries(bolt, slack, directory, Buttons(services, home_tab))
    sockets = _sockets(settings, slack, deliveries)
    inboxes = InboxReader(store, drawing.wake, sweep=settings.sweep_seconds)
    link = SlackLink(slack, health, policies, sockets, drawing.wake, opened.bot_keys)
    post = posting_to(slack, settings.audit_channel) if settings.audit_channel else None
    mover = AuditMover(audit, health, process, MOST_BYTES, settings.audit_days, post)
    wake_ups = WakeUps(settings, opened.keys, inboxes, drawing.wake, guard)
    return Bot(
        process,
        settings,
        health,
        slack,
        directory,
        policies,
        tasks,
        store,
        audit,
        guard,
        drawing,
        falling_due,
        heartbeat,
        _http(opened, deliveries, heartbeat, quota),
        sockets,
        [
            Job("audit", mover.run, every=AUDIT_EVERY),
            Job("deadlines", falling_due.run),
            Job("drawing", drawing.run),
            Job("lookout", slack_watch.run),
            Job("inboxes", inboxes.run),
            Job("wake-ups", wake_ups.run, every=QUIET),
            Job("policy", partial(policies.watch, slack)),
            Job("link to Slack", link.keep, fatal=(SettingsError,)),
        ],
    )


def _records(opened: Opened) -> tuple[ApprovalStore, AuditStore]:
    settings, signing, keys = opened.settings, opened.bot_keys, opened.keys
    address = address_of(settings.redis_url)
    store = ApprovalStore(
        opened.redis,
        keys,
        address=address,
        signing=signing,
        cipher=opened.cipher,
        durability=opened.durability,
    )
    audit = AuditStore(
        opened.trail, keys, settings.audit_dir, signing=signing, address=address, cipher=opened.cipher
    )
    return store, audit


def _http(opened: Opened, deliveries: Deliveries, heartbeat: Heartbeat, quota: Quota) -> HttpServer:
    settings, health = opened.settings, opened.health
    rates = Rates(settings.api_requests_per_minute)
    site = build_site(
        health,
        build_registry(health, lambda: heartbeat.owed, lambda: heartbeat.failing, lambda: heartbeat.ages),
        deliver=deliveries.take,
        signing_secret=None if settings.socket_mode else settings.slack_signing_secret,
        api=build_api(_api(opened, quota), rates),
    )
    return HttpServer(site, settings.http_host, settings.http_port)


def _api(opened: Opened, quota: Quota) -> ApiSpace:
    settings, found = opened.settings, opened.bot_keys
    agents = Agents(
        settings.redis_url,
        namespace=settings.namespace,
        ring=found.ring if found else None,
        record_cipher=opened.cipher,
        marks=SealedQuestions(found.seal, found.ring, settings.namespace) if found else None,
        credentials=settings.redis_credentials,
    )
    opened.health.loops.include(agents.loops)
    seal, address = found.seal if found else None, address_of(settings.redis_url)
    return ApiSpace(KeyRing(opened.redis, opened.keys, address=address, seal=seal), agents, quota)


def _sockets(settings: Settings, slack: SlackClient, deliveries: Deliveries) -> Sockets | None:
    if not settings.socket_mode or not settings.slack_app_token:
        return None
    _quiet("slack_sdk.socket_mode.aiohttp")
    return Sockets(settings.slack_app_token, slack.repeating, deliveries.take)


def _bolt(settings: Settings, slack: SlackClient) -> AsyncApp:
    async def authorize() -> AuthorizeResult:
        me, token = slack.me, settings.slack_bot_token
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team_id, bot_token=token, bot_id=me.bot_id, bot_user_id=me.user_id
        )

    return AsyncApp(
        # Without a name, Bolt looks through the stack of calls for one.
        name="assent",
        logger=_quiet("slack_bolt"),
        client=slack.repeating,
        # If Bolt asked Slack itself whose app this is and Slack failed, it would answer a click with 200.
        authorize=authorize,
        # Bolt would poll every 10 ms for the acknowledgement. Our listeners acknowledge before they return.
        process_before_response=True,
        # Who deleted a card is not in the event, and its author is: the bot itself.
        ignoring_self_events_enabled=False,
        signing_secret=settings.slack_signing_secret or "socket-mode",
    )


def _quiet(name: str) -> logging.Logger:
    """Keep a library's errors only: Bolt warns at each start that SLACK_BOT_TOKEN is ignored, which it is not."""
    library = logging.getLogger(name)
    library.setLevel(logging.ERROR)
    return library
