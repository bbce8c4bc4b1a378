"""The keys of a bot: what it signs with, and what it checks with."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pkgutil import resolve_name

from agent_adapter.errors import InvalidRequestError, ReceiptError, SigningError
from agent_adapter.receipts.ring import Ring, RingKey, read_unsigned_until
from agent_adapter.receipts.signer import CREATE, LocalSigner, Signer, sign_envelope
from bot.domain.errors import KeyUnfitError, SettingsError
from bot.domain.seal import Seal, Trust
from bot.runtime.settings import Settings

START = "application/vnd.assent.start.v1+json"
"""The payload type of what a bot signs at its start, to see that the key works. It proves nothing else."""
UNSIGNED = "what people decide is not signed, so whoever can write to Redis can forge it: set ASSENT_SIGNING_KEY and ASSENT_RING"
_START_WITHIN = 10.0
_MAKE = f"{CREATE} makes both"


@dataclass(frozen=True, slots=True)
class ListedSigner:
    """Signs only while the ring accepts it. A click that nobody would accept is refused, and not recorded."""

    inner: Signer
    ring: Ring
    namespace: str

    @property
    def kid(self) -> str:
        """The name of its public key."""
        return self.inner.kid

    @property
    def problem(self) -> str | None:
        """Why nobody would accept what this key signs now; `None` when they would."""
        return _unfit(self.ring.keys.get(self.kid), self.kid, self.namespace)

    async def sign(self, data: bytes) -> bytes:
        """Return the signature.

        Raises:
            KeyUnfitError: when the ring does not accept this key now.
            SigningError: when it cannot sign.
        """
        if problem := self.problem:
            raise KeyUnfitError(problem)
        signature = await self.inner.sign(data)
        if type(self.inner) is LocalSigner:
            # This bot reads it back from Redis in a moment. To verify it takes three times as long as to make it.
            self.ring.keep(self.inner, signature, data)
        return signature


@dataclass(frozen=True, slots=True)
class BotKeys:
    """What a bot signs with, and the public keys that it checks with."""

    signer: ListedSigner
    ring: Ring
    seal: Seal
    """Marks what else the bot keeps in Redis. All replicas have the same."""

    @property
    def trust(self) -> Trust:
        """Says how the marks of the seal are checked."""
        return Trust(self.seal, self.ring.accepts_unsigned)

    async def try_out(self) -> None:
        """Sign once, and check it with the ring.

        Raises:
            SettingsError: when the key cannot sign, or the ring refuses its signature.
        """
        kid = self.signer.kid
        try:
            async with asyncio.timeout(_START_WITHIN):
                # By the key itself, so that the ring verifies the signature.
                envelope = await sign_envelope(self.signer.inner, START, b"{}")
            self.ring.check(envelope, purpose="receipts", type=START)
        except TimeoutError:
            raise SettingsError(
                f"the signing key {kid} did not sign within {_START_WITHIN:.0f} seconds"
            ) from None
        except (SigningError, ReceiptError) as error:
            raise SettingsError(f"the signing key {kid} cannot be used: {error}") from error

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
        signer = _signer(settings)
        ring = Ring.load(settings.ring) if settings.ring else None
        if ring:
            ring.unsigned_until = read_unsigned_until(settings.unsigned_until)
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
        raise SettingsError(f"ASSENT_RING is set, and ASSENT_SIGNING_KEY is not: a bot needs both; {_MAKE}")
    if ring is None:
        raise SettingsError(
            f"ASSENT_SIGNING_KEY is set, and ASSENT_RING is not: name the file of public keys in it; {_MAKE}"
        )
    if not settings.seal_key:
        raise SettingsError(
            "ASSENT_RING is set, and ASSENT_SEAL_KEY is not: without it, whoever can write to Redis decides who may decide; "
            "`python -m bot keys signing seal KEY_FILE` makes one, the same for all bots"
        )
    seal = Seal.parse(settings.seal_key, namespace=settings.namespace)
    listed = ListedSigner(signer, ring, settings.namespace)
    if listed.problem:
        raise SettingsError(f"{settings.ring}: {listed.problem}")
    return BotKeys(listed, ring, seal)


def load_trust(settings: Settings) -> Trust | None:
    """Read the seal alone. An operator has no signing key. Returns `None` when no seal key is set.

    Raises:
        SettingsError: when it is broken.
    """
    try:
        until = read_unsigned_until(settings.unsigned_until)
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    if not settings.seal_key:
        return None
    seal = Seal.parse(settings.seal_key, namespace=settings.namespace)
    return Trust(seal, until is not None and datetime.now(UTC) < until)


def _unfit(key: RingKey | None, kid: str, namespace: str) -> str | None:
    """Say why nobody would accept what this key signs now; `None` when they would."""
    if key is None:
        return f"the signing key {kid} is not in the ring: start the bot with a key that is in it; {CREATE} makes one"
    if key.purpose != "receipts":
        return f"the key {kid} is for {key.purpose}, and a bot signs receipts"
    if key.namespace != namespace:
        return f"the key {kid} is for the namespace {key.namespace!r}, and this bot has {namespace!r}"
    if key.revoked:
        return f"the key {kid} is revoked: start the bot with another key; {CREATE} makes one"
    if not key.could_sign_at(int(datetime.now(UTC).timestamp() * 1000)):
        return f"the key {kid} signs only between its not_before and not_after: start the bot with the key that is valid now; {CREATE} makes one"
    return None


def _signer(settings: Settings) -> Signer | None:
    if settings.signer and settings.signing_key:
        raise SettingsError(
            "ASSENT_SIGNER and ASSENT_SIGNING_KEY are both set: a bot has one key for receipts"
        )
    if settings.signer:
        return _from_code(settings.signer)
    return LocalSigner.parse(settings.signing_key) if settings.signing_key else None


def _from_code(name: str) -> Signer:
    try:
        make: Callable[[], Signer] = resolve_name(name)
        signer = make()
    except Exception as error:
        raise SettingsError(
            f"ASSENT_SIGNER: {name} did not return a signer ({type(error).__name__}: {error}): name a function as module:function"
        ) from error
    return signer
