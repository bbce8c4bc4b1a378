"""A Redis Cluster of three primaries and three replicas on this machine: `python -m playground.clusters`."""

import contextlib
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from playground.redis_server import RedisServer, RedisServerError, free_port, keeping_users, show
from playground.wait_until import wait_until

SLOTS = 16_384
_BUS = 10_000
"""A server talks to the others at its port plus this."""


@dataclass
class Cluster:
    """The processes, over one folder of data."""

    folder: Path
    down_after: int = 1_000
    """Milliseconds of silence after which a server is taken for dead."""
    size: int = 3
    """How many primaries it has."""
    is_replicated: bool = True
    """Whether each primary has a replica. Without, there is nothing to fail over to."""
    servers: dict[int, RedisServer] = field(default_factory=dict)
    """By port."""

    @property
    def url(self) -> str:
        """The address for `REDIS_URL`."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{port}' for port in self.servers)}"

    def start(self) -> None:
        """Start all of them, share out the slots, and wait until every server knows this.

        Raises:
            RedisServerError: when they do not come up.
        """
        ports = [self._start_server() for _ in range(self.size * (1 + self.is_replicated))]
        primaries, replicas = ports[: self.size], ports[self.size :]
        for number, port in enumerate(primaries):
            first, last = number * SLOTS // self.size, (number + 1) * SLOTS // self.size
            self.ask(port, "CLUSTER SET-CONFIG-EPOCH", number + 1)
            self.ask(port, "CLUSTER ADDSLOTS", *range(first, last))
        for port in ports[1:]:
            self.ask(port, "CLUSTER MEET", "127.0.0.1", ports[0])
        wait_until(lambda: all(self._known_by(port) == len(ports) for port in ports), "they do not meet")
        for primary, replica in zip(primaries, replicas, strict=False):
            self.ask(replica, "CLUSTER REPLICATE", self.ask(primary, "CLUSTER MYID"))
        wait_until(self.is_whole, "not every primary has a replica")

    def told(self) -> str:
        """Say where they are, and how to fail over and back in another terminal."""
        pairs = [(primary, self.replica_of(primary)) for primary in self.primaries()]
        (primary, replica), (other, _), *_ = pairs
        servers = "\n".join(
            f"  # {port}\n  {shlex.join(each.command)}" for port, each in self.servers.items()
        )
        return (
            f"REDIS_URL={self.url}\n"
            f"Primaries, each with its replica: {', '.join(f'{each} and {its}' for each, its in pairs)}. "
            f"Who is what now: redis-cli -p {other} CLUSTER NODES\n"
            f"Of {primary} and {replica}, which one is what now:\n"
            f"  primary=$({_with_role('master', primary, replica)})\n"
            f"  replica=$({_with_role('slave', primary, replica)})\n"
            "A planned failover, after these two:\n"
            "  redis-cli -p $replica CLUSTER FAILOVER\n"
            "A primary that is stopped, or that crashes, after these two:\n"
            "  redis-cli -p $primary SHUTDOWN NOSAVE\n"
            "  kill -9 $(redis-cli -p $primary INFO server | tr -d '\\r' | sed -n 's/^process_id://p')\n"
            "A failover that can lose what people decide meanwhile, after these two:\n"
            "  redis-cli -p $replica CLUSTER FAILOVER TAKEOVER\n"
            "A server comes back, as a replica of the primary of then, with the command below its port:\n"
            f"{servers}\n"
            "Ctrl-C here ends all of them but a server that you have started so.\n"
        )

    def stop(self) -> None:
        """End all processes."""
        for server in self.servers.values():
            server.kill()

    def primaries(self) -> list[int]:
        """Give the ports of the servers that take writes."""
        return [port for port in self.servers if self._role(port) == "master"]

    def primary_of(self, key: str) -> int:
        """Give the port of the server that takes writes of a key."""
        slot = int(self.ask(self._any(), "CLUSTER KEYSLOT", key))
        for first, last, (_, port, *_), *_ in self.ask(self._any(), "CLUSTER SLOTS"):
            if first <= slot <= last:
                return int(port)
        raise RedisServerError(f"no server has the slot of {key}")

    def fail_over(self, port: int) -> None:
        """Hand over what a primary has to its replica, and wait until every server knows it.

        Raises:
            RedisServerError: when it does not happen.
        """
        replica = self.replica_of(port)

        def is_done() -> bool:
            if self._role(replica) != "master":
                self.ask(replica, "CLUSTER FAILOVER")
            return self._role(replica) == "master" and self._role(port) == "slave" and self.is_whole()

        wait_until(is_done, "the replica has not become the primary")

    def kill(self, port: int) -> None:
        """End a primary without a chance to write anything, and wait until its replica has taken over.

        Raises:
            RedisServerError: when it does not.
        """
        replica = self.replica_of(port)
        self.servers[port].kill()
        wait_until(lambda: self._role(replica) == "master" and self._is_up(), "no replica has taken over")

    def bring_back(self, port: int) -> None:
        """Start a server again that was killed. It follows the one that took over."""
        self.servers[port].start()
        wait_until(self.is_whole, "the server that was killed does not follow the new primary")

    def move(self, key: str, *, pause: float = 0.0) -> int:
        """Move the slot of a key to another primary, a few keys at a time, as `redis-cli --cluster reshard` does.

        Returns:
            How many keys it had.
        """
        slot, source = int(self.ask(self._any(), "CLUSTER KEYSLOT", key)), self.primary_of(key)
        target = next(port for port in self.primaries() if port != source)
        named = {port: self.ask(port, "CLUSTER MYID") for port in (source, target)}
        self.ask(target, "CLUSTER SETSLOT", slot, "IMPORTING", named[source])
        self.ask(source, "CLUSTER SETSLOT", slot, "MIGRATING", named[target])
        moved = 0
        while keys := self.ask(source, "CLUSTER GETKEYSINSLOT", slot, 2):
            for each in keys:
                # It refuses to overwrite what the other one has made itself.
                self.ask(source, "MIGRATE", "127.0.0.1", target, each, 0, 5_000)
            moved += len(keys)
            time.sleep(pause)
        for port in dict.fromkeys((target, source, *self.primaries())):
            self.ask(port, "CLUSTER SETSLOT", slot, "NODE", named[target])
        wait_until(self.is_whole, "the servers do not agree about the slot that was moved")
        return moved

    def mend(self) -> None:
        """Start every server that was killed.

        Raises:
            RedisServerError: when they do not find each other.
        """
        for server in self.servers.values():
            if not server.runs:
                server.start()
        wait_until(self.is_whole, "not every primary has a replica")

    def is_whole(self) -> bool:
        """Say whether all slots are served, and each primary has its replica."""
        return self._is_up() and (not self.is_replicated or all(map(self._acknowledged, self.primaries())))

    def replicate(self) -> None:
        """Wait until the replicas have what their primaries have now.

        Raises:
            RedisServerError: when one falls behind.
        """
        written = {port: int(self.ask(port, "ROLE")[1]) for port in self.primaries()}
        wait_until(
            lambda: all(min(self._acknowledged(port)) >= offset for port, offset in written.items()),
            "the replicas do not have what was written",
        )

    def empty(self) -> None:
        """Delete all keys."""
        for port in self.primaries():
            self.ask(port, "FLUSHALL")

    def ask(self, port: int, *command: object) -> Any:
        """Run a command on one server."""
        with Redis.from_url(self.servers[port].url, decode_responses=True) as server:
            return server.execute_command(*command)

    def _start_server(self) -> int:
        bus = free_port()
        while free_port(bus - _BUS) != bus - _BUS:
            bus = free_port()
        port = bus - _BUS
        options = (
            "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-node-timeout", str(self.down_after),
            "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
        )  # fmt: skip
        # A name of one letter, since a unix socket's path may have about 100 characters.
        folder = self.folder / f"{len(self.servers)}"
        server = RedisServer(folder, (*options, *keeping_users(folder)))
        server.start()
        self.servers[port] = server
        return port

    def _any(self) -> int:
        return self.primaries()[0]

    def _role(self, port: int) -> str:
        with contextlib.suppress(RedisError, OSError):
            return str(self.ask(port, "ROLE")[0])
        return "dead"

    def _known_by(self, port: int) -> int:
        return int(_fields(self.ask(port, "CLUSTER INFO"))["cluster_known_nodes"])

    def _is_up(self) -> bool:
        alive = [port for port in self.servers if self._role(port) != "dead"]
        states = [_fields(self.ask(port, "CLUSTER INFO")) for port in alive]
        owners = {str(sorted(self._owners(port))) for port in alive}
        return len(owners) == 1 and all(state["cluster_state"] == "ok" for state in states)

    def _owners(self, port: int) -> list[tuple[int, int]]:
        return [(first, place[1]) for first, _, place, *_ in self.ask(port, "CLUSTER SLOTS")]

    def replica_of(self, port: int) -> int:
        """Give the port of the replica that follows a primary.

        Raises:
            RedisServerError: when none does.
        """
        for replica in self.servers:
            if self._role(replica) == "slave" and int(self.ask(replica, "ROLE")[2]) == port:
                return replica
        raise RedisServerError(f"the server at port {port} has no replica")

    def _acknowledged(self, port: int) -> list[int]:
        """Say how far each replica of a primary has come."""
        _, _, replicas = self.ask(port, "ROLE")
        return [int(offset) for *_, offset in replicas]


def _with_role(role: str, *ports: int) -> str:
    """Write the command for a shell that prints which of these ports has a server with this role."""
    named = " ".join(map(str, ports))
    return f"for port in {named}; do redis-cli -p $port ROLE | grep -qx {role} && echo $port; done"


def _fields(info: Any) -> dict[str, str]:
    """Read what CLUSTER INFO says. redis-py has done so already where it knows the command."""
    return info if isinstance(info, dict) else dict(line.split(":", 1) for line in info.split("\r\n") if line)


if __name__ == "__main__":
    show(Cluster)
