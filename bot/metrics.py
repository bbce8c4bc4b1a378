"""What `/metrics` counts. Agent text is never a label."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bot.health import Health

COUNTED = CollectorRegistry()
SLACK_CALLS = Counter(
    "assent_slack_calls", "Calls to Slack, by method and answer", ["method", "answer"], registry=COUNTED
)
DECISIONS = Counter(
    "assent_decisions", "Decisions of people, by kind and outcome", ["decision", "outcome"], registry=COUNTED
)


class _Gauges(Collector):
    def __init__(self, health: Health, owed: Callable[[], dict[str, int]]) -> None:
        self._health = health
        self._owed = owed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(
            "assent_ready", "1 while Redis and Slack are connected", int(self._health.ready)
        )
        yield GaugeMetricFamily(
            "assent_policy_outdated",
            "1 while the policy file cannot be used and an older one is in force",
            int("policy" in self._health.warnings),
        )
        owed = GaugeMetricFamily("assent_owed", "Records that are owed work", labels=["kind"])
        for kind, count in self._owed().items():
            owed.add_metric([kind], count)
        yield owed


def build_registry(health: Health, owed: Callable[[], dict[str, int]]) -> CollectorRegistry:
    """Make the registry of one process.

    Args:
        health: Read at each scrape.
        owed: Gives the last known counts of owed work.
    """
    registry = CollectorRegistry()
    registry.register(_Gauges(health, owed))
    return registry
