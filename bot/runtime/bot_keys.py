"""The keys of a bot: what it signs with, which the ring has to accept, and what it checks with."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from agent_adapter.errors import InvalidRequestError, SigningError
from agent_adapter.receipts.ring import RING_VARIABLE, Purpose, Ring
from agent_adapter.receipts.signer import CREATE, CREATE_FOR_LOG, SIGNING_VARIABLE, read_signer, sign
from bot.domain.errors import KeyUnfitError, SettingsError
from bot.domain.seal import Seal
from bot.runtime.settings import Settings

if TYPE_CHECKING:
    from securesystemslib.signer import Signature, Signer

UNSIGNED = "what people decide is not signed, so everybody who can write to Redis can forge it: set ASSENT_SIGNING_KEY and ASSENT_RING"
_MAKE = f"{CREATE} makes both"
START = b"assent: this key works"
"""What a bot signs at its start. It is not an envelope, so nobody can use it as a proof."""
_START_WITHIN = 10.0


# --- A key, and whether the ring accepts it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedSigner:
    """Signs only while the ring accepts it, and gives only signatures that are valid under its public key."""

    inner: "Signer"
    ring: Ring
    namespace: str

    @property
    def kid(self) -> str:
        """The name of its public key."""
        return self.inner.public_key.keyid

    @property
    def problem(self) -> str | None:
        """Why nobody would accept what this key signs now; `None` when they would."""
        return why_unfit(self.ring, self.kid, self.namespace, "receipts")

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
        name = f"the signing key {self.kid}"
        try:
            async with asyncio.timeout(_START_WITHIN):
                self._check(await sign(self.inner, START), START)
        except TimeoutError:
            raise SettingsError(f"{name} did not sign within {_START_WITHIN:.0f} seconds") from None
        except SigningError as error:
            raise SettingsError(f"{name} cannot be used: {error.__cause__ or error}") from error

    def _check(self, signature: "Signature", data: bytes) -> None:
        from securesystemslib.signer import Signature  # noqa: PLC0415  # as above

        key = self.ring.keys.get(self.kid)
        is_its = isinstance(signature, Signature) and signature.keyid == self.kid
        if key is None or not is_its or not key.verifies(bytes.fromhex(signature.signature), data):
            raise SigningError(
                f"the signature is not from the key {self.kid}: look which key the service signs with"
            )


def why_unfit(ring: Ring, kid: str, namespace: str, purpose: Purpose) -> str | None:
    """Say why nobody would accept what this key of a bot signs now; `None` when they would."""
    key = ring.keys.get(kid)
    name, signs, makes = (
        ("key of the log", "this one has to sign the log", CREATE_FOR_LOG)
        if purpose == "log"
        else ("signing key", "a bot signs receipts", CREATE)
    )
    if key is None:
        return (
            f"the {name} {kid} is not in the ring: start the bot with a key that is in it; {makes} makes one"
        )
    if key.purpose != purpose:
        return f"the key {kid} is for {key.purpose}, and {signs}: {makes} makes one"
    if key.namespace != namespace:
        return f"the key {kid} is for the namespace {key.namespace!r}, and this bot has {namespace!r}"
    if key.revoked:
        return f"the key {kid} is revoked: start the bot with another key; {makes} makes one"
    if not key.could_sign_at(int(datetime.now(UTC).timestamp() * 1000)):
        return f"the key {kid} signs only between its not_before and not_after: start the bot with the key that is valid now; {makes} makes one"
    return None


# --- All keys of a bot ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BotKeys:
    """What a bot signs with, and the public keys that it checks with."""

    signer: ListedSigner
    ring: Ring
    seal: Seal
    """Marks what else the bot keeps in Redis. All replicas have the same."""

    def wrong_team(self, team: str) -> str | None:
        """Say why this key does not sign for a workspace; `None` when it does."""
        key = self.ring.keys.get(self.signer.kid)
        if key is None or key.team == team:
            return None
        return (
            f"the ring binds the signing key {key.kid} to the workspace {key.team}, and the bot is in {team}: make a key "
            f"with `python -m bot keys signing create KEY_FILE --ring RING --team {team}`"
        )


def load_bot_keys(settings: Settings) -> BotKeys | None:
    """Read the signing key and the ring of these settings; `None` when neither is set.

    Raises:
        SettingsError: when one is missing or broken, or the ring does not have the key for this bot.
    """
    try:
        signer = _load_signer(settings)
        ring = Ring.load(settings.ring, where=RING_VARIABLE) if settings.ring else None
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    if signer is None and ring is None:
        if settings.seal_key:
            raise SettingsError(
                f"ASSENT_SEAL_KEY is set, and neither ASSENT_SIGNING_KEY nor ASSENT_RING is: a bot needs all three; {_MAKE}"
            )
        if settings.require_signed:
            raise SettingsError(
                f"ASSENT_REQUIRE_SIGNED is set, and neither ASSENT_SIGNING_KEY nor ASSENT_RING is: {_MAKE}"
            )
        return None
    if signer is None:
        raise SettingsError(
            f"ASSENT_RING is set, and ASSENT_SIGNING_KEY is not: a bot needs both, and does not start; {_MAKE}"
        )
    if ring is None:
        raise SettingsError(
            f"ASSENT_SIGNING_KEY is set, and ASSENT_RING is not: a bot needs both, and does not start; name the file of public keys in it; {_MAKE}"
        )
    if not settings.seal_key:
        raise SettingsError(
            "ASSENT_RING is set, and ASSENT_SEAL_KEY is not: without it, everybody who can write to Redis can change who may decide; "
            "`python -m bot keys signing seal KEY_FILE` makes one, the same for all bots"
        )
    seal = Seal.parse(settings.seal_key, namespace=settings.namespace)
    listed = ListedSigner(signer, ring, settings.namespace)
    if listed.problem:
        raise SettingsError(f"{settings.ring}: {listed.problem}")
    return BotKeys(listed, ring, seal)


def _load_signer(settings: Settings) -> "Signer | None":
    """Return what signs: a key in a setting, or a service that a function names; `None` when neither is set."""
    made_by, text = settings.signer, settings.signing_key
    if made_by and text:
        raise SettingsError(f"ASSENT_SIGNER and {SIGNING_VARIABLE} are both set: leave one of them out")
    if not made_by:
        return read_signer(text, where=SIGNING_VARIABLE) if text else None
    from securesystemslib.signer import Signer  # noqa: PLC0415  # as above

    try:
        signer = resolve_name(made_by)()
        if not isinstance(signer, Signer):
            raise TypeError(f"it returned {type(signer).__name__}")  # noqa: TRY301  # one answer to every fault
    except Exception as error:
        raise SettingsError(
            f"ASSENT_SIGNER: {made_by} did not return a signer of securesystemslib ({type(error).__name__}: {error}): name a "
            "function as module:function"
        ) from error
    return signer


def load_seal(settings: Settings) -> Seal | None:
    """Read the seal alone. An operator has no signing key. Returns `None` when no seal key is set.

    Raises:
        SettingsError: when it is broken.
    """
    return Seal.parse(settings.seal_key, namespace=settings.namespace) if settings.seal_key else None
