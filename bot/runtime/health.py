"""What works and what does not: for the probes, for the presenter and for agents that wait."""

import logging
import time
from dataclasses import dataclass, field

from agent_adapter.loops import Loops

logger = logging.getLogger(__name__)

NOT_YET = "not connected yet"
PLACE = "place "
"""The start of the name of a warning about a place that the policy names."""
LASTING = 20.0
"""Seconds after which a warning says that all calls of a method fail. Nobody notices a shorter failure."""


@dataclass
class Health:
    """The reasons why this process is not ready, by part."""

    faults: dict[str, str] = field(default_factory=lambda: {"redis": NOT_YET, "slack": NOT_YET})
    warnings: dict[str, str] = field(default_factory=dict)
    """What somebody has to fix while the process stays ready."""
    loops: Loops = field(default_factory=Loops)
    signed: bool = False
    """Whether what people decide is signed now."""
    audit_bytes: int = 0
    """What the audit trail takes in Redis, when it was last measured."""
    audit_unsealed: int = 0
    """How many entries of the audit trail this process has yet to write into its log."""
    _failing_since: dict[str, float] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        return not self.reasons

    @property
    def reasons(self) -> dict[str, str]:
        """Everything that keeps this process from being ready, by part or by loop."""
        return self.faults or {loop.name: loop.trouble for loop in self.loops if loop.trouble}

    @property
    def stuck(self) -> dict[str, str]:
        """The loops that make no progress although Redis answers. Only a restart helps.

        They appear here later than in `reasons`, by a third of their time. Until then it is known whether Redis answers.
        """
        if "redis" in self.faults:
            return {}
        return {loop.name: loop.trouble for loop in self.loops if loop.overdue > loop.within / 3}

    @property
    def slack_fault(self) -> str | None:
        """Why no call to Slack can succeed; `None` when calls can."""
        return self.faults.get("slack")

    def fault(self, part: str, reason: str) -> None:
        """Note that a part does not work."""
        self.faults[part] = reason

    def recover(self, part: str) -> None:
        """Note that a part works again."""
        self.faults.pop(part, None)

    def warn(self, name: str, sentence: str) -> None:
        """Note what somebody has to fix; an empty sentence says that nothing is left to fix."""
        if sentence:
            self.warnings[name] = sentence
        else:
            self.warnings.pop(name, None)

    def call_failed(self, method: str, reason: str) -> None:
        """Note that a call to Slack failed. A warning says when every call of a method has failed for a while."""
        self._failing_since.setdefault(method, time.monotonic())
        lasts = time.monotonic() - self._failing_since[method] >= LASTING
        if lasts and method not in self.warnings:
            logger.error("slack.takes_nothing", extra={"method": method, "reason": reason})
            self.warnings[method] = (
                f"every try has failed for {LASTING:.0f} seconds or longer ({reason}); it is tried again"
            )

    def call_worked(self, method: str) -> None:
        """Note that a call to Slack succeeded."""
        self._failing_since.pop(method, None)
        if self.warnings.pop(method, None):
            logger.info("slack.takes_again", extra={"method": method})
