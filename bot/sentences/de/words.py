"""The pieces that several sentences share: numbers of actions, lists, times and places."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from bot.sentences.de import grouped

UNUSUAL_TOOL = "ein Tool mit ungewöhnlichem Namen"
"""Replaces the name where a sentence has no room for it."""
SOMEBODY = "Jemand"

_MOST_NUMBERS = 40
_ON_BUTTON = 24
"""The most characters of a button beside two others on a phone."""
_UNITS = (
    (86_400, "Tag", "Tage"),
    (3_600, "Stunde", "Stunden"),
    (60, "Minute", "Minuten"),
    (1, "Sekunde", "Sekunden"),
)


def numbers(indices: Iterable[int]) -> str:
    """Write the numbers of actions as people do: 1 bis 3, 5, 8."""
    runs: list[list[int]] = []
    for number in sorted(index + 1 for index in indices):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} bis {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def few_numbers(indices: Sequence[int]) -> str:
    """Write the numbers of actions, or only how many there are when that would be long."""
    text = numbers(indices)
    return text if len(text) <= _MOST_NUMBERS else f"{len(indices)} Aktionen"


def on_button(label: str, shorter: str) -> str:
    """Write a button with the numbers of its actions, or in shorter words when these are many."""
    return label if len(label) <= _ON_BUTTON else shorter


def actions(indices: Sequence[int]) -> str:
    """Name actions: Aktion 1, or Aktionen 1 bis 3, 5."""
    return f"{'Aktion' if len(indices) == 1 else 'Aktionen'} {numbers(indices)}"


def calls(indices: Sequence[int]) -> str:
    """Name calls: Aufruf 1, or Aufrufe 1 bis 3, 5."""
    return f"{'Aufruf' if len(indices) == 1 else 'Aufrufe'} {numbers(indices)}"


def and_more(names: Sequence[str], at_most: int) -> str:
    """Write a list, and count what is beyond the first names of it: a, b und noch 3."""
    return ", ".join(names[:at_most]) + more(len(names) - at_most)


def or_more(names: Sequence[str], at_most: int) -> str:
    """Write a list of which one is enough, and count what is beyond the first names of it: a, b oder 3 weitere."""
    left = len(names) - at_most
    named = [*names[:at_most], f"{grouped(left)} weitere"] if left > 0 else [*names]
    return " oder ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def more(count: int) -> str:
    """End a list that leaves so many names out; nothing where it leaves none out."""
    return f" und noch {grouped(count)}" if count > 0 else ""


def times(count: int) -> str:
    """Say how often: einmal, 5-mal."""
    return "einmal" if count == 1 else f"{count}-mal"


def people_have(count: int, more: str = "") -> str:
    """Begin a sentence about how many people it takes: 1 Person muss, noch 2 Personen müssen."""
    return f"{more}{count} Person muss" if count == 1 else f"{more}{count} Personen müssen"


def when(moment: datetime) -> str:
    """Write a time. Slack shows it in the zone of each reader, with the day: today, tomorrow, a date."""
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} um {{time}}|{fallback}>"


def by(moment: datetime) -> str:
    """Write a time as it follows „bis“: heute um 16:16."""
    return when(moment)


def duration_words(duration: timedelta) -> str:
    """Write a duration as people say it: 30 Minuten, 1 Stunde 30 Minuten."""
    left, words = int(duration.total_seconds()), []
    for seconds, one, many in _UNITS:
        count, left = divmod(left, seconds)
        if count:
            words.append(f"{count} {one if count == 1 else many}")
    return " ".join(words)


def place_name(channel: str) -> str:
    """Name the place where something is asked, as it follows the word „in“."""
    return "einer Direktnachricht" if channel.startswith("D") else f"<#{channel}>"
