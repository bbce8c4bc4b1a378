"""Entries of the audit trail say the same in each form, and act on nothing that reads them."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.audit_entry import AuditEntry
from bot.domain.audit_export import cells_of, json_line, neutral, ocsf_event, ocsf_line

FACTS = {"decision": "approve", "tool": "pay", "name": "Dana", "rule": "payments", "note": "=1+1"}
DECIDED = AuditEntry(
    "1763762484000-0",
    {"event": "decided", "id": "billing.a", "index": 0, "by": "U0ERIK U0DANA", "policy": "7f3c", "waited": 9_000, **FACTS},
)  # fmt: skip
EVENTS = (
    "published", "admitted", "decided", "counted", "uncounted", "forged", "proposed", "reached", "claimed", "handed_over", "extended",
    "sticky_given", "sticky_used", "sticky_ended", "withdraw_asked", "expired", "withdrawn", "refused", "resumed",
    "reported", "untaken", "claim_lapsed", "let_go", "erased", "", "an_event_of_a_later_version",
)  # fmt: skip
TEXTS = st.text(max_size=30)

# What https://schema.ocsf.io asks for in API Activity (6003) and the objects in it, in 1.2.0 and in 1.9.
REQUIRED = {
    "activity_id": int, "actor": dict, "api": dict, "category_uid": int, "class_uid": int, "metadata": dict,
    "severity_id": int, "src_endpoint": dict, "time": int, "type_uid": int,
}  # fmt: skip
IN_OBJECTS = {
    ("metadata",): {"version": str, "product": dict},
    ("metadata", "product"): {"name": str, "vendor_name": str},
    ("api",): {"operation": str, "request": dict},
    ("api", "request"): {"uid": str},
}
ONE_OF = {
    ("actor",): {"user", "app_name"},
    ("actor", "user"): {"uid", "name"},
    ("src_endpoint",): {"name"},
    ("api", "service"): {"name", "uid"},
}
KNOWN = REQUIRED.keys() | {
    "status_id", "status_code", "status_detail", "message", "resources", "unmapped",
}  # fmt: skip


def entries():
    said = st.fixed_dictionaries(
        {"event": st.sampled_from(EVENTS) | TEXTS, "id": TEXTS},
        optional={"by": TEXTS | st.just("U0DANA"), "index": st.integers(0, 9), "reason": TEXTS, "name": TEXTS, "tool": TEXTS,
                  "actions": st.lists(st.fixed_dictionaries({"tool": TEXTS}), max_size=2), "seq": st.integers(0, 2**60)},
    )  # fmt: skip
    return st.builds(AuditEntry, st.from_regex(r"[1-9][0-9]{12}-[0-9]", fullmatch=True), said)


def inside(event, path):
    for name in path:
        event = event.get(name, {})
    return event


@given(entries())
def test_an_event_of_ocsf_has_what_its_class_requires(entry):
    """Whatever the entry says, also one that a later version wrote."""
    event = json.loads(ocsf_line(entry))

    assert event.keys() <= KNOWN
    for name, type_ in REQUIRED.items():
        assert type(event[name]) is type_
    for path, fields in IN_OBJECTS.items():
        for name, type_ in fields.items():
            assert isinstance(inside(event, path).get(name), type_)
    for path, names in ONE_OF.items():
        assert not inside(event, path) or names & inside(event, path).keys()
    assert event["actor"]
    assert event["src_endpoint"]
    assert event["class_uid"] == 6003
    assert event["category_uid"] == 6
    assert event["activity_id"] in {1, 2, 3, 4}
    assert event["type_uid"] == 600_300 + event["activity_id"]


def test_a_decision_in_ocsf_names_who_clicked_last_the_rule_and_the_request():
    event = ocsf_event(DECIDED)

    assert event["actor"]["user"] == {"uid": "U0DANA", "name": "Dana"}
    assert event["actor"]["authorizations"] == [
        {"decision": "approve", "policy": {"name": "payments", "uid": "7f3c"}}
    ]
    assert event["metadata"]["correlation_uid"] == event["api"]["request"]["uid"] == "billing.a"
    assert event["time"] == 1763762484000
    assert event["resources"] == [{"name": "pay", "type": "tool"}]
    assert event["src_endpoint"] == {"name": "slack"}
    assert event["unmapped"]["by"] == "U0ERIK U0DANA"


@given(entries())
def test_no_cell_of_the_csv_is_a_formula_and_no_line_acts_on_a_terminal(entry):
    """A spreadsheet computes nothing of what people and agents wrote."""
    file = io.StringIO()
    csv.writer(file).writerow([neutral(cell) for cell in cells_of(entry).values()])
    file.seek(0)

    for cell in next(csv.reader(file)):
        assert not cell.lstrip().startswith(
            ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
        )
        assert not any(ord(char) < 32 for char in cell)
    for line in (json_line(entry), ocsf_line(entry)):
        assert line.isascii()
        assert line.isprintable()
