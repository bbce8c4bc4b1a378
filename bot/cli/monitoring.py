"""`python -m bot metrics`: a dashboard and alerts, made from the metrics that there are."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer
import yaml  # type: ignore[import-untyped]  # PyYAML brings no types
from prometheus_client.metrics_core import Metric

from bot.runtime.health import Health
from bot.runtime.metrics import COUNTED, WITHIN, build_registry

EACH = "container, endpoint, instance, node, pod"
"""The labels that tell the bots of one deployment apart. What all of them say about Redis counts once."""
FAST, SLOW = ("1h", "5m", 14.4), ("6h", "30m", 6)
"""Two windows, and how many times faster than allowed an objective is missed in both of them."""
ENOUGH = 5
"""With fewer requests in the longer window, a share says nothing."""

metrics_cli = typer.Typer(
    help="A dashboard and alerts, made from the metrics of the bot.", no_args_is_help=True
)


@dataclass(frozen=True, slots=True)
class Objective:
    """How many requests something should be quick enough for, in 30 days."""

    metric: str
    within: float
    share: float
    late: str
    """The name of what is wrong when it is missed."""
    title: str
    cure: str

    def __post_init__(self) -> None:
        """Check that the metric counts what is within this time."""
        if self.within not in WITHIN:
            raise ValueError(f"{self.metric} has no bucket of {self.within} seconds")


OBJECTIVES = (
    Objective(
        "assent_time_to_card_seconds",
        10,
        0.99,
        "AssentCardsAreLate",
        "Cards shown within 10 seconds",
        "Slack is slow, limits the bot, or takes nothing: see the warnings of /readyz. Many requests at once in one channel "
        "wait for each other, because Slack takes about one message a second there.",
    ),
    Objective(
        "assent_time_to_agent_seconds",
        10,
        0.99,
        "AssentAgentsAreLate",
        "Answers taken by agents within 10 seconds",
        "The agents or workers that asked do not run, or have lost Redis.",
    ),
)


@dataclass(frozen=True, slots=True)
class Age:
    """How old owed work of one kind may become."""

    kind: str
    most: int
    """In seconds."""
    alert: str
    severity: str
    title: str
    cure: str


AGES = (
    Age(
        "undrawn",
        60,
        "AssentCardsAreNotDrawn",
        "critical",
        "A card has waited to be drawn",
        "GET /readyz and the log say why.",
    ),
    Age(
        "due",
        60,
        "AssentDeadlinesAreLate",
        "critical",
        "A deadline or a reminder has waited",
        "GET /readyz and the log say why.",
    ),
    Age(
        "unresumed",
        300,
        "AssentRunsAreNotTaken",
        "warning",
        "A decided run has waited for a worker",
        "Start a worker that can resume it.",
    ),
)


def families() -> dict[str, Metric]:
    """Give every metric of the bot by its name, without the ending of counters."""
    gauges = build_registry(Health(), dict, dict, dict).collect()
    return {family.name: family for family in (*gauges, *COUNTED.collect())}


def series(name: str, ending: str = "", labels: str = "") -> str:
    """Name a series of a metric.

    Raises:
        ValueError: when the bot has no such metric, or it has no such series.
    """
    family = families().get(name)
    endings = {"counter": {"_total"}, "histogram": {"_bucket", "_count", "_sum"}}
    if family is None or ending not in endings.get(family.type, {""}):
        raise ValueError(f"the bot has no metric {name}{ending}")
    return f"{name}{ending}{labels and '{'}{labels}{labels and '}'}"


# --- Alerts -------------------------------------------------------------------------------------------------------------


def rules() -> dict[str, Any]:
    """Make the rules, in the form of a rule file of Prometheus."""
    return {
        "groups": [
            {"name": "assent", "rules": list(_alerts())},
            {"name": "assent-objectives", "rules": [*_ages(), *_late()]},
        ]
    }


def prometheus_rule() -> dict[str, Any]:
    """Make the same as a resource of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "assent", "labels": {"app.kubernetes.io/name": "assent"}},
        "spec": rules(),
    }


def _alerts() -> Iterator[dict[str, Any]]:
    ready = series("assent_ready")
    yield _alert(
        "AssentIsGone",
        f"absent({ready})",
        "5m",
        "critical",
        "Prometheus sees no bot",
        "No bot runs, or its port cannot be reached. Agents wait.",
    )
    yield _alert(
        "AssentIsNotReady",
        f"max without ({EACH}) ({ready}) == 0",
        "2m",
        "critical",
        "No bot is ready",
        "GET /readyz says why. The bots recover by themselves once the cause is gone, so do not restart them.",
    )
    yield _alert(
        "AssentBotIsNotReady",
        f"{ready} == 0",
        "15m",
        "warning",
        "A bot is not ready",
        "GET /readyz of this bot says why. In Socket Mode, a fifth bot waits as a standby, and is never ready.",
    )
    yield _alert(
        "AssentLoopFails",
        f"sum without ({EACH}) (increase({series('assent_loop_failures', '_total')}[15m])) > 0",
        "",
        "warning",
        "A loop of the bot met an unexpected error",
        "The log has it as loop.failed, with its traceback.",
    )
    yield _alert(
        "AssentRecordsSetAside",
        f"max without ({EACH}) ({series('assent_set_aside')}) > 0",
        "5m",
        "warning",
        "Records were set aside",
        "`python -m bot doctor` names them, and `python -m bot release` has them tried again.",
    )
    yield _alert(
        "AssentPolicyIsOutdated",
        f"max without ({EACH}) ({series('assent_policy_outdated')}) > 0",
        "5m",
        "warning",
        "The policy file cannot be used",
        "An older policy is in force. The log has the mistakes as policy.refused.",
    )
    yield _alert(
        "AssentRecordWasChanged",
        f"sum without ({EACH}) (increase({series('assent_broken_seals', '_total')}[1h])) > 0",
        "",
        "critical",
        "Somebody changed a record in Redis",
        "The bot refused it. Find out who can write to Redis.",
    )
    yield _alert(
        "AssentWarns",
        f"max without ({EACH}) ({series('assent_warning')}) > 0",
        "15m",
        "warning",
        "A bot warns of something",
        "GET /readyz says of what.",
    )
    yield _alert(
        "AssentAuditIsLost",
        f"sum without ({EACH}) (increase({series('assent_audit_dropped', '_total')}[1h])) > 0",
        "",
        "critical",
        "Entries of the audit trail were dropped",
        "They took more than ASSENT_AUDIT_MAX_BYTES. Name a folder in ASSENT_AUDIT_DIR.",
    )
    yield _alert(
        "AssentAuditIsNotSealed",
        f"min_over_time({series('assent_audit_unsealed')}[15m]) > 1000",
        "",
        "warning",
        "Entries of the audit trail are not in the log",
        "The bot says why, as audit.not_written. When Redis has no room for more of them, new requests wait.",
    )


def _ages() -> Iterator[dict[str, Any]]:
    for each in AGES:
        age = series("assent_owed_age_seconds", labels=f'kind="{each.kind}"')
        yield _alert(
            each.alert,
            f"max without ({EACH}) ({age}) > {each.most}",
            "2m",
            each.severity,
            f"{each.title} for more than {each.most} seconds",
            each.cure,
        )


def _late() -> Iterator[dict[str, Any]]:
    for each in OBJECTIVES:
        for (long, short, faster), severity in ((FAST, "critical"), (SLOW, "warning")):
            most = f"{faster * (1 - each.share):.3g}"
            count = series(each.metric, "_count")
            yield _alert(
                each.late,
                f"{_share_late(each, long)} > {most}\n"
                f"and {_share_late(each, short)} > {most}\n"
                f"and sum without ({EACH}) (increase({count}[{long}])) >= {ENOUGH}",
                "",
                severity,
                f"{each.title}: the objective of {each.share:.0%} is missed {faster:g} times faster than allowed",
                each.cure,
            )


def _share_late(objective: Objective, window: str) -> str:
    quick = series(objective.metric, "_bucket", f'le="{objective.within:.1f}"')
    count = series(objective.metric, "_count")
    return f"(1 - sum without ({EACH}, le) (rate({quick}[{window}])) / sum without ({EACH}) (rate({count}[{window}])))"


def _alert(name: str, when: str, lasting: str, severity: str, summary: str, cure: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": when,
        **({"for": lasting} if lasting else {}),
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": cure},
    }


# --- The dashboard ------------------------------------------------------------------------------------------------------

_OURS = 'job=~"$job"'
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDE, _HIGH, _ROW = 12, 8, 24


def dashboard() -> dict[str, Any]:
    """Make the dashboard: the objectives, then every metric."""
    panels = [*_stats(), *(panel for family in families().values() for panel in _panels(family))]
    at = {"x": 0, "y": 0}
    for number, panel in enumerate(panels, 1):
        size = {"w": _ROW // 4, "h": _HIGH // 2} if panel["type"] == "stat" else {"w": _WIDE, "h": _HIGH}
        if at["x"] + size["w"] > _ROW:
            at = {"x": 0, "y": at["y"] + _HIGH}
        panel |= {"id": number, "gridPos": {**at, **size}, "datasource": _SOURCE}
        at = {**at, "x": at["x"] + size["w"]}
    return {
        "uid": "assent",
        "title": "Assent",
        "tags": ["assent"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "job",
                    "label": "Job",
                    "type": "query",
                    "datasource": _SOURCE,
                    "query": {"query": f"label_values({series('assent_ready')}, job)", "refId": "jobs"},
                    "refresh": 2,
                    "multi": True,
                    "includeAll": True,
                    "current": {"text": "All", "value": "$__all"},
                },
            ]
        },
        "panels": panels,
    }


def _stats() -> Iterator[dict[str, Any]]:
    yield _panel("stat", "Bots that are ready", {"": f"sum({series('assent_ready', labels=_OURS)})"})
    for each in OBJECTIVES:
        quick = series(each.metric, "_bucket", f'{_OURS}, le="{each.within:.1f}"')
        count = series(each.metric, "_count", _OURS)
        shown = _panel(
            "stat",
            each.title,
            {"": f"sum(increase({quick}[$__range])) / sum(increase({count}[$__range]))"},
            unit="percentunit",
            description=f"Of those in the chosen time. The objective is {each.share:.0%} in 30 days.",
        )
        steps = [{"color": "red", "value": None}, {"color": "green", "value": each.share}]
        shown["fieldConfig"]["defaults"]["thresholds"] = {"mode": "absolute", "steps": steps}
        yield shown
    age = series("assent_owed_age_seconds", labels=_OURS)
    yield _panel("stat", "Oldest owed work", {"{{kind}}": f"max by (kind) ({age})"}, unit="s")


def _panels(family: Metric) -> Iterator[dict[str, Any]]:
    name, unit = family.name, "short"
    if family.type == "histogram":
        bucket, unit = series(name, "_bucket", _OURS), "s"
        shown = {
            f"{share:.0%}": f"histogram_quantile({share}, sum by (le) (rate({bucket}[$__rate_interval])))"
            for share in (0.5, 0.95, 0.99)
        }
    elif family.type == "counter":
        counted = series(name, "_total", _OURS)
        shown = {"": f"sum without ({EACH}) (increase({counted}[$__rate_interval]))"}
    else:
        unit = {"_seconds": "s", "_bytes": "bytes"}.get(name[name.rindex("_") :], unit)
        measured = series(name, labels=_OURS)
        # Whether a bot is ready, and what it has yet to write, is its own.
        own = {"assent_ready": measured, "assent_audit_unsealed": f"sum without ({EACH}) ({measured})"}
        shown = {"": own.get(name, f"max without ({EACH}) ({measured})")}
    yield _panel("timeseries", family.documentation, shown, unit=unit, description=f"`{name}`")


def _panel(
    kind: str, title: str, shown: dict[str, str], *, unit: str = "short", description: str = ""
) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + number), "expr": each, "legendFormat": legend or "__auto"}
        for number, (legend, each) in enumerate(shown.items())
    ]
    return {
        "type": kind,
        "title": title,
        "description": description,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


# --- Commands -----------------------------------------------------------------------------------------------------------


def as_json(found: dict[str, Any]) -> str:
    """Write a dashboard as Grafana imports it."""
    return json.dumps(found, indent=2) + "\n"


def as_yaml(found: dict[str, Any]) -> str:
    """Write rules as Prometheus and Kubernetes read them."""
    text = yaml.safe_dump(found, sort_keys=False, width=10_000, allow_unicode=True)
    return f"# Made by `python -m bot metrics rules` from the metrics of the bot.\n{text}"


@metrics_cli.command("dashboard")
def print_dashboard() -> None:
    """Print a dashboard for Grafana."""
    typer.echo(as_json(dashboard()), nl=False)


@metrics_cli.command("rules")
def print_rules(
    *,
    operator: Annotated[
        bool, typer.Option("--operator", help="as a resource of the Prometheus operator")
    ] = False,
) -> None:
    """Print alerts for Prometheus."""
    typer.echo(as_yaml(prometheus_rule() if operator else rules()), nl=False)
