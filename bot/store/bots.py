"""The heartbeats of the bots."""

from dataclasses import dataclass

from agent_adapter.redis.scripts import Value
from bot.store.connected import Connected


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat of this process, and what Redis says."""

    at: int
    """The server's milliseconds."""
    epoch: int
    """How many heartbeats all bots have sent. The number only grows."""
    server: str
    """Which run of which server answers, and of which history; empty where it does not say it."""


class Bots(Connected):
    """Keeps which bots are alive, and since when."""

    async def heartbeat(
        self, process: str, *, alive: bool = True, stepped_within: int = 0, quiet_for: float | None = 0.0
    ) -> Beat:
        """Note that this bot is alive, or that it has ended.

        Args:
            process: The name of this process.
            alive: False when it has ended.
            stepped_within: When the process saw that the server's clock was set: within how many milliseconds before now.
                Otherwise 0.
            quiet_for: Seconds since Slack last carried out one of its calls; `None` when Slack cannot be used, or when this
                process takes no clicks.
        """
        given: dict[str, Value] = {
            "process": process,
            "is_alive": int(alive),
            "stepped_within": stepped_within,
            "quiet_for": None if quiet_for is None else int(quiet_for * 1000),
        }
        at, epoch, server = await self.scripts("bot_heartbeat", self.keys.of(), **given)
        return Beat(at, epoch, server)
