"""What `/metrics` counts. Agent text is never a label."""

from collections import Counter as Counted
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from agent_adapter.contract.trace import TraceContext
from bot.runtime.health import Health

COUNTED = CollectorRegistry()
SLACK_CALLS = Counter(
    "assent_slack_calls", "Calls to Slack, by method and answer", ["method", "answer"], registry=COUNTED
)
DECISIONS = Counter(
    "assent_decisions", "Decisions of people, by kind and outcome", ["decision", "outcome"], registry=COUNTED
)
decisions_of = cache(DECISIONS.labels)
"""The counter of one kind and outcome."""
AUDIT_DROPPED = Counter(
    "assent_audit_dropped",
    "Entries of the audit trail that were dropped before their time was over",
    registry=COUNTED,
)
BROKEN_SEALS = Counter(
    "assent_broken_seals",
    "Records that were ended because somebody had changed their terms in Redis",
    registry=COUNTED,
)

# From what a person notices to what is wrong. The objectives of `deploy/prometheus/alerts.yaml` are limits of buckets.
WITHIN = (0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
TIME_TO_CARD = Histogram(
    "assent_time_to_card_seconds",
    "From a request until Slack showed its first card",
    buckets=WITHIN,
    registry=COUNTED,
)
TIME_TO_AGENT = Histogram(
    "assent_time_to_agent_seconds",
    "From the last decision on a request until its agent first took the answer",
    buckets=WITHIN,
    registry=COUNTED,
)


def exemplar_of(trace: TraceContext | None) -> dict[str, str] | None:
    """Give the example that a measurement is kept with: its trace, if that is recorded somewhere."""
    return {"trace_id": trace.trace_id, "span_id": trace.span_id} if trace and trace.is_sampled else None


Counts = Callable[[], dict[str, int]]
Ages = Callable[[], dict[str, float]]
Labelled = TypeVar("Labelled", CounterMetricFamily, GaugeMetricFamily)


@dataclass(frozen=True, eq=False)
class _Gauges(Collector):
    health: Health
    owed: Counts
    failing: Counts
    ages: Ages

    def collect(self) -> Iterator[Metric]:
        health, failures = self.health, Counted[str]()
        for loop in health.loops:
            failures[loop.name] += loop.failures
        ready = "1 while Redis and Slack are connected and every loop makes progress"
        outdated = "1 while the policy file cannot be used and an older one is in force"
        unsealed = "Entries of the audit trail that this bot has yet to write into its log"
        yield GaugeMetricFamily("assent_ready", ready, int(health.ready))
        yield GaugeMetricFamily("assent_policy_outdated", outdated, int("policy" in health.warnings))
        yield GaugeMetricFamily(
            "assent_audit_bytes", "What the audit trail takes in Redis", health.audit_bytes
        )
        yield GaugeMetricFamily("assent_audit_unsealed", unsealed, health.audit_unsealed)
        counter, gauge = CounterMetricFamily, GaugeMetricFamily
        warnings = dict.fromkeys(health.warnings, 1)
        restarted = "Unexpected errors after which a loop was started again"
        aged = "For how long the oldest owed work could have been done"
        failing = "Records that could not be handled and that somebody has to look at"
        yield _labelled(gauge("assent_warning", "1 for each warning of /readyz", labels=["code"]), warnings)
        yield _labelled(counter("assent_loop_failures", restarted, labels=["loop"]), failures)
        yield _labelled(gauge("assent_owed", "Records that are owed work", labels=["kind"]), self.owed())
        yield _labelled(gauge("assent_owed_age_seconds", aged, labels=["kind"]), self.ages())
        yield _labelled(gauge("assent_failing", failing, labels=["kind"]), self.failing())


def _labelled(family: Labelled, values: Mapping[str, float]) -> Labelled:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def build_registry(health: Health, owed: Counts, failing: Counts, ages: Ages = dict) -> CollectorRegistry:
    """Make the registry of one process.

    Args:
        health: Read at each scrape.
        owed: Gives the last known counts of owed work.
        failing: Gives the last known counts of records that could not be handled.
        ages: Gives, by kind, for how many seconds the oldest owed work could have been done.
    """
    registry = CollectorRegistry()
    registry.register(_Gauges(health, owed, failing, ages))
    registry.register(COUNTED)
    return registry


def written(registry: CollectorRegistry, accepted: str) -> tuple[bytes, str]:
    """Give all metrics as text, and its content type. Only OpenMetrics, for those who ask for it, has exemplars.

    Args:
        registry: Of `build_registry`.
        accepted: The header `Accept`.
    """
    kinds = {kind.partition(";")[0].strip() for kind in accepted.split(",")}
    if "application/openmetrics-text" in kinds:
        text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]  # prometheus-client does not type it
        return text, openmetrics.CONTENT_TYPE_LATEST
    return generate_latest(registry), CONTENT_TYPE_LATEST
