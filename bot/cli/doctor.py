"""`python -m bot doctor`: is everything there that the bot needs? Each finding is one line, with its cure."""

import asyncio
import contextlib
import subprocess
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

import aiohttp
import typer
from cryptography.exceptions import InvalidSignature
from redis.asyncio import Redis
from redis.exceptions import RedisError
from slack_sdk.errors import SlackApiError

from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError, LockedRecordError
from agent_adapter.receipts.signer import kid_of
from agent_adapter.redis.cluster import is_cluster, primaries_of
from agent_adapter.redis.hosts import shown_hosts
from agent_adapter.redis.pool import (
    SCHEMA,
    address_of,
    another_schema,
    known_replicas,
    open_redis,
    other_lanes,
)
from agent_adapter.redis.private import RecordCipher
from agent_adapter.redis.server_check import (
    check_audit,
    check_keys,
    explained,
    judge_server,
    read_info,
    unsaid,
)
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.errors import SettingsError, SlackError, SlackUnclearError
from bot.domain.person import Person
from bot.domain.policy import Policy
from bot.domain.role import missing_beside
from bot.jobs.old_namespace import empty, not_empty, work_left
from bot.jobs.policy_watch import load_policy, scopes_for
from bot.jobs.quarantine import Failing, Quarantine
from bot.on_call.reading import UnansweredError
from bot.on_call.schedules import Schedules
from bot.policy.file import PolicyFile
from bot.policy.gaps import without_ring
from bot.rendering.card.card import render_card
from bot.runtime.bot_keys import UNSIGNED, load_bot_keys
from bot.runtime.health import Health
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import (
    NOT_KEPT,
    Access,
    Settings,
    load_access,
    load_settings,
    naming_the_old,
    unknown_variables,
)
from bot.sentences import in_why
from bot.slack.client import Identity, SlackClient
from bot.slack.directory import Directory
from bot.slack.manifest import (
    COMMAND,
    COMMAND_SCOPE,
    DIRECT_SCOPES,
    GROUP_CHANGED,
    GROUP_SCOPE,
    HOME_OPENED,
    LEFT_CHANNEL,
    MENTION,
    MENTION_SCOPE,
    WHY,
    needed_scopes,
)
from bot.store.audit import AuditStore
from bot.store.durability import durability_on, following, missing_on, unknown_on
from bot.store.namespace import find_old
from bot.store.records import ApprovalStore
from bot.tlog.bucket import is_bucket
from bot.tlog.log import LogKey

TRANSPORT_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)
_TOKEN_CURE = "copy the bot token (xoxb-…) again from your Slack app, under OAuth & Permissions"  # noqa: S105  # no token
_APP_TOKEN_CURE = "make an app-level token (xapp-…) with connections:write, under Basic Information"  # noqa: S105  # no token
_CHANNEL_CURE = "copy the id from the channel's details; into a private channel the bot must be invited first"

_OF_THE_BOT = (
    "doctor needs all settings of the bot: run it where the bot runs, with the same environment or .env"
)

_WITHIN = 10.0
BODIES_READ = 200
"""How many questions of each lane are looked at."""
SET_ASIDE_SHOWN = 20
"""How many records are named one by one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: Literal["ok", "note", "warn", "fail"]
    """`note`: it cannot be checked, so somebody has to look."""
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.verdict:<5} {self.subject}: {self.sentence}"


def main() -> int:
    """Print every finding; 0 when the bot can work, 1 when something has to be fixed."""
    failed = False

    async def print_all() -> None:
        nonlocal failed
        async for finding in examine_environment():
            failed = failed or finding.verdict == "fail"
            typer.echo(str(finding))

    asyncio.run(print_all())
    return int(failed)


async def examine_environment() -> AsyncIterator[Finding]:
    """Check what the environment and .env say."""
    for sentence in unknown_variables():
        yield Finding("warn", "settings", sentence)
    try:
        settings = load_settings()
    except SettingsError as error:
        first, *others = str(error).splitlines()
        for sentence in (f"{first}. {_OF_THE_BOT}", *others):
            yield Finding("fail", "settings", sentence)
        # A .env that cannot be read was named already.
        with contextlib.suppress(SettingsError):
            async for finding in examine_access(load_access()):
                yield finding
        return
    async for finding in examine(settings):
        yield finding


async def examine_access(access: Access) -> AsyncIterator[Finding]:
    """Check Redis, and the tokens that are set, while other settings are missing."""
    for finding in await _redis(access):
        yield finding
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WITHIN)) as session:
        slack = SlackClient(access.slack_bot_token, access.slack_api_url, session)
        if access.slack_app_token:
            yield await _app_token(slack, access)
        if access.slack_bot_token:
            finding, _ = await _bot_token(slack, access)
            yield finding


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Check everything that can be checked with these settings, also after a check has failed."""
    yield Finding("ok", "settings", f"{_mode(settings)}, namespace {settings.namespace!r}")
    try:
        named = load_policy(settings)
    except SettingsError as error:
        for sentence in str(error).splitlines():
            yield Finding("fail", "policy", sentence)
        named = None
    for warning in named.warnings if named else ():
        yield Finding("warn", "policy", f"{settings.policy}, {warning}")
    if named and settings.policy:
        yield judge_policy(named.policy, settings)
        if not settings.ring and (sentence := without_ring(named.policy)):
            yield Finding("warn", "policy", sentence)
    for finding in [*await _redis(settings), *await _old(settings), *await _beside(settings)]:
        yield finding
    yield judge_signing(settings)
    yield judge_audit(settings.audit_dir)
    for finding in [*judge_log(settings), *await _sealed(settings)]:
        yield finding
    timeout = aiohttp.ClientTimeout(total=settings.slack_timeout_seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        slack = SlackClient(settings.slack_bot_token, settings.slack_api_url, session)
        async for finding in _slack(slack, settings, named):
            yield finding


def _mode(settings: Settings) -> str:
    mode = "Socket Mode" if settings.socket_mode else "HTTP mode"
    match settings.role:
        case "draw":
            return "draws only (ASSENT_ROLE=draw), takes no clicks"
        case "clicks":
            return f"{mode}, takes clicks only (ASSENT_ROLE=clicks)"
    return mode


def judge_signing(settings: Settings) -> Finding:
    """Say whether what people decide is signed, and with which key."""
    try:
        keys = load_bot_keys(settings)
    except SettingsError as error:
        return Finding("fail", "receipts", str(error))
    if keys is None:
        return Finding("warn", "receipts", UNSIGNED)
    if keys.ring.accepts_unsigned:
        until = f"{keys.ring.unsigned_until:%Y-%m-%d}"
        return Finding("warn", "receipts", f"until {until}, records without a signature are accepted")
    return Finding("ok", "receipts", f"signed with the key {keys.signer.kid}")


# --- Redis --------------------------------------------------------------------------------------------------------


async def _redis(settings: Settings | Access) -> list[Finding]:
    try:
        address = address_of(settings.redis_url)
    except AgentAdapterError:
        # The settings say so.
        return []
    try:
        async with open_redis(settings.redis_url, retries=0, credentials=settings.redis_credentials) as redis:
            servers = await primaries_of(redis)
            infos = [await read_info(server) for server in servers]
            found = list(dict.fromkeys(finding for info in infos for finding in judge_redis(info, address)))
            if is_cluster(settings.redis_url):
                found += judge_replicas(
                    {_host_of(server): info for server, info in zip(servers, infos, strict=True)}
                )
            if isinstance(settings, Settings):
                found += judge_durability(infos, address, settings, await known_replicas(redis))
            if any(finding.verdict == "fail" for finding in found):
                return found
            cipher = RecordCipher.from_setting(settings.record_key)
            return found + await _namespace(redis, settings, address, cipher)
    except AgentAdapterError as error:
        return [Finding("fail", "redis", str(error))]
    except Exception as error:  # noqa: BLE001  # whatever it is, Redis cannot be used
        return [Finding("fail", "redis", str(explained(address, error)))]


async def _old(settings: Settings) -> list[Finding]:
    """Say whether something waits in the old namespace, and whether this bot can serve it."""
    old = settings.old
    if old is None:
        return []
    address, subject = address_of(old.redis_url), "old namespace"
    try:
        with naming_the_old(old):
            load_bot_keys(old)
            load_log_key(old)
        async with open_redis(old.redis_url, retries=0, credentials=old.redis_credentials) as redis:
            await find_old(redis, old.namespace, address=address)
            found = await _namespace(redis, old, address, RecordCipher.from_setting(old.record_key))
            meta: Any = await redis.hgetall(Keys(old.namespace).meta)
            store = ApprovalStore(redis, Keys(old.namespace, int(meta.get("lanes", 1))), address=address)
            return [Finding(each.verdict, f"{subject}, {each.subject}", each.sentence) for each in found] + [
                judge_old(old.namespace, await work_left(store))
            ]
    except (SettingsError, AgentAdapterError) as error:
        return [Finding("fail", subject, str(error))]
    except (RedisError, OSError) as error:
        return [Finding("fail", subject, str(explained(address, error)))]


def judge_old(namespace: str, left: int) -> Finding:
    """Say how much waits in an old namespace."""
    if left:
        return Finding("ok", "old namespace", not_empty(namespace, left))
    return Finding("warn", "old namespace", empty(namespace))


async def _beside(settings: Settings) -> list[Finding]:
    """Say whether another bot does what this one leaves to others."""
    if settings.role == "all":
        return []
    with contextlib.suppress(RedisError, OSError, AgentAdapterError):
        async with open_redis(settings.redis_url, retries=0, credentials=settings.redis_credentials) as redis:
            meta: Any = await redis.hgetall(Keys(settings.namespace).meta)
            store = ApprovalStore(redis, Keys(settings.namespace, int(meta.get("lanes", 1))))
            if missing := missing_beside(settings.role, await store.alive()):
                return [Finding("warn", "role", f"now {missing}")]
    # What is wrong with Redis is said elsewhere.
    return []


async def _namespace(
    redis: Redis, settings: Settings | Access, address: str, cipher: RecordCipher
) -> list[Finding]:
    namespace = settings.namespace
    await check_keys(redis, Keys(namespace), address)
    meta: Any = await redis.hgetall(Keys(namespace).meta)
    schema = judge_schema(meta, namespace)
    if schema.verdict != "ok":
        return [schema]
    if others := other_lanes(meta, namespace, settings.lanes):
        return [schema, Finding("fail", "lanes", others)]
    store = ApprovalStore(redis, Keys(namespace, int(meta.get("lanes", 1))), address=address)
    await check_audit(redis, store.keys, address)
    encrypted = judge_encryption(await _bodies(redis, store.keys), cipher)
    quarantine = Quarantine(store)
    foreign = [
        Finding(
            "warn",
            "failing",
            f"{entry}: the bot did not write this entry. Look for what else writes to this Redis, then delete the entry (HDEL)",
        )
        for entry in (await quarantine.foreign())[:SET_ASIDE_SHOWN]
    ]
    return [schema, *encrypted, *judge_quarantine(await quarantine.set_aside()), *foreign]


async def _bodies(redis: Redis, keys: Keys) -> dict[str, str]:
    """Read some questions that wait, as they are stored."""
    found: dict[str, str] = {}
    for lane in keys.all_lanes():
        ids = cast("list[str]", await redis.zrange(lane.due, 0, BODIES_READ - 1))
        for interrupt_id in ids:
            if body := cast("str | None", await redis.hget(lane.req(interrupt_id), "body")):
                found[interrupt_id] = body
    return found


def judge_encryption(bodies: Mapping[str, str], cipher: RecordCipher) -> list[Finding]:
    """Say whether the questions that wait are encrypted, and whether the bot has their key."""
    plain = locked = 0
    for interrupt_id, body in bodies.items():
        try:
            plain += cipher.open(body, record=interrupt_id, field="body") == body
        except LockedRecordError:
            locked += 1
    if locked:
        return [
            Finding(
                "fail",
                "encryption",
                f"{locked} of {len(bodies)} questions that wait cannot be decrypted: set ASSENT_RECORD_KEY to the key of "
                "their agents, and keep older keys after it",
            )
        ]
    if not cipher:
        return []
    if plain:
        return [
            Finding(
                "warn",
                "encryption",
                f"{plain} of {len(bodies)} questions that wait were asked without a key: whoever reads this Redis can "
                "read them. Set ASSENT_RECORD_KEY for their agents, too",
            )
        ]
    return [Finding("ok", "encryption", "what is asked and decided is encrypted")]


async def _sealed(settings: Settings) -> list[Finding]:
    """Say whether the log here is the one that the bots seal, and whether its checkpoints can be read."""
    with contextlib.suppress(SettingsError, RedisError, AgentAdapterError):
        key = load_log_key(settings)
        if key is None or settings.audit_dir is None:
            return []
        try:
            behind = await _behind(settings, settings.audit_dir, key)
        except (OSError, ValueError, InvalidSignature) as error:
            return [Finding("fail", "log", str(error) or "a checkpoint is not signed with a key of the log")]
        if behind:
            sentence = (
                f"the log in {settings.audit_dir} is behind what another bot has sealed ({', '.join(behind)}): give all "
                "bots the same folder, on a disk that they share, or the same bucket"
            )
            return [Finding("fail", "log", sentence)]
    # What is wrong with the settings or with Redis is said elsewhere.
    return []


async def _behind(settings: Settings, place: str, key: LogKey) -> list[str]:
    async with open_redis(settings.redis_url, retries=0, credentials=settings.redis_credentials) as redis:
        meta: Any = await redis.hgetall(Keys(settings.namespace).meta)
        keys = Keys(settings.namespace, int(meta.get("lanes", 1)))
        return await AuditStore(redis, keys, place).lanes_behind(key)


def judge_audit(folder: str | None) -> Finding:
    """Judge where the audit trail is kept."""
    if not folder:
        return Finding("warn", "audit", NOT_KEPT)
    if is_bucket(folder):
        return Finding("ok", "audit", f"entries are kept in the bucket {folder}")
    path = Path(folder)
    nearest = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    try:
        # Rights alone do not say it: a disk may be read-only, or no disk at all.
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        return Finding(
            "fail",
            "audit",
            f"the bot cannot write to {folder} (ASSENT_AUDIT_DIR): {error.strerror}: correct the path or its rights",
        )
    return Finding("ok", "audit", f"entries older than 7 days are kept in {folder}")


def judge_log(settings: Settings) -> list[Finding]:
    """Say whether the audit trail is sealed and anchored, where it is to be."""
    try:
        key = load_log_key(settings)
    except SettingsError as error:
        return [Finding("fail", "log", str(error))]
    if key is None:
        return []
    found = [Finding("ok", "log", f"the audit trail is sealed with the key {kid_of(key.public)}")]
    if not settings.anchor_targets:
        sentence = "ASSENT_ANCHOR is not set, so whoever has the key of the log can write it anew unnoticed"
        found.append(Finding("warn", "anchors", sentence))
    return found + [judge_clone(target.where) for target in settings.anchor_targets if target.kind == "git"]


def judge_clone(folder: str) -> Finding:
    """Say whether anchors can be pushed from a clone."""
    command = ["git", "-C", folder, "rev-parse", "--abbrev-ref", "@{upstream}"]
    try:
        ended = subprocess.run(command, capture_output=True, check=False, timeout=_WITHIN)  # noqa: S603  # the operator's own folder
    except (OSError, subprocess.TimeoutExpired):
        return Finding(
            "fail", "anchors", "git cannot be run: install it, or use another target in ASSENT_ANCHOR"
        )
    if ended.returncode:
        cure = "clone the repository there, with a branch that has a commit"
        return Finding("fail", "anchors", f"{folder} is not a clone from which the bot can push: {cure}")
    return Finding("ok", "anchors", f"files are pushed from {folder}")


def judge_quarantine(aside: Sequence[Failing]) -> list[Finding]:
    """Name the records that the bot does not try any more."""
    found = [
        Finding(
            "warn",
            "set aside",
            f"{failing.interrupt_id}: {failing}. Look at the bot's log (work.broken), correct what is wrong, then: "
            f"python -m bot release {failing.interrupt_id}",
        )
        for failing in aside[:SET_ASIDE_SHOWN]
    ]
    if more := len(aside) - len(found):
        found.append(
            Finding(
                "warn", "set aside", f"and {more} more. Once it is corrected: python -m bot release --all"
            )
        )
    return found


def judge_redis(info: dict[str, Any], address: str) -> list[Finding]:
    """Judge what INFO says."""
    try:
        warnings = judge_server(info, address)
    except AgentAdapterError as error:
        return [Finding("fail", "redis", str(error))]
    found = [Finding("warn", "redis", warning) for warning in warnings]
    found += [Finding("note", "redis", sentence) for sentence in unsaid(info, address)]
    if found:
        return found
    kept = f"{info['redis_version']} at {address}, append-only file on, {info.get('maxmemory_policy', 'noeviction')}"
    return [Finding("ok", "redis", kept)]


def _host_of(server: Redis) -> str:
    options = server.connection_pool.connection_kwargs
    return shown_hosts([(options["host"], options["port"])])


def judge_replicas(infos: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Name the primaries of a cluster that have no replica, given what INFO says on each host:port."""
    alone = [place for place, info in infos.items() if following(info) == 0]
    if not alone:
        return []
    sentence = f"no replica follows {', '.join(alone)}: nothing takes over when this primary ends. Start its replica again, or add one"
    return [Finding("warn", "replicas", sentence)]


def judge_durability(
    infos: Sequence[Mapping[str, Any]], address: str, settings: Settings, known: int = 0
) -> list[Finding]:
    """Judge whether these servers can confirm clicks as the settings ask; nothing when they do not ask."""
    mode, replicas = settings.durability, settings.durability_replicas
    if mode == "local":
        return []
    try:
        found = durability_on(infos, address, mode, replicas, known)
    except AgentAdapterError as error:
        return [Finding("fail", "durability", str(error))]
    if warning := unknown_on(infos, address, found) or missing_on(infos, found):
        return [Finding("warn", "durability", warning)]
    waits_for = "the append-only file" if mode == "fsync" else f"{found.replicas} of its replicas"
    return [Finding("ok", "durability", f"a click waits for {waits_for}")]


def judge_schema(meta: Mapping[str, str], namespace: str) -> Finding:
    """Judge who wrote the namespace."""
    if another := another_schema(meta, namespace):
        return Finding("warn" if meta["schema"] == str(SCHEMA - 1) else "fail", "schema", another)
    return Finding("ok", "schema", f"{SCHEMA}" if meta else f"{SCHEMA}, to be written at the first start")


# --- Slack --------------------------------------------------------------------------------------------------------


def judge_policy(policy: Policy, settings: Settings) -> Finding:
    """Judge settings that are set together with a policy file."""
    said = f"version {policy.version}, rules: {len(policy.rules)}"
    given = (
        settings.approvers,
        settings.channel,
        settings.agent_channel_may_decide,
        settings.requester_may_approve,
    )
    names = (
        "ASSENT_APPROVERS",
        "ASSENT_CHANNEL",
        "ASSENT_AGENT_CHANNEL_MAY_DECIDE",
        "ASSENT_REQUESTER_MAY_APPROVE",
    )
    if idle := [name for name, value in zip(names, given, strict=True) if value]:
        cure = "have no effect: remove them" if len(idle) > 1 else "has no effect: remove it"
        return Finding("warn", "policy", f"{said}, so {', '.join(idle)} {cure}")
    return Finding("ok", "policy", said)


async def _slack(slack: SlackClient, settings: Settings, named: PolicyFile | None) -> AsyncIterator[Finding]:
    if settings.socket_mode:
        yield await _app_token(slack, settings)
    found, me = await _bot_token(slack, settings)
    yield found
    if me is None:
        return
    with contextlib.suppress(SettingsError):
        # A broken key was named already.
        keys = load_bot_keys(settings)
        if keys and (problem := keys.wrong_team(me.team_id)):
            yield Finding("fail", "receipts", problem)
    mentions = named.mentions if named else ()
    needed = scopes_for(named) if named else needed_scopes(())
    yield judge_scopes(me.scopes, needed)
    yield judge_commands(me.scopes)
    yield judge_mentions(me.scopes)
    for finding in unseen_events(groups=GROUP_SCOPE in needed):
        yield finding
    if named and any(rule.tell_requester == "direct" for rule in (*named.policy.rules, named.policy.default)):
        yield judge_telling(me.scopes)
    if not settings.policy:
        yield await _channel(slack, settings, settings.channel)
    named_in_policy = [m.id for m in mentions if m.is_place and m.id[0] not in "UW"]
    for channel in _distinct([*named_in_policy, *_own_channels(settings)]):
        yield await _channel(slack, settings, channel)
    approvers = settings.approvers if not settings.policy else [m.id for m in mentions if m.id[0] in "UWS"]
    for entry in _distinct(approvers):
        yield await _approver(slack, settings, entry, me.team_id)
    for finding in await _schedules(slack, settings, named) if named else ():
        yield finding
    yield await _card(slack, settings)


async def _schedules(slack: SlackClient, settings: Settings, named: PolicyFile) -> list[Finding]:
    """Say who is on call now, by each schedule of the policy."""
    async with aiohttp.ClientSession() as session:
        schedules = Schedules(
            session,
            lambda: named.policy.schedules,
            slack.user_with_email,
            Health(),
            settings.pagerduty_url,
            settings.pagerduty_token,
            settings.calendar_addresses,
        )
        return [await _schedule(schedules, name) for name in named.policy.schedules]


async def _schedule(schedules: Schedules, name: str) -> Finding:
    try:
        people = await schedules.ask(name)
    except (UnansweredError, SlackError) as error:
        return Finding("fail", "on call", f"{name}: {error}: until it answers, nobody decides as on call")
    if not people:
        return Finding(
            "warn", "on call", f"{name}: nobody is on call now, or Slack knows none of their e-mail addresses"
        )
    return Finding("ok", "on call", f"{name}: {', '.join(sorted(people))}")


async def _bot_token(slack: SlackClient, settings: Settings | Access) -> tuple[Finding, Identity | None]:
    try:
        me = await slack.who_am_i()
    except SlackError as error:
        return Finding("fail", "bot token", _cured(error, settings, _TOKEN_CURE)), None
    return Finding("ok", "bot token", f"{me.user} in {me.team} ({me.url})"), me


async def _app_token(slack: SlackClient, settings: Settings | Access) -> Finding:
    try:
        await slack.posting.apps_connections_open(app_token=settings.slack_app_token or "")
    except SlackApiError as error:
        return Finding(
            "fail", "app token", f"Slack refuses it ({error.response['error']}): {_APP_TOKEN_CURE}"
        )
    except TRANSPORT_ERRORS as error:
        return Finding("fail", "app token", _unanswered(settings, error))
    return Finding("ok", "app token", "Socket Mode can be opened")


def _distinct(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _own_channels(settings: Settings) -> list[str]:
    """Name the channels for what the bot says by itself."""
    anchored = [target.where for target in settings.anchor_targets if target.kind == "slack"]
    return [*filter(None, [settings.digest_channel]), *anchored]


async def _channel(slack: SlackClient, settings: Settings, channel: str | None) -> Finding:
    if not channel:
        return Finding(
            "warn", "channel", "ASSENT_CHANNEL is not set: only agents that name a channel can ask"
        )
    try:
        return judge_channel(await slack.channel(channel))
    except SlackError as error:
        return Finding("fail", "channel", f"{channel}: {_cured(error, settings, _CHANNEL_CURE)}")


async def _approver(slack: SlackClient, settings: Settings, entry: str, team: str) -> Finding:
    directory = Directory(slack)
    try:
        if entry == "channel":
            return await _channel_members(slack, settings)
        if entry.startswith("S"):
            return judge_group(entry, await slack.group_members(entry))
        return judge_approver(await directory.person(entry), team)
    except SlackError as error:
        cure = "take it off the approvers, or correct the id"
        return Finding("fail", "approvers", f"{entry}: {_cured(error, settings, cure)}")


async def _channel_members(slack: SlackClient, settings: Settings) -> Finding:
    if not settings.channel:
        return Finding("ok", "approvers", "the members of the channel that the agent names")
    members = await slack.channel_members(settings.channel)
    return Finding("ok", "approvers", f"the {len(members)} members of {settings.channel}")


async def _card(slack: SlackClient, settings: Settings) -> Finding:
    try:
        await slack.posting.api_call("blocks.validate", json={"blocks": sample_blocks()})
    except SlackApiError as error:
        return judge_validation(error.response.data if isinstance(error.response.data, dict) else {})
    except TRANSPORT_ERRORS as error:
        return Finding("fail", "card", _unanswered(settings, error))
    return Finding("ok", "card", "Slack accepts our blocks")


def judge_scopes(granted: Collection[str], needed: Iterable[str]) -> Finding:
    """Compare the scopes of the token with those that are needed."""
    missing = [scope for scope in needed if scope not in granted]
    if missing:
        return Finding(
            "fail",
            "scopes",
            f"missing {', '.join(missing)}: add them under OAuth & Permissions, then reinstall the app",
        )
    return Finding("ok", "scopes", "all that approvals need was granted")


def judge_commands(granted: Collection[str]) -> Finding:
    """Say whether people can have the command and the message shortcut. Without them, everything else works."""
    if COMMAND_SCOPE in granted:
        return Finding(
            "note",
            "commands",
            f"Slack does not say which ones the app has: look for {COMMAND} under Slash Commands, and for the message "
            f"shortcut with the callback id {WHY} under Interactivity & Shortcuts",
        )
    return Finding(
        "warn",
        "commands",
        f"{COMMAND} and the message shortcut {in_why.TITLE!r} are missing: add the scope {COMMAND_SCOPE} under OAuth & "
        f"Permissions, the command under Slash Commands, and the shortcut with the callback id {WHY} under "
        "Interactivity & Shortcuts, then reinstall the app",
    )


def judge_mentions(granted: Collection[str]) -> Finding:
    """Say whether replies that mention the app can reach the bot. Without them, everything else works."""
    if MENTION_SCOPE in granted:
        return _unseen_event(MENTION, "replies that mention the app are not answered")
    return Finding(
        "warn",
        "mentions",
        f"replies that mention the app are not answered: add the scope {MENTION_SCOPE} under OAuth & Permissions and "
        f"the bot event {MENTION} under Event Subscriptions, then reinstall the app",
    )


def unseen_events(*, groups: bool) -> list[Finding]:
    """Name the events that need no scope of their own, with what is missing without each."""
    left = "may go on deciding for up to a minute"
    found = [
        _unseen_event(HOME_OPENED, "the Home tab stays empty; it also has to be turned on under App Home"),
        _unseen_event(LEFT_CHANNEL, f"people who leave a channel {left}"),
    ]
    return found + ([_unseen_event(GROUP_CHANGED, f"people who leave a user group {left}")] if groups else [])


def _unseen_event(name: str, without: str) -> Finding:
    return Finding(
        "note",
        "events",
        f"Slack does not say whether it sends {name}: look for it under Event Subscriptions. Without it, {without}",
    )


def judge_telling(granted: Collection[str]) -> Finding:
    """Say whether requesters can be told in direct messages. Without it, everything else works."""
    missing = sorted(DIRECT_SCOPES.keys() - set(granted))
    if not missing:
        return Finding("ok", "tell_requester", "requesters can be told in direct messages")
    cure = "add them under OAuth & Permissions, then reinstall the app"
    return Finding("warn", "tell_requester", f"nobody is told, since {', '.join(missing)} is missing: {cure}")


def judge_channel(channel: Mapping[str, Any]) -> Finding:
    """Judge the channel in which the bot asks."""
    name = f"#{channel['name']}" if channel.get("name") else str(channel["id"])
    if channel.get("is_archived"):
        return Finding("fail", "channel", f"{name} is archived: unarchive it, or name another channel")
    if not (channel.get("is_member") or channel.get("is_im")):
        return Finding("fail", "channel", f"the bot is not in {name}: write /invite @assent there")
    if channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"):
        return Finding(
            "warn", "channel", f"{name} is shared with another company, which can read what agents ask"
        )
    return Finding("ok", "channel", name)


def judge_approver(person: Person, team: str) -> Finding:
    """Judge somebody who is named as an approver."""
    if person.is_deactivated:
        return Finding(
            "fail",
            "approvers",
            f"{person.id} is deactivated and can never decide: take them off the approvers",
        )
    if person.is_bot:
        return Finding("fail", "approvers", f"{person.id} is a bot and presses no buttons: name a person")
    if person.is_stranger or person.team_id != team:
        return Finding("warn", "approvers", f"{person.id} is of another company; may decide, since named")
    if person.is_guest:
        return Finding("warn", "approvers", f"{person.id} is a guest; may decide, since named")
    return Finding("ok", "approvers", person.id)


def judge_group(group: str, members: Iterable[str]) -> Finding:
    """Judge a user group that is named as an approver."""
    count = len(list(members))
    if not count:
        return Finding(
            "fail", "approvers", f"user group {group} is empty, so nobody in it can decide: add people"
        )
    return Finding("ok", "approvers", f"user group {group} of {count}")


def judge_validation(answer: Mapping[str, Any]) -> Finding:
    """Judge Slack's verdict on a card of ours."""
    if answer.get("error") == "unknown_method":
        return Finding("ok", "card", "not checked: this Slack has no blocks.validate")
    problems = [f"{error.get('message')} at {error.get('pointer')}" for error in _errors(answer)]
    return Finding("fail", "card", f"Slack refuses our blocks: {'; '.join(problems) or answer.get('error')}")


def _errors(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (error for error in answer.get("errors", ()) if isinstance(error, Mapping))


def _cured(error: SlackError, settings: Settings | Access, cure: str) -> str:
    if isinstance(error, SlackUnclearError):
        return _unanswered(settings, error)
    if error.code == "missing_scope":
        return f"{error}: add the scope, then reinstall the app"
    return f"Slack refuses it ({error.code}): {cure}"


def _unanswered(settings: Settings | Access, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    return (
        f"{settings.slack_api_url} does not answer ({reason}): is the network open, is SLACK_API_URL right?"
    )


def sample_blocks() -> list[dict[str, Any]]:
    """Draw a card about one ordinary call."""
    action = ActionRequest(name="send_email", args={"to": "dana@example.com", "subject": "Your invoice"})
    config = ReviewConfig(action_name=action.name, allowed_decisions=("approve", "edit", "reject", "respond"))
    interrupt = Interrupt(
        id="doctor.sample",
        agent="doctor",
        request=HITLRequest(action_requests=(action,), review_configs=(config,)),
        pauses=("sample",),
        run="sample",
    )
    now = datetime.now(UTC)
    state = Approval(
        interrupt=interrupt,
        status="pending",
        created_at=now,
        deadline=now + timedelta(hours=1),
        now=now,
        recorded=(None,),
        admission=Admission(
            policy_version="doctor",
            terms=(Terms(approvers=("channel",)),),
            pages=(0,),
            places=(Place(channel="C000", actions=(0,)),),
        ),
    )
    return render_card(state)[0].blocks
