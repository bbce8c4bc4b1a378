"""What the thread of a card says: reminders, what people did, and standing approvals with their uses."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.de.words import actions, and_more, place_name, times, when
from bot.sentences.kinds import Lost

MOST_CALLED = 20
"""People and groups called in one message."""
MOST_NUMBERS = 20
"""Actions named in one message."""

_DID = {
    "approve": "freigegeben",
    "edit": "geändert und freigegeben",
    "reject": "abgelehnt",
    "respond": "beantwortet",
}
_VOTED = {
    "approve": "freizugeben",
    "edit": "zu ändern und freizugeben",
    "reject": "abzulehnen",
    "respond": "zu beantworten",
}


def reminder(indices: Sequence[int], called: Sequence[str]) -> str:
    """Remind people of what nobody has decided."""
    return f"Noch zu entscheiden: {_actions(indices)}.{_approvers(called)}"


def escalated(indices: Sequence[int], called: Sequence[str], also_in: str | None) -> str:
    """Say that more people are asked, because nobody has decided for a while."""
    nobody = f"Noch nicht entschieden: {_actions(indices)}."
    if also_in:
        return f"{nobody} Deshalb wird auch in {place_name(also_in)} gefragt."
    return f"{nobody} Entscheiden kann jetzt auch: {_called(called)}."


def proposed(person: str, indices: Sequence[int], called: Sequence[str], also_in: str | None) -> str:
    """Say that somebody proposes an edit, and who may agree."""
    says = f"{person} schlägt Änderungen vor: {_actions(indices)}."
    if also_in:
        return f"{says} Deshalb wird auch in {place_name(also_in)} gefragt."
    return f"{says} Zustimmen kann: {_called(called)}." if called else says


def extended(person: str, until: datetime | None) -> str:
    """Say who moved the deadline."""
    moved = f"{person} hat die Frist verschoben"
    return f"{moved}: bis {when(until)}." if until else f"{moved}."


def handed_over(person: str, to: Sequence[str]) -> str:
    """Say who looks at a card from now on."""
    return f"{person} übergibt das an {_called(to)}. Wer entscheiden darf, kann es weiterhin."


def lost(it: Lost) -> str:
    """Say that a decision or a vote is lost, and that it has to be made again."""
    careful = "" if it.decision == "approve" else f" Vor einer Freigabe bitte {it.person} fragen."
    return (
        f"{did(it)}, aber durch eine technische Störung ist das verloren gegangen. "
        f"Soweit der Bot weiß, ist nichts davon gelaufen. Bitte auf der Karte noch einmal entscheiden.{careful}"
    )


def lost_for_good(it: Lost) -> str:
    """Say that a decision or a vote is lost, and that nobody can make it again: the agent may know it, or the time is up."""
    if it.is_vote:
        then = "Wie die Abstimmung ausging, ist vielleicht nicht bekannt: Bitte prüfen, was gelaufen ist, bevor der Agent noch einmal fragt"
    elif it.decision in {"reject", "respond"}:
        then = "Mit einer Ablehnung oder Antwort läuft nichts"
    else:
        then = "Bitte prüfen, was gelaufen ist, bevor der Agent noch einmal fragt"
    return (
        f"{did(it)}, aber durch eine technische Störung ist das verloren gegangen. "
        "Niemand kann das ein zweites Mal entscheiden. "
        f"{then}."
    )


def did(it: Lost) -> str:
    """Say what somebody decided about which actions, or voted for."""
    if not it.is_vote:
        return f"{it.person} hat {_actions(it.actions)} {_DID.get(it.decision, 'entschieden')}"
    if it.decision not in _VOTED:
        return f"{it.person} hat über {_actions(it.actions)} abgestimmt"
    return f"{it.person} hat dafür gestimmt, {_actions(it.actions)} {_VOTED[it.decision]}"


def told(titles: Sequence[str], called: str, not_run: str) -> str:
    """Say to the person for whom an agent acts how it ended, and that nothing ran where that is known."""
    what = [
        *(f"*{title}*." for title in titles),
        *([f"{not_run[0].upper()}{not_run[1:]}."] if not_run else []),
    ]
    return " ".join(filter(None, [called, *what]))


def asked_by(agent: str, places: Sequence[str]) -> str:
    """Say to that person who asked, and where."""
    where = f" in {', '.join(places)}" if places else ""
    return f"Der Agent `{agent}` hat das{where} in deinem Auftrag gefragt."


def _actions(indices: Sequence[int]) -> str:
    more = len(indices) - MOST_NUMBERS
    return actions(indices[:MOST_NUMBERS]) + (f" und noch {more}" if more > 0 else "")


def _approvers(mentions: Sequence[str]) -> str:
    return f" Es entscheiden: {_called(mentions)}." if mentions else ""


def _called(mentions: Sequence[str]) -> str:
    return and_more(mentions, MOST_CALLED)


TOOL_BELOW = "dem Tool, das unten steht"
SAME_RUN = "im selben Lauf"
_SAME = {"arguments": "mit denselben Argumenten", "tool": "mit beliebigen Argumenten"}
_REASONS = {
    "time": "ihre Zeit war um",
    "uses": "sie war aufgebraucht",
    "went_back": "der Server ist auf einen älteren Stand zurückgefallen",
}
NOT_USED = "Noch nicht genutzt."


def standing_given(person: str, tool: str, same: str, run: str, until: datetime, uses: int) -> str:
    """Say which later calls somebody approved.

    Args:
        person: Who approved.
        tool: Its name, as code.
        same: `arguments` or `tool`.
        run: In which runs: `SAME_RUN`, or `in_every_run`.
        until: Its end.
        uses: How many calls it approves.
    """
    return (
        f"{person} hat eine Dauerfreigabe für spätere Aufrufe von {tool} erteilt: {_SAME[same]}, {run}, "
        f"bis {when(until)}, höchstens {times(uses)}."
    )


def in_every_run(agent: str) -> str:
    """Say that a standing approval counts in all runs of an agent."""
    return f"in jedem Lauf des Agenten `{agent}`"


def used(count: int, most: int) -> str:
    """Say how often a standing approval was used."""
    return f"Genutzt: {count} von {most}." if count else NOT_USED


def ended(at: datetime, by: str, person: str) -> str:
    """Say when and why a standing approval ended.

    Args:
        at: When.
        by: `time`, `uses` or `went_back`, or the person who revoked it.
        person: The same, as a mention.
    """
    return f"*Beendet*, {when(at)}: {_REASONS.get(by) or f'widerrufen von {person}'}."


def use(number: int, at: datetime, requester: str) -> str:
    """Write one use of a standing approval."""
    return f"{number}. {when(at)}" + (f", für {requester}" if requester else "")


def earlier_uses(count: int) -> str:
    """Say how many uses are left out."""
    return (
        "1 frühere Nutzung ist nicht gezeigt."
        if count == 1
        else f"{count} frühere Nutzungen sind nicht gezeigt."
    )
