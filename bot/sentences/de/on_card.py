"""What a card says about the whole request: its state, who decides, who is looking, and how the run goes on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.sentences.de.in_thread import did
from bot.sentences.de.words import (
    actions,
    and_more,
    by,
    few_numbers,
    more,
    numbers,
    on_button,
    or_more,
    times,
    when,
)
from bot.sentences.kinds import Deadline, Lost

# --- The title --------------------------------------------------------------------------------------------------------

WITHDRAWN, REFUSED, EXPIRED, TIME_IS_UP = "Zurückgezogen", "Zurückgewiesen", "Abgelaufen", "Zeit ist um"
OVER = "Beendet, siehe Hinweis oben"
MAY_HAVE_RUN = "Beendet, lief vielleicht"
DECISION_LOST = "Beendet, Entscheidung verloren"
NOT_SIGNED = "Nicht signiert"
WITHOUT_OBJECTION = "Ohne Widerspruch freigegeben"
IN_ADVANCE = "Vorab freigegeben"
_DONE = {
    "approve": "Freigegeben",
    "edit": "Geändert freigegeben",
    "reject": "Abgelehnt",
    "changes": "Änderungen angefordert",
    "respond": "Beantwortet",
}
_COUNTED = {
    "approve": "freigegeben",
    "edit": "geändert freigegeben",
    "reject": "abgelehnt",
    "changes": "mit Änderungswunsch",
    "respond": "beantwortet",
    "expired": "abgelaufen",
}
_OTHERWISE = "Entschieden"


def calls(tool: str, tools: int, total: int, still: int) -> str:
    """Name what is asked: a tool, how often, or how many tools; and how many of the calls are open where a part is decided."""
    several = f"{total} Tools" if total == tools else f"{total} Aufrufe von {tools} Tools"
    if 0 < still < total:
        return f"{tool if tools == 1 else several}, {still} von {total} offen"
    if tools == 1:
        return tool if total == 1 else f"{tool}, {times(total)}"
    return several


def wants(agent: str, calls: str) -> str:
    """Title a card that is open."""
    what, comma, rest = calls.partition(",")
    return f"{agent} möchte {what} ausführen{comma}{rest}"


def ended(how: str, calls: str) -> str:
    """Title a card that asks nothing any more."""
    return f"{how}: {calls}"


def done(decision: str, by: Sequence[str], people: int) -> str:
    """Say in a title what was decided, and by whom where the names of all these people are known."""
    how = _DONE.get(decision, _OTHERWISE)
    if 0 < len(by) == people <= 2:
        return f"{how} von {' und '.join(by)}"
    return f"{how} von {people} Personen" if people > 1 else how


def ran(done: int, failed: int, runs: int) -> str:
    """End a title with how many of the calls that run are done, and how many failed."""
    if runs in {done, failed}:
        return ", erledigt" if done else ", fehlgeschlagen"
    counts = {"Fehler": failed, "erledigt": done, "nicht gemeldet": runs - done - failed}
    return ", " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def news_first(news: str, calls: str, how: str) -> str:
    """Title a card with calls that failed, or of which nobody knows what became of them: this comes first.

    Args:
        news: What became of the calls, as `ran` gives it.
        calls: What was asked.
        how: How it was decided, as it begins a title.
    """
    what = news.removeprefix(", ")
    return f"{what[:1].upper()}{what[1:]}: {calls} ({how[:1].lower()}{how[1:]})"


WARNS = "⚠️ "
OUTCOME_UNKNOWN, NOT_STARTED = "Ergebnis unbekannt", "nicht gestartet"
"""What begins the title of a card, where nobody knows what became of approved calls."""


def counted(outcomes: Mapping[str, int]) -> str:
    """Say in a title how many calls were decided in which way: 2 freigegeben, 1 abgelehnt."""
    known = {_COUNTED.get(decision, _OTHERWISE.lower()): count for decision, count in outcomes.items()}
    order = [*_COUNTED.values(), _OTHERWISE.lower()]
    return ", ".join(f"{known[word]} {word}" for word in sorted(known, key=order.index))


# --- The line below: how it ended, and how the run goes on ----------------------------------------------------------------

WENT_BACK = "durch eine technische Störung ging verloren, was entschieden war"
NOT_ASKED = "das konnte nicht gefragt werden"
NOBODY_OBJECTED = "niemand hat widersprochen"
DECIDED_HERE_ONLY = "hier entschieden, aber nicht überall"
RESUMED = "Agent macht weiter"
LAPSED = "der Agent wurde nicht fertig"
STALLED = "der Agent konnte nicht weiterarbeiten"
UNTAKEN = "der Agent hat nicht weitergemacht"
GOING_ON = "der Agent hat weitergemacht"
RUN_FAILED = (
    "der Agent hat weitergemacht, und sein Lauf endete mit einem Fehler; ein Ergebnis wurde nicht gemeldet"
)
WAITING = "wartet auf den Agenten"
WAITING_FOR_OTHERS = "wartet auf das, was anderswo gefragt ist"


def not_run(count: int) -> str:
    """Say that these calls were not approved, so they did not run."""
    return "der Aufruf lief nicht" if count == 1 else "die Aufrufe liefen nicht"


def nobody_decided(deadline: datetime) -> str:
    """Say that nobody decided until the deadline."""
    return f"bis {by(deadline)} hat niemand entschieden"


def time_was_up(at: datetime) -> str:
    """Say when the deadline ended a request of which a part was decided."""
    return f"die Zeit war um {when(at)}"


def all_reported(at: datetime) -> str:
    """Say since when the outcome of every call is known."""
    return f"gemeldet {when(at)}"


def so_far(decided: int, total: int) -> str:
    """Say how much was decided when the time was up."""
    return f"{decided} von {total} entschieden"


# --- The line below: who asks, who decides, and until when ----------------------------------------------------------------

UNSIGNED = "⚠️ *Nicht signiert*: Entscheidungen sind fälschbar."
VERIFIED_AGENT = "geprüfter Agent"
REQUESTER_UNKNOWN = "*unbekannt, für wen*"
FOR_PERSON_ABOVE = "für die Person, die auf der Karte oben genannt ist"
SEVERAL_DECIDERS = "wer beim Aufruf genannt ist"
DECIDED_AS_PROPOSED = "Wie vorgeschlagen, entscheiden dürfen: wen der jeweilige Vorschlag nennt"


def on_behalf_of(requester: str) -> str:
    """Say for whom an agent asks."""
    return f"Für {requester}"


def asked_by(agent: str, requester: str = "", *, verified: bool = False) -> str:
    """Say who asked, and for whom; and that the agent was verified."""
    return f"{VERIFIED_AGENT if verified else 'Agent'} `{agent}`" + (f" für {requester}" if requester else "")


def withdrawn(agent: str, at: datetime | None, requester: str = "", *, verified: bool = False) -> str:
    """Say who took a request back and when, and for whom it was asked."""
    who = f"vom geprüften Agenten `{agent}`" if verified else f"von `{agent}`"
    said = [
        f"zurückgezogen {who}" + (f" {when(at)}" if at else ""),
        f"für {requester}" if requester else "",
    ]
    return " · ".join(filter(None, said))


def closed(at: datetime) -> str:
    """Say when a request ended."""
    return f"beendet {when(at)}"


_AT_DEADLINE: dict[Deadline, str] = {
    "approves": "sonst wird die Anfrage *freigegeben*",
    "as_said": "sonst wird Offenes freigegeben oder abgelehnt, wie bei jedem Aufruf steht",
    "rejects": "sonst wird die Anfrage abgelehnt",
    "raises": "sonst läuft die Anfrage ab",
}


def at_deadline(deadline: datetime, then: Deadline) -> str:
    """Say until when people can decide, and what happens then. The time comes first: nothing has happened yet."""
    return f"Entscheidung bis {by(deadline)}, {_AT_DEADLINE[then]}"


def decides(people: str) -> str:
    """Say who may decide."""
    return f"Entscheiden dürfen: {people}"


def as_asked(people: str) -> str:
    """Say who may decide a call as it was asked."""
    return f"Wie angefragt, entscheiden dürfen: {people}"


def as_asked_elsewhere(channel: str) -> str:
    """Say that others decide a call as it was asked."""
    return f"Wie angefragt, entscheiden dürfen: wer in {channel} genannt ist"


def as_proposed(person: str, index: int | None, people: str) -> str:
    """Say who may decide what somebody proposes; with the index of its action where a card has several."""
    what = f"Aktion {index + 1} wie" if index is not None else "Wie"
    return f"{what} von {person} vorgeschlagen, entscheiden dürfen: {people}"


def also_asked_in(places: Sequence[str], others: int) -> str:
    """Say where else the same actions are asked."""
    return f"auch gefragt in {', '.join(places)}{more(others)}"


def person_decides(person: str, indices: Sequence[int]) -> str:
    """Say which actions somebody decides."""
    return f"{person} ({few_numbers(indices)})"


# --- Its messages -------------------------------------------------------------------------------------------------------


def asks(agent: str, calls: str, values: str, until: datetime) -> str:
    """Say in a notification what an open card asks. It is all that a phone shows, and a screen reader reads it first."""
    return f"{wants(agent, f'{calls}{values}')}. Bis {when(until)}."


def ended_for(title: str, alarm: str, agent: str, then: Sequence[str]) -> str:
    """Say in a notification how a card ended, what to check, and how the run goes on."""
    return f"{title}.{alarm and f' {alarm}'} {'; '.join([f'Angefragt von {agent}', *then])}."


def with_values(values: Sequence[str], *, is_one: bool) -> str:
    """Say in a notification what one call, or several, are about."""
    return f"{' ' if is_one else ': '}{'; '.join(values)}" if values else ""


def with_first_values(values: Sequence[str]) -> str:
    """Say in a notification which arguments the only call has, where nobody named those that matter."""
    return f" mit {', '.join(values)}"


def part(number: int, count: int, indices: Sequence[int]) -> str:
    """Title a part of a card."""
    return f"Teil {number} von {count}: {actions(indices)}"


def part_for(title: str, agent: str) -> str:
    """Say in a notification what a part of a card is."""
    return f"{title}. Angefragt von {agent}."


def too_long(calls: int, parts: int, review: str) -> str:
    """Say where the calls are that one message cannot show. `review` is the button that leads through the open ones."""
    which = "Der Aufruf steht" if calls == 1 else f"Alle {calls} stehen"
    where = f"im Thread, in {parts} Teilen" if parts > 1 else "im Thread"
    here = f"; *{review}* führt hier durch die Aufrufe" if review else ""
    return f"Zu lang für eine Nachricht. {which} {where}{here}."


def in_part(number: int | str) -> str:
    """Say in which part an action is."""
    return f"Teil {number}"


# --- Why a run does not go on, and records that are lost ----------------------------------------------------------------

AGENT_SAYS_OF_RUN = "Der Agent sagt über diesen Lauf:"
REASON = "Grund:"


def stopped(calls: int) -> str:
    """Say that an agent stopped while approved calls may have been running."""
    which = "Der Aufruf ist" if calls == 1 else "Einige oder alle Aufrufe sind"
    return f"Der Agent ist nach der Freigabe stehen geblieben. {which} vielleicht gelaufen. Prüfe das, bevor du noch einmal fragst."


def not_started(calls: int, agent: str) -> str:
    """Say that no agent has taken an approval."""
    what = "Der Aufruf ist nicht gelaufen" if calls == 1 else "Die Aufrufe sind nicht gelaufen"
    still = "Er läuft noch" if calls == 1 else "Sie laufen noch"
    return f"{what}, soweit wir wissen. {still}, wenn der Agent wiederkommt. Frag nach bei denen, die {agent} betreiben."


UNREADABLE = "Das kann nicht mehr entschieden werden"
UNREADABLE_WHY = (
    "Die gespeicherten Daten dieser Anfrage sind nicht lesbar, deshalb wurde sie zurückgewiesen. "
    "Wer den Bot betreibt, findet den Grund in seinem Protokoll."
)
CHANGED_WHY = (
    "Das Siegel dieser Anfrage fehlt oder ist falsch. Vielleicht hat jemand verändert, was gefragt wurde, wer entscheiden "
    "darf oder bis wann. Deshalb hat der Bot sie zurückgewiesen. Wer den Bot betreibt, findet den Grund in seinem Protokoll."
)
BEHIND = (
    "*Durch eine technische Störung ist verloren gegangen, was diese Karte zeigt.* Deshalb ist die Anfrage beendet, und "
    "niemand kann noch einmal darüber entscheiden. Falls ein Agent noch wartete, weiß er, dass er nichts ausführen soll. "
    "Was freigegeben wurde, ist vielleicht gelaufen: Bitte prüfen, und den Agenten dann noch einmal fragen lassen, wenn "
    "es noch nötig ist."
)
LOST = (
    "*Durch eine technische Störung sind die Daten dieser Anfrage verloren gegangen.* Hier kann nichts mehr entschieden "
    "werden. Was hier freigegeben wurde, ist vielleicht gelaufen: Bitte prüfen, bevor jemand es noch einmal freigibt. Ein "
    "Agent, der es noch braucht, fragt noch einmal."
)

# --- Several actions together -------------------------------------------------------------------------------------------

NOT_YET = "Noch nicht"
"""Answers the question that comes before a click, so that nothing is recorded."""


def unread(indices: Sequence[int]) -> str:
    """Say which actions are approved at the end of a reading only."""
    return f"Vor dem Freigeben zu lesen: {numbers(indices)}."


def with_proposal(indices: Sequence[int]) -> str:
    """Say which actions are approved alone because of a proposal."""
    return f"Mit Vorschlag, einzeln freizugeben: {numbers(indices)}."


def disputed(indices: Sequence[int]) -> str:
    """Say which actions are approved alone because somebody wanted something else, and a technical fault lost that."""
    return f"Einzeln freizugeben, weil vor einer technischen Störung jemand etwas anderes wollte: {numbers(indices)}."


def high_risk(indices: Sequence[int]) -> str:
    """Say which actions are decided alone because of their risk."""
    return f"Hohes Risiko, einzeln zu entscheiden: {numbers(indices)}."


def questions(indices: Sequence[int]) -> str:
    """Say which actions are not approved together with others because they only ask something."""
    if len(indices) == 1:
        return f"Eine Frage, einzeln zu beantworten: {numbers(indices)}."
    return f"Fragen, einzeln zu beantworten: {numbers(indices)}."


def not_to_be_approved(indices: Sequence[int]) -> str:
    """Say which actions cannot be approved."""
    return f"Nicht freizugeben: {numbers(indices)}."


def approve_all(indices: Sequence[int], still: int) -> str:
    """Label the button that approves several actions, of those that are still open."""
    count = len(indices)
    if count == still:
        return f"Alle {count} freigeben"
    return on_button(f"{numbers(indices)} freigeben", f"{count} von {still} freigeben")


def agree_to_all(indices: Sequence[int], still: int) -> str:
    """Label the button that counts one vote for several actions, of those that are still open."""
    count = len(indices)
    if count == still:
        return f"Allen {count} zustimmen"
    return on_button(f"{numbers(indices)} zustimmen", f"{count} von {still} zustimmen")


def review(count: int) -> str:
    """Label the button that leads through so many actions."""
    return f"{count} prüfen…"


def reject_some(indices: Sequence[int], still: int) -> str:
    """Label the button that rejects several of the actions that are still open."""
    return on_button(f"{numbers(indices)} ablehnen", f"{len(indices)} von {still} ablehnen")


def approve_calls(count: int) -> str:
    """Title the question whether several calls are approved."""
    return f"{count} Aufrufe freigeben?"


def agree_to_calls(count: int) -> str:
    """Title the question whether one agrees to several calls."""
    return f"{count} Aufrufen zustimmen?"


def agree(count: int) -> str:
    """Answer that question with yes."""
    return f"{count} Aufrufen zustimmen"


def at_once_and_voted(at_once: Sequence[int], voted: Sequence[int]) -> str:
    """Say in the question what becomes of several calls, where only some of them take several people."""
    return f"Sofort laufen: {few_numbers(at_once)}. Erst wenn genug Personen zustimmen, laufen: {few_numbers(voted)}."


YOUR_VOTE = "Das ist deine Stimme. Ein Aufruf, der mehr Personen braucht, läuft, wenn auch sie zustimmen."


def approve(count: int) -> str:
    """Answer that question with yes."""
    return f"{count} Aufrufe freigeben"


def calls_of(tool: str, indices: Sequence[int]) -> str:
    """Name some calls of a tool."""
    return f"{numbers(indices)} ({tool})"


def as_shown(which: str) -> str:
    """Ask whether several calls are approved as they are shown."""
    return f"Wie diese Nachricht sie zeigt: Aktionen {which}."


ODD = "*Anders als die anderen:*"
"""Above what a few rows have and the others do not."""


def odd_ones(rows: Sequence[str]) -> str:
    """Say which calls differ from most of the others."""
    return f"Anders als die anderen: {'; '.join(rows)}."


def in_all(totals: Sequence[str]) -> str:
    """Say what the numbers of several calls come to."""
    return f"Zusammen: {', '.join(totals)}."


def left_out_proposed(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because of a proposal."""
    return f"Nicht mit freigegeben, weil es dazu einen anderen Vorschlag gibt: {few_numbers(indices)}."


def left_out_disputed(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because somebody wanted something else, and a technical fault lost that."""
    return f"Ohne {few_numbers(indices)}: Vor einer technischen Störung wollte dort jemand etwas anderes."


# --- A batch of one tool, as rows -------------------------------------------------------------------------------------

USUAL = "In jeder Zeile, die nichts anderes sagt:"


def show_all(count: int) -> str:
    """Label the button that shows all of some decided calls."""
    return f"Alle {count} zeigen…"


def same_in_all(count: int) -> str:
    """Say above some values that all rows have them."""
    return f"Bei allen {count} gleich:"


def together(count: int) -> str:
    """Say above some sums that they are those of all rows."""
    return f"Alle {count} zusammen:"


def of_rows(indices: Sequence[int], words: str) -> str:
    """Say something of some rows."""
    return f"{numbers(indices)}: {words}"


def more_lines(count: int) -> str:
    """Say that some lines have no room."""
    if count == 1:
        return "Für 1 weitere Zeile ist hier kein Platz."
    return f"Für {count} weitere Zeilen ist hier kein Platz."


# --- Who decides, and who is looking --------------------------------------------------------------------------------------

THIS_CHANNEL = "diesem Kanal"


def on_call(schedule: str, people: Sequence[str]) -> str:
    """Name who is on call: with the people of the moment when it was asked, where they are known."""
    names = ", ".join(people)
    return f"{names} (Bereitschaft für {schedule})" if names else f"wer Bereitschaft für {schedule} hat"


def anyone_in(channel: str) -> str:
    """Name the members of a channel."""
    return f"jede Person in {channel}"


def people(names: Sequence[str], at_most: int) -> str:
    """Name people, and count what is beyond the first of them."""
    return and_more(names, at_most)


def any_of(names: Sequence[str], at_most: int) -> str:
    """Name people of whom one is enough."""
    return or_more(names, at_most)


def extend_by(duration: str) -> str:
    """Label the button that moves the deadline."""
    return f"Um {duration} verlängern"


def lost(decisions: Sequence[Lost], at_most: int) -> str:
    """Ask for decisions that are lost."""
    made = _made(decisions, at_most)
    return (
        f"⚠️ *Bitte noch einmal entscheiden.* Durch eine technische Störung ist verloren gegangen: {made}. "
        "Soweit der Bot weiß, ist nichts davon gelaufen."
    )


def lost_for_good(decisions: Sequence[Lost], at_most: int, *, may_have_run: bool) -> str:
    """Say what was decided, where that is lost and nobody can decide again, and what it means."""
    made = f"{_made(decisions, at_most)}. Vielleicht weiß der Agent das schon, deshalb kann niemand noch einmal entscheiden. "
    # What an edit changed is lost, so the card shows only what the agent had asked.
    is_changed = any(lost.decision == "edit" for lost in decisions)
    if may_have_run:
        ran = (
            "Vielleicht ist es mit anderen Werten als diesen gelaufen: Was geändert wurde, ist verloren"
            if is_changed
            else "Vielleicht ist es schon gelaufen"
        )
        then = f"{ran}. Bitte prüfen, was gelaufen ist, bevor der Agent noch einmal fragt."
    else:
        then = (
            "Mit einer Ablehnung oder Antwort läuft nichts. Wenn es noch gebraucht wird und der Agent nicht von selbst noch "
            "einmal fragt, sage es ihm."
        )
    return f"{made}{then}" if decisions else then


def _made(decisions: Sequence[Lost], at_most: int) -> str:
    named = "; ".join(map(did, decisions[:at_most]))
    beyond = len(decisions) - at_most
    return f"{named}; {beyond} weitere im Thread" if beyond > 0 else named


def looking(person: str, until: datetime) -> str:
    """Say who is looking at a card."""
    return f"{person} sieht sich das an, bis {when(until)}. Wer entscheiden darf, kann es weiterhin."
