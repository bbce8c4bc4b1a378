"""Entries of the audit trail for other programs: as JSON, as cells of a spreadsheet, and as events of OCSF. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from bot.domain.audit_entry import AuditEntry
from bot.text.literal import one_line

COLUMNS = (
    "at", "id", "index", "event", "decision", "tool", "by", "name", "how", "waited", "rule", "policy",
    "reason", "note", "asked", "decided", "entry",
)  # fmt: skip
"""The columns of the CSV."""
_FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
"""A cell that begins with one of these is a formula for a spreadsheet, the wide ones in some languages only."""

OCSF_VERSION = "1.2.0"
_APPLICATION, _API_ACTIVITY, _INFORMATIONAL = 6, 6003, 1
_CREATE, _UPDATE, _DELETE = 1, 3, 4
_ACTIVITIES = {
    "published": _CREATE,
    "sticky_given": _CREATE,
    "withdrawn": _DELETE,
    "sticky_ended": _DELETE,
    "erased": _DELETE,
}
"""What an event does to a request or a standing approval; every other one changes it."""
_SUCCESS, _FAILURE = 1, 2
_FAILED = {"expired", "refused", "untaken", "claim_lapsed"}
_DECIDED = {"decided", "counted", "proposed"}


def json_line(entry: AuditEntry) -> str:
    """Give an entry as one line of JSON. With everything but ASCII escaped, nothing in it acts on a terminal."""
    return json.dumps(json.loads(entry.line))


def cells_of(entry: AuditEntry) -> dict[str, str]:
    """Give the cells of an entry. What agents and people wrote cannot act on a terminal or a spreadsheet."""
    known = {"at": entry.written_at, "entry": entry.number}
    cells = {name: one_line(known.get(name) or entry[name]) for name in COLUMNS}
    cells["tool"] = one_line(", ".join(entry.tools))
    return cells


def neutral(cell: str) -> str:
    """Give a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.strip() and cell.lstrip()[0] in _FORMULA else cell


def ocsf_line(entry: AuditEntry) -> str:
    """Give an entry as one line: an event of OCSF."""
    return json.dumps(ocsf_event(entry))


def ocsf_event(entry: AuditEntry) -> dict[str, Any]:
    """Give an entry as an event of the class API Activity (6003).

    Its actor is the person who decided, otherwise the agent. What OCSF has no place for is in `unmapped`.
    """
    activity = _ACTIVITIES.get(entry["event"], _UPDATE)
    people = _people(entry)
    return _present(
        category_uid=_APPLICATION,
        class_uid=_API_ACTIVITY,
        activity_id=activity,
        type_uid=_API_ACTIVITY * 100 + activity,
        severity_id=_INFORMATIONAL,
        status_id=_FAILURE if entry["event"] in _FAILED or entry["outcome"] == "failed" else _SUCCESS,
        status_code=entry["decision"] or entry["outcome"] or entry["code"],
        status_detail=entry["reason"] or entry["note"],
        time=entry.order[0],
        message=" ".join(filter(None, (entry["event"], entry["decision"], ", ".join(entry.tools)))),
        metadata=_present(
            version=OCSF_VERSION,
            product={"name": "Assent", "vendor_name": "Assent"},
            log_name="audit",
            uid=entry.number,
            correlation_uid=entry["id"],
            event_code=entry["event"],
            original_time=entry.written_at,
            sequence=entry.said.get("seq"),
        ),
        actor=_present(
            app_name=entry.agent or "assent",
            user=_present(uid=people[-1], name=entry["name"]) if people else None,
            authorizations=_authorizations(entry),
        ),
        api=_present(
            operation=entry["event"] or "unknown",
            request={"uid": entry["id"] or entry.number},
            service=_present(name=entry.agent),
        ),
        src_endpoint={"name": "slack" if people else entry.agent or "assent"},
        resources=[{"name": tool, "type": "tool"} for tool in entry.tools],
        unmapped=json.loads(entry.line),
    )


def _people(entry: AuditEntry) -> list[str]:
    """Give the ids of those who did it. The last of them clicked, and `name` is theirs."""
    return [word for word in entry["by"].split() if word[:1] in {"U", "W"}]


def _authorizations(entry: AuditEntry) -> list[Mapping[str, Any]]:
    if entry["event"] not in _DECIDED:
        return []
    policy = _present(name=entry["rule"], uid=entry["policy"])
    return [_present(decision=entry["decision"], policy=policy)]


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
