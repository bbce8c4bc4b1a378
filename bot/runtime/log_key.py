"""The key that seals the audit trail, and the public keys whose checkpoints count."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from cryptography.exceptions import InvalidSignature

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import LocalSigner
from bot.domain.errors import SettingsError
from bot.runtime.settings import Settings
from bot.tlog.bucket import NOT_INSTALLED, is_bucket
from bot.tlog.note import Verify

CREATE = "`python -m bot keys signing create KEY_FILE --ring RING --purpose log`"
"""The command that makes a key for the log."""


@dataclass(frozen=True, slots=True)
class RingLogKey:
    """Signs the logs of a namespace. The ring says which keys count, so a log goes on after a rotation."""

    signer: LocalSigner | None
    """`None` where logs are only read."""
    ring: Ring
    namespace: str

    @property
    def public(self) -> bytes:
        """Its own public key."""
        return self._own.public

    def sign(self, data: bytes) -> bytes:
        """Return the signature.

        Raises:
            ValueError: when the ring does not have this key for the log, or not now.
        """
        if self.problem:
            raise ValueError(self.problem)
        return self._own.signature(data)

    @property
    def problem(self) -> str | None:
        """Why nobody would accept what this key signs now; `None` when they would."""
        key, now = self.ring.keys.get(self._own.kid), int(datetime.now(UTC).timestamp() * 1000)
        if key and self._counts(key) and key.could_sign_at(now):
            return None
        return (
            f"the ring does not have the key {self._own.kid} of ASSENT_LOG_KEY for the log of {self.namespace!r} now: "
            f"{CREATE} makes one"
        )

    @property
    def trusted(self) -> Mapping[bytes, Verify]:
        """Every public key whose checkpoints count, with what checks its signatures."""
        return {
            base64.b64decode(key.public): partial(_check, key)
            for key in self.ring.keys.values()
            if self._counts(key)
        }

    @property
    def _own(self) -> LocalSigner:
        if self.signer is None:
            raise ValueError("this process reads logs, and has no key to sign them")
        return self.signer

    def _counts(self, key: RingKey) -> bool:
        return key.purpose == "log" and key.namespace == self.namespace and not key.revoked


def load_log_key(settings: Settings) -> RingLogKey | None:
    """Read the key for the log; `None` where the audit trail is not sealed.

    Raises:
        SettingsError: when it is broken, not in the ring, or there is no place for the log; or when there is a log and no key.
    """
    if not settings.log_key:
        if is_bucket(settings.audit_dir or ""):
            raise SettingsError(
                f"ASSENT_AUDIT_DIR names a bucket, and ASSENT_LOG_KEY is not set: a bucket has sealed logs only; {CREATE} makes a key"
            )
        if settings.anchor:
            raise SettingsError(
                f"ASSENT_ANCHOR is set, and ASSENT_LOG_KEY is not, so there is no log to anchor: {CREATE} makes a key"
            )
        if settings.audit_dir and any(Path(settings.audit_dir).glob("log/*/checkpoint")):
            raise SettingsError(
                f"{settings.audit_dir} has a sealed log, and ASSENT_LOG_KEY is not set: set the key that seals it, or name "
                "another folder in ASSENT_AUDIT_DIR"
            )
        return None
    if not settings.ring:
        raise SettingsError(f"ASSENT_LOG_KEY is set, and ASSENT_RING is not: {CREATE} makes both")
    if not settings.audit_dir:
        raise SettingsError("ASSENT_LOG_KEY is set, and ASSENT_AUDIT_DIR is not: name a folder for the log")
    if is_bucket(settings.audit_dir) and not find_spec("boto3"):
        raise SettingsError(f"ASSENT_AUDIT_DIR: {NOT_INSTALLED}")
    try:
        key = RingLogKey(
            LocalSigner.parse(settings.log_key, where="ASSENT_LOG_KEY"),
            Ring.load(settings.ring),
            settings.namespace,
        )
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    if key.problem:
        raise SettingsError(key.problem)
    return key


def _check(key: RingKey, signature: bytes, data: bytes) -> None:
    if not key.verifies(signature, data):
        raise InvalidSignature(f"a signature is not from the key {key.kid}")
