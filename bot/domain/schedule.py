"""What happens to a question while nobody has decided, and when. Pure."""

from datetime import datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from agent_adapter.contract.hitl import WireModel

SHOW_EXTEND_WITHIN = timedelta(minutes=30)
"""The longest time before a deadline in which more time may be asked for; at most the last quarter of all."""


class QuietHours(WireModel):
    """When nobody is reminded, by the clock on a wall."""

    start: time
    end: time
    """At an earlier time of day than the start: on the day after."""
    zone: str
    """Its IANA name."""

    def covers(self, moment: datetime) -> bool:
        """Whether this moment is quiet."""
        at = moment.astimezone(ZoneInfo(self.zone)).time()
        if self.start < self.end:
            return self.start <= at < self.end
        return at >= self.start or at < self.end

    def postponed(self, moment: datetime) -> datetime:
        """Give the moment itself, or the end of the quiet hours that it is in."""
        if not self.covers(moment):
            return moment
        local = moment.astimezone(ZoneInfo(self.zone))
        day = local.date() + timedelta(days=int(local.time() >= self.end))
        end = datetime.combine(day, self.end, local.tzinfo)
        # When clocks go back, a time of day comes twice, and the first may be over.
        later = end.replace(fold=1)
        return (end if end.timestamp() > moment.timestamp() else later).astimezone(moment.tzinfo)


class Step(WireModel):
    """One thing that happens unless everybody has decided before."""

    kind: Literal["remind", "escalate"]
    after: timedelta
    """From publication."""
    actions: tuple[int, ...] = ()
    """Which it is about."""
    approvers: tuple[str, ...] = ()
    """Who may decide from then on, too."""
    channel: str | None = None
    """Where it is asked as well, as the rule says."""
    quiet: QuietHours | None = None

    def due(self, created: datetime, now: datetime) -> datetime:
        """Give the earliest moment from now at which it may happen."""
        moment = max(created + self.after, now)
        return self.quiet.postponed(moment) if self.quiet else moment


class Extension(WireModel):
    """How the people who decide may give themselves more time."""

    by: timedelta
    times: int = 1

    def offered_from(self, created: datetime, deadline: datetime) -> datetime:
        """Give the moment from which more time may be asked for."""
        return deadline - min((deadline - created) / 4, SHOW_EXTEND_WITHIN)


class Escalation(WireModel):
    """Who is asked as well when nobody has decided for a while, and where."""

    after: timedelta
    approvers: tuple[str, ...] = ()
    channel: str | None = None
    """None: where it is asked already."""
