"""The weekly digest: how many approvals there were, how fast they came, and which rules their history suggests."""

from datetime import UTC, datetime, timedelta

from bot.sentences.de import grouped
from bot.sentences.de.words import duration_words

RULES_TITLE = "*Regeln, die man ergänzen könnte*"
NOTHING_APPLIED = (
    "Nichts davon gilt schon: Jemand muss es in die Regeldatei schreiben. Diese Karten haben dann *Künftig ohne Rückfrage freigeben…*, "
    "und wer das drückt, wählt, für wie lange."
)
AND_MORE = "und weitere solche Regeln"
_MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


def title(since: datetime, until: datetime) -> str:
    """Name the week."""
    return f"Freigaben vom {_day(since)} bis {_day(until)}"


def in_short(requests: int, decided: int) -> str:
    """Say how much there was, for a notification."""
    return f"{_requests(requests)}, {_calls(decided)} von Menschen entschieden"


def asked(requests: int, decided: int) -> str:
    """Say how much was asked and decided."""
    return f"Agenten haben *{_requests(requests)}* gestellt. Menschen haben *{_calls(decided)}* entschieden."


def how_fast(half: timedelta, most: timedelta) -> str:
    """Say how long calls waited for a decision."""
    return f"Wartezeit: bei der Hälfte höchstens {_wait(half)}, bei neun von zehn höchstens {_wait(most)}."


def shares(kinds: list[tuple[str, int]], total: int) -> str:
    """Say what people decided, with shares."""
    said = [f"{_KINDS[kind]} {grouped(count)} ({_percent(count, total)})" for kind, count in kinds]
    return f"{', '.join(said)}."


def without_people(standing: int, silent: int) -> str:
    """Count the calls that ran without a click for each."""
    said = [
        f"{_calls(standing)} durch Dauerfreigaben" if standing else "",
        f"{_calls(silent)} durch Schweigen bis zum Ende der Frist" if silent else "",
    ]
    return f"Außerdem freigegeben: {', '.join(filter(None, said))}."


def expired(requests: int, tools: list[tuple[str, int]]) -> str:
    """Say what nobody decided in time. The tools are those of the calls that were rejected by the deadline."""
    named = ", ".join(f"{tool} {grouped(count)}" for tool, count in tools)
    return f"*Abgelaufen:* {_requests(requests)}{f' (Aufrufe: {named})' if named else ''}."


def tool(name: str) -> str:
    """Name a tool with a plain name."""
    return f"`{name}`"


def proposal(tools: str, approved: int, repeated: int) -> str:
    """Ask whether people want to be asked less. The rule follows."""
    return (
        f"{tools}: {grouped(approved)} von {grouped(approved)} unverändert freigegeben, davon {grouped(repeated)} mit "
        "Argumenten, die schon vorher freigegeben waren. Soll daraus eine Dauerfreigabe werden? Dann ergänze die Regel "
        "um diese Zeile:"
    )


def in_rule(name: str, line: int) -> str:
    """Say which rule a line belongs to."""
    return f"# Regel {name!r}, Zeile {line} der Regeldatei"


def standing(same: str, scope: str, lasts: timedelta, uses: int) -> str:
    """Write the line of the policy file that allows standing approvals."""
    hours = int(lasts.total_seconds()) // 3_600
    return f"standing: {{same: {same}, scope: {scope}, lasts: {hours}h, uses: {uses}}}"


_KINDS = {"approve": "Freigegeben", "edit": "geändert", "reject": "abgelehnt", "respond": "beantwortet"}


def _requests(count: int) -> str:
    return f"{grouped(count)} {'Anfrage' if count == 1 else 'Anfragen'}"


def _calls(count: int) -> str:
    return f"{grouped(count)} {'Aufruf' if count == 1 else 'Aufrufe'}"


def _percent(count: int, total: int) -> str:
    share = 100 * count / total
    return "unter 1 %" if 0 < share < 1 else f"{share:.0f} %"


def _wait(duration: timedelta) -> str:
    """Write a duration with its two largest units."""
    words = duration_words(max(duration, timedelta(seconds=1))).split()
    return " ".join(words[:4])


def _day(moment: datetime) -> str:
    day = moment.astimezone(UTC)
    return f"{day.day}. {_MONTHS[day.month - 1]} {day.year}"
