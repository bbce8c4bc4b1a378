"""Everything that the demo needs, started together and stopped together."""

import asyncio
import contextlib
import errno
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from redis.exceptions import RedisError

from agent_adapter import ApprovalClient
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import open_redis
from bot.app import running
from bot.runtime.settings import Settings, is_given
from bot.wiring import Bot
from playground.client import Control
from playground.demo.keys import make_signing
from playground.demo.redis_users import as_user, has_users
from playground.redis_server import RedisServerError, private_redis
from playground.server import Playground
from playground.workspace import TEAM

logger = logging.getLogger(__name__)

CHANNEL, REQUESTER, AGENT = "C0APPROVALS", "U0NOOR", "U0AGENT"
APPROVERS = ("U0DANA", "U0ERIK", "U0MIRA")
AGENT_NAME = "support"
READY_WITHIN = 20.0
_NO_TRAIL = {"audit_dir": None, "audit_channel": None}
"""What a tour does is nobody's audit trail."""
_KEYS = (
    "ASSENT_SIGNING_KEY",
    "ASSENT_SIGNING_KEY_FILE",
    "ASSENT_SEAL_KEY",
    "ASSENT_SEAL_KEY_FILE",
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stage:
    """A bot in the playground's workspace, and an agent's way to it."""

    url: str
    """Where the page is."""
    redis_url: str
    control: Control
    bot: Bot
    approvals: ApprovalClient


@asynccontextmanager
async def on_stage(
    port: int = 0,
    *,
    redis: AbstractContextManager[str] | None = None,
    namespace: str = "",
    http_port: int = 0,
    own_keys_count: bool = False,
    hint: str = "",
    lines: str = "",
) -> AsyncIterator[Stage]:
    """Start everything, and give it once the bot is ready.

    Args:
        port: Of the page; another one when it is taken.
        redis: Gives the address of a Redis: by default `REDIS_URL`, or a private one.
        namespace: Of everything in Redis; by default one that nobody else has.
        http_port: Where the bot serves HTTP; another one when it is taken.
        own_keys_count: Whether the bot signs with the keys that the environment names, if it names a ring.
        hint: What the page says above the first card.
        lines: What the page shows to paste where no card is yet.

    Raises:
        RedisServerError, AgentAdapterError: there is no Redis to work with.
        SettingsError: the keys in the environment do not fit together, or Slack's stand-in does not know whom the policy names.
        ValueError: a real Slack token is in the environment.
        TimeoutError: the bot did not become ready.
    """
    # Of its own, because REDIS_URL may lead to a Redis in which a real bot works.
    namespace = namespace or f"assent-demo-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        redis_url = stack.enter_context(redis or private_redis())
        _check_address(redis_url)
        # On a server that is not our own, we make no users.
        is_private = redis is None and not os.environ.get("REDIS_URL")
        address = partial(as_user, redis_url, namespace=namespace)
        if not is_private or not has_users(redis_url):
            address = partial(_as_anybody, redis_url)
        stack.push_async_callback(_forget, redis_url, namespace)
        playground = await _open(stack, lambda port: Playground(port=port, hint=hint, lines=lines), port)
        control = await stack.enter_async_context(Control(playground.url))
        await control.person(AGENT, name="Support agent", is_bot=True)
        given = _given_ring() if own_keys_count else ""
        keys: dict[str, Any] = {} if given else stack.enter_context(_made_keys(namespace))
        if not own_keys_count:
            keys |= _NO_TRAIL
        settings = partial(_settings, playground, address("bot"), namespace, keys)
        bot = await _open(stack, lambda port: running(settings(port)), http_port)
        await _until_ready(bot)
        approvals = ApprovalClient.from_url(
            address("agent", AGENT_NAME), agent=AGENT_NAME, namespace=namespace, ring=given or keys["ring"]
        )
        await stack.enter_async_context(approvals)
        yield Stage(playground.url, redis_url, control, bot, approvals)


def _given_ring() -> str:
    """Name the ring of the environment. One that is gone was made by a playground that has ended."""
    ring = os.environ.get("ASSENT_RING", "")
    if ring and Path(ring).is_file():
        return ring
    if ring:
        logger.warning("ASSENT_RING: there is no file %s, so the playground uses keys of its own", ring)
    elif given := [name for name in _KEYS if os.environ.get(name)]:
        logger.warning("%s counts only beside ASSENT_RING, so the playground uses keys of its own", given[0])
    return ""


@contextlib.contextmanager
def _made_keys(namespace: str) -> Iterator[dict[str, Any]]:
    """Make keys for this start, and a ring with them."""
    with TemporaryDirectory(prefix="assent-keys-") as folder:
        signing = make_signing(Path(folder), team=TEAM["id"], namespace=namespace)
        yield {
            "signing_key": signing.signer.private_bytes.decode(),
            "seal_key": signing.seal_path.read_text(),
            "ring": str(signing.ring_path),
        }


def _as_anybody(redis_url: str, *_: str) -> str:
    return redis_url


def _check_address(redis_url: str) -> None:
    try:
        address_of(redis_url)
    except ServerUnreachableError as error:
        raise RedisServerError(f"REDIS_URL: {error}") from error


async def _open(stack: AsyncExitStack, on: Callable[[int], AbstractAsyncContextManager[_T]], port: int) -> _T:
    """Open what serves on this port, on another one when it is taken."""
    try:
        return await stack.enter_async_context(on(port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return await stack.enter_async_context(on(0))


def _settings(
    playground: Playground, redis_url: str, namespace: str, keys: Mapping[str, Any], http_port: int
) -> Settings:
    # With a policy file, they are said there.
    asked: dict[str, Any] = (
        {} if is_given("ASSENT_POLICY", None) else {"approvers": APPROVERS, "channel": CHANNEL}
    )
    return Settings(
        SLACK_BOT_TOKEN=playground.bot_token,
        SLACK_APP_TOKEN=playground.app_token,
        SLACK_SIGNING_SECRET=playground.signing_secret,
        SLACK_API_URL=playground.api_url,
        REDIS_URL=redis_url,
        namespace=namespace,
        **keys,
        **asked,
        http_host="127.0.0.1",
        http_port=http_port,
        sweep_seconds=1.0,
    )


async def _until_ready(bot: Bot) -> None:
    ended = asyncio.create_task(bot.health.loops.until_broken())
    try:
        async with asyncio.timeout(READY_WITHIN):
            while not bot.health.ready:
                await asyncio.wait({ended}, timeout=0.02)
                if ended.done():
                    ended.result()
    except TimeoutError as error:
        raise TimeoutError(f"the bot did not become ready: {bot.health.faults}") from error
    finally:
        ended.cancel()


async def _forget(redis_url: str, namespace: str) -> None:
    redis = open_redis(redis_url, namespace=namespace)
    # A private server may be gone already: Ctrl-C at a terminal reaches it too.
    with contextlib.suppress(RedisError, OSError):
        async for key in redis.scan_iter(f"{Keys(namespace).prefix}*"):
            await redis.unlink(key)
    await redis.aclose()
