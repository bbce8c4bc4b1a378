"""Two servers and one address, for what a failover loses."""

from pathlib import Path

from redis import Redis

from playground.redis_server import RedisServer
from tests.support.proxy import Proxy


def copy(url: str, to: str, names: str) -> None:
    """Copy keys of one server to another."""
    with Redis.from_url(url) as source, Redis.from_url(to) as target:
        for name in source.scan_iter(names):
            target.restore(name, max(0, source.pttl(name)), source.dump(name), replace=True)


class Failover:
    """Two servers behind one address. The second one has what the first one had when it was last `replicated`."""

    def __init__(self, folder: Path) -> None:
        self.first, self.second = RedisServer(folder / "first"), RedisServer(folder / "second")
        self.first.start()
        self.second.start()
        self.proxy = Proxy(self.first.url.removeprefix("unix://"))

    def replicate(self) -> None:
        """Give the second server what the first one has now."""
        with Redis.from_url(self.second.url) as second:
            second.flushall()
        copy(self.first.url, self.second.url, "*")

    async def happen(self) -> None:
        """Make the second server the one that answers."""
        self.proxy.lead_to(self.second.url)
        await self.proxy.reset()
        self.first.stop()
