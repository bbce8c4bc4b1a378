"""The dashboard and the alerts name what the bot measures, and the committed files are what the command prints."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from prometheus_client import generate_latest
from typer.testing import CliRunner

from agent_adapter.loops import Loop
from bot.cli import monitoring
from bot.cli.commands import cli
from bot.cli.monitoring import AGES, OBJECTIVES, Objective, dashboard, prometheus_rule, rules, series
from bot.runtime.health import Health
from bot.runtime.metrics import COUNTED, DECISIONS, SLACK_CALLS, build_registry
from tests.support.pages import ROOT, page

COMPONENT = "deploy/kubernetes/components/monitoring"
FILES = {
    "deploy/prometheus/alerts.yaml": ["rules"],
    f"{COMPONENT}/alerts.yaml": ["rules", "--operator"],
    f"{COMPONENT}/dashboard.json": ["dashboard"],
}
RULES = [rule for group in rules()["groups"] for rule in group["rules"]]


def exposed():
    """Give the names of all series as Prometheus reads them, with their labels."""
    SLACK_CALLS.labels("auth.test", "ok").inc(0)
    DECISIONS.labels("approve", "recorded").inc(0)
    kinds = dict.fromkeys(("undrawn", "due", "unresumed"), 1)
    health = Health(warnings={"policy": "the policy file cannot be used"})
    health.loops.include(lambda: [Loop("drawing", within=60)])
    registry = build_registry(health, lambda: kinds, lambda: kinds, lambda: kinds)
    text = generate_latest(registry).decode() + generate_latest(COUNTED).decode()
    return re.findall(r"^([a-z_]+)(\{.*?\})? ", text, re.MULTILINE), text


def expressions():
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in dashboard()["panels"] for target in panel["targets"])
    yield from (each["query"]["query"] for each in dashboard()["templating"]["list"] if "refresh" in each)


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_what_the_command_prints(name):
    """Write it anew: python -m bot metrics … > the file."""
    done = CliRunner().invoke(cli, ["metrics", *FILES[name]])

    assert done.exit_code == 0
    assert done.stdout == page(name)


def test_every_metric_that_they_name_exists():
    """As a bot shows it at /metrics."""
    names = {name for name, _ in exposed()[0]}
    used = {name for each in expressions() for name in re.findall(r"\bassent_\w+", each)}

    assert used
    assert used - names == set()


def test_the_dashboard_shows_every_metric():
    """A new one needs no work here."""
    shown = {panel["description"] for panel in dashboard()["panels"]}

    assert {f"`{name}`" for name in monitoring.families()} <= shown


def test_every_label_that_they_ask_for_exists():
    """The limit of a bucket is written as the bot writes it, and the kind of work is one of the bot's."""
    _, text = exposed()
    asked = {found for each in expressions() for found in re.findall(r'(?:le|kind)="[^"]+"', each)}

    assert asked == {'le="10.0"', *(f'kind="{each.kind}"' for each in AGES)}
    assert {found for found in asked if found not in text} == set()


@pytest.mark.parametrize(("name", "ending"), [("assent_nothing", ""), ("assent_ready", "_total"), ("assent_decisions", "")])  # fmt: skip
def test_what_the_bot_does_not_measure_cannot_be_named(name, ending):
    """So a metric that goes away takes its alerts with it, at the next test."""
    with pytest.raises(ValueError, match=f"the bot has no metric {name}{ending}"):
        series(name, ending)


def test_an_objective_that_no_bucket_counts_is_refused():
    """Its share would be a guess."""
    with pytest.raises(ValueError, match="has no bucket of 7 seconds"):
        Objective("assent_time_to_card_seconds", 7, 0.99, "Late", "Cards", "")


def test_alerts_have_a_name_a_severity_and_a_cure():
    """No two with the same name and severity, which Prometheus takes for one."""
    assert len({(rule["alert"], rule["labels"]["severity"]) for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"Assent[A-Z]\w+", rule["alert"])
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert all(rule["annotations"][each] for each in ("summary", "description"))


def test_the_operator_gets_the_same_rules():
    """In a resource of Kubernetes."""
    assert prometheus_rule()["spec"] == rules()
    assert prometheus_rule()["kind"] == "PrometheusRule"


def test_the_dashboard_is_one_that_grafana_can_place():
    """Every panel has an id and a place of its own."""
    panels = json.loads(monitoring.as_json(dashboard()))["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]

    assert len(set(places)) == len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def test_the_page_names_every_alert_and_objective():
    """Whoever is woken finds it."""
    text = page("docs/how-to/monitor.md")

    assert {rule["alert"] for rule in RULES if f"`{rule['alert']}`" not in text} == set()
    assert [each for each in OBJECTIVES if f"`{each.metric}`" not in text] == []


# --- With Prometheus itself -------------------------------------------------------------------------------------------

promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not installed: it comes with Prometheus"
)


@promtool
def test_prometheus_takes_the_rules():
    """By its own checker."""
    done = subprocess.run(["promtool", "check", "rules", "alerts.yaml"], cwd=ROOT / "deploy/prometheus",
                          capture_output=True, text=True, check=False)  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


HISTOGRAM = "assent_time_to_card_seconds"


def firing(name, at, *, series, tmp_path):
    """Say which severities of an alert fire at a time, by promtool, for these series."""
    test = {
        "rule_files": [str(ROOT / "deploy/prometheus/alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": key, "values": value} for key, value in series.items()],
                "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": []}],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    done = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False)  # fmt: skip
    got = (done.stdout + done.stderr).partition("got:")[2]
    assert done.returncode == 0 or got, done.stdout + done.stderr
    return set(re.findall(r'severity="(\w+)"', got))


@promtool
@pytest.mark.parametrize(
    ("quick", "all_of_them", "fires"),
    [
        # One card a minute, and each of them in time.
        ("0+1x400", "0+1x400", set()),
        # After four hours, none of them.
        ("0+1x240 240+0x160", "0+1x400", {"critical", "warning"}),
        # Always one of ten late: 10 % of 1 %, for long.
        ("0+9x400", "0+10x400", {"warning"}),
        # A single card in all this time, and it was late.
        ("0+0x400", "0x390 1x9", set()),
    ],
)
def test_cards_that_are_late_raise_an_alert(quick, all_of_them, fires, tmp_path):
    """When the objective is missed fast enough, for long enough, and often enough."""
    shown = {
        f'{HISTOGRAM}_bucket{{le="10.0", pod="a"}}': quick,
        f'{HISTOGRAM}_count{{pod="a"}}': all_of_them,
    }

    assert firing("AssentCardsAreLate", "400m", series=shown, tmp_path=tmp_path) == fires


@promtool
@pytest.mark.parametrize(("second", "fires"), [("1x30", set()), ("0x30", {"critical"})])
def test_no_bot_that_is_ready_raises_an_alert(second, fires, tmp_path):
    """One that is ready is enough."""
    ready = {'assent_ready{pod="a"}': "0x30", 'assent_ready{pod="b"}': second}

    assert firing("AssentIsNotReady", "20m", series=ready, tmp_path=tmp_path) == fires
