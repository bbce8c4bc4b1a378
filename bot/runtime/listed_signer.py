"""What a bot signs with, receipts or the log: a key in a setting, or one that a service keeps. The ring has to accept it."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from agent_adapter.errors import SigningError
from agent_adapter.receipts.ring import Purpose, Ring, RingKey
from agent_adapter.receipts.signer import CREATE, CREATE_FOR_LOG, read_signer, sign
from bot.domain.errors import KeyUnfitError, SettingsError

if TYPE_CHECKING:
    from securesystemslib.signer import Signature, Signer

START = b"assent: this key works"
"""What a bot signs at its start. It is not an envelope, so nobody can use it as a proof."""
_START_WITHIN = 10.0
_NAMES: dict[Purpose, str] = {"receipts": "signing key", "log": "key of the log"}
_MAKES: dict[Purpose, str] = {"receipts": CREATE, "log": CREATE_FOR_LOG}
_SIGNS: dict[Purpose, str] = {"receipts": "a bot signs receipts", "log": "this one has to sign the log"}


@dataclass(frozen=True, slots=True)
class ListedSigner:
    """Signs only while the ring accepts it, and gives only signatures that are valid under its public key."""

    inner: "Signer"
    ring: Ring
    namespace: str
    purpose: Purpose = "receipts"

    @property
    def kid(self) -> str:
        """The name of its public key."""
        return self.inner.public_key.keyid

    @property
    def key(self) -> RingKey | None:
        """Its public key, as the ring has it now."""
        return self.ring.keys.get(self.kid)

    @property
    def problem(self) -> str | None:
        """Why nobody would accept what this key signs now; `None` when they would."""
        return why_unfit(self.key, self.kid, self.namespace, self.purpose)

    async def sign(self, data: bytes) -> "Signature":
        """Return the signature.

        Raises:
            KeyUnfitError: when the ring does not accept this key now.
            SigningError: when it cannot sign, or gave a signature that is not from this key.
        """
        if problem := self.problem:
            raise KeyUnfitError(problem)
        from securesystemslib.signer import CryptoSigner  # noqa: PLC0415  # only with a key

        signature = await sign(self.inner, data)
        if not isinstance(self.inner, CryptoSigner):
            self._check(signature, data)
        return signature

    async def try_out(self) -> None:
        """Sign once, and check it with the ring.

        Raises:
            SettingsError: when the key cannot sign, or the ring refuses its signature.
        """
        name = f"the {_NAMES[self.purpose]} {self.kid}"
        try:
            async with asyncio.timeout(_START_WITHIN):
                self._check(await sign(self.inner, START), START)
        except TimeoutError:
            raise SettingsError(f"{name} did not sign within {_START_WITHIN:.0f} seconds") from None
        except SigningError as error:
            raise SettingsError(f"{name} cannot be used: {error.__cause__ or error}") from error

    def _check(self, signature: "Signature", data: bytes) -> None:
        from securesystemslib.signer import Signature  # noqa: PLC0415  # as above

        key = self.key
        is_its = isinstance(signature, Signature) and signature.keyid == self.kid
        if key is None or not is_its or not key.verifies(bytes.fromhex(signature.signature), data):
            raise SigningError(
                f"the signature is not from the key {self.kid}: look which key the service signs with"
            )


def load_signer(made_by: str | None, text: str | None, *, name: str, variable: str) -> "Signer | None":
    """Return what signs: a key in a setting, or a service that a function names; `None` when neither is set.

    Args:
        made_by: The function that returns a signer of securesystemslib, as `module:function`.
        text: The private key.
        name: The setting of the function.
        variable: The setting of the private key.

    Raises:
        SettingsError: when both are set, or the function does not return a signer.
        InvalidRequestError: when the private key is broken.
    """
    if made_by and text:
        raise SettingsError(f"{name} and {variable} are both set: leave one of them out")
    if made_by:
        return _from_code(made_by, name)
    return read_signer(text, where=variable) if text else None


def why_unfit(key: RingKey | None, kid: str, namespace: str, purpose: Purpose) -> str | None:
    """Say why nobody would accept what this key signs now; `None` when they would."""
    name, makes = _NAMES[purpose], _MAKES[purpose]
    if key is None:
        return (
            f"the {name} {kid} is not in the ring: start the bot with a key that is in it; {makes} makes one"
        )
    if key.purpose != purpose:
        return f"the key {kid} is for {key.purpose}, and {_SIGNS[purpose]}: {makes} makes one"
    if key.namespace != namespace:
        return f"the key {kid} is for the namespace {key.namespace!r}, and this bot has {namespace!r}"
    if key.revoked:
        return f"the key {kid} is revoked: start the bot with another key; {makes} makes one"
    if not key.could_sign_at(int(datetime.now(UTC).timestamp() * 1000)):
        return f"the key {kid} signs only between its not_before and not_after: start the bot with the key that is valid now; {makes} makes one"
    return None


def _from_code(made_by: str, name: str) -> "Signer":
    from securesystemslib.signer import Signer  # noqa: PLC0415  # as above

    try:
        signer = resolve_name(made_by)()
        if not isinstance(signer, Signer):
            raise TypeError(f"it returned {type(signer).__name__}")  # noqa: TRY301  # one answer to every fault
    except Exception as error:
        raise SettingsError(
            f"{name}: {made_by} did not return a signer of securesystemslib ({type(error).__name__}: {error}): name a "
            "function as module:function"
        ) from error
    return signer
