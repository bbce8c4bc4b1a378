"""What `/metrics` counts. Agent text is never a label."""

from collections import Counter as Counted
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.runtime.health import Health

COUNTED = CollectorRegistry()
SLACK_CALLS = Counter(
    "assent_slack_calls", "Calls to Slack, by method and answer", ["method", "answer"], registry=COUNTED
)
DECISIONS = Counter(
    "assent_decisions", "Decisions of people, by kind and outcome", ["decision", "outcome"], registry=COUNTED
)
AUDIT_DROPPED = Counter(
    "assent_audit_dropped",
    "Entries of the audit trail that were dropped before seven days were over",
    registry=COUNTED,
)
BROKEN_SEALS = Counter(
    "assent_broken_seals",
    "Records that were ended because somebody had changed their terms in Redis",
    registry=COUNTED,
)

Counts = Callable[[], dict[str, int]]


class _Gauges(Collector):
    def __init__(self, health: Health, owed: Counts, aside: Counts) -> None:
        self._health = health
        self._owed = owed
        self._aside = aside

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "assent_ready",
            "1 while Redis and Slack are connected and every loop makes progress",
            int(self._health.ready),
        )
        yield GaugeMetricFamily(
            "assent_policy_outdated",
            "1 while the policy file cannot be used and an older one is in force",
            int("policy" in self._health.warnings),
        )
        yield GaugeMetricFamily(
            "assent_audit_bytes", "What the audit trail takes in Redis", self._health.audit_bytes
        )
        yield GaugeMetricFamily(
            "assent_audit_unsealed",
            "Entries of the audit trail that this bot has yet to seal",
            sum(self._health.audit_unsealed.values()),
        )
        failures = CounterMetricFamily(
            "assent_loop_failures", "Unexpected errors after which a loop was started again", labels=["loop"]
        )
        for name, count in self._failures().items():
            failures.add_metric([name], count)
        yield failures
        owed = GaugeMetricFamily("assent_owed", "Records that are owed work", labels=["kind"])
        for kind, count in self._owed().items():
            owed.add_metric([kind], count)
        yield owed
        aside = GaugeMetricFamily(
            "assent_set_aside",
            "Records that could not be handled and that somebody has to look at",
            labels=["kind"],
        )
        for kind, count in self._aside().items():
            aside.add_metric([kind], count)
        yield aside

    def _failures(self) -> Counted[str]:
        counts = Counted[str]()
        for loop in self._health.loops:
            counts[loop.name] += loop.failures
        return counts


def build_registry(health: Health, owed: Counts, aside: Counts) -> CollectorRegistry:
    """Make the registry of one process.

    Args:
        health: Read at each scrape.
        owed: Gives the last known counts of owed work.
        aside: Gives the last known counts of records that were set aside.
    """
    registry = CollectorRegistry()
    registry.register(_Gauges(health, owed, aside))
    return registry
