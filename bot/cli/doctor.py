"""`python -m bot doctor`: is everything there that the bot needs? Each finding is one line, with its cure."""

import asyncio
import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import aiohttp
import typer
from redis.asyncio import Redis
from slack_sdk.errors import SlackApiError

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError, LockedRecordError
from agent_adapter.redis.address import address_of, is_cluster
from agent_adapter.redis.pool import SCHEMA, another_schema, open_redis, place_of
from agent_adapter.redis.server_check import FOR_NOW, explained, judge_server, read_info, unsaid
from bot.domain.errors import SettingsError, SlackError, SlackUnclearError
from bot.domain.person import is_on_call
from bot.domain.policy import Policy
from bot.jobs.policy_watch import Look, load_policy, look_at, scopes_for, undecidable
from bot.on_call.schedules import Schedules, UnansweredError
from bot.policy.checks import without_ring
from bot.policy.file import Mention, PolicyFile
from bot.runtime.bot_keys import UNSIGNED, another_seal, load_bot_keys, load_seal
from bot.runtime.health import Health
from bot.runtime.host_clock import apart
from bot.runtime.settings import NOT_KEPT, Access, Settings, load_access, load_settings, unknown_variables
from bot.slack.client import Identity, SlackClient
from bot.slack.manifest import (
    COMMAND,
    COMMAND_SCOPE,
    DIRECT_SCOPES,
    GROUP_CHANGED,
    GROUP_SCOPE,
    HOME_OPENED,
    LEFT_CHANNEL,
    needed_scopes,
)
from bot.store.durability import durability_on, following, missing_on
from bot.store.records import ApprovalStore
from bot.store.work import Failing

_OF_THE_BOT = (
    "doctor needs all settings of the bot: run it where the bot runs, with the same environment or .env"
)
_WITHIN = 10.0
Verdict = Literal["ok", "note", "warn", "fail"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""`note`: it cannot be checked, so somebody has to look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: Verdict
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.verdict:<5} {self.subject}: {self.sentence}"


def main() -> int:
    """Print every finding, what failed last, and a line that counts them; 0 when the bot can work, else 1."""

    async def all_findings() -> list[Finding]:
        return [finding async for finding in examine_environment()]

    found = asyncio.run(all_findings())
    for finding in sorted(found, key=lambda each: VERDICTS.index(each.verdict)):
        typer.echo(str(finding))
    count = Counter(finding.verdict for finding in found)
    numbers = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict])
    typer.echo(f"{numbers}: {'correct what failed' if count['fail'] else 'the bot can work'}")
    return int(count["fail"] > 0)


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
    for finding in await examine_redis(access):
        yield finding
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WITHIN)) as session:
        slack = SlackClient(access.slack_bot_token, access.slack_api_url, session)
        if access.slack_app_token:
            yield await examine_app_token(slack, access)
        if access.slack_bot_token:
            finding, _ = await examine_bot_token(slack, access)
            yield finding


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Check everything that can be checked with these settings, also after a check has failed."""
    mode = "Socket Mode" if settings.socket_mode else "HTTP mode"
    yield Finding("ok", "settings", f"{mode}, namespace {settings.namespace!r}")
    try:
        named = load_policy(settings)
    except SettingsError as error:
        for sentence in str(error).splitlines():
            yield Finding("fail", "policy", sentence)
        named = None
    if named and settings.policy:
        rules = len(named.policy.rules)
        yield Finding("ok", "policy", f"version {named.policy.version}, rules: {rules}")
        if not settings.ring and (sentence := without_ring(named.policy)):
            yield Finding("warn", "policy", sentence)
    for finding in await examine_redis(settings):
        yield finding
    yield judge_signing(settings)
    yield judge_audit(settings.audit_dir)
    timeout = aiohttp.ClientTimeout(total=settings.slack_timeout)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        slack = SlackClient(settings.slack_bot_token, settings.slack_api_url, session)
        async for finding in examine_slack(slack, settings, named):
            yield finding


# --- Keys that sign, and the audit trail ----------------------------------------------------------------------------------


def judge_signing(settings: Settings) -> Finding:
    """Say whether what people decide is signed, and with which key."""
    try:
        keys = load_bot_keys(settings)
    except SettingsError as error:
        return Finding("fail", "receipts", str(error))
    if keys is None:
        return Finding("warn", "receipts", UNSIGNED)
    return Finding("ok", "receipts", f"signed with the key {keys.key.kid}")


def judge_audit(folder: str | None) -> Finding:
    """Judge where the audit trail is kept."""
    if not folder:
        return Finding("warn", "audit", NOT_KEPT)
    path = Path(folder)
    nearest = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    try:
        # Rights alone do not say it: a disk may be read-only, or no disk at all.
        with tempfile.TemporaryFile(dir=nearest, buffering=0) as trial:
            trial.write(bytes(4096))
    except OSError as error:
        cure = "correct the path or its rights, or make room"
        sentence = f"the bot cannot write to {folder} (ASSENT_AUDIT_DIR): {error.strerror}: {cure}"
        return Finding("fail", "audit", sentence)
    made = "" if path.exists() else ", which will be created"
    return Finding("ok", "audit", f"entries are written to the log in {folder}{made}")


# --- Redis: the server, the namespace, and what is stored ----------------------------------------------------------------

BODIES_READ = 200
"""How many questions are looked at."""
FAILING_SHOWN = 20
"""How many records are named one by one."""


async def examine_redis(settings: Settings | Access) -> list[Finding]:
    """Say whether these servers can keep approvals, and what is stored there."""
    try:
        address = address_of(settings.redis_url)
    except AgentAdapterError:
        # The settings say so.
        return []
    try:
        async with open_redis(
            settings.redis_url,
            namespace=settings.namespace,
            retries=0,
            credentials=settings.redis_credentials,
        ) as redis:
            info = await read_info(redis)
            found = judge_redis(info, address)
            if is_cluster(settings.redis_url) and following(info) == 0:
                sentence = "no replica follows the primary that has the namespace: nothing takes over when it ends. Start its replica again, or add one"
                found.append(Finding("warn", "replicas", sentence))
            if isinstance(settings, Settings):
                found += judge_durability(info, address, settings, await place_of(redis).replicas())
            if any(finding.verdict == "fail" for finding in found):
                return found
            asked = time.time()
            seconds, microseconds = await redis.time()
            if sentence := apart(seconds + microseconds / 1e6, (asked + time.time()) / 2):
                found.append(Finding("warn", "clock", sentence))
            return found + await _namespace(redis, settings, address)
    except AgentAdapterError as error:
        return [Finding("fail", "redis", str(error))]
    except Exception as error:  # noqa: BLE001  # whatever it is, Redis cannot be used
        return [Finding("fail", "redis", str(explained(address, error)))]


async def _namespace(redis: Redis, settings: Settings | Access, address: str) -> list[Finding]:
    namespace, keys = settings.namespace, Keys(settings.namespace)
    meta: Any = await redis.hgetall(keys.meta)
    if another := another_schema(meta, namespace):
        return [Finding("fail", "schema", another)]
    found = [Finding("ok", "schema", f"{SCHEMA}" if meta else f"{SCHEMA}, to be written at the first start")]
    with contextlib.suppress(SettingsError):
        # A broken key is named by `judge_signing`.
        if isinstance(settings, Settings) and (problem := another_seal(meta, load_seal(settings), keys)):
            found.append(Finding("fail", "receipts", problem))
    encrypted = judge_encryption(await _bodies(redis, keys), Cipher.parse(settings.record_key))
    failing = await ApprovalStore(redis, keys, address=address).failing()
    return [*found, *encrypted, *judge_failing(failing)]


async def _bodies(redis: Redis, keys: Keys) -> dict[str, str]:
    """Read some questions that wait, as they are stored."""
    found: dict[str, str] = {}
    ids = cast("list[str]", await redis.zrange(keys.due, 0, BODIES_READ - 1))
    for interrupt_id in ids:
        if body := cast("str | None", await redis.hget(keys.req(interrupt_id), "body")):
            found[interrupt_id] = body
    return found


def judge_encryption(bodies: Mapping[str, str], cipher: Cipher) -> list[Finding]:
    """Say whether the questions that wait are encrypted, and whether the bot has their key."""
    plain = locked = 0
    for interrupt_id, body in bodies.items():
        try:
            plain += cipher.open(body, record=interrupt_id, field="body") == body
        except LockedRecordError:
            locked += 1
    if locked:
        cure = "set ASSENT_RECORD_KEY to the key of their agents, and keep older keys after it"
        sentence = f"{locked} of {len(bodies)} questions that wait cannot be decrypted: {cure}"
        return [Finding("fail", "encryption", sentence)]
    if not cipher:
        return []
    if plain:
        what = f"{plain} of {len(bodies)} questions that wait were asked without a key"
        cure = "everybody who reads this Redis can read them. Set ASSENT_RECORD_KEY for their agents, too"
        return [Finding("warn", "encryption", f"{what}: {cure}")]
    return [Finding("ok", "encryption", "what is asked and decided is encrypted")]


def judge_failing(failing: Sequence[Failing]) -> list[Finding]:
    """Name the records that the bot could not handle several times."""
    look = (
        "Look at the bot's log (work.broken), and correct what is wrong: the bot tries again within a minute"
    )
    said = [f"{each.interrupt_id}: {each}. {look}" for each in failing[:FAILING_SHOWN]]
    if more := len(failing) - len(said):
        said.append(f"and {more} more")
    return [Finding("warn", "failing", sentence) for sentence in said]


def judge_redis(info: dict[str, Any], address: str) -> list[Finding]:
    """Judge what INFO says."""
    try:
        warnings = judge_server(info, address)
    except AgentAdapterError as error:
        return [Finding("fail", "redis", str(error))]
    if 0 < int(info.get("maxmemory", 0)) <= int(info.get("used_memory", 0)):
        return [Finding("fail", "redis", f"Redis at {address} {FOR_NOW['OOM']}")]
    found = [Finding("warn", "redis", warning) for warning in warnings]
    found += [Finding("note", "redis", sentence) for sentence in unsaid(info, address)]
    if found:
        return found
    kept = f"{info['redis_version']} at {address}, append-only file on, {info.get('maxmemory_policy', 'noeviction')}"
    return [Finding("ok", "redis", kept)]


def judge_durability(info: Mapping[str, Any], address: str, settings: Settings, known: int) -> list[Finding]:
    """Judge whether this server can confirm clicks as the settings ask; nothing when they do not ask."""
    mode, replicas = settings.durability, settings.durability_replicas
    if mode == "local":
        return []
    try:
        found = durability_on(info, address, mode, replicas, known)
    except AgentAdapterError as error:
        return [Finding("fail", "durability", str(error))]
    if warning := missing_on(info, found):
        return [Finding("warn", "durability", warning)]
    waits_for = "the append-only file" if mode == "fsync" else f"{found.replicas} of its replicas"
    return [Finding("ok", "durability", f"a click waits for {waits_for}")]


# --- Slack: tokens, scopes, channels and people --------------------------------------------------------------------------

TRANSPORT_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)
_TOKEN_CURE = "copy the bot token (xoxb-…) again from your Slack app, under OAuth & Permissions"  # noqa: S105  # no token
_APP_TOKEN_CURE = "make an app-level token (xapp-…) with connections:write, under Basic Information"  # noqa: S105  # no token


async def examine_slack(
    slack: SlackClient, settings: Settings, named: PolicyFile | None
) -> AsyncIterator[Finding]:
    """Say whether the app may do what the bot needs, and whether channels and people are there."""
    if settings.socket_mode:
        yield await examine_app_token(slack, settings)
    found, me = await examine_bot_token(slack, settings)
    yield found
    if me is None:
        return
    with contextlib.suppress(SettingsError):
        # A broken key was named already.
        keys = load_bot_keys(settings)
        if keys and (problem := keys.wrong_team(me.team_id)):
            yield Finding("fail", "receipts", problem)
    needed = scopes_for(named) if named else needed_scopes(())
    tells = named and any(
        rule.tell_requester == "direct" for rule in (*named.policy.rules, named.policy.default)
    )
    for finding in judge_scopes(me.scopes, needed, tells=bool(tells)):
        yield finding
    if not settings.policy and not settings.channel:
        yield Finding("warn", "channel", "ASSENT_CHANNEL is not set: only agents that name a channel can ask")
    for finding in await _mentioned(slack, settings, named):
        yield finding
    if named and named.policy.schedules:
        async with aiohttp.ClientSession() as session:
            for finding in await _on_call(slack, settings, named.policy, session):
                yield finding


async def _on_call(
    slack: SlackClient, settings: Settings, policy: Policy, session: aiohttp.ClientSession
) -> list[Finding]:
    """Say who is on call now, by each schedule of the policy."""
    schedules = Schedules(
        session,
        lambda: policy.schedules,
        slack.user_with_email,
        Health(),
        settings.pagerduty_url,
        settings.pagerduty_token,
        settings.calendar_addresses,
    )
    found: list[Finding] = []
    for name in policy.schedules:
        try:
            people = ", ".join(sorted(await schedules.ask(name)))
        except (UnansweredError, SlackError) as error:
            sentence = f"{name}: {error}: until it answers, nobody decides as on call"
            found.append(Finding("fail", "on call", sentence))
            continue
        nobody = "nobody is on call now, or Slack knows none of their e-mail addresses"
        found.append(Finding("ok" if people else "warn", "on call", f"{name}: {people or nobody}"))
    return found


async def examine_bot_token(
    slack: SlackClient, settings: Settings | Access
) -> tuple[Finding, Identity | None]:
    """Say whether Slack takes the bot token, and as whom."""
    try:
        me = await slack.who_am_i()
    except SlackError as error:
        return Finding("fail", "bot token", _cured(error, settings, _TOKEN_CURE)), None
    return Finding("ok", "bot token", f"{me.user} in {me.team} ({me.url})"), me


async def examine_app_token(slack: SlackClient, settings: Settings | Access) -> Finding:
    """Say whether Slack takes the app-level token."""
    try:
        await slack.posting.apps_connections_open(app_token=settings.slack_app_token or "")
    except SlackApiError as error:
        return Finding(
            "fail", "app token", f"Slack refuses it ({error.response['error']}): {_APP_TOKEN_CURE}"
        )
    except TRANSPORT_ERRORS as error:
        return Finding("fail", "app token", _unanswered(settings, error))
    return Finding("ok", "app token", "Socket Mode can be opened")


async def _mentioned(slack: SlackClient, settings: Settings, named: PolicyFile | None) -> list[Finding]:
    """Judge each channel and approver once: which approvers can never decide, and by which rules nobody can."""
    own = [Mention(settings.audit_channel, is_place=True)] if settings.audit_channel else []
    mentions = {(each.id, each.is_place): each for each in (*own, *(named.mentions if named else ()))}
    found: list[Finding] = []
    looks: dict[Mention, Look] = {}
    for mention in sorted(mentions.values(), key=lambda each: not each.is_place):
        subject = "channel" if mention.is_place else "approvers"
        if is_on_call(mention.id):
            continue
        try:
            look = looks[mention] = await look_at(mention, slack)
        except SlackError as error:
            cure = "correct the id, or take it out"
            found.append(Finding("fail", subject, f"{mention.id}: {_cured(error, settings, cure)}"))
            continue
        fails = look.wrong and mention.is_place
        verdict: Verdict = "fail" if fails else "warn" if look.wrong or look.remark else "ok"
        found.append(Finding(verdict, subject, look.wrong or look.remark or look.name))
    if "channel" in settings.approvers:
        found.append(await _channel_members(slack, settings))
    stuck = undecidable(named.policy, looks) if named else ()
    return [*found, *(Finding("fail", "approvers", problem.sentence) for problem in stuck)]


async def _channel_members(slack: SlackClient, settings: Settings) -> Finding:
    if not settings.channel and not settings.agent_channel_may_decide:
        return Finding("warn", "approvers", "ASSENT_CHANNEL is not set, so `channel` means nobody")
    if not settings.channel:
        return Finding("ok", "approvers", "the members of the channel that the agent names")
    try:
        members = await slack.channel_members(settings.channel)
    except SlackError as error:
        return Finding("fail", "approvers", _cured(error, settings, "invite the bot there"))
    return Finding("ok", "approvers", f"the {len(members)} members of {settings.channel}")


def judge_scopes(granted: Collection[str], needed: Collection[str], *, tells: bool) -> Iterator[Finding]:
    """Compare the scopes of the token with what is needed, and name what Slack does not say.

    Args:
        granted: The scopes of the token.
        needed: Without one of these, nothing can be approved. All else works without the others.
        tells: Whether requesters are told the outcome in direct messages.
    """
    add = "under OAuth & Permissions, then reinstall the app"
    if missing := ", ".join(scope for scope in needed if scope not in granted):
        yield Finding("fail", "scopes", f"missing {missing}: add them {add}")
    else:
        yield Finding("ok", "scopes", "all that approvals need was granted")
    if COMMAND_SCOPE in granted:
        sentence = f"Slack does not say which ones the app has: look for {COMMAND} under Slash Commands"
        yield Finding("note", "commands", sentence)
    else:
        cure = f"add the scope {COMMAND_SCOPE} under OAuth & Permissions and the command under Slash Commands"
        yield Finding("warn", "commands", f"{COMMAND} is missing: {cure}, then reinstall the app")
    left = "may go on deciding for up to a minute"
    without = {
        HOME_OPENED: "the Home tab stays empty; it also has to be turned on under App Home",
        LEFT_CHANNEL: f"people who leave a channel {left}",
        **({GROUP_CHANGED: f"people who leave a user group {left}"} if GROUP_SCOPE in needed else {}),
    }
    for event, loss in without.items():
        unsaid = f"Slack does not say whether it sends {event}: look for it under Event Subscriptions"
        yield Finding("note", "events", f"{unsaid}. Without it, {loss}")
    if not tells:
        return
    if missing := ", ".join(sorted(DIRECT_SCOPES.keys() - {*granted})):
        sentence = f"nobody is told, since {missing} is missing: add them {add}"
        yield Finding("warn", "tell_requester", sentence)
    else:
        yield Finding("ok", "tell_requester", "the bot can tell requesters in direct messages")


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
