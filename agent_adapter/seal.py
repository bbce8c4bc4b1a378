"""Encrypts the stored states of paused runs, if there is a key. Each text is bound to its record and field."""

from collections.abc import Callable, Sequence
from typing import Self

from agent_adapter.ciphers import MARK, Ciphers, keys_from_environment
from agent_adapter.errors import InvalidRequestError, UnreadableContinuationError

VARIABLE = "ASSENT_STATE_KEY"


class Seal:
    """Encrypts states with the first key, and decrypts with any of the keys. Without keys, states are stored as they are.

    A text is bound to the record and the field that it was encrypted for. It cannot be decrypted in another place.

    Args:
        keys: 32 random bytes each, in base64, newest first.

    Raises:
        InvalidRequestError: when a key is not valid, or `cryptography` is not installed.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._ciphers = Ciphers(keys, variable=VARIABLE)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the keys from `ASSENT_STATE_KEY`, or from the file that `ASSENT_STATE_KEY_FILE` names, separated by commas.

        Raises:
            InvalidRequestError: when a key is not valid, or the file cannot be read.
        """
        return cls(keys_from_environment(VARIABLE))

    def __bool__(self) -> bool:
        """Whether there is a key."""
        return bool(self._ciphers)

    def close(self, text: str, *, record: str, field: str) -> str:
        """Encrypt a text for one field of one record; without a key, return it unchanged."""
        return self._ciphers.encrypt(text, record=record, field=field) if self._ciphers else text

    def open(self, text: str, *, record: str, field: str) -> str:
        """Decrypt a text; without a key, return it unchanged.

        Raises:
            UnreadableContinuationError: when it was encrypted for another place or with an unknown key, or when it is not
                encrypted although there is a key.
        """
        if not self._ciphers:
            if text.startswith(MARK):
                raise UnreadableContinuationError(
                    f"the state is encrypted: give this worker the key in {VARIABLE}"
                )
            return text
        if not text.startswith(MARK):
            raise UnreadableContinuationError(
                f"the state is not encrypted, but this worker has a key in {VARIABLE}: if the run was started without "
                f"one, resume it with a worker without {VARIABLE}"
            )
        found = self._ciphers.decrypt(text, record=record, field=field)
        if found is None:
            raise UnreadableContinuationError(
                f"the state was encrypted with a key that is not in {VARIABLE}, or for another run: add the key after the "
                "newer ones; if it is there already, somebody changed what is stored"
            )
        return found


class MissingSeal(Seal):
    """In place of keys, where decisions are signed: a state that anybody can change in Redis would decide what runs."""

    def __init__(self, accepts_unsigned: Callable[[], bool]) -> None:
        """Take what says whether answers without a signature are accepted now; states without a key then are, too."""
        super().__init__()
        self._accepts_unsigned = accepts_unsigned

    def close(self, text: str, *, record: str, field: str) -> str:
        """Return the text unchanged while it will be accepted.

        Raises:
            InvalidRequestError: when it will not.
        """
        if not self._accepts_unsigned():
            raise InvalidRequestError(
                "continuation: decisions are signed (there is a ring), but the state of this run would not be protected: "
                f"set {VARIABLE} too"
            )
        return super().close(text, record=record, field=field)

    def open(self, text: str, *, record: str, field: str) -> str:
        """Return the text unchanged while that is accepted.

        Raises:
            UnreadableContinuationError: when it is not, or when the text is encrypted.
        """
        if not self._accepts_unsigned():
            raise UnreadableContinuationError(
                "decisions are signed (there is a ring), but this state is not protected against changes in Redis: set "
                f"{VARIABLE}, in the process that asks and in this one"
            )
        return super().open(text, record=record, field=field)
