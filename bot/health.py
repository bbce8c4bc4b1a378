"""What works and what does not, for `/readyz`, for the presenter and for whoever waits."""

import asyncio
from dataclasses import dataclass, field


@dataclass
class Health:
    """The reasons why this process is not ready, by part."""

    faults: dict[str, str] = field(
        default_factory=lambda: {"redis": "not connected yet", "slack": "not connected yet"}
    )
    _faulty: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ready(self) -> bool:
        return not self.faults

    @property
    def slack_fault(self) -> str | None:
        """Why no call to Slack can succeed, `None` when calls may."""
        return self.faults.get("slack")

    def fault(self, part: str, reason: str) -> None:
        """Note that a part does not work."""
        self.faults[part] = reason
        self._faulty.set()

    def mend(self, part: str) -> None:
        """Note that a part works again."""
        self.faults.pop(part, None)

    async def wait_for_fault(self, part: str) -> None:
        """Return at once while a part does not work, otherwise once it stops working."""
        while part not in self.faults:
            self._faulty.clear()
            await self._faulty.wait()
