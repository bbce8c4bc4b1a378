"""What a card says about one of its actions: the call, what became of it, votes and proposals, and what silence does."""

from datetime import datetime

from bot.sentences.de import grouped
from bot.sentences.de.words import when

# --- The call -----------------------------------------------------------------------------------------------------------

AGENT_SAYS = "Der Agent sagt:"
UNUSUAL_NAME = "(ungewöhnlicher Name)"
READ_FIRST = "Zum Freigeben oder Bearbeiten zuerst alles lesen."
TO_BE_READ = "zuerst zu lesen"
HIGH_RISK = "⚠️ *Hohes Risiko*"


def title(number: int | None, tool: str = "") -> str:
    """Title an action; without its number where it is the only one, without the name of its tool where that comes below."""
    named = f"`{tool}`" if tool else "Ein Tool mit ungewöhnlichem Namen:"
    return named if number is None else f"*{number}.* {named}"


def only_the_beginning(count: int, argument: str = "") -> str:
    """Say that a card shows only the beginning of so many characters, nearly all of them in one argument if it is named."""
    many = (
        f": {argument} hat insgesamt {grouped(count)} Zeichen"
        if argument
        else f" von insgesamt {grouped(count)} Zeichen"
    )
    return f"*Nur der Anfang ist zu sehen*{many}. {READ_FIRST}"


def masked(names: str) -> str:
    """Say which arguments nobody is shown."""
    return f"Maskiert: {names}. Du siehst das nicht; der Aufruf nutzt den echten Wert."


def not_in_schema(names: str, count: int) -> str:
    """Warn of arguments that are not in the schema of the tool: many tools ignore them."""
    what = "dieses Argument" if count == 1 else "diese Argumente"
    return f"⚠️ *Das Schema des Tools kennt {what} nicht:* {names}. Vielleicht läuft der Aufruf ohne {what}."


def in_reading_only(names: str, *, is_cut: bool) -> str:
    """Say which arguments only a reading shows."""
    return f"Nur in der Leseansicht: {names}." + ("" if is_cut else f" {READ_FIRST}")


def approve_with_code(button: str, code: str) -> str:
    """Say that the button that approves asks for a code."""
    return f"{HIGH_RISK}: *{button}* verlangt, dass du *{code}* eingibst."


def approve_with_value(button: str, name: str) -> str:
    """Say that the button that approves asks for the value of this argument."""
    return f"{HIGH_RISK}: *{button}* verlangt, dass du den Wert von {name} eingibst."


def people_needed(approving: int, rejecting: int) -> str:
    """Say how many people it takes to approve, and to reject."""
    if approving == 1:
        return f"*{rejecting} Personen* müssen ablehnen; zum Freigeben genügt eine."
    reject = "genügt eine" if rejecting == 1 else f"braucht es {rejecting}"
    return f"*{approving} Personen* müssen zustimmen; zum Ablehnen {reject}."


SAME_ARGUMENTS = "Die Argumente sind dieselben."
WHAT_IS_DIFFERENT = "Das ist anders:"
OTHERS_READ_IT = (
    "Nach dem vorigen wurde in einem anderen Kanal gefragt; deshalb steht hier nicht, was anders ist."
)


def proposed_again(number: int, person: str, link: str, difference: str) -> str:
    """Say that a call is proposed again, and whether it is different from the one before."""
    before = f"<{link}|vorigen>" if link else "vorigen"
    return f"*{number}. Vorschlag.* {person} hat zum {before} Änderungen angefordert. {difference}"


def send_for(index: int, tool: str) -> str:
    """Label the button that sends a reply about one of several calls."""
    return f"Für Aktion {index + 1} senden{f': {tool}' if tool else ''}"


# --- The buttons --------------------------------------------------------------------------------------------------------

APPROVE = "Freigeben"
DISPUTED = (
    "Vor einer technischen Störung wollte jemand etwas anderes. Wer, steht auf der Karte oder im Thread: Wenn du es nicht "
    "selbst warst, bitte erst fragen."
)
MORE_ABOVE = "Nicht alle Werte passen hierher. Der Rest steht oben."


def run(tool: str) -> str:
    """Ask whether a call runs."""
    return f"{tool or 'Diesen Aufruf'} ausführen?"


def one_of(needed: int) -> str:
    """Say on a button that it casts one vote of several."""
    return f"eine von {needed} Stimmen,"


def one_vote_of(needed: int) -> str:
    """Say that one person does not decide alone."""
    return f"Das ist eine Stimme: {needed} Personen müssen zustimmen."


EFFECTS = {
    "reject_as_answer": "Ablehnen: Das Framework dieses Agenten kennt keine Ablehnung. "
    "Der Aufruf läuft nicht, und das Modell bekommt als Antwort des Tools einen Satz, der das sagt.",
    "answer_as_rejection": "Antworten: Der Aufruf läuft nicht, und das Modell bekommt deine Worte als Grund einer Ablehnung.",
    "words_only": "Das Programm, das fragt, bekommt deine Entscheidung. Nur es selbst weiß, was es dann tut.",
    "reject_drops_batch": "Ablehnen: Das Framework dieses Agenten führt dann auch keinen anderen Aufruf dieser Anfrage "
    "aus, nicht einmal einen freigegebenen.",
}
"""What a decision really does, where the framework of an agent does not know it."""


def named(number: int | None, tool: str) -> str:
    """Name an action in a sentence: by its number, where it has one, and by its tool, where that has a usual name."""
    if number is None:
        return tool or "diesen Aufruf"
    return f"Aktion {number}" + (f": {tool}" if tool else "")


# --- What became of an action -------------------------------------------------------------------------------------------

NOT_SIGNED = "Diese Entscheidung ist nicht signiert und zählt deshalb nicht"
OPEN, WITHDRAWN, REFUSED = "Offen", "Zurückgezogen", "Zurückgewiesen"
LOST_BUT_NOT_RUN = "Entscheidung verloren, lief nicht"
LOST_MAY_HAVE_RUN = "Entscheidung verloren, lief vielleicht"
_DONE = {
    "approve": "Freigegeben",
    "edit": "Geändert freigegeben",
    "reject": "Abgelehnt",
    "respond": "Beantwortet",
}
_VOID = {
    "approve": "Freigegeben, nicht ausgeführt",
    "edit": "Geändert freigegeben, nicht ausgeführt",
    "reject": "Abgelehnt, nicht weitergegeben",
    "respond": "Beantwortet, nicht weitergegeben",
}
CHANGES_REQUESTED = "Änderungen angefordert"
CHANGES_NOT_PASSED_ON = "Änderungen angefordert, nicht weitergegeben"


def decided(decision: str, *, is_void: bool, for_run: bool) -> str:
    """Say what was decided; void where nothing of it runs or is passed on."""
    later = " für diesen Lauf" if for_run else ""
    return (_VOID if is_void else _DONE).get(decision, "Anders entschieden") + later


def rejected_in_silence(votes: str) -> str:
    """Say that the deadline rejected an action."""
    return f"Abgelehnt: {votes or 'keine Entscheidung'} bis Fristende"


def not_decided(votes: str) -> str:
    """Say that the deadline came before a decision."""
    return f"Nicht rechtzeitig entschieden: {votes}" if votes else "Nicht rechtzeitig entschieden"


def outcome(status: str, people: str, at: datetime) -> str:
    """Say who decided, and when; without what they decided where that is empty."""
    return f"{f'*{status}* ' if status else ''}von {people} {when(at)}"


def folded(number: int, tool: str, outcome: str) -> str:
    """Say on one line what became of one call of several."""
    return f"*{number}.*{f' `{tool}`' if tool else ''} · {outcome}"


def outcome_by_standing(status: str, people: str, at: datetime) -> str:
    """Say that an earlier decision answered this call."""
    return f"*{status}* ohne Nachfrage, nach früherer Entscheidung von {people}, {when(at)}"


def outcome_by_silence(status: str) -> str:
    """Say that the deadline decided."""
    return f"*{status}: niemand hat rechtzeitig entschieden*"


# --- Votes and proposals ------------------------------------------------------------------------------------------------

AN_ANSWER, CHANGES = "eine Antwort", "Änderungen"
_VOTES = {
    "approve": "Freigaben",
    "edit": "Freigaben für die geänderte Fassung",
    "reject": "Ablehnungen",
    "respond": "gleichen Antworten",
    "proposal": "Zustimmungen zum Vorschlag",
}


def tally(kind: str, count: int, needed: int, *, beside_changes: bool = False) -> str:
    """Say how many people say the same, of how many it takes: 1 von 2 Freigaben."""
    unchanged = " des Originals" if kind == "approve" and beside_changes else ""
    return f"{count} von {needed} {_VOTES.get(kind, 'Stimmen')}{unchanged}"


def agreed(count: int, needed: int) -> str:
    """Say how many people agree to the changes that a card shows, of how many it takes."""
    return f"{count} von {needed} stimmen den Änderungen unten zu"


def agreed_otherwise(count: int, needed: int) -> str:
    """Say how many people agree to changes other than those that a card shows."""
    return f"{count} von {needed} Freigaben mit anderen Änderungen"


def votes(kind: str, count: int, needed: int) -> str:
    """Say how far people came who were too few: nur 1 von 2 Freigaben."""
    return f"nur {tally(kind, count, needed)}"


def voted(tally: str, people: str) -> str:
    """Say who voted so."""
    return f"*{tally}*: {people}"


def other_proposals(count: int) -> str:
    """Count the proposals that are not named."""
    return "und 1 anderer Vorschlag" if count == 1 else f"und {count} andere Vorschläge"


def other_votes(count: int) -> str:
    """Count the votes that are not named."""
    return "1 andere Stimme" if count == 1 else f"{count} andere Stimmen"


def not_heard(people: str) -> str:
    """Say who has not voted."""
    return f"Noch keine Antwort: {people}"


def proposes(person: str, what: str) -> str:
    """Say who proposes something."""
    return f"*{person} schlägt {what} vor*"


def how_to_agree(look: str, as_asked: str, *, counts_apart: bool) -> str:
    """Say which button is for which call; `as_asked` is empty where no button approves the call without the change."""
    apart = " und zählt getrennt" if counts_apart else ""
    above = f"; *{as_asked}* gilt für den Aufruf oben{apart}" if as_asked else ""
    return f"*{look}* gilt dafür{above}."


def proposal_under(proposes: str, tally: str, rule: str, people: str) -> str:
    """Say that another rule decides about a proposal, and how far that is."""
    return f"{proposes} (*{tally}*). Darüber entscheidet die Regel „{rule}“. Zustimmen kann: {people}."


def agree_with_code(button: str, code: str) -> str:
    """Say that the button that agrees asks for a code."""
    return f"{HIGH_RISK}: *{button}* verlangt, dass du *{code}* eingibst."


def agree_with_value(button: str, name: str) -> str:
    """Say that the button that agrees asks for the proposed value of this argument."""
    return f"{HIGH_RISK}: *{button}* verlangt, dass du den vorgeschlagenen Wert von {name} eingibst."


def to_be_decided_by(people: str) -> str:
    """Say who decides one action of a card."""
    return f"Entscheiden kann: {people}"


def resembles(rule: str) -> str:
    """Warn of a tool whose name looks like one in another rule."""
    return (
        "*Sieh dir den Namen des Tools an*: Nur Groß- und Kleinschreibung oder ähnliche Buchstaben unterscheiden ihn von "
        f"einem Namen in einer anderen Regel: {rule}."
    )


# --- Silence ------------------------------------------------------------------------------------------------------------

APPROVED_AT_DEADLINE = "*Wird am Ende der Frist freigegeben*, wenn vorher niemand entscheidet."
