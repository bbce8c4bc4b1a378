"""What agents and people write into records, encrypted if there is a key. Nothing but the edge of the store knows of it.

The scripts move these texts, and neither read nor compare them but with what they were read as.
"""

from collections.abc import Mapping
from typing import Self

from agent_adapter.cipher import MARK, Cipher

_WORDS_BEFORE = {
    "body": 0, "withdraw": 0, "stalled": 0, "reason": 0, "d": 0, "sticky_grant": 0,
    "outcome": 1, "sticky_uses": 1, "proposal": 4, "vote": 3,
}  # fmt: skip
"""The fields of a record that hold such a text, and how many words stand before it."""
_OF_LINES = {"sticky_uses"}
"""The fields that hold one text in each line."""


class Private(str):
    """An argument of a script that agents or people wrote, or that quotes them. Without a key it is sent as it is."""

    __slots__ = ("field", "record", "words")
    field: str
    record: str
    words: int

    def __new__(cls, text: str, field: str, *, record: str = "", words: int = 0) -> Self:
        """Mark a text.

        Args:
            text: The text.
            field: The field that the script keeps it in.
            record: The record that the script keeps it in, if it is not the one that the script is about.
            words: How many words at its beginning stay as they are, because scripts read them.
        """
        made = super().__new__(cls, text)
        made.field, made.record, made.words = field, record, words
        return made


def opened(cipher: Cipher, record: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Decrypt a hash of a record.

    A text that is not encrypted is read as well: it is from before there was a key.

    Raises:
        LockedRecordError: as `Cipher.open`.
    """
    return {
        name: _opened(cipher, record, name, text) if MARK in text else text for name, text in fields.items()
    }


def opened_answer(cipher: Cipher, record: str, answer: str) -> str:
    """Decrypt an answer that came with a wake-up: one line for each name and each value.

    Raises:
        LockedRecordError: as `Cipher.open`.
    """
    if MARK not in answer:
        return answer
    lines = answer.split("\n")
    fields = opened(cipher, record, dict(zip(lines[::2], lines[1::2], strict=False)))
    return "\n".join(part for field in fields.items() for part in field)


def _opened(cipher: Cipher, record: str, name: str, text: str) -> str:
    kind = _kind(name)
    if kind not in _WORDS_BEFORE:
        return text
    found = []
    for line in text.split("\n") if kind in _OF_LINES else [text]:
        *words, said = line.split(" ", _WORDS_BEFORE[kind])
        found.append(" ".join((*words, cipher.open(said, record=record, field=name))))
    return "\n".join(found)


def is_private(field: str) -> bool:
    """Whether a field of a record holds a text that agents or people wrote."""
    return _kind(field) in _WORDS_BEFORE


def words_before(field: str) -> int | None:
    """Count the words before what is private in a field, which everybody can read. `None` where nothing is private."""
    return _WORDS_BEFORE.get(_kind(field))


def _kind(field: str) -> str:
    return field.partition(":")[0]
