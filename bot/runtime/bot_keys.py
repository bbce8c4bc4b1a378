"""The keys of a bot: what it signs with, and what it checks with."""

from dataclasses import dataclass

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import RING_VARIABLE, Ring
from agent_adapter.receipts.signer import CREATE, SIGNING_VARIABLE
from bot.domain.errors import SettingsError
from bot.domain.seal import Seal
from bot.runtime.listed_signer import ListedSigner, load_signer
from bot.runtime.settings import Settings

UNSIGNED = "what people decide is not signed, so everybody who can write to Redis can forge it: set ASSENT_SIGNING_KEY and ASSENT_RING"
_MAKE = f"{CREATE} makes both"


@dataclass(frozen=True, slots=True)
class BotKeys:
    """What a bot signs with, and the public keys that it checks with."""

    signer: ListedSigner
    ring: Ring
    seal: Seal
    """Marks what else the bot keeps in Redis. All replicas have the same."""

    async def try_out(self) -> None:
        """Sign once, and check it with the ring.

        Raises:
            SettingsError: when the key cannot sign, or the ring refuses its signature.
        """
        await self.signer.try_out()

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
        signer = load_signer(
            settings.signer, settings.signing_key, name="ASSENT_SIGNER", variable=SIGNING_VARIABLE
        )
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


def load_seal(settings: Settings) -> Seal | None:
    """Read the seal alone. An operator has no signing key. Returns `None` when no seal key is set.

    Raises:
        SettingsError: when it is broken.
    """
    return Seal.parse(settings.seal_key, namespace=settings.namespace) if settings.seal_key else None
