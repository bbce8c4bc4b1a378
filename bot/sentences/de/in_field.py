"""What the fields of an edit say: labels, hints and choices, and what is wrong with something that was typed."""

from collections.abc import Mapping
from typing import Any

# --- Labels -------------------------------------------------------------------------------------------------------------

ALL_ARGUMENTS = "Alle Argumente"
_EMPTY = "Als leeren Text senden"
BOXES = {
    "empty": (
        _EMPTY,
        "Ein Feld, bei dem du den Haken setzt, wird als leerer Text gesendet, egal was darin steht.",
    ),
    "bare": (
        "Leerzeichen und Leerzeilen an beiden Enden entfernen",
        "Ohne Haken bleiben sie, solange du den Text nicht änderst. Aus einem geänderten Text entfernt Slack sie vielleicht.",
    ),
    "left_out": ("Weglassen", "Wo du den Haken setzt, wird nichts gesendet, egal was in den Feldern steht."),
    "null": ("Als null senden", "Wo du den Haken setzt, wird null gesendet, egal was in den Feldern steht."),
}
"""Boxes to tick: a label, and what happens with a tick or without."""


def numbered(number: int) -> str:
    """End a label that is cut, so that no other label is the same."""
    return f" (Feld {number})"


def as_json(label: str) -> str:
    """Label an input whose value is entered as JSON."""
    return f"{label} · JSON"


def nth(number: int, name: str) -> str:
    """Name one of several forms whose names are the same."""
    return f"{number}: {name}"


def as_picker(label: str) -> str:
    """Label an input that chooses the form of a value."""
    return f"{label} · Form"


def as_part(label: str, number: int, count: int) -> str:
    """Label an input that holds a part of a long text."""
    return f"{label} · Teil {number} von {count}"


def from_to(first: int, last: int) -> str:
    """Name a part of a long list of choices."""
    return f"{first} bis {last}"


def if_left_out(value: str) -> str:
    """Say what the tool takes for an argument that is left out, by its schema."""
    return f"(Wenn weggelassen: {value})"


HOW_TO_WRITE = {
    "integer": "Nur Ziffern, wie in 12500.",
    "number": "Dezimalpunkt, keine Trennzeichen: 12500.5",
}
"""Hints of inputs for numbers."""

# --- Choices ------------------------------------------------------------------------------------------------------------

NULL, LEFT_OUT = "(null)", "(weglassen)"

# --- Values that are kept -----------------------------------------------------------------------------------------------

MASKED = "Das ist ganz oder teilweise maskiert. Es bleibt genau so, wie es ist:"
TOO_LONG = "Das ist zu lang, um es hier zu bearbeiten. Es bleibt genau so, wie es ist:"

# --- What is wrong with a value -----------------------------------------------------------------------------------------

NEEDS_VALUE = "Hier fehlt ein Wert."
NEEDS_TEXT = f"Hier fehlt ein Text. Schreibe einen, oder setze den Haken bei seinem Namen unter „{_EMPTY}“."
ONLY_SPACES = f"Hier stehen nur Leerzeichen. Schreibe einen Text, oder setze den Haken bei seinem Namen unter „{_EMPTY}“."
NOT_A_WHOLE_NUMBER = "Das muss eine ganze Zahl sein. Schreib nur Ziffern, wie in 12500."
NOT_A_NUMBER = "Das muss eine Zahl sein. Schreib einen Dezimalpunkt und keine Trennzeichen, wie in 12500.5."
NOT_A_CHOICE = "Das muss eine der Möglichkeiten sein."


def not_json(problem: str) -> str:
    """Say that a text cannot be read as JSON."""
    return f"Das muss JSON sein: {problem}."


def too_many_digits(number: str = "Das") -> str:
    """Say that a number would be rounded."""
    return f"{number} hat mehr Ziffern, als eine Zahl haben kann."


# --- What the tool's schema does not allow ------------------------------------------------------------------------------

TOO_MUCH_TO_CHECK = "Das gegen das Schema des Tools zu prüfen würde hier zu lange dauern. Lehne ab, und schreibe dazu, was anders sein soll."
MISSING = "Das ist erforderlich."
UNKNOWN = "Das nimmt das Tool nicht an."

_TYPES = {
    "string": "Text",
    "integer": "eine ganze Zahl",
    "number": "eine Zahl",
    "boolean": "true oder false",
    "array": "eine Liste",
    "object": "ein Objekt",
    "null": "null",
}


def type_words(name: Any) -> str:
    """Name a type of JSON Schema in plain words."""
    return _TYPES.get(name, "irgendein Wert") if isinstance(name, str) else "irgendein Wert"


_NOT_ALLOWED = {
    "format": "Muss gültig sein (Format: {format}).",
    "minLength": "Muss mindestens {limit} Zeichen haben.",
    "maxLength": "Darf höchstens {limit} Zeichen haben.",
    "minimum": "Muss mindestens {limit} sein.",
    "maximum": "Darf höchstens {limit} sein.",
    "exclusiveMinimum": "Muss mehr als {limit} sein.",
    "exclusiveMaximum": "Muss weniger als {limit} sein.",
    "multipleOf": "Muss ein Vielfaches von {multiple_of} sein.",
    "minItems": "Anzahl der Einträge: mindestens {limit}.",
    "maxItems": "Anzahl der Einträge: höchstens {limit}.",
    "minProperties": "Anzahl der Felder: mindestens {limit}.",
    "maxProperties": "Anzahl der Felder: höchstens {limit}.",
    "uniqueItems": "Kein Eintrag darf zweimal vorkommen.",
    "enum": "Muss einer der Werte sein, die das Tool annimmt.",
    "falseSchema": UNKNOWN,
    "const": "Muss der einzige Wert sein, den das Tool annimmt.",
    "pattern": "Muss zu diesem Muster passen: {pattern}",
}


def not_allowed(kind: str, facts: Mapping[str, Any]) -> str:
    """Say what a schema does not allow about a value.

    Args:
        kind: The keyword of JSON Schema, such as `minLength`.
        facts: What the schema says there, such as `limit`.
    """
    if kind == "type":
        return f"Muss {' oder '.join(_TYPES.get(name, name) for name in facts['types'])} sein."
    return _NOT_ALLOWED.get(kind, "Passt nicht zum Schema des Tools ({kind}).").format_map(
        {"kind": kind, **facts}
    )
