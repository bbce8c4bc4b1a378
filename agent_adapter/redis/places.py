"""Where the server of a namespace is: at one address, where Sentinels say, or where a Cluster keeps its keys."""

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from agent_adapter.background import in_background
from agent_adapter.redis.address import Host, shown_hosts

_ANSWER_WITHIN = 1.0
"""Seconds that a Sentinel has to answer, and a server of a cluster that is asked where the others are."""
_ASKING = {
    "decode_responses": True,
    "protocol": 2,
    "socket_timeout": _ANSWER_WITHIN,
    "socket_connect_timeout": _ANSWER_WITHIN,
    # The connection that asks where to connect is tried again, and asks again.
    "retry": Retry(NoBackoff(), 0),
}
_LOOKS_EVERY = 1.0
"""Seconds until the Sentinels are asked again, while commands are sent: a former primary takes writes for ten seconds more."""
_SAID = re.compile(r"^(run_id|role):(\w+)", re.MULTILINE)


def said_in(info: object) -> dict[str, str]:
    """Read which server an answer to INFO is from; nothing where a user may not ask, and gets an error."""
    return dict(_SAID.findall(info)) if isinstance(info, str) else {}


class Place:
    """One address that stays. Which server answers there can change behind it."""

    def __init__(self, host: Host = ("", 0)) -> None:
        self._host = host
        self.on_change: Callable[[], None] = lambda: None
        """Called before a command goes to another server than before: it may know less."""
        self.generation = 0
        """Connections that were made when this number was lower are made again before they are used."""
        self._run = ""

    async def find(self) -> Host:
        """Say where the server is."""
        return self._host

    def look(self) -> None:
        """Find out whether the server is still there, without holding anybody up."""

    def doubt(self) -> None:
        """Ask again before the next connection: the server does not answer, or says that it is not the right one any more."""

    def meet(self, said: Mapping[str, str]) -> None:
        """Note which run of which server answers. Its INFO says it, where a user may ask."""
        run = said.get("run_id", "")
        if run and self._run not in {"", run}:
            # Other connections may still lead to the former one, which answers what it knew then.
            self.generation += 1
            self.on_change()
        self._run = run or self._run

    async def replicas(self) -> int:
        """Count the replicas that are known, also those that are away; 0 where only the server itself knows."""
        return 0


class FoundPlace(Place):
    """A place that Sentinels or nodes have to be asked for. They are asked once, and again when the answer is in doubt."""

    def __init__(self, hosts: Sequence[Host], connection: Callable[..., Any]) -> None:
        """Take those who can be asked, and what makes a connection of redis-py to one of them."""
        super().__init__()
        self._hosts = list(hosts)
        self._connection = connection
        self._known: Host | None = None
        self._last: Host | None = None
        self._finding: asyncio.Task[Host | RedisError | OSError] | None = None

    async def find(self) -> Host:
        return self._known or await self._find()

    def doubt(self) -> None:
        self._known = None

    def meet(self, said: Mapping[str, str]) -> None:
        at = shown_hosts([self._last] if self._last else [])
        if said.get("role") == "slave":
            self.doubt()
            raise RedisConnectionError(f"{at} is not the primary any more")
        super().meet({"run_id": at, **said})

    async def _find(self) -> Host:
        if self._finding is None or self._finding.done():
            # All callers of this time get the same answer, also when the first of them has given up.
            self._finding = in_background(self._found())
        found = await asyncio.shield(self._finding)
        if isinstance(found, Exception):
            raise found
        return found

    async def _found(self) -> Host | RedisError | OSError:
        """Find it, and give the error where there is one: it is for those who ask, and no error of a task by itself."""
        try:
            found = await self._ask()
        except (RedisError, OSError) as error:
            return error
        self.note(found)
        return found

    def note(self, host: Host) -> None:
        """Note where the server is."""
        if self._last not in {None, host}:
            self.generation += 1
        self._known = self._last = host

    async def _ask(self) -> Host:
        raise NotImplementedError

    async def _answer(self, host: Host, *command: str) -> Any:
        """Ask one of them, over a connection of its own.

        A client of redis-py for Sentinels or a cluster closes its connections in tasks. Where the event loop ends before they
        begin, these connections stay open.
        """
        connection = self._connection(host=host[0], port=host[1], **_ASKING)
        try:
            await connection.connect()
            await connection.send_command(*command)
            return await connection.read_response()
        finally:
            await connection.disconnect()


class BehindSentinels(FoundPlace):
    """The primary of a service, as its Sentinels name it."""

    def __init__(self, hosts: Sequence[Host], service: str, connection: Callable[..., Any]) -> None:
        """Take the Sentinels, what they call the primary, and what makes a connection to one of them."""
        super().__init__(hosts, connection)
        self._service = service
        self._looked_at = 0.0

    def doubt(self) -> None:
        """Ask another Sentinel next: one that was cut off from the others names a former primary."""
        super().doubt()
        self._hosts.append(self._hosts.pop(0))

    def look(self) -> None:
        now = time.monotonic()
        if self._known and now - self._looked_at >= _LOOKS_EVERY:
            self._looked_at = now
            in_background(self._look())

    async def replicas(self) -> int:
        """Count the replicas that the Sentinels know. They forget none by themselves."""
        answers = await asyncio.gather(*map(self._primary, self._hosts), return_exceptions=True)
        return max((int(each.get("num-slaves", 0)) for each in answers if isinstance(each, dict)), default=0)

    async def _look(self) -> None:
        # Commands go on while no Sentinel answers: the primary does not need them.
        with suppress(RedisError, OSError):
            await self._find()

    async def _ask(self) -> Host:
        failed = None
        for sentinel in list(self._hosts):
            try:
                said = await self._primary(sentinel)
            except (RedisConnectionError, RedisTimeoutError) as error:
                failed = error
                continue
            if said and not {"s_down", "o_down"} & set(said["flags"].split(",")):
                # The one that answered is asked first next time.
                self._hosts.sort(key=lambda each: each != sentinel)
                return said["ip"], int(said["port"])
        raise MasterNotFoundError(
            f"The Sentinels {shown_hosts(self._hosts)} name no primary of {self._service!r} that is up: are they running, "
            "do they let this client in, and is this the name that `sentinel monitor` has? In a failover, wait for its end"
        ) from failed

    async def _primary(self, sentinel: Host) -> dict[str, str]:
        """Read what a Sentinel says of the primary; nothing where it does not know the service."""
        for each in await self._answer(sentinel, "SENTINEL", "MASTERS"):
            said = dict(zip(each[::2], each[1::2], strict=True))
            if said["name"] == self._service:
                return said
        return {}


class InCluster(FoundPlace):
    """The primary that has the slot of a key, as the servers of its Cluster say."""

    def __init__(self, hosts: Sequence[Host], key: str, connection: Callable[..., Any]) -> None:
        """Take servers that say where the others are, a key, and what makes a connection to one of them."""
        super().__init__(hosts, connection)
        self._slot = key_slot(key.encode())

    async def _ask(self) -> Host:
        failed: Exception = RedisConnectionError("no server has the keys of this namespace")
        # One that was cut off from the others names a former primary, so each time another one is asked first.
        for host in random.sample(self._hosts, len(self._hosts)):
            try:
                ranges = await self._answer(host, "CLUSTER", "SLOTS")
            except (RedisError, OSError) as error:
                failed = error
                continue
            # Those of the address may go, one after the other.
            servers = [(name or host[0], port) for _, _, *each in ranges for name, port, *_ in each]
            self._hosts = list(dict.fromkeys([*self._hosts, *servers]))
            for first, last, (name, port, *_), *_ in ranges:
                if first <= self._slot <= last:
                    return name or host[0], port
        raise failed
