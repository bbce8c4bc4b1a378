"""What the fields of an edit say: labels, hints and choices, and what is wrong with something that was typed."""

from collections.abc import Mapping
from typing import Any

# --- Labels -------------------------------------------------------------------------------------------------------------

ALL_ARGUMENTS = "All arguments"
_EMPTY = "Send as an empty text"
BOXES = {
    "others": ("Other fields to change", "Tick some and press “See changes”: each of them gets an input."),
    "empty": (
        _EMPTY,
        "What you tick is sent as an empty text, whatever it holds. Else it is left out or null, if the tool allows that.",
    ),
    "bare": (
        "Remove spaces and empty lines at both ends",
        "Without a tick they stay if you do not change the text. Slack may remove them from a text that you change.",
    ),
    "empty_whole": (
        "Send as an empty list or object",
        "Without a tick it is not sent as long as its fields hold nothing.",
    ),
    "left_out": ("Leave out", "What you tick is not sent, whatever its fields hold."),
    "null": ("Send as null", "What you tick is sent as null, whatever its fields hold."),
}
"""Boxes to tick: a label, and what happens with a tick or without."""
EMPTIED = f"You emptied a field. If you mean an empty text, tick its name under “{_EMPTY}”."
numbered = " (input {})".format
as_json = "{} · JSON".format
nth = "{}: {}".format
as_picker = "{} · form".format
as_part = "{} · part {} of {}".format
from_to = "{} to {}".format
if_left_out = "(If left out: {})".format
_HOW_TO_WRITE = {
    "integer": "Digits only, as in 12500.",
    "number": "Decimal point, no separators: 12500.5",
}


def hint(described: str, kind: str) -> str:
    how = _HOW_TO_WRITE.get(kind, "")
    stop = "." if how and described and described[-1] not in ".!?…)" else ""
    return f"{described}{stop} {how}".strip()


# --- Choices ------------------------------------------------------------------------------------------------------------

NULL, LEFT_OUT = "(null)", "(leave out)"

# --- Values that are kept -----------------------------------------------------------------------------------------------

MASKED = "All or a part of this is masked. It stays exactly as it is:"
TOO_LONG = "This is too long to edit here. It stays exactly as it is:"

# --- What is wrong with a value -----------------------------------------------------------------------------------------

NEEDS_VALUE = "This needs a value."
ONLY_SPACES = f"There are only spaces here. Write a text, or tick its name under “{_EMPTY}”."
NOT_A_WHOLE_NUMBER = "This must be a whole number. Write digits only, as in 12500."
NOT_A_NUMBER = "This must be a number. Write a decimal point and no separators, as in 12500.5."
NOT_A_CHOICE = "This must be one of the choices."
not_json = "This must be JSON: {}.".format
beyond = "The agent can only keep whole numbers from {} to {}.".format


def too_many_digits(number: str = "This") -> str:
    return f"{number} has more digits than a number can hold."


# --- What the tool's schema does not allow ------------------------------------------------------------------------------

TOO_MUCH_TO_CHECK = (
    "Checking this against the tool's schema would take too long here. Reject it, and say what to change."
)
MISSING = "This is required."
UNKNOWN = "The tool does not accept this."

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def type_words(name: Any) -> str:
    return _TYPES.get(name, "any value") if isinstance(name, str) else "any value"


_NOT_ALLOWED = {
    "format": "Must be a valid {format}.",
    "minLength": "Must have at least {limit} characters.",
    "maxLength": "Must have at most {limit} characters.",
    "minimum": "Must be {limit} or more.",
    "maximum": "Must be {limit} or less.",
    "exclusiveMinimum": "Must be more than {limit}.",
    "exclusiveMaximum": "Must be less than {limit}.",
    "multipleOf": "Must be a multiple of {multiple_of}.",
    "minItems": "Must have at least {limit} items.",
    "maxItems": "Must have at most {limit} items.",
    "minProperties": "Must have at least {limit} entries.",
    "maxProperties": "Must have at most {limit} entries.",
    "uniqueItems": "No item may appear twice.",
    "enum": "Must be one of the values that the tool accepts.",
    "falseSchema": UNKNOWN,
    "const": "Must be the only value that the tool accepts.",
    "pattern": "Must match the pattern {pattern}",
}


def not_allowed(kind: str, facts: Mapping[str, Any]) -> str:
    """Say what a schema does not allow about a value: a keyword such as `minLength`, and the `limit` or the like that it gives."""
    if kind == "type":
        return f"Must be {' or '.join(_TYPES.get(name, name) for name in facts['types'])}."
    return _NOT_ALLOWED.get(kind, "Does not fit the tool's schema ({kind}).").format_map(
        {"kind": kind, **facts}
    )
