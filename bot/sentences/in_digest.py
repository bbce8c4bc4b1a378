"""The weekly digest: how many approvals there were, how fast they came, and which rules their history suggests."""

from datetime import UTC, datetime, timedelta

from bot.sentences.words import duration_words

RULES_TITLE = "*Rules that people could add*"
NOTHING_APPLIED = (
    "Nothing here is in force: somebody has to write it into the policy file. These cards then have *Approve from now on…*, "
    "and a person who presses it chooses for how long."
)
AND_MORE = "and more rules like these"


def title(since: datetime, until: datetime) -> str:
    """Name the week."""
    return f"Approvals from {_day(since)} to {_day(until)}"


def in_short(requests: int, decided: int) -> str:
    """Say how much there was, for a notification."""
    return f"{_count(requests, 'request')}, {_count(decided, 'call')} decided by people"


def asked(requests: int, decided: int) -> str:
    """Say how much was asked and decided."""
    return f"Agents made *{_count(requests, 'request')}*. People decided *{_count(decided, 'call')}*."


def how_fast(half: timedelta, most: timedelta) -> str:
    """Say how long calls waited for a decision."""
    return f"Half of them were decided within {_wait(half)}, nine of ten within {_wait(most)}."


def shares(kinds: list[tuple[str, int]], total: int) -> str:
    """Say what people decided, with shares."""
    said = [f"{_KINDS[kind]} {count:,} ({_percent(count, total)})" for kind, count in kinds]
    return f"{', '.join(said)}."


def without_people(standing: int, silent: int) -> str:
    """Count the calls that ran without a click for each."""
    said = [
        f"{_count(standing, 'call')} by standing approvals" if standing else "",
        f"{_count(silent, 'call')} by silence at the deadline" if silent else "",
    ]
    return f"Also approved: {', '.join(filter(None, said))}."


def expired(requests: int, tools: list[tuple[str, int]]) -> str:
    """Say what nobody decided in time. The tools are those of the calls that were rejected by the deadline."""
    named = ", ".join(f"{tool} {count:,}" for tool, count in tools)
    return f"*Expired:* {_count(requests, 'request')}{f' (calls: {named})' if named else ''}."


def tool(name: str) -> str:
    """Name a tool with a plain name."""
    return f"`{name}`"


def proposal(tools: str, approved: int, repeated: int) -> str:
    """Ask whether people want to be asked less. The rule follows."""
    return (
        f"{tools}: approved {approved:,} times of {approved:,} unchanged, {repeated:,} of them with arguments that had been "
        "approved before. Make it a standing approval? Add this line to the rule:"
    )


def in_rule(name: str, line: int) -> str:
    """Say which rule a line belongs to."""
    return f"# rule {name!r}, line {line} of the policy file"


def standing(same: str, scope: str, lasts: timedelta, uses: int) -> str:
    """Write the line of the policy file that allows standing approvals."""
    hours = int(lasts.total_seconds()) // 3_600
    return f"standing: {{same: {same}, scope: {scope}, lasts: {hours}h, uses: {uses}}}"


_KINDS = {"approve": "Approved", "edit": "edited", "reject": "rejected", "respond": "answered"}


def _count(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _percent(count: int, total: int) -> str:
    share = 100 * count / total
    return "under 1 %" if 0 < share < 1 else f"{share:.0f} %"


def _wait(duration: timedelta) -> str:
    """Write a duration with its two largest units."""
    words = duration_words(max(duration, timedelta(seconds=1))).split()
    return " ".join(words[:4])


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%d %B %Y}".lstrip("0")
