"""The key that signs the heads of the audit log, and the public keys whose heads count."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import RING_VARIABLE, Ring, RingKey
from agent_adapter.receipts.signer import CREATE_FOR_LOG, read_signer
from bot.domain.errors import SettingsError
from bot.runtime.bot_keys import why_unfit
from bot.runtime.settings import Settings

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner


def keys_of_log(ring: Ring, namespace: str) -> Mapping[str, RingKey]:
    """Return the public keys that may sign the log of a namespace, by their names."""
    of_log = (key for key in ring.keys.values() if key.purpose == "log" and key.namespace == namespace)
    return {key.kid: key for key in of_log}


def problem_of(keys: Mapping[str, RingKey], head: Mapping[str, str], signature: bytes, data: bytes) -> str:
    """Say what is wrong with the signature of a head; empty when nothing is."""
    key = keys.get(head.get("key", ""))
    if not key or head["log"].rpartition("/")[0] != key.namespace or not key.verifies(signature, data):
        return "it is not signed with a key of the log"
    if key.revoked:
        return f"the key {key.kid} is revoked, so what it signed counts no more"
    if not key.could_sign_at(int(datetime.fromisoformat(head["at"]).timestamp() * 1000)):
        return f"the key {key.kid} signs only between its not_before and not_after"
    return ""


@dataclass(frozen=True, slots=True)
class LogKey:
    """Signs the heads. The ring says which keys count, so a log goes on after a rotation."""

    signer: "CryptoSigner"
    ring: Ring
    namespace: str

    @property
    def kid(self) -> str:
        """The name of its public key."""
        return self.signer.public_key.keyid

    def sign(self, data: bytes) -> bytes:
        """Return the signature.

        Raises:
            ValueError: when the ring does not have this key for the log now.
        """
        if unfit := why_unfit(self.ring, self.kid, self.namespace, "log"):
            raise ValueError(unfit)
        return bytes.fromhex(self.signer.sign(data).signature)

    def problem(self, head: Mapping[str, str], signature: bytes, data: bytes) -> str:
        """Say what is wrong with the signature of a head; empty when nothing is."""
        return problem_of(keys_of_log(self.ring, self.namespace), head, signature, data)


def load_log_key(settings: Settings) -> LogKey | None:
    """Read the key for the log; `None` where its heads are not signed.

    Raises:
        SettingsError: when it is broken, not in the ring, or there is no folder for the log.
    """
    if not settings.log_key:
        return None
    if not settings.ring or not settings.audit_dir:
        missing = "ASSENT_AUDIT_DIR" if settings.ring else "ASSENT_RING"
        raise SettingsError(
            f"ASSENT_LOG_KEY is set, and {missing} is not: {CREATE_FOR_LOG} makes a key and a ring"
        )
    try:
        signer = read_signer(settings.log_key, where="ASSENT_LOG_KEY")
        ring = Ring.load(settings.ring, where=RING_VARIABLE, purpose="log")
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    if unfit := why_unfit(ring, signer.public_key.keyid, settings.namespace, "log"):
        raise SettingsError(f"{settings.ring}: {unfit}")
    return LogKey(signer, ring, settings.namespace)
