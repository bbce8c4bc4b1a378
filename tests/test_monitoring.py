"""The dashboard and the alerts name what the bot measures."""

import re

import yaml
from prometheus_client import generate_latest

from agent_adapter.loops import Loop
from bot.runtime.health import Health
from bot.runtime.metrics import build_registry
from tests.support.pages import page

COMPONENT = "deploy/kubernetes/components/monitoring"
RULES = page("deploy/prometheus/alerts.yaml")
DASHBOARD = page(f"{COMPONENT}/dashboard.json")


def test_the_dashboard_and_the_alerts_name_only_what_a_bot_shows():
    """Metrics, limits of buckets and kinds of work, as they stand at /metrics."""
    owed = dict.fromkeys(("undrawn", "due", "unresumed"), 1)
    health = Health(warnings={"policy": "the policy file cannot be used"})
    health.loops.include(lambda: [Loop("drawing", within=60)])
    registry = build_registry(health, lambda: owed, lambda: owed, lambda: owed)
    measured = generate_latest(registry).decode()
    # A counter with labels has no series before its first event, and the dashboard names it without the ending.
    kinds = {name.removesuffix("_created") for name in re.findall(r"^# TYPE (\w+)", measured, re.MULTILINE)}
    names = {*kinds, *(f"{name}_total" for name in kinds), *(name.removesuffix("_total") for name in kinds)}
    names |= {*re.findall(r"^assent_\w+", measured, re.MULTILINE)}
    written = RULES + DASHBOARD.replace('\\"', '"')

    assert {*re.findall(r"\bassent_\w+", written)} - names == set()
    assert {found for found in re.findall(r'(?:le|kind)="[^"]+"', written) if found not in measured} == set()
    assert kinds - {*re.findall(r"\bassent_\w+", DASHBOARD)} - {f"{name}_total" for name in kinds} == set()


def test_the_operator_gets_the_same_rules_and_a_page_says_what_to_do():
    """In a resource of Kubernetes. Whoever is woken finds the alert."""
    rules = yaml.safe_load(RULES)

    assert yaml.safe_load(page(f"{COMPONENT}/alerts.yaml"))["spec"] == rules
    alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
    assert [alert for alert in alerts if f"`{alert}`" not in page("docs/how-to/monitor.md")] == []
