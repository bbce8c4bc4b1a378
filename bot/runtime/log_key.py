"""The key that seals the audit trail, and the public keys whose checkpoints count."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from cryptography.exceptions import InvalidSignature

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import CREATE_FOR_LOG
from bot.domain.errors import SettingsError
from bot.runtime.listed_signer import ListedSigner, read_signer
from bot.runtime.settings import Settings
from bot.tlog.bucket import NOT_INSTALLED, is_bucket
from bot.tlog.note import Verify

_WITHIN = 10.0
"""Seconds that a signature may take."""


@dataclass(slots=True)
class RingLogKey:
    """Signs the logs of a namespace. The ring says which keys count, so a log goes on after a rotation."""

    signer: ListedSigner | None
    """`None` where logs are only read."""
    ring: Ring
    namespace: str
    _loop: asyncio.AbstractEventLoop | None = None
    """Where the signer works: what a service needs for it may belong to one loop."""

    async def try_out(self) -> None:
        """Sign once, and check it with the ring. From then on, threads can sign.

        Raises:
            SettingsError: when the key cannot sign, or the ring refuses its signature.
        """
        await self._own.try_out()
        self._loop = asyncio.get_running_loop()

    @property
    def public(self) -> bytes:
        """Its own public key.

        Raises:
            ValueError: when the ring does not have it.
        """
        if self._own.key is None:
            raise ValueError(self._own.problem)
        return base64.b64decode(self._own.key.public)

    def sign(self, data: bytes) -> bytes:
        """Return the signature. It blocks, so call it in a thread, after `try_out`.

        Raises:
            ValueError: when the ring does not have this key for the log now, or it does not sign.
        """
        if self._loop is None:
            raise ValueError("the key of the log was not tried out")
        return asyncio.run_coroutine_threadsafe(self._signed(data), self._loop).result()

    async def _signed(self, data: bytes) -> bytes:
        try:
            async with asyncio.timeout(_WITHIN):
                return await self._own.sign(data)
        except TimeoutError:
            raise ValueError(f"the key of the log did not sign within {_WITHIN:.0f} seconds") from None
        except Exception as error:
            # A service fails in its own ways. Nothing is lost: the entries stay where they are until it signs.
            raise ValueError(f"the key of the log did not sign: {error}") from error

    @property
    def trusted(self) -> Mapping[bytes, Verify]:
        """Every public key whose checkpoints count, with what checks its signatures."""
        return {
            base64.b64decode(key.public): partial(_check, key)
            for key in self.ring.keys.values()
            if self._is_of_log(key) and not key.revoked
        }

    @property
    def revoked(self) -> list[str]:
        """The names of the keys that were revoked, and had signed this log."""
        return [key.kid for key in self.ring.keys.values() if self._is_of_log(key) and key.revoked]

    @property
    def _own(self) -> ListedSigner:
        if self.signer is None:
            raise ValueError("this process reads logs, and has no key to sign them")
        return self.signer

    def _is_of_log(self, key: RingKey) -> bool:
        return key.purpose == "log" and key.namespace == self.namespace


def load_log_key(settings: Settings) -> RingLogKey | None:
    """Read the key for the log; `None` where the audit trail is not sealed.

    Raises:
        SettingsError: when it is broken, not in the ring, or there is no place for the log; or when there is a log and no key.
    """
    try:
        inner = read_signer(
            settings.log_signer, settings.log_key, name="ASSENT_LOG_SIGNER", variable="ASSENT_LOG_KEY"
        )
        if inner is None:
            _check_unsealed(settings)
            return None
        if not settings.ring:
            raise SettingsError(
                f"the audit trail has a key for its log, and ASSENT_RING is not set: {CREATE_FOR_LOG} makes both"
            )
        if not settings.audit_dir:
            raise SettingsError(
                "the audit trail has a key for its log, and ASSENT_AUDIT_DIR is not set: name a folder for the log"
            )
        if is_bucket(settings.audit_dir) and not find_spec("boto3"):
            raise SettingsError(f"ASSENT_AUDIT_DIR: {NOT_INSTALLED}")
        ring = Ring.load(settings.ring, purpose="log")
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    signer = ListedSigner(inner, ring, settings.namespace, "log")
    if signer.problem:
        raise SettingsError(f"{settings.ring}: {signer.problem}")
    return RingLogKey(signer, ring, settings.namespace)


def _check_unsealed(settings: Settings) -> None:
    """Refuse settings that want a log, where nothing signs it."""
    unsealed = "neither ASSENT_LOG_KEY nor ASSENT_LOG_SIGNER is set"
    if is_bucket(settings.audit_dir or ""):
        raise SettingsError(
            f"ASSENT_AUDIT_DIR names a bucket, and {unsealed}: a bucket has sealed logs only; {CREATE_FOR_LOG} makes a key"
        )
    if settings.audit_dir and any(Path(settings.audit_dir).glob("log/*/checkpoint")):
        raise SettingsError(
            f"{settings.audit_dir} has a sealed log, and {unsealed}: set the key that seals it, or name another folder in "
            "ASSENT_AUDIT_DIR"
        )
    if settings.anchor:
        raise SettingsError(
            f"ASSENT_ANCHOR is set, and {unsealed}, so there is no log to anchor: {CREATE_FOR_LOG} makes a key"
        )


def _check(key: RingKey, signature: bytes, data: bytes) -> None:
    if not key.verifies(signature, data):
        raise InvalidSignature(f"a signature is not from the key {key.kid}")
