"""Where the server of a namespace is: at one address, where Sentinels say, or where a Cluster keeps its keys."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisClusterException, RedisError

from agent_adapter.background import in_background
from agent_adapter.redis.address import Host, shown_hosts

_ANSWER_WITHIN = 1.0
"""Seconds that a Sentinel has to answer, and a server of a cluster that is asked where the others are."""
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

    def __init__(self) -> None:
        super().__init__()
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


class BehindSentinels(FoundPlace):
    """The primary of a service, as its Sentinels name it."""

    def __init__(self, hosts: Sequence[Host], service: str, options: dict[str, Any]) -> None:
        """Take the Sentinels, what they call the primary, and redis-py's options of connections to them."""
        super().__init__()
        self._hosts = list(hosts)
        self._service = service
        self._options = options
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
        sentinel = self._sentinel()
        asking = (each.sentinel_master(self._service) for each in sentinel.sentinels)
        answers = await asyncio.gather(*asking, return_exceptions=True)
        await _close(sentinel)
        return max((int(each["num-slaves"]) for each in answers if isinstance(each, dict)), default=0)

    async def _look(self) -> None:
        # Commands go on while no Sentinel answers: the primary does not need them.
        with suppress(RedisError, OSError):
            await self._find()

    async def _ask(self) -> Host:
        sentinel = self._sentinel()
        try:
            host, port = await sentinel.discover_master(self._service)
        except MasterNotFoundError as error:
            raise MasterNotFoundError(
                f"The Sentinels {shown_hosts(self._hosts)} name no primary of {self._service!r} that is up: are they running, "
                "do they let this client in, and is this the name that `sentinel monitor` has? In a failover, wait for its end"
            ) from error
        finally:
            await _close(sentinel)
        # redis-py has put the one that answered first.
        found = (each.connection_pool.connection_kwargs for each in sentinel.sentinels)
        self._hosts = [(each["host"], each["port"]) for each in found]
        return str(host), int(port)

    def _sentinel(self) -> Any:
        return Sentinel(self._hosts, sentinel_kwargs={**self._options, **_limits(), "decode_responses": True})  # type: ignore[no-untyped-call]  # redis-py does not type it


class InCluster(FoundPlace):
    """The primary that has the slot of a key, as the servers of its Cluster say."""

    def __init__(self, hosts: Sequence[Host], key: str, options: dict[str, Any]) -> None:
        """Take servers that say where the others are, a key, and redis-py's options of connections to them."""
        super().__init__()
        self._hosts = list(hosts)
        self._key = key
        self._options = options

    async def _ask(self) -> Host:
        nodes = [ClusterNode(host, port) for host, port in self._hosts]
        # Other slots may have no server for now.
        cluster = RedisCluster(
            startup_nodes=nodes, require_full_coverage=False, protocol=2, **self._options, **_limits()
        )
        try:
            await cluster.initialize()
            node = cluster.get_node_from_key(self._key)
        except RedisClusterException as error:
            raise _reason(error) from error
        finally:
            await cluster.aclose()
        # Those of the address may go, one after the other.
        self._hosts = list(
            dict.fromkeys([*self._hosts, *((each.host, int(each.port)) for each in cluster.get_nodes())])
        )
        assert node
        return node.host, int(node.port)


def _limits() -> dict[str, Any]:
    return {
        "socket_timeout": _ANSWER_WITHIN,
        "socket_connect_timeout": _ANSWER_WITHIN,
        # The connection that asks where to connect is tried again, and asks again.
        "retry": Retry(NoBackoff(), 0),
    }


def _reason(error: Exception) -> RedisError:
    """Give what a server said, or how it failed, behind an error of redis-py's cluster, which is no RedisError."""
    first: BaseException = error
    while cause := first.__cause__ or first.__context__:
        first = cause
    return first if isinstance(first, RedisError) else RedisConnectionError(str(error))


async def _close(sentinel: Any) -> None:
    for each in sentinel.sentinels:
        await each.aclose()
