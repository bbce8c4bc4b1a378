"""Starts and stops a bot process."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
from redis.asyncio import Redis

from agent_adapter.background import in_background
from agent_adapter.cipher import Cipher
from agent_adapter.errors import AgentAdapterError
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import end_task, freeze_meta, open_redis, place_of
from agent_adapter.redis.server_check import check_server, explaining, read_info
from bot.domain.errors import NotConfirmedError
from bot.jobs.policy_watch import PolicyKeeper
from bot.runtime.bot_keys import UNSIGNED, agree_on_seal, load_bot_keys
from bot.runtime.health import Health
from bot.runtime.offload import SWITCH_EVERY
from bot.runtime.settings import NOT_KEPT, Settings
from bot.slack.client import as_json
from bot.store.durability import LOCAL, Durability, durability_on
from bot.store.records import ApprovalStore
from bot.wiring import Bot, Job, Opened, compose

logger = logging.getLogger(__name__)

_CONNECTIONS, _AUDIT_CONNECTIONS = 32, 4
"""The most at once, and those for reading the audit trail, which may take long."""
SWEEPS = 3
"""A loop has to make progress within this many sweeps."""
DRAIN_WITHIN = 12.0
"""Seconds to finish running work. HTTP and Socket Mode close as well, so a bot ends within twenty seconds of SIGTERM."""
LEAVE_WITHIN = 1.0
"""Seconds to note in Redis that this bot ends. If Redis does not answer, its last heartbeat becomes too old by itself."""
COLLECT_AFTER = (10_000, 3, 300)
"""Thresholds of the garbage collection. A click creates no cycles. Collecting the newest 30,000 objects takes some milliseconds,
and collecting all objects takes longer."""


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Bot]:
    """Run a bot while the body runs. It is connected to Slack as soon as Slack allows it.

    At the end it takes no more work, finishes what is running, and closes everything.

    Raises:
        ServerUnreachableError, ServerUnsuitableError: when this Redis cannot be used.
        SettingsError: when the policy file or a key cannot be used.
    """
    async with AsyncExitStack() as stack:
        bot = compose(await _open(settings, stack))
        await _start(bot, stack)
        logger.info("bot.started", extra={"bot": bot.process, "port": bot.http.port})
        # First, so that nothing new comes in meanwhile.
        stack.push_async_callback(bot.http.stop)
        yield bot
    logger.info("bot.stopped", extra={"bot": bot.process})


async def _open(settings: Settings, stack: AsyncExitStack) -> Opened:
    health = Health()
    policies = PolicyKeeper(settings, health)
    bot_keys = load_bot_keys(settings)
    cipher = Cipher.parse(settings.record_key)
    health.signed = bot_keys is not None
    if bot_keys is None:
        logger.warning("receipts.unsigned", extra={"reason": UNSIGNED})
    redis = await _connect(settings, stack)
    timeout = aiohttp.ClientTimeout(total=settings.slack_timeout)
    session = await stack.enter_async_context(
        aiohttp.ClientSession(timeout=timeout, json_serialize_bytes=as_json)
    )
    address, seal = address_of(settings.redis_url), bot_keys.seal if bot_keys else None
    keys = await freeze_meta(redis, settings.namespace, address=address, begins=True)
    await agree_on_seal(redis, keys, seal, address=address)
    durability = await _agree_on_durability(settings, redis)
    trail = await _connect(settings, stack, is_trail=True)
    return Opened(settings, health, policies, bot_keys, cipher, session, redis, trail, keys, durability)


async def _connect(settings: Settings, stack: AsyncExitStack, *, is_trail: bool = False) -> Redis:
    redis = open_redis(
        settings.redis_url,
        namespace=settings.namespace,
        credentials=settings.redis_credentials,
        connections=_AUDIT_CONNECTIONS if is_trail else _CONNECTIONS,
        keeps_bytes=is_trail,
    )
    stack.push_async_callback(redis.aclose)
    # A task that is cancelled while it connects would leave the connection open.
    warnings = await check_server(redis, address_of(settings.redis_url))
    for warning in () if is_trail else warnings:
        logger.warning(warning)
    return redis


async def _agree_on_durability(settings: Settings, redis: Redis) -> Durability:
    mode, address = settings.durability, address_of(settings.redis_url)
    if mode == "local":
        return LOCAL
    with explaining(address):
        info, known = await read_info(redis), await place_of(redis).replicas()
        found = durability_on(info, address, mode, settings.durability_replicas, known)
    logger.info("redis.durability", extra={"mode": mode, "replicas": found.replicas})
    return found


async def _start(bot: Bot, stack: AsyncExitStack) -> None:
    await _try_confirming(bot.store)
    # The wake-ups listen over a connection of their own, and notice it later.
    place_of(bot.heartbeat.redis).on_change = bot.guard.doubt
    stack.push_async_callback(bot.http.stop)
    await bot.http.start()
    stack.push_async_callback(_leave, bot)
    # First, because other checks depend on when a bot was last seen.
    await bot.heartbeat.beat()
    _run(bot, stack, Job("heartbeat", bot.heartbeat.run))
    stack.push_async_callback(_drain, bot)
    if bot.sockets:
        stack.push_async_callback(bot.sockets.close)
    for job in bot.jobs:
        _run(bot, stack, job)
    bot.health.recover("redis")


def _run(bot: Bot, stack: AsyncExitStack, job: Job) -> None:
    within = SWEEPS * max(job.every, bot.settings.sweep_seconds)
    stack.push_async_callback(
        end_task, bot.health.loops.start(job.name, job.work, within=within, fatal=job.fatal)
    )


async def _try_confirming(store: ApprovalStore) -> None:
    """Ask once, as a click does: this user of Redis may lack the right to, and this server the command."""
    if store.durability.mode == "local":
        return
    try:
        with explaining(store.scripts.address):
            await store.confirming.ask()
    except NotConfirmedError as error:
        logger.warning("redis.not_confirmed", extra={"reason": str(error)})


async def _drain(bot: Bot) -> None:
    draining = [bot.tasks.drain(), bot.drawing.drain(), bot.falling_due.drain()]
    held = [in_background(each, name="drain") for each in draining]
    # A timeout around `gather` would wait on for a task that does not end when it is cancelled.
    _, late = await asyncio.wait(held, timeout=DRAIN_WITHIN)
    for each in late:
        each.cancel()


async def _leave(bot: Bot) -> None:
    with contextlib.suppress(AgentAdapterError, TimeoutError):
        async with asyncio.timeout(LEAVE_WITHIN):
            await bot.store.heartbeat(bot.process, alive=False)


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
