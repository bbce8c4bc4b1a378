"""When a click counts as stored: as soon as Redis has it, once its replicas have it, or once it is on its disk."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerUnsuitableError
from agent_adapter.redis.scripts import Sent
from agent_adapter.redis.server_check import version_in
from bot.domain.errors import NotConfirmedError
from bot.runtime.settings import DurabilityMode

FSYNC_VERSION = (7, 2)
"""The first version with WAITAOF. Valkey names this version, too, or a later one."""
LATE = 10
"""Seconds without a word from a replica after which it does not count. A replica that works reports each second."""
_MOST = 0.75
"""Seconds to wait for a confirmation. A caller waits for a second, and so still learns that it is written."""
_KEPT = 60_000
"""Milliseconds for which the mark stays that a write leaves."""


@dataclass(frozen=True, slots=True)
class Durability:
    """What has to confirm a write before a person is told that it is stored."""

    mode: DurabilityMode = "local"
    replicas: int = 1
    """How many replicas, in the mode `replica`."""

    @property
    def extra(self) -> float:
        """Seconds that a click may take longer. With `appendfsync everysec`, a file is written to disk once a second."""
        return 1.0 if self.mode == "fsync" else 0.0

    @property
    def question(self) -> tuple[Sent, ...]:
        """The command that waits for the writes of its own connection, and ends while the caller still waits."""
        within = int(1000 * (_MOST + self.extra))
        return ("WAIT", self.replicas, within) if self.mode == "replica" else ("WAITAOF", 1, 0, within)

    def is_met(self, answer: Any) -> bool:
        """Whether the answer to that command says that enough have confirmed."""
        return bool(answer >= self.replicas if self.mode == "replica" else answer[0] >= 1)


LOCAL = Durability()


class Confirming:
    """Writes, and waits until the write is confirmed."""

    def __init__(self, redis: Redis, keys: Keys, durability: Durability) -> None:
        self._redis = redis
        self._durability = durability
        self._mark = ("SET", keys.confirmed, 1, "PX", _KEPT)
        """A command that writes something."""

    async def write(self, script: str, text: str, count: int, *keys_and_args: Sent) -> Any:
        """Run a script with EVAL and give its answer, once what it wrote is confirmed.

        Raises:
            NotConfirmedError: when it is not confirmed in time. Redis has the write.
        """
        return await self._confirmed((script, text, count, *keys_and_args), self._mark)

    async def ask(self) -> None:
        """Wait until everything that the server has by now is confirmed. A later write is confirmed after earlier ones.

        Raises:
            NotConfirmedError: when it is not confirmed in time.
        """
        await self._confirmed(self._mark)

    async def _confirmed(self, *commands: tuple[Sent, ...]) -> Any:
        """Send commands and give the answer to the first one, once what they wrote is confirmed.

        WAIT knows only what its own connection has written. That has to be something, also when a click is repeated and its
        script writes nothing. Otherwise WAIT answers at once, from Redis 7.2 on and with Valkey.

        When the connection is lost, or the server is not the primary any more, all of them are sent again: to the one of now.
        """
        async with self._redis.pipeline(transaction=False) as asking:
            for command in (*commands, self._durability.question):
                asking.execute_command(*command)
            answer, *others = await asking.execute(raise_on_error=False)
        if isinstance(answer, Exception):
            raise answer
        for each in others:
            if isinstance(each, NoPermissionError):
                raise each
        # A server that is demoted meanwhile answers with another error. It has the write all the same.
        is_known = not any(isinstance(each, Exception) for each in others)
        if not (is_known and self._durability.is_met(others[-1])):
            raise NotConfirmedError(
                f"Redis has taken the change, and {self._durability.mode} did not confirm it in time"
            )
        return answer


def durability_on(
    info: Mapping[str, Any],
    address: str,
    mode: DurabilityMode,
    replicas: int | None,
    known: int = 0,
) -> Durability:
    """Say what has to confirm a write on this server: so many replicas; with `None` all, also those that only the Sentinels know.

    Raises:
        ServerUnsuitableError: when nothing there could ever confirm it.
    """
    wanted = f"ASSENT_DURABILITY={mode}"
    if mode == "replica" and following(info) == 0:
        raise ServerUnsuitableError(
            f"Redis at {address} has no replica that follows it, and {wanted} waits for one: start a replica, or set "
            "ASSENT_DURABILITY=local"
        )
    if mode == "fsync" and info.get("aof_enabled") == 0:
        raise ServerUnsuitableError(
            f"Redis at {address} keeps no append-only file, and {wanted} waits for it: set appendonly yes, or set "
            "ASSENT_DURABILITY=local"
        )
    if mode == "fsync" and (version := version_in(info)) and version < FSYNC_VERSION:
        raise ServerUnsuitableError(
            f"Redis at {address} is {info['redis_version']} and has no WAITAOF, which {wanted} needs: use Redis 7.2 or newer, or "
            "Valkey, or set ASSENT_DURABILITY=local"
        )
    return Durability(mode, replicas or max(known, following(info) or 1))


def missing_on(info: Mapping[str, Any], durability: Durability) -> str:
    """Say that fewer replicas follow than have to confirm a click, so that each is shown as failed; empty when enough do."""
    there = following(info)
    if durability.mode != "replica" or there is None or there >= durability.replicas:
        return ""
    follow = "1 follows" if there == 1 else f"{there} follow"
    wanted = "1 replica" if durability.replicas == 1 else f"{durability.replicas} replicas"
    return (
        f"clicks wait for {wanted}, and {follow} Redis: Slack shows each click as failed, but it "
        "counts. When one is gone for good, set ASSENT_DURABILITY_REPLICAS"
    )


def following(info: Mapping[str, Any]) -> int | None:
    """Count the replicas that follow this server now; `None` when it does not say."""
    if "connected_slaves" not in info:
        return None
    listed = [each for name, each in info.items() if re.fullmatch(r"slave\d+", name)]
    if not listed:
        return int(info["connected_slaves"])
    return len([each for each in listed if each.get("state") == "online" and each.get("lag", 0) <= LATE])
