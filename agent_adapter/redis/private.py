"""What agents and people write into records, encrypted if there is a key. Nothing but the edge of the store knows of it.

The scripts move these texts and compare them, and never read them. So the same text in the same place looks the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from agent_adapter.ciphers import MARK, Ciphers, keys_from_environment, keys_of
from agent_adapter.errors import LockedRecordError

VARIABLE = "ASSENT_RECORD_KEY"

_WORDS_BEFORE = {
    "body": 0, "withdraw": 0, "stalled": 0, "reason": 0, "again": 0, "d": 0, "sticky_grant": 0,
    "outcome": 1, "sticky_uses": 1, "proposal": 4, "votes": 4,
}  # fmt: skip
"""The fields of a record that hold such a text, and how many words the scripts write before it."""
_OF_LINES = {"sticky_uses", "votes"}
"""The fields that hold one text in each line."""


@dataclass(frozen=True, slots=True)
class Private:
    """An argument of a script that agents or people wrote, or that quotes them."""

    text: str
    field: str
    """The field that the script keeps it in."""
    record: str = ""
    """The record that the script keeps it in, if it is not the one that the script is about."""
    words: int = 0
    """How many words at its beginning stay as they are, because scripts read them."""


class RecordCipher:
    """Encrypts with the first key, and decrypts with any of the keys. Without keys, texts are stored as they are.

    A text is bound to its record and field. A text that is not encrypted is read as well: it is from before there was a key.

    Args:
        keys: 32 random bytes each, in base64, newest first.

    Raises:
        InvalidRequestError: when a key is not valid, or `cryptography` is not installed.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._ciphers = Ciphers(keys, variable=VARIABLE)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the keys from `ASSENT_RECORD_KEY`, or from the file that `ASSENT_RECORD_KEY_FILE` names, separated by commas.

        Raises:
            InvalidRequestError: when a key is not valid, or the file cannot be read.
        """
        return cls(keys_from_environment(VARIABLE))

    @classmethod
    def from_setting(cls, text: str | None) -> Self:
        """Read the keys from the value of `ASSENT_RECORD_KEY`.

        Raises:
            InvalidRequestError: when a key is not valid.
        """
        return cls(keys_of(text))

    def __bool__(self) -> bool:
        """Whether there is a key."""
        return bool(self._ciphers)

    def close(self, text: str, *, record: str, field: str) -> str:
        """Encrypt a text for one field of one record. Without a key, and for an empty text, return it unchanged."""
        if not text or not self._ciphers:
            return text
        return self._ciphers.encrypt(text, record=record, field=_bound(field), repeatable=True)

    def open(self, text: str, *, record: str, field: str) -> str:
        """Decrypt a text of one field of one record; return a text that is not encrypted unchanged.

        Raises:
            LockedRecordError: when it was encrypted with another key, or for another place.
        """
        if not text.startswith(MARK):
            return text
        if not self._ciphers:
            raise LockedRecordError(
                f"{record} is encrypted: set {VARIABLE} to the key of its agent and of the bot"
            )
        found = self._ciphers.decrypt(text, record=record, field=_bound(field))
        if found is None:
            raise LockedRecordError(
                f"{record}: {field} was encrypted with a key that is not in {VARIABLE}, or for another place: add the key "
                "after the newer ones; if it is there already, somebody changed what is stored"
            )
        return found

    def opened(self, record: str, fields: Mapping[str, str]) -> dict[str, str]:
        """Decrypt a hash of a record.

        Raises:
            LockedRecordError: as in `open`.
        """
        return {
            name: self._opened(record, name, text) if MARK in text else text for name, text in fields.items()
        }

    def opened_answer(self, record: str, answer: str) -> str:
        """Decrypt an answer that came with a wake-up: one line for each name and each value.

        Raises:
            LockedRecordError: as in `open`.
        """
        if MARK not in answer:
            return answer
        lines = answer.split("\n")
        fields = self.opened(record, dict(zip(lines[::2], lines[1::2], strict=False)))
        return "\n".join(part for field in fields.items() for part in field)

    def _opened(self, record: str, name: str, text: str) -> str:
        kind = _kind(name)
        if kind not in _WORDS_BEFORE:
            return text
        lines = text.split("\n") if kind in _OF_LINES else [text]
        return "\n".join(self._opened_line(record, name, line) for line in lines)

    def _opened_line(self, record: str, name: str, line: str) -> str:
        *words, text = line.split(" ", _WORDS_BEFORE[_kind(name)])
        return " ".join((*words, self.open(text, record=record, field=name)))


def is_private(field: str) -> bool:
    """Whether a field of a record holds a text that agents or people wrote."""
    return _kind(field) in _WORDS_BEFORE


def _kind(field: str) -> str:
    return field.partition(":")[0]


def _bound(field: str) -> str:
    """Return the name that a text is bound to."""
    kind, colon, which = field.partition(":")
    # A vote becomes the decision, and one grant is kept for each action of a click.
    return {"votes": f"d{colon}{which}", "sticky_grant": kind}.get(kind, field)
