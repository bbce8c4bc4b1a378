"""The namespace that a bot serves: its records, its audit trail, and everything that happens to them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import aiohttp
from redis.asyncio import Redis

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.loops import Work
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import freeze_meta
from agent_adapter.redis.server_check import check_keys
from bot.api.agents import Agents
from bot.api.keys import KeyRing
from bot.api.questions import SealedQuestions
from bot.api.routes import ApiSpace
from bot.jobs.admit import Admissions
from bot.jobs.audit_mover import EVERY as AUDIT_EVERY
from bot.jobs.audit_mover import MOST_BYTES, AuditMover, posting_to
from bot.jobs.deadlines import Deadlines
from bot.jobs.home_tabs import EVERY as HOME_EVERY
from bot.jobs.home_tabs import HomeTabs
from bot.jobs.inboxes import InboxReader
from bot.jobs.leased_loop import Worker
from bot.jobs.owed_ages import OwedAges
from bot.jobs.policy_watch import PolicyKeeper
from bot.jobs.presenter import Presenter
from bot.jobs.quarantine import Quarantine
from bot.jobs.redis_restore import RestoreGuard
from bot.jobs.silence_check import SilenceCheck
from bot.jobs.slack_call import Line
from bot.jobs.slack_trouble import SlackTrouble
from bot.jobs.slack_watch import LOOK_EVERY, SlackWatch
from bot.jobs.waiting_sweep import EVERY as WAITING_EVERY
from bot.jobs.waiting_sweep import WaitingSweep
from bot.jobs.wake_ups import QUIET, WakeUps
from bot.listeners.home import HomeTab
from bot.listeners.services import Services
from bot.runtime.bot_keys import load_bot_keys
from bot.runtime.health import Health
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import Settings
from bot.runtime.statements import Signing
from bot.runtime.tasks import Tasks
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.slack.pacing import Pacing
from bot.store.audit import AuditStore
from bot.store.durability import Durability
from bot.store.namespace import agree_on_seal
from bot.store.records import ApprovalStore
from bot.use_cases.agent_limits import Quota
from bot.use_cases.assign import Assignments
from bot.use_cases.decide import Decisions
from bot.use_cases.home import Home
from bot.use_cases.judge import Judge
from bot.use_cases.propose import Proposals
from bot.use_cases.standing import StandingApprovals


class Run(Protocol):
    """Starts a job as a loop of this process."""

    def __call__(self, name: str, work: Work, *, every: float = 0.0) -> None: ...


@dataclass(frozen=True, slots=True)
class Process:
    """What a bot has beside its namespace."""

    name: str
    health: Health
    slack: SlackClient
    directory: Directory
    policies: PolicyKeeper
    session: aiohttp.ClientSession
    tasks: Tasks


class Served:
    """Everything that is about the namespace."""

    store: ApprovalStore
    audit: AuditStore
    owed_ages: OwedAges
    quarantine: Quarantine
    restore_guard: RestoreGuard
    judge: Judge
    standing: StandingApprovals
    slack_watch: SlackWatch
    drawing: Worker
    falling_due: Worker
    home: HomeTab
    home_tabs: HomeTabs

    def __init__(self, settings: Settings) -> None:
        """Read its keys.

        Args:
            settings: Of this bot.

        Raises:
            SettingsError: when a key cannot be used.
        """
        self.settings = settings
        self.bot_keys = load_bot_keys(settings)
        self.log_key = load_log_key(settings)
        self._cipher = Cipher.parse(settings.record_key)

    async def try_keys(self) -> None:
        """Sign once.

        Raises:
            SettingsError: when a key does not sign.
        """
        if self.bot_keys:
            await self.bot_keys.try_out()

    async def find(self, redis: Redis) -> Keys:
        """Begin the namespace, or find it.

        Raises:
            ServerUnreachableError, ServerUnsuitableError: when this Redis cannot be used.
            SettingsError: when its bots seal with another key.
        """
        settings, address = self.settings, address_of(self.settings.redis_url)
        keys = await freeze_meta(redis, settings.namespace, address=address, begins=True)
        seal = self.bot_keys.seal if self.bot_keys else None
        await agree_on_seal(redis, keys, seal, address=address)
        return keys

    def open(
        self, keys: Keys, redis: Redis, trail: Redis, durability: Durability, team: Callable[[], str]
    ) -> None:
        """Make what reads and writes it.

        Args:
            keys: The names of its keys.
            redis: Where they are.
            trail: A connection to the same Redis, for the audit trail.
            durability: When a click counts as stored.
            team: Gives the id of the workspace that receipts name.
        """
        address, cipher = address_of(self.settings.redis_url), self._cipher
        found = self.bot_keys
        signing = Signing(found.signer, keys.namespace, team, found.ring, found.seal) if found else None
        self.store = ApprovalStore(
            redis,
            keys,
            address=address,
            signing=signing,
            cipher=cipher,
            durability=durability,
        )
        self.audit = AuditStore(
            trail, keys, self.settings.audit_dir, key=self.log_key, address=address, cipher=cipher
        )
        self.owed_ages = OwedAges(self.store)
        self.quarantine = Quarantine(self.store)
        self._keys_of_api = KeyRing(redis, keys, address=address, seal=found.seal if found else None)

    def api(self, health: Health, quota: Quota) -> ApiSpace:
        """Make what the HTTP API needs of it."""
        found, namespace = self.bot_keys, self.settings.namespace
        agents = Agents(
            self.settings.redis_url,
            namespace,
            found.ring if found else None,
            record_cipher=self._cipher,
            marks=SealedQuestions(found.seal, found.ring, namespace) if found else None,
            credentials=self.settings.redis_credentials,
        )
        health.loops.include(agents.loops)
        return ApiSpace(self._keys_of_api, agents, quota)

    async def check(self, redis: Redis) -> None:
        """Refuse it when something else has overwritten its keys.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            ServerRefusesError: naming the key and the cure.
        """
        await check_keys(redis, self.store.keys, self.store.scripts.address)

    def compose(self, process: Process, pacing: Pacing) -> None:
        """Connect what looks after its records with Slack.

        Args:
            process: What this bot has beside it.
            pacing: Slack's limits.
        """
        settings, store, health, slack = self.settings, self.store, process.health, process.slack
        policies, directory, guard = process.policies, process.directory, self.restore_guard
        self.judge = Judge(directory)
        self.standing = StandingApprovals(store, self.judge)
        self.slack_watch = SlackWatch(
            store, slack, pacing, health, guard, every=min(LOOK_EVERY, settings.sweep_seconds)
        )
        trouble = SlackTrouble(store, health)
        lease = int(settings.lease_seconds * 1000)
        quota = Quota(lambda: policies.policy, store)
        home = Home(store, self.judge, directory, self.standing)
        self.home = HomeTab(home, slack, process.tasks)
        self.home_tabs = HomeTabs(home, pacing, self.home.write)
        presenter = Presenter(
            store,
            Admissions(store, slack, directory, policies, self.standing, quota, guard, trouble),
            Line(slack, pacing, store, health, guard, trouble, process.tasks, lease),
            self.home_tabs.note,
        )
        self.drawing = Worker(
            store,
            "undrawn",
            presenter.present,
            lease=settings.lease_seconds,
            sweep=settings.sweep_seconds,
            wait=presenter.wait,
            outages=lambda: guard.outages,
        )
        rules = (lambda: policies.policy) if self.bot_keys else None
        self.falling_due = Worker(
            store,
            "due",
            Deadlines(
                store,
                SilenceCheck(self.slack_watch, self.judge, store.refused, rules).why_not,
                on_call=lambda entry: directory.members(entry, ""),
            ).on_due,
            lease=settings.lease_seconds,
            sweep=min(1.0, settings.sweep_seconds),
            outages=lambda: guard.outages,
        )

    def services(self, process: Process) -> Services:
        """Make what handles the clicks and forms about its records."""
        proposals = Proposals(lambda: process.policies.policy, process.slack, process.directory)
        return Services(
            self.store,
            self.judge,
            Decisions(self.store, self.judge, proposals),
            Assignments(self.store, self.judge),
            self.standing,
            process.slack,
            process.tasks,
            self.home.refresh_list,
        )

    def start(self, process: Process, run: Run) -> None:
        """Start its jobs."""
        settings, store, health = self.settings, self.store, process.health
        channel = settings.audit_channel
        post = posting_to(process.slack, channel) if channel else None
        mover = AuditMover(self.audit, health, process.name, MOST_BYTES, settings.audit_days, post)
        run("audit", mover.run, every=AUDIT_EVERY)
        run("waiting lists", WaitingSweep(store).run, every=WAITING_EVERY)
        run("deadlines", self.falling_due.run)
        run("drawing", self.drawing.run)
        run("lookout", self.slack_watch.run)
        run("home tabs", self.home_tabs.run, every=HOME_EVERY)
        inboxes = InboxReader(store, self.drawing.wake, sweep=settings.sweep_seconds)
        run("inboxes", inboxes.run)
        wake_ups = WakeUps(
            settings.redis_url,
            store.keys,
            inboxes,
            self.drawing.wake,
            self.restore_guard,
            address=address_of(settings.redis_url),
            credentials=settings.redis_credentials,
        )
        run("wake-ups", wake_ups.run, every=QUIET)
