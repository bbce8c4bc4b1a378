"""A primary, two replicas and three Sentinels on this machine: `python -m playground.sentinels`."""

import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from playground.redis_server import (
    RedisServer,
    find_executable,
    free_port,
    keeping_users,
    show,
    start_process,
)
from playground.wait_until import wait_until

SERVICE = "assent"
_REPLICAS = 2
_SENTINELS = 3
_PAUSE = 10_000
"""Milliseconds for which a primary that is to be replaced takes no writes."""

_SENTINEL = """
port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor {service} 127.0.0.1 {primary} 2
sentinel down-after-milliseconds {service} {down_after}
sentinel failover-timeout {service} 5000
sentinel parallel-syncs {service} {replicas}
"""


@dataclass
class Sentinels:
    """The processes, over one folder of data."""

    folder: Path
    min_replicas: int = 1
    """How many replicas have to follow a primary that takes writes. With 0, a former primary takes writes that get lost."""
    down_after: int = 1_000
    """Milliseconds of silence after which a Sentinel takes a server for dead."""
    servers: dict[int, RedisServer] = field(default_factory=dict)
    """By port."""
    sentinels: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    """By port."""

    @property
    def url(self) -> str:
        """The address for `REDIS_URL`."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.sentinels)}/{SERVICE}"

    def start(self) -> None:
        """Start all of them, and wait until every Sentinel knows the others and the replicas.

        Raises:
            RedisServerError: when they do not come up.
        """
        primary = free_port()
        self._start_server(primary)
        for _ in range(_REPLICAS):
            self._start_server(free_port(), "--replicaof", "127.0.0.1", str(primary))
        for number in range(_SENTINELS):
            self._start_sentinel(number, primary)
        wait_until(self._is_complete, "the Sentinels do not know each other")

    def stop(self) -> None:
        """End all processes."""
        for process in self.sentinels.values():
            process.kill()
            process.wait()
        for server in self.servers.values():
            server.kill()

    def primary(self) -> int:
        """Give the port of the server that takes writes, as the first Sentinel sees it."""
        found = self._ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(found[1])

    def fail_over(self, *, pause: bool = False) -> None:
        """Hand the service over to a replica, and wait until all others follow it.

        Args:
            pause: Whether the former primary takes no writes from then on and follows the new one at once, as operators are
                advised. Sentinels tell it only after ten seconds, and after twenty if it is still paused.
        """
        before = self.primary()
        wait_until(self._has_replicas, "no replica is ready")
        with self._connected(before) as former:

            def has_handed_over() -> bool:
                if pause:
                    former.client_pause(_PAUSE, all=False)
                return self._has_handed_over(before)

            wait_until(has_handed_over, "no replica has become the primary")
            if pause:
                former.replicaof("127.0.0.1", self.primary())
                former.client_unpause()
        wait_until(self.replicated, "the former primary does not follow the new one")

    def kill_primary(self) -> int:
        """End the primary without a chance to write anything, wait until another one is elected, and give its port."""
        before = self.primary()
        self.servers[before].kill()
        wait_until(lambda: self.primary() != before, "no replica has become the primary")
        return before

    def bring_back(self, port: int) -> None:
        """Start a server again that was killed. It follows the primary of now.

        A Sentinel whose failover is not over when the new primary dies names that one for good. So it waits for the end.
        """
        wait_until(self._has_failed_over, "the failover does not end")
        self.servers[port].start()
        with self._connected(port) as server:
            server.replicaof("127.0.0.1", self.primary())

    def told(self) -> str:
        """Say where they are, and how to fail over and back in another terminal."""
        sentinel = next(iter(self.sentinels))
        named = f"redis-cli -p {sentinel} SENTINEL GET-MASTER-ADDR-BY-NAME {SERVICE} | tail -n 1"
        failover = f"redis-cli -p {sentinel} SENTINEL FAILOVER {SERVICE}"
        servers = "\n".join(f"  {port}: {shlex.join(each.command)}" for port, each in self.servers.items())
        return (
            f"REDIS_URL={self.url}\n"
            f"The primary is at port {self.primary()}. Servers: {', '.join(map(str, self.servers))}.\n"
            "A planned failover. Paste all of it: the pause ends after ten seconds.\n"
            f"  former=$({named})\n"
            f"  redis-cli -p $former CLIENT PAUSE {_PAUSE} WRITE\n"
            f"  said=$({failover})\n"
            '  if test "$said" = OK; then\n'
            f'    until next=$({named}) && test -n "$next" && test "$next" != "$former"; do sleep 0.1; done\n'
            "    redis-cli -p $former REPLICAOF 127.0.0.1 $next\n"
            '    echo "The primary is at port $next."\n'
            "  else\n"
            '    echo "Refused: $said"\n'
            "  fi\n"
            f"  redis-cli -p $former CLIENT UNPAUSE\n"
            "A primary that is stopped:\n"
            f"  former=$({named})\n"
            "  redis-cli -p $former SHUTDOWN NOSAVE\n"
            "A primary that crashes:\n"
            f"  former=$({named})\n"
            "  kill -9 $(redis-cli -p $former INFO server | tr -d '\\r' | sed -n 's/^process_id://p')\n"
            "A server comes back, as a replica of the primary of then, with its command below and this behind it:\n"
            f"  --replicaof 127.0.0.1 $({named})\n"
            f"{servers}\n"
            "A failover without the other commands can lose what people decide meanwhile:\n"
            f"  {failover}\n"
            "Ctrl-C here ends all of them but a server that you have started so.\n"
        )

    def takes_writes(self) -> bool:
        """Say whether the server that the first Sentinel names is a primary: right after a failover it may not know of it."""
        with self._connected(self.primary()) as server:
            return bool(server.role()[0] == "master")

    def replicated(self) -> bool:
        """Say whether every replica has what the primary had when this was called."""
        with self._connected(self.primary()) as server:
            # WAIT is about the writes of its own connection.
            try:
                server.set("playground:written", 1, px=1_000)
            except ResponseError:
                # With `min-replicas-to-write`, it takes no writes while too few follow.
                return False
            return int(server.wait(_REPLICAS, 1_000)) >= _REPLICAS

    def _start_server(self, port: int, *more: str) -> None:
        options = (
            "--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
            "--min-replicas-to-write", str(self.min_replicas), "--min-replicas-max-lag", "3", *more,
        )  # fmt: skip
        # A name of one letter, since a unix socket's path may have about 100 characters.
        folder = self.folder / f"{len(self.servers)}"
        server = RedisServer(folder, (*options, *keeping_users(folder)))
        server.start()
        self.servers[port] = server

    def _start_sentinel(self, number: int, primary: int) -> None:
        port = free_port()
        configuration = self.folder / f"sentinel-{number}.conf"
        configuration.write_text(
            _SENTINEL.format(
                port=port,
                folder=self.folder,
                service=SERVICE,
                primary=primary,
                down_after=self.down_after,
                replicas=_REPLICAS,
            )
        )
        self.sentinels[port] = start_process([find_executable(), str(configuration), "--sentinel"])

    def _is_complete(self) -> bool:
        for port in self.sentinels:
            state = self._state_of(port)
            if (state["num-other-sentinels"], state["num-slaves"]) != (_SENTINELS - 1, _REPLICAS):
                return False
        return True

    def _has_replicas(self) -> bool:
        with self._connected(next(iter(self.sentinels))) as sentinel:
            found: Any = sentinel.sentinel_slaves(SERVICE)
        return any(each["master-link-status"] == "ok" and not each["is_sdown"] for each in found)

    def _has_handed_over(self, before: int) -> bool:
        """Whether another server is the primary. Otherwise ask for it, also again: a busy Sentinel can give a failover up."""
        if self.primary() != before:
            return True
        if "failover_in_progress" not in self._state_of(next(iter(self.sentinels)))["flags"]:
            self._ask("SENTINEL", "FAILOVER", SERVICE)
        return False

    def _has_failed_over(self) -> bool:
        """Whether all Sentinels name the same primary, and none is in the middle of a failover."""
        states = [self._state_of(port) for port in self.sentinels]
        return len({state["port"] for state in states}) == 1 and not any(
            "failover_in_progress" in state["flags"] for state in states
        )

    def _state_of(self, port: int) -> Any:
        with self._connected(port) as sentinel:
            masters: Any = sentinel.sentinel_masters()
        return masters[SERVICE]

    def _ask(self, *command: str) -> list[str]:
        with self._connected(next(iter(self.sentinels))) as sentinel:
            answer: list[str] = sentinel.execute_command(*command)
        return answer

    def _connected(self, port: int) -> Redis:
        return Redis(port=port, decode_responses=True)


if __name__ == "__main__":
    show(Sentinels)
