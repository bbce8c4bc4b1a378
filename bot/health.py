"""What works and what does not, for the probes, for the presenter and for whoever waits."""

from dataclasses import dataclass, field

from agent_adapter.loops import Loops

NOT_YET = "not connected yet"
PLACE = "place "
"""Begins the name of a warning about a place that the policy names."""


@dataclass
class Health:
    """The reasons why this process is not ready, by part."""

    faults: dict[str, str] = field(default_factory=lambda: {"redis": NOT_YET, "slack": NOT_YET})
    warnings: dict[str, str] = field(default_factory=dict)
    """What somebody has to mend while the process stays ready."""
    loops: Loops = field(default_factory=Loops)

    @property
    def ready(self) -> bool:
        return not self.reasons

    @property
    def reasons(self) -> dict[str, str]:
        """Everything that keeps this process from being ready, by part or by loop."""
        return self.faults or {loop.name: loop.trouble for loop in self.loops if loop.trouble}

    @property
    def stuck(self) -> dict[str, str]:
        """The loops that make no progress although Redis answers: only a restart helps.

        A third of their time later than in `reasons`, by when it is known whether Redis answers.
        """
        if "redis" in self.faults:
            return {}
        return {loop.name: loop.trouble for loop in self.loops if loop.overdue > loop.within / 3}

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
