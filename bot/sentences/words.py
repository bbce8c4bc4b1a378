"""The pieces that several sentences share: numbers of actions, lists, times and places."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

Deadline = Literal["approves", "as_said", "rejects", "tells", "raises"]
"""What happens at a deadline to what nobody has decided; `as_said`: what each call says, `tells`: the agent hears just that."""
Outsider = Literal["bot", "stranger", "guest"]
"""Who may not decide, unless the policy names them."""

UNUSUAL_TOOL = "a tool with an unusual name"
"""Replaces the name where a sentence has no room for it."""
SOMEBODY = "Somebody"

_HALF_A_DAY = timedelta(hours=12)
_MOST_NUMBERS = 40
_ON_BUTTON = 24
"""The most characters of a button beside two others on a phone."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Divide numbers in order into runs without a gap."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def numbers(indices: Iterable[int]) -> str:
    """Write the numbers of actions as people do: 1 to 3, 5 and 8."""
    found: list[str] = []
    for run in runs(sorted(index + 1 for index in indices)):
        found += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    return " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))


def few_numbers(indices: Sequence[int]) -> str:
    """Write the numbers of actions, or only how many there are when that would be long."""
    text = numbers(indices)
    return text if len(text) <= _MOST_NUMBERS else f"{len(indices)} calls"


def on_button(label: str, shorter: str) -> str:
    """Write a button with the numbers of its actions, or in shorter words when these are many."""
    return label if len(label) <= _ON_BUTTON else shorter


def calls(indices: Sequence[int]) -> str:
    return f"{'call' if len(indices) == 1 else 'calls'} {numbers(indices)}"


def and_more(names: Sequence[str], at_most: int) -> str:
    """Write a list, and count what is beyond the first names of it: a, b and 3 more."""
    return ", ".join(names[:at_most]) + more(len(names) - at_most)


def or_more(names: Sequence[str], at_most: int) -> str:
    """Write a list of which one is enough, and count what is beyond the first names of it: a, b or 3 more."""
    left = len(names) - at_most
    named = [*names[:at_most], f"{left:,} more"] if left > 0 else [*names]
    return " or ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def more(count: int, of: str = "") -> str:
    """End a list that leaves so many names out, or of what; nothing where it leaves none out."""
    named = f" {of}{'s' * (count > 1)}" if of else ""
    return f" and {count:,} more{named}" if count > 0 else ""


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def people_have(count: int) -> str:
    """Begin a sentence about how many people it takes: 1 person has, 2 people have."""
    return "1 person has" if count == 1 else f"{count} people have"


def when(moment: datetime) -> str:
    """Write a time. Slack shows it in the zone of each reader, with the day: today, tomorrow, a date."""
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} at {{time}}|{fallback}>"


def by(moment: datetime, now: datetime | None = None) -> str:
    """Write a time as it follows “by”: 4:16 PM today. Within half a day of now, its hour alone says which is meant."""
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    day = "" if now and moment - now < _HALF_A_DAY else " {date_short_pretty}"
    return f"<!date^{int(moment.timestamp())}^{{time}}{day}|{fallback}>"


def clock(moment: datetime, since: datetime) -> str:
    """Write a time that somebody reads from `since` on: only the clock where it can be no other day."""
    if moment - since > _HALF_A_DAY:
        return by(moment)
    fallback = moment.astimezone(UTC).strftime("%H:%M UTC")
    return f"<!date^{int(moment.timestamp())}^{{time}}|{fallback}>"


def duration_words(duration: timedelta) -> str:
    left, words = int(duration.total_seconds()), []
    for seconds, unit in _UNITS:
        count, left = divmod(left, seconds)
        if count:
            words.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(words)


def place_name(channel: str) -> str:
    return "a direct message" if channel.startswith("D") else f"<#{channel}>"
