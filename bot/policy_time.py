"""What a policy file says about time: durations, reminders, quiet hours, more time, claims."""

import re
from collections.abc import Iterator
from datetime import time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from agent_adapter.contract.wire import MAX_LIFE, MIN_LIFE
from bot.policy import Rule
from bot.policy_yaml import Document, Node, ScalarNode, SequenceNode, suggestion
from bot.schedule import Extension, QuietHours

MAX_REMINDERS = 10
MAX_EXTENSIONS = 10

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def read_duration(document: Document, node: Node) -> timedelta | None:
    """Read a duration; `None` with the problem noted."""
    text = str(document.value(node))
    found = _DURATION.fullmatch(text) if text else None
    if found is None or not text:
        document.wrong(node, f"{text!r} is no duration: write 90s, 30m, 2h, 1d or 1h30m")
        return None
    days, hours, minutes, seconds = (int(number or 0) for number in found.groups())
    duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not MIN_LIFE <= duration <= MAX_LIFE:
        document.wrong(node, f"{text} is out of range: from 1s to 7d")
        return None
    return duration


def read_reminders(document: Document, node: Node) -> tuple[timedelta, ...]:
    """Read when to remind, from the asking on; a single duration is a list of one, an empty list is never."""
    nodes = node.items if isinstance(node, SequenceNode) else (node,)
    if len(nodes) > MAX_REMINDERS:
        document.wrong(node, f"more than {MAX_REMINDERS} reminders: people would stop reading them")
    return tuple(sorted({found for each in nodes if (found := read_duration(document, each))}))


def read_quiet_hours(document: Document, node: Node) -> QuietHours | None:
    """Read when nobody is reminded; `None` with the problems noted."""
    known = len(document.problems)
    found = document.keys(node, ("from", "to", "zone"), "quiet_hours")
    for name, example in (("from", '"22:00"'), ("to", '"07:00"'), ("zone", "Europe/Berlin")):
        if name not in found and len(document.problems) == known:
            document.wrong(node, f"quiet_hours has no {name}: add it, as in {name}: {example}")
    if len(document.problems) > known:
        return None
    start, end = (_time(document, found[name]) for name in ("from", "to"))
    zone = _zone(document, found["zone"])
    if start is not None and start == end:
        document.wrong(
            node, "quiet_hours end when they begin: nobody would know whether that is never or always"
        )
        return None
    return (
        QuietHours(start=start, end=end, zone=zone)
        if start is not None and end is not None and zone
        else None
    )


def read_extend(document: Document, node: Node) -> Extension | None:
    """Read how people may give themselves more time: a duration, or `{by, times}`; `None` with the problem noted."""
    if isinstance(node, ScalarNode):
        by = read_duration(document, node)
        return Extension(by=by) if by else None
    found = document.keys(node, ("by", "times"), "extend")
    if "by" not in found:
        document.wrong(node, "extend has no by: write how much time a press gives, as in by: 30m")
        return None
    by = read_duration(document, found["by"])
    times = document.value(found["times"]) if "times" in found else 1
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_EXTENSIONS:
        document.wrong(found["times"], f"extend: times takes a number from 1 to {MAX_EXTENSIONS}")
        return None
    return Extension(by=by, times=times) if by else None


def time_problems(rule: Rule, default: Rule) -> Iterator[str]:
    """Say what cannot be meant about the times of a rule. What it only has from the default may come to nothing."""
    if rule.on_timeout == "extend" and rule.time_limit is None:
        yield "extends a time limit that it has not: give it a time_limit"
    is_own = {
        name: rule is default or getattr(rule, name) != getattr(default, name)
        for name in ("reminders", "escalation")
    }
    if is_own["reminders"] and rule.time and any(after >= rule.time for after in rule.reminders):
        yield "reminds when its time is up: make the reminders earlier, or the time_limit longer"
    if not rule.escalation or not is_own["escalation"]:
        return
    if rule.time and rule.escalation.after >= rule.time:
        yield "escalates when its time is up: make it earlier, or the time_limit longer"
    if rule.escalation.channel and rule.escalation.channel == rule.channel:
        yield "escalates to where it is asked first: leave the channel out, or name another"


def _time(document: Document, node: Node) -> time | None:
    found = _TIME.fullmatch(str(document.value(node)))
    if found is None:
        document.wrong(node, f"{document.value(node)!r} is no time of day: write 22:00")
        return None
    return time(int(found[1]), int(found[2]))


def _zone(document: Document, node: Node) -> str | None:
    name = document.value(node)
    known = available_timezones()
    if not isinstance(name, str) or name not in known:
        document.wrong(node, f"{name!r} is no time zone: {_meant(str(name), known)}")
        return None
    return ZoneInfo(name).key


def _meant(name: str, known: set[str]) -> str:
    told = suggestion(name, known)
    return told if told.startswith("did") else "write one of the IANA names, as in Europe/Berlin or UTC"
