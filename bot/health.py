"""What works and what does not, for `/readyz`, for the presenter and for whoever waits."""

from dataclasses import dataclass, field

NOT_YET = "not connected yet"


@dataclass
class Health:
    """The reasons why this process is not ready, by part."""

    faults: dict[str, str] = field(default_factory=lambda: {"redis": NOT_YET, "slack": NOT_YET})
    warnings: dict[str, str] = field(default_factory=dict)
    """What somebody has to mend while the process stays ready."""

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

    def mend(self, part: str) -> None:
        """Note that a part works again."""
        self.faults.pop(part, None)
