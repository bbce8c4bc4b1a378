"""What forms and readings say: titles, labels, hints and buttons. Slack takes 24 characters for a title or a button."""

from collections.abc import Sequence

from bot.sentences.de.words import actions, calls, numbers

# --- Titles and buttons -------------------------------------------------------------------------------------------------

CLOSE, CANCEL = "Schließen", "Abbrechen"
APPROVE, APPROVE_AS_ASKED, APPROVE_WITH_CHANGES = (
    "Freigeben",
    "Unverändert freigeben",
    "Mit Änderungen freigeben",
)
PROPOSE_CHANGE = "Änderung vorschlagen"
AGREE, REJECT, ANSWER = "Zustimmen", "Ablehnen", "Antworten"
REJECT_ALL, HAND_OVER = "Alle ablehnen", "Übergeben"


def title(index: int | None) -> str:
    """Title a form that cannot be submitted."""
    return "Dieser Aufruf" if index is None else f"Aktion {index + 1}"


def approve_title(index: int | None) -> str:
    """Title the form that approves an action."""
    return "Aufruf freigeben" if index is None else f"Aktion {index + 1} freigeben"


def edit_title(index: int | None) -> str:
    """Title the form that changes the arguments of an action."""
    return "Aufruf bearbeiten" if index is None else f"Aktion {index + 1} bearbeiten"


def reject_title(index: int | None) -> str:
    """Title the form that rejects an action."""
    return "Aufruf ablehnen" if index is None else f"Aktion {index + 1} ablehnen"


def changes_title(index: int | None) -> str:
    """Title the form that asks for changes to an action."""
    return "Änderungen anfordern" if index is None else f"Aktion {index + 1} ändern lassen"


def answer_title(index: int | None) -> str:
    """Title the form that answers in the tool's place."""
    return "Antworten" if index is None else f"Aktion {index + 1} beantworten"


def agree_title(index: int | None) -> str:
    """Title the form that agrees with a proposal."""
    return "Zustimmen" if index is None else f"Zustimmen: Aktion {index + 1}"


def read_title(index: int | None) -> str:
    """Title the reading of an action."""
    return "Aufruf lesen" if index is None else f"Aktion {index + 1} lesen"


def reject_several(count: int) -> str:
    """Label the button that rejects several actions."""
    return f"{count} ablehnen"


# --- The call that a form is about --------------------------------------------------------------------------------------

SECTIONS = {"arguments": "Argumente:", "description": "Der Agent sagt:"}
HIGH_RISK = "Das Risiko dieses Aufrufs ist hoch. Er läuft genau so, wie er hier steht:"


# --- Editing ------------------------------------------------------------------------------------------------------------

_ABOUT_EDIT = (
    "Das Tool bleibt dasselbe, und der Aufruf läuft mit deinen Änderungen. "
    "Felder, die du nicht änderst, behalten genau, was der Agent geschrieben hat."
)


def about_edit(problem: str | None) -> str:
    """Say what a form changes, and why it does not use the tool's schema where there is a problem with it."""
    if not problem:
        return _ABOUT_EDIT
    return f"{_ABOUT_EDIT} Das Schema des Tools wird nicht benutzt ({problem}); geprüft wird nur der Typ jedes Werts."


CONTINUE, SEE_CHANGES = "Weiter", "Änderungen ansehen"
START_OVER, CHOOSE_OTHERS, CHANGE_MORE = "Neu anfangen", "Andere Felder wählen", "Mehr ändern"
BEFORE_AND_AFTER = "Angefragt `->` würde ausgeführt:"
CHANGED_SINCE = "Dieses Formular wurde in einem anderen Fenster geändert. Nichts wurde gespeichert: Sieh es dir noch einmal an."
KEPT = "Das hast du vorher eingetippt."
ALSO_WRONG = "Einige Werte, die nicht zu sehen waren, nimmt das Tool nicht an. Sie stehen jetzt im Formular: Ändere sie auch."


ADD_ROW, MOVE_UP, MOVE_DOWN = "Zeile hinzufügen", "Nach oben", "Nach unten"
PREVIOUS_ROWS, NEXT_ROWS = "Vorige Zeilen", "Nächste Zeilen"


def remove_row(number: int) -> str:
    """Label the button that removes a row of a list."""
    return f"Zeile {number} entfernen"


def rows_in_sight(first: int, last: int, count: int) -> str:
    """Say which rows of a long list are in sight."""
    return f"Zeilen {first} bis {last} von {count}"


def not_accepted(sentences: Sequence[str]) -> str:
    """Say what the tool does not accept about values without an input in sight. The sentences are mrkdwn."""
    return "\n".join((ALSO_WRONG, *sentences))


def check_title(index: int | None) -> str:
    """Title the last step of an edit."""
    return "Deine Änderungen" if index is None else f"Änderungen: Aktion {index + 1}"


def which_to_change(first: int, last: int) -> str:
    """Ask which arguments a person wants to change, ten at a time."""
    return "Was möchtest du ändern?" if first == 1 else f"Oder etwas davon ({first} bis {last})"


# --- Reading page by page -----------------------------------------------------------------------------------------------

PREVIOUS, EDIT = "Zurück", "Bearbeiten…"
TOO_LONG_TO_EDIT = (
    "Diese Argumente sind zu lang für ein Formular, deshalb lassen sie sich hier nicht bearbeiten."
)


def page(number: int, last: int) -> str:
    """Say which page this is."""
    return f"Seite {number} von {last}"


def as_proposed(person: str) -> str:
    """Say that a reading shows a call as somebody proposes it."""
    return f"Das ist der Aufruf, wie {person} ihn vorschlägt."


# --- The review of several calls ----------------------------------------------------------------------------------------

ALL_DECIDED = "Über all das ist inzwischen entschieden."
IN_ALL = "Zusammen:"
NOTHING_TO_APPROVE = "Hier kann nichts freigegeben werden."
DECIDED_MEANWHILE = "inzwischen entschieden."
NOT_TO_BE_APPROVED = "nicht freizugeben, nur anders zu entscheiden."
OF_HIGH_RISK = "mit hohem Risiko, einzeln freizugeben."
WITH_PROPOSAL = "dazu gibt es einen anderen Vorschlag: Entscheide das einzeln."
DISPUTED = "weil vor einer technischen Störung jemand etwas anderes wollte. Bitte einzeln entscheiden."
NOT_SHOWN_TO_THE_END = "davon hast du nicht alles gezeigt bekommen."


def review_title(count: int) -> str:
    """Title the review of several calls."""
    return f"{count} Aufrufe prüfen" if count > 1 else "1 Aufruf prüfen"


def read_several(count: int) -> str:
    """Title the reading of several calls that are decided."""
    return f"{count} Aufrufe" if count > 1 else "1 Aufruf"


def first_page(last: int, turn: str, approve: str) -> str:
    """Say on the first page of a review where its buttons lead: the one that turns the page, and the one at the end."""
    return f"{page(1, last)}. *{turn}* steht unten, *{approve}* am Ende."


def page_of_action(number: int, page: int, last: int) -> str:
    """Say which page of a long call this is."""
    return f"Seite {page} von {last} des Aufrufs {number}"


def to_be_approved(what: str, at_once: Sequence[int], voted: Sequence[int]) -> str:
    """Say at the end of a review what its button does; `what` names the tool and how often."""
    shown = [*at_once, *voted]
    seen = "wie er dir gezeigt wurde" if len(shown) == 1 else "wie sie dir gezeigt wurden"
    which = f"{what}, {calls(shown)}, {seen}"
    if not voted:
        return f"Du gibst frei: {which}."
    if not at_once:
        return f"Du stimmst zu: {which}. Was mehr Personen braucht, läuft, wenn auch sie zustimmen."
    then = f"Sofort laufen: {numbers(at_once)}. Erst wenn genug Personen zustimmen, laufen: {numbers(voted)}."
    return f"Du gibst frei: {which}. {then}"


def left_out(indices: Sequence[int], why: str) -> str:
    """Say at the end of a review what its button leaves out, and why."""
    return f"Nicht dabei: {calls(indices)}, {why}"


def run_calls(count: int) -> str:
    """Ask once more, at the end of a review, whether several calls may run."""
    return "1 Aufruf ausführen?" if count == 1 else f"{count} Aufrufe ausführen?"


def approve_several(count: int) -> str:
    """Label the button that approves what was reviewed."""
    return f"{count} {'Aufruf' if count == 1 else 'Aufrufe'} freigeben"


def agree_several(count: int) -> str:
    """Label the button that counts a vote for what was reviewed."""
    return f"{count} {'Aufruf' if count == 1 else 'Aufrufen'} zustimmen"


# --- Agreeing with a proposal -------------------------------------------------------------------------------------------

NOTHING_TO_AGREE, PROPOSAL_GONE = "Kein Vorschlag", "Dieser Vorschlag ist zurückgezogen oder entschieden."
TOO_LONG_TO_AGREE = "Das ist zu lang, um es hier freizugeben."
WHOLE_CALL = "Der ganze Aufruf, wie er laufen würde:"
OTHER_ARGUMENTS = "Alle anderen Argumente bleiben, wie der Agent sie geschrieben hat."
_WOULD = {
    "edit": "den Aufruf mit diesen Änderungen freigeben (- war angefragt, + würde laufen):",
    "respond": "anstelle des Tools diese Antwort geben; der Aufruf würde nicht laufen:",
}


def proposal(people: str, decision: str) -> str:
    """Say what people propose, above the proposal itself."""
    return f"Vorschlag ({people}): {_WOULD.get(decision, 'anders entscheiden.')}"


# --- Rejecting, answering and handing over ------------------------------------------------------------------------------

REASON = "Grund (liest der Agent)"
OWN_REASON = "Mehr, in eigenen Worten"
CHOOSE_REASON = "Grund wählen"
NOTE = "Notiz, für den Agenten und das Protokoll"
WHAT_TO_CHANGE = "Was soll geändert werden?"
ASK_FOR_CHANGES = "Änderungen anfordern"
ABOUT_CHANGES = "Der Aufruf läuft nicht. Der Agent bekommt deine Worte und soll einen neuen Vorschlag machen, über den wieder Menschen entscheiden."
WHAT_THEN = "Was der Agent dann tut"
PROPOSE_AGAIN = "Den Aufruf ändern wie oben beschrieben und neu vorschlagen"
LATER_CALLS = "Spätere Aufrufe"
REJECT_LATER_CALLS = "Auch jeden späteren Aufruf dieses Tools in diesem Lauf ablehnen"
NOTHING_TO_REJECT = "Es gibt nichts mehr abzulehnen."
YOUR_ANSWER = "Deine Antwort an den Agenten"
ABOUT_HANDING_OVER = "Der Thread der Karte erwähnt diese Person. Wer entscheiden darf, kann es weiterhin."
WHO_LOOKS = "Wer sich das jetzt ansieht"
CHOOSE_PERSON = "Person wählen"


def to_be_rejected(indices: Sequence[int]) -> str:
    """Say which actions a form rejects."""
    return f"Hiermit lehnst du ab: {actions(indices)}."


# --- What is typed at a high risk --------------------------------------------------------------------------------------------

CODE = "Code"
RUN_IT = "Ja, mit den Werten oben ausführen"


def type_value(value: str) -> str:
    """Ask for this value of the call."""
    return f"Eingeben: {value}"


def value_of(name: str) -> str:
    """Say which argument has this value."""
    return f"Der Wert von {name}, Zeichen für Zeichen."


CODE_BESIDE_RISK = "Schließe das Formular und sieh auf die Karte: Der Code steht hinter „Hohes Risiko“."
CODE_BESIDE_PROPOSAL = "Schließe das Formular und sieh auf die Karte: Der Code steht beim Vorschlag."


# --- Approving later calls ----------------------------------------------------------------------------------------------

ABOUT_FOR_RUN = (
    "Dieser Aufruf läuft, wie er hier steht. Jeder spätere Aufruf desselben Tools in diesem Lauf läuft dann ohne "
    "Nachfrage, *egal mit welchen Argumenten*."
)
ABOUT_STANDING = (
    "Dieser Aufruf läuft jetzt. Spätere Aufrufe dieses Tools laufen dann ohne Nachfrage, in den Grenzen, die du hier "
    "wählst. Der Thread der Karte zeigt jeden davon. Widerrufen kannst du das dort oder mit `/approvals rules`."
)
WHICH_CALLS, WHICH_RUNS, HOW_LONG, HOW_MANY = (
    "Welche Aufrufe",
    "Wo",
    "Wie lange",
    "Wie viele Aufrufe höchstens",
)
SAME_ARGUMENTS = "Derselbe Aufruf, mit genau diesen Argumenten"
ANY_ARGUMENTS = "Jeder Aufruf dieses Tools, mit beliebigen Argumenten"
THIS_RUN = "In diesem Lauf"


def every_run(agent: str) -> str:
    """Offer to approve later calls in all runs of an agent."""
    return f"In jedem Lauf des Agenten {agent}"
