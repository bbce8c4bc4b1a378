"""How long Slack waits for what; tests shorten the waits that only cost time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Slack's own times by default."""

    acknowledge: float = 3.0
    """Seconds an app has to acknowledge what it is sent."""
    trigger: float = 3.0
    """Seconds a `trigger_id` may be exchanged."""
    response_url: float = 1800.0
    """Seconds a `response_url` works."""
    retries: tuple[float, ...] = (0.0, 60.0, 300.0)
    """Waits before each further attempt to deliver an event."""
    disconnect_warning: float = 10.0
    """Seconds between the `warning` of a disconnect and the close."""
