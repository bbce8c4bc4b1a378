"""What *Why was this approved?* shows: the record of a card in words, for the person who asks."""

from datetime import datetime, timedelta

from bot.sentences.de.words import duration_words, when

TITLE = "Warum freigegeben?"
"""The name of the shortcut."""
VIEW_TITLE = "Was hier geschah"
LOOKING = "Die Daten werden gesucht…"
NOT_A_CARD = "Diese Nachricht ist keine Karte von Assent, die etwas fragt. Frage bei einer Karte oder einem Teil davon."
OF_A_QUEUE = (
    "Diese Karte steht für viele Anfragen. Suche eine davon unter *Meine Anfragen* oder *Meine Entscheidungen*, auf dem "
    "Home-Tab der App oder mit `/approvals`, und drücke *Was geschah…*. Mit ihrer Kennung: `/approvals show ID`."
)
NOT_A_MEMBER = "Das können nur Mitglieder dieses Kanals fragen."
OUTSIDE = "Gäste und Personen von außerhalb dieses Workspace können das nur fragen, wo sie als Entscheidende genannt sind."
NOTHING_KNOWN = (
    "Über diese Karte ist nichts mehr bekannt. Ältere Einträge des Prüfprotokolls wurden nicht aufgehoben."
)
NO_SUCH_REQUEST = "Diese Anfrage gibt es nicht, oder du bist nicht in dem Kanal, in dem sie gestellt wurde."
NOT_FOUND_NOW = "Slack oder Redis hat nicht geantwortet. Versuche es gleich noch einmal."
NOT_HELD = "*Die Argumente sind nicht mehr gespeichert.* Das sagt das Prüfprotokoll darüber."
HAPPENED = "*Was geschehen ist*"
DID_NOT_RUN = "Der Aufruf lief nicht."
WHOLE = "Der ganze Aufruf, wie er laufen durfte:"
AS_SHOWN = "Was gezeigt wurde, ist das, was laufen durfte."

_DECIDED = {
    "approve": "Freigegeben",
    "edit": "Geändert freigegeben",
    "reject": "Abgelehnt",
    "respond": "Anstelle des Tools beantwortet",
}
_VOTED = {
    "approve": "Freigabe",
    "edit": "Freigabe mit Änderungen",
    "reject": "Ablehnung",
    "respond": "Antwort anstelle des Tools",
}
_HOW = {
    "click": "mit einem Knopf",
    "form": "in einem Formular",
    "standing": "vorher, mit einer Dauerfreigabe",
    "silence": "durch Schweigen",
}
_EVENTS = {
    "published": "Der Agent hat gefragt.",
    "withdraw_asked": "Der Agent hat seine Frage zurückgenommen.",
    "expired": "Die Zeit ist abgelaufen.",
    "withdrawn": "Beendet: Der Agent hatte es zurückgenommen.",
    "refused": "Es konnte nicht gefragt werden.",
    "resumed": "Der Agent hat die Antwort geholt und weitergemacht.",
    "claim_lapsed": "Der Agent hat die Antwort geholt und nicht rechtzeitig weitergemacht.",
    "untaken": "Lange hat niemand mit der Antwort weitergemacht.",
    "let_go": "Niemand muss mit dem Lauf noch weitermachen.",
    "forged": "Jemand hat etwas dazu in den Speicher geschrieben, das nicht vom Bot war. Es zählte nicht.",
    "reached": "Eine Erinnerung oder eine Eskalation war fällig.",
    "sticky_used": "Die Dauerfreigabe hat einen späteren Aufruf freigegeben.",
}
FINISHED = "Der Agent ist mit der Antwort fertig."
"""What an agent that has reported did last: it had taken the answer before."""
_BY_SOMEBODY = {
    "claimed": "Übernommen von {to}.",
    "handed_over": "Übergeben von {by} an {to}.",
    "extended": "Die Frist hat verlängert: {by}.",
    "sticky_given": "Damit wurde eine Dauerfreigabe erteilt, von {by}.",
    "sticky_ended": "Die Dauerfreigabe ist beendet ({by}).",
    "uncounted": "Eine Stimme zählt nicht mehr, weil die Berechtigung zu entscheiden fehlt: {by}.",
}
_REPORTED = {
    "done": "Der Agent hat gemeldet, dass es geklappt hat.",
    "failed": "Der Agent hat gemeldet, dass es fehlgeschlagen ist.",
}


def numbered(number: int | None) -> str:
    """Begin the answer about one of several calls."""
    return f"*{number}.* " if number else ""


def went_on(words: str, *, is_warning: bool) -> str:
    """Say how the run went on, as a sentence of its own."""
    said = f"{words[0].upper()}{words[1:]}"
    return f"⚠️ *{said}.*" if is_warning else f"{said}."


def asked(version: str) -> str:
    """Say which rules decide about a question."""
    return f"Es wurde gefragt, nach Version `{version}` der Regeln." if version else "Es wurde gefragt."


def decided(who: str, decision: str, how: str, waited: timedelta | None) -> str:
    """Say who decided, and how: the time is that since the card was there."""
    by = f"von {who}" if who else ""
    said = [_DECIDED.get(decision, "Entschieden"), by, _HOW.get(how, "")]
    return " ".join(filter(None, said)) + _after(waited) + "."


def voted(who: str, decision: str, waited: timedelta | None) -> str:
    """Say how somebody voted where it takes several people."""
    return f"Stimme von {who}: {_VOTED.get(decision, 'Entscheidung')}{_after(waited)}."


def proposed(who: str) -> str:
    """Say that somebody proposed an edit that another rule decides about."""
    return f"Vorschlag von {who}: eine Änderung, über die eine andere Regel entscheidet."


def erased(by: str) -> str:
    """Say that somebody erased entries about it from the audit trail."""
    return f"Einträge darüber wurden aus dem Prüfprotokoll gelöscht, von {by or 'jemandem'}."


def reported(outcome: str) -> str:
    """Say what the agent reported."""
    return _REPORTED.get(outcome, "Der Agent hat gemeldet, was daraus wurde.")


def other(event: str, by: str, to: str) -> str:
    """Say what else happened."""
    if event in _BY_SOMEBODY:
        return _BY_SOMEBODY[event].format(by=by or "jemand", to=to or "jemand")
    return _EVENTS.get(event, "Es ist etwas geschehen, das diese Version nicht kennt.")


def named(mention: str, name: str) -> str:
    """Name somebody by what they are called now, and by what they were called then."""
    return f"{mention} (damals {name})" if name else mention


def line(at: datetime, number: int | None, words: str) -> str:
    """Write one line of what happened. The number is that of the action, where there are several."""
    return f"{when(at)}: {f'Aktion {number}: ' if number else ''}{words}"


def rule(name: str, version: str) -> str:
    """Say which rule decided."""
    return (
        f"Nach der Regel {name}, in Version `{version}` der Regeln."
        if name
        else f"Nach Version `{version}` der Regeln."
    )


def tool(number: int, name: str) -> str:
    """Name the tool of an action whose arguments are not held any more."""
    return f"*{number}.* `{name}`" if name else f"*{number}.*"


def digests(asked: str, decided: str) -> str:
    """Give the digests of what was asked and of what was decided."""
    if decided and decided != asked:
        return f"Prüfsumme dessen, was angefragt war: `{asked}`. Dessen, was laufen durfte: `{decided}`."
    return (
        f"Prüfsumme dessen, was angefragt war: `{asked}`."
        if not decided
        else f"Prüfsumme dessen, was angefragt war und laufen durfte: `{asked}`."
    )


def left_out(count: int, interrupt_id: str) -> str:
    """Say how much there was no room for, and where it is."""
    return f"Hier nicht gezeigt: noch {count}. `python -m bot audit show {interrupt_id}` zeigt alles."


def _after(waited: timedelta | None) -> str:
    if waited is None:
        return ""
    return f", {duration_words(waited) or 'weniger als 1 Sekunde'} nachdem die Karte da war"
