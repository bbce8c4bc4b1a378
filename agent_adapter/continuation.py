"""The state of a paused run as it travels: read by workers only, encrypted when a key is given."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_adapter.errors import InvalidRequestError, UnreadableContinuationError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

VARIABLE = "ASSENT_STATE_KEY"
MARK = "fernet:"
"""Stands before what is encrypted. No JSON starts so."""


class Seal:
    """Encrypts states with the first key, and reads what any of the keys encrypted. Without keys it leaves them as they are.

    Args:
        keys: Fernet keys, newest first, as `cryptography.fernet.Fernet.generate_key()` gives them.

    Raises:
        InvalidRequestError: when one is no key, or `cryptography` is not installed.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._fernet = _fernet(keys) if keys else None

    @classmethod
    def from_environment(cls) -> Self:
        """Read `ASSENT_STATE_KEY`, or the file that `ASSENT_STATE_KEY_FILE` names: keys with commas between."""
        path = os.environ.get(f"{VARIABLE}_FILE")
        text = Path(path).read_text(encoding="utf-8") if path else os.environ.get(VARIABLE, "")
        return cls([key.strip() for key in text.split(",") if key.strip()])

    def close(self, text: str) -> str:
        """Encrypt JSON, where there is a key."""
        return text if self._fernet is None else MARK + self._fernet.encrypt(text.encode()).decode()

    def open(self, text: str) -> str:
        """Give JSON as it was.

        Raises:
            UnreadableContinuationError: when it is encrypted with a key that is not here.
        """
        if not text.startswith(MARK):
            return text
        if self._fernet is None:
            raise UnreadableContinuationError(
                f"the state is encrypted: give this worker the key in {VARIABLE}"
            )
        from cryptography.fernet import InvalidToken  # noqa: PLC0415  # installed only where keys are used

        try:
            return self._fernet.decrypt(text.removeprefix(MARK)).decode()
        except InvalidToken as error:
            raise UnreadableContinuationError(
                f"the state is encrypted with a key that is not in {VARIABLE}: add it behind the newer ones"
            ) from error


def _fernet(keys: Sequence[str]) -> "MultiFernet":
    try:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InvalidRequestError(f'{VARIABLE} needs: pip install "assent[encryption]"') from error
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError as error:
        raise InvalidRequestError(
            f"{VARIABLE}: each key is 32 bytes in URL-safe base64; make one with "
            '`python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"`'
        ) from error
