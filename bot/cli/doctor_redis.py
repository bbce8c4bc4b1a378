"""What `doctor` finds in Redis: the server, the namespace, and what is stored."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError, LockedRecordError
from agent_adapter.redis.address import address_of, is_cluster
from agent_adapter.redis.pool import SCHEMA, another_schema, open_redis, place_of
from agent_adapter.redis.server_check import FOR_NOW, explained, judge_server, read_info, unsaid
from bot.cli.finding import Finding
from bot.runtime.host_clock import apart
from bot.runtime.settings import Access, Settings
from bot.store.durability import durability_on, following, missing_on
from bot.store.records import ApprovalStore
from bot.store.work import Failing

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
    schema = Finding("ok", "schema", f"{SCHEMA}" if meta else f"{SCHEMA}, to be written at the first start")
    encrypted = judge_encryption(await _bodies(redis, keys), Cipher.parse(settings.record_key))
    failing = await ApprovalStore(redis, keys, address=address).failing()
    return [schema, *encrypted, *judge_failing(failing)]


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
