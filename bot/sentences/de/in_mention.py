"""What the author of a reply that mentions the app reads, and nobody else."""

from bot.sentences.de import grouped

NO_WORDS = "Nichts wurde entschieden. Um Änderungen anzufordern, erwähne die App noch einmal, und schreibe dazu, was anders werden muss."
CHOOSE_ON_CARD = (
    "Nichts wurde entschieden, weil hier mehrere Aufrufe offen sind. Drücke Ablehnen bei dem Aufruf, den du meinst, "
    "schreibe, was anders werden muss, und setze den Haken, dass der Agent neu vorschlägt."
)
TOO_LATE = "Deine Antwort wurde einen Tag lang aufgehoben. Nichts wurde gespeichert: Erwähne die App noch einmal, oder nimm das Formular der Karte."
FILES = "Angehängte Dateien werden nicht gesendet."


def nothing_yet(*, has_files: bool) -> str:
    """Say that the reply has decided nothing, and what the button does."""
    asks = (
        "Deine Antwort hat nichts entschieden. Wenn du sie als Änderungswunsch sendest, läuft der Aufruf nicht, "
        "und der Agent bekommt genau diese Worte:"
    )
    return f"{FILES} {asks}" if has_files else asks


def too_long(most: int) -> str:
    """Say that a reply is too long to be sent whole."""
    return f"Nichts wurde entschieden: Ein Änderungswunsch hat höchstens {grouped(most)} Zeichen. Schreibe kürzer."
