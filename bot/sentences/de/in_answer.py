"""What only the person who clicked reads: why nothing was recorded, or what is still missing."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.de.words import actions, people_have, when
from bot.sentences.kinds import Outsider

NOT_DONE = "Nicht erledigt"
RECORDED = "Gespeichert"

NOT_SUBMITTED = (
    "Das ist vielleicht *nicht* gespeichert, weil der Speicher des Bots nicht rechtzeitig geantwortet hat. "
    "Bitte sende es noch einmal ab; es zählt nur einmal."
)
NOT_CONFIRMED = (
    "Das ist angekommen, aber der Bot konnte nicht rechtzeitig sicherstellen, dass es eine zweite Kopie gibt. "
    "Bitte sende es in ein paar Sekunden noch einmal ab; es zählt nur einmal."
)
NOT_SIGNED = "Der Signaturschlüssel des Bots hat nicht rechtzeitig geantwortet. Nichts wurde gespeichert. Bitte drücke denselben Knopf noch einmal."
MAY_NOT_SIGN = (
    "Der Signaturschlüssel des Bots darf jetzt nicht signieren. Nichts wurde gespeichert. "
    "Wer den Bot betreibt, muss einen anderen Schlüssel setzen; vorher hilft es nicht, noch einmal zu drücken."
)
NOT_SAVED = "Nicht gespeichert: Der Speicher hat nicht rechtzeitig geantwortet. Dein Text ist noch hier, bitte versuche es noch einmal."
OUTDATED = "Der Bot hat die Daten dieser Karte nicht mehr. Nichts wurde gespeichert. Suche eine neuere Karte."
UNREADABLE = (
    "Die gespeicherten Daten dieser Anfrage sind nicht lesbar. Nichts wurde gespeichert. "
    "Wer den Bot betreibt, findet den Grund in seinem Protokoll."
)
CHANGED = (
    "Das Siegel dieser Anfrage fehlt oder ist falsch: Vielleicht hat jemand ihre Bedingungen verändert. "
    "Nichts wurde gespeichert. Wer den Bot betreibt, findet den Grund in seinem Protokoll."
)
NOT_SHOWN_HERE = "Nichts wurde freigegeben, weil diese Nachricht die Aufrufe nicht zeigt. Sie stehen in ihrem Thread: Entscheide dort."
DRAWN_ANEW = (
    "Nichts wurde gespeichert, weil das von einer älteren Version des Bots stammt. "
    "Die Karte wird jetzt neu gezeichnet: Sieh sie dir an, und drücke noch einmal."
)
ASKS_OTHERWISE = (
    "Nichts wurde gespeichert, weil die Anfrage nicht die ist, die du beim Drücken gesehen hast. "
    "Die Karte wird jetzt neu gezeichnet: Sieh sie dir an, bevor du entscheidest."
)
WHO_ARE_YOU = (
    "Slack hat nicht gesagt, wer du bist. Nichts wurde gespeichert. Bitte drücke noch einmal auf den Knopf."
)
WHO_AGREED = (
    "Slack hat nicht gesagt, ob alle, die zugestimmt haben, noch entscheiden dürfen. Deshalb ist nichts endgültig. "
    "Bitte drücke noch einmal auf den Knopf."
)
CHANNEL_UNKNOWN = (
    "Slack hat nicht gesagt, ob der Bot in dem Kanal fragen kann, in den diese Werte gehören. "
    "Nichts wurde gespeichert: Bitte sende es noch einmal."
)
NOT_OPENED = (
    "Das ließ sich nicht öffnen, und nichts wurde entschieden. Bitte drücke noch einmal auf den Knopf."
)
NOT_LISTED = "Die Dauerfreigaben ließen sich gerade nicht auflisten. Bitte versuche es noch einmal."
NOTHING_CHANGED = (
    "Nichts ist geändert, also wurde nichts gespeichert. Ändere etwas, oder schließe dieses Formular."
)
CHOOSE_FIRST = "Wähle mindestens eines davon."
CHOOSE_FEWER = "So viele passen nicht in ein Formular. Wähle weniger; für die anderen kannst du zurückkommen."
TOO_MUCH_TO_SHOW = "So viele Änderungen passen nicht in den letzten Schritt, der alle zeigt. Ändere weniger, oder lehne den Aufruf ab und schreibe dazu, was anders sein soll."
ONLY_SPACES = "Hier stehen nur Leerzeichen. Schreibe eine Antwort, oder schließe dieses Formular."
OVER = "Das ist schon entschieden oder beendet."
WRONG_CODE = "Das ist nicht der Code dieser Aktion. Nichts wurde gespeichert. Schließe das Formular und sieh auf die Karte: Dort steht der Code."
GONE = "Dieser Vorschlag ist zurückgezogen oder entschieden. Nichts wurde gespeichert. Sieh dir die Karte an."
STANDING_ENDED = "Diese Dauerfreigabe ist schon beendet."
STANDING_REVOKED = "Diese Dauerfreigabe ist beendet."
REVOKED = "Widerrufen"
USAGE = (
    "`/approvals` zeigt, was auf dich wartet.\n"
    "`/approvals mine` zeigt, was für dich gefragt wurde.\n"
    "`/approvals show ID` zeigt eine Anfrage: wer wann und nach welcher Regel entschieden hat.\n"
    "`/approvals rules` zeigt die Dauerfreigaben, die du widerrufen kannst: Deren Aufrufe laufen ohne Nachfrage."
)
LIST_NOT_OPENED = "Slack hat die Liste nicht geöffnet. Bitte schreibe es noch einmal."

_DID = {
    "approve": "freigegeben",
    "edit": "mit Änderungen freigegeben",
    "reject": "abgelehnt",
    "respond": "beantwortet",
}
_ENDED = {
    "expired": "ist vor deiner Entscheidung abgelaufen",
    "withdrawn": "hat der Agent zurückgezogen",
    "refused": "hat der Bot zurückgewiesen",
    "decided": "ist schon entschieden",
}
_NAMES = {"approve": "Freigeben", "edit": "Bearbeiten", "reject": "Ablehnen", "respond": "Antworten"}
_CAN = {"approve": "freigeben", "edit": "bearbeiten", "reject": "ablehnen", "respond": "beantworten"}


def _name(decision: str) -> str:
    return f"„{_NAMES.get(decision, decision)}“"


def not_recorded(card: str) -> str:
    """Say that Redis did not answer in time.

    Args:
        card: The address of the message that was pressed, or empty.
    """
    return (
        "Deine Entscheidung ist vielleicht *nicht* gespeichert, weil der Speicher des Bots nicht rechtzeitig geantwortet hat. "
        f"Bitte drücke denselben Knopf noch einmal auf {_card(card, 'der Karte')}; es zählt nur einmal."
    )


def not_confirmed(card: str) -> str:
    """Say that a decision counts, and may still be lost. `card` as in `not_recorded`."""
    return (
        "Deine Entscheidung ist angekommen, aber der Bot konnte nicht rechtzeitig sicherstellen, dass es eine zweite Kopie gibt. "
        f"Steht sie auf {_card(card, 'der Karte')}, ist nichts zu tun. Sonst drücke denselben Knopf noch einmal; es zählt nur einmal."
    )


def too_early(seconds: int, card: str) -> str:
    """Say that nobody knows yet what others have decided. `card` as in `not_recorded`; a form has none."""
    where = f" auf {_card(card, 'der Karte')}" if card else ""
    return (
        "Nichts wurde gespeichert: Nach einem Neustart oder einer technischen Störung stellt der Bot erst fest, was andere "
        f"entschieden haben. Bitte in {seconds} {'Sekunde' if seconds == 1 else 'Sekunden'}{where} noch einmal versuchen."
    )


def _card(address: str, words: str) -> str:
    return f"<{address}|{words}>" if address else words


def already_decided(index: int, decision: str, people: Sequence[str], at: datetime) -> str:
    """Tell somebody who came too late who decided."""
    did = _DID.get(decision, "entschieden")
    return f"Aktion {index + 1} ist schon {did} von {', '.join(people)}, {when(at)}."


def already_ended(index: int, status: str) -> str:
    """Tell somebody who came too late how the request ended."""
    return f"Aktion {index + 1} {_ENDED.get(status, 'ist nicht offen')}; nichts wurde gespeichert."


def counted(indices: Sequence[int], tally: str, missing: int, *, again: bool) -> str:
    """Tell a voter how far these actions are, and how many people are missing."""
    begins = "Schon gezählt" if again else "Gezählt"
    people = people_have(missing, "noch ")
    return f"{begins}: {actions(indices)}, {tally}. Bis zur Entscheidung: {people} dasselbe sagen."


def uncounted(people: Sequence[str]) -> str:
    """Say whose votes were removed."""
    return f"Zählt nicht mehr, weil die Berechtigung zu entscheiden jetzt fehlt: {', '.join(people)}."


def not_approved(indices: Sequence[int]) -> str:
    """Say which actions a button for several left out, because somebody proposes something else."""
    decide = "Entscheide sie" if len(indices) == 1 else "Entscheide jede davon"
    return f"Nicht freigegeben: {actions(indices)}. Dazu gibt es einen anderen Vorschlag: {decide} einzeln."


def disputed(indices: Sequence[int]) -> str:
    """Say which actions a button for several left out, because somebody wanted something else, and a technical fault lost that."""
    return (
        f"Noch offen: {actions(indices)}. Vor einer technischen Störung wollte dort jemand etwas anderes: "
        "Bitte einzeln entscheiden."
    )


def not_reviewed(indices: Sequence[int]) -> str:
    """Say which actions the end of a review left out: something about them has changed, or a fault lost what was read."""
    return (
        f"Nicht freigegeben: {actions(indices)}. Dort hat sich etwas geändert, oder durch eine technische Störung ist verloren "
        "gegangen, was du gelesen hast: Bitte prüfe das noch einmal."
    )


def not_decided(indices: Sequence[int], reason: str) -> str:
    """Say which of several actions this person may not decide."""
    return f"Nicht von dir entschieden: {actions(indices)}. {reason}"


def nothing_left(decision: str) -> str:
    """Say that nothing is open that this person could decide so."""
    return f"Hier ist nichts mehr offen, was du {_CAN.get(decision, 'entscheiden')} kannst."


def proposed(rule: str, needed: int, channel: str = "") -> str:
    """Tell the author of an edit that others have to agree with it; the channel only where there are several."""
    where = f" in {channel}" if channel else ""
    return (
        f"Über diese Werte entscheidet die Regel „{rule}“. Deshalb ist deine Änderung ein Vorschlag: "
        f"{people_have(needed)}{where} zustimmen."
    )


def not_counted_yet(reason: str) -> str:
    """Say why the author of a proposal does not count among those who agree with it."""
    return f"Du zählst noch nicht mit: {reason}"


def agree_yourself(button: str) -> str:
    """Say to the author of a proposal how they agree with it."""
    return f"Drücke auf der Karte *{button}*, und lies dort zuerst den ganzen Vorschlag."


def edit_refused(rule: str, why: str) -> str:
    """Say that an edit cannot be taken by the rule that is about its values."""
    return f"Über diese Werte entscheidet die Regel „{rule}“, und {why}. Nichts wurde gespeichert."


AGENT_UNVERIFIED = "sie nimmt nur Aufrufe geprüfter Agenten an"
REQUESTER_UNVERIFIED = "nur der Agent sagt, für wen er handelt, und das genügt dieser Regel nicht"
NO_EDITS = "sie bietet kein Bearbeiten an"
NO_ROOM = "die Karte hat keinen Platz für den Vorschlag"
MASKS_THE_CHANGE = "sie maskiert, was du geändert hast, so dass niemand sähe, wozu die Zustimmung gilt"


def unreachable(error: str) -> str:
    """Say that the bot cannot post where a rule asks."""
    return f"der Bot kann dort nicht schreiben, wo diese Regel fragt ({error})"


def too_few_approvers(needed: int) -> str:
    """Say that a rule takes more people than it names."""
    return f"{people_have(needed)} zustimmen, aber weniger Personen dürfen das"


def masked_values(name: str) -> str:
    """Say that an edit touches a masked argument."""
    return (
        f"Die Regeln maskieren „{name}“, und Maskiertes wird nie bearbeitet: Niemand sähe, wozu die Zustimmung gilt. "
        "Nimm es aus deiner Eingabe heraus. Nichts wurde gespeichert."
    )


def decision_not_accepted(index: int, decision: str) -> str:
    """Say that the agent takes no decision of this kind."""
    return f"Der Agent nimmt {_name(decision)} für Aktion {index + 1} nicht an."


def only_this_call(index: int) -> str:
    """Say that the agent keeps no decision for later calls."""
    return (
        f"Der Agent fragt nur nach diesem einen Aufruf von Aktion {index + 1}, nicht nach späteren Aufrufen."
    )


def proposed_otherwise(index: int) -> str:
    """Say that later calls are not approved while somebody proposes something else for this one."""
    return (
        f"Für Aktion {index + 1} gibt es einen anderen Vorschlag. Deshalb lassen sich spätere Aufrufe jetzt nicht mit "
        "ihr freigeben. Nichts wurde gespeichert: Sieh dir die Karte an."
    )


def read_first(index: int, button: str) -> str:
    """Say that an action is longer than its card."""
    return f"Die Karte zeigt Aktion {index + 1} nicht ganz: Drücke *{button}*, und entscheide auf der letzten Seite."


RUN_IT_FIRST = "Setze hier den Haken, um freizugeben. Nichts wurde gespeichert."


def wrong_value(name: str) -> str:
    """Say that what was typed is not the value of this argument."""
    return f"Das ist nicht der Wert von {name}. Tippe ihn Zeichen für Zeichen. Nichts wurde gespeichert."


def code_needed(index: int) -> str:
    """Say that an action of high risk takes its value or its code."""
    return f"Das Risiko von Aktion {index + 1} ist hoch: Öffne zum Freigeben das Formular, und tippe, was das Formular verlangt."


def read_proposal_first(index: int, button: str) -> str:
    """Say that a proposal is longer than its card."""
    return (
        f"Drücke *{button}*, und lies den Vorschlag für Aktion {index + 1} bis zum Ende, bevor du zustimmst."
    )


def proposal_code_needed(index: int) -> str:
    """Say that a proposal of high risk takes its value or its code."""
    return f"Das Risiko des Vorschlags für Aktion {index + 1} ist hoch: Sieh ihn dir an, und tippe, was sein Formular verlangt."


def no_standing_approval(index: int) -> str:
    """Say that the policy lets nobody approve later calls of an action."""
    return f"Die Regeln bieten für Aktion {index + 1} keine Dauerfreigabe an."


def standing_only_by(people: str) -> str:
    """Say who may approve later calls."""
    return f"Eine Dauerfreigabe erteilen kann hier nur: {people}."


def standing_too_wide(index: int) -> str:
    """Say that a standing approval is wider than its limits."""
    return f"Die Regeln erlauben für Aktion {index + 1} keine so weite Dauerfreigabe."


def revoked_only_by(approver: str) -> str:
    """Say who can revoke a standing approval."""
    return f"Widerrufen können das nur {approver} und alle, die so etwas freigeben dürfen."


NOBODY_LOOKING = "Niemand sieht sich das noch an. Drücke zuerst „Ich sehe es mir an“."
NO_MORE_TIME = "Die Frist lässt sich jetzt nicht verschieben."
SOMEBODY_WAS_FASTER = "Jemand anders war schneller: Sieh dir die Karte noch einmal an."


def extended_before(until: datetime) -> str:
    """Say that the deadline was moved already."""
    return f"Es ist schon offen bis {when(until)}."


def already_looking(person: str) -> str:
    """Say who is looking at a card."""
    return f"{person} sieht sich das schon an."


def hand_over_only_by(person: str) -> str:
    """Say who can hand a card over."""
    return f"{person} sieht sich das gerade an, und nur diese Person kann es übergeben."


def hand_over_refused(person: str) -> str:
    """Say that a card cannot be handed to somebody who may not decide."""
    return f"{person} darf das nicht entscheiden, also bleibt es bei dir."


DEACTIVATED = "Dieses Konto ist deaktiviert."
FOR_YOU = "Der Agent handelt hier für dich. Deshalb muss es jemand anders freigeben."
YOUR_THREAD = "Das kommt aus einem Thread, den du angefangen hast. Deshalb muss es jemand anders freigeben."
FIRST_CHANNEL = "die Mitglieder des Kanals, in dem zuerst gefragt wurde"

_OUTSIDERS: dict[Outsider, str] = {
    "bot": "Bots",
    "stranger": "Personen aus anderen Workspaces",
    "guest": "Gäste",
}


def outsider(kind: Outsider) -> str:
    """Say that somebody from outside may not decide."""
    return f"{_OUTSIDERS[kind]} dürfen hier nicht entscheiden, außer die Regeln nennen sie mit ihrer ID."


def not_an_approver(approvers: Sequence[str], *, by_schedule: bool = False) -> str:
    """Tell somebody who may decide instead of them, and where a schedule says so, why it may not name them."""
    schedule = (
        " Der Bereitschaftsplan nennt dich gerade nicht, oder er antwortet nicht." if by_schedule else ""
    )
    return f"Du kannst das nicht entscheiden. Das kann: {', '.join(approvers)}.{schedule}"


def decision_not_offered(decision: str, offered: Sequence[str]) -> str:
    """Say which decisions the policy offers."""
    return f"Die Regeln bieten hier {_name(decision)} nicht an, nur {', '.join(map(_name, offered))}."
