"""The keys of a bot: what it signs and seals with, and the public keys that it checks with."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import unix_milliseconds
from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.answer import Verifier
from agent_adapter.receipts.dsse import signed
from agent_adapter.receipts.ring import RING_VARIABLE, Ring, RingKey
from agent_adapter.receipts.signer import CREATE, SIGNING_VARIABLE, read_signer
from agent_adapter.receipts.statement import (
    RECEIPT,
    ActionStatement,
    Statement,
    bytes_digest,
    dump_statement,
    run_of,
)
from agent_adapter.redis.server_check import explaining
from bot.domain.approval import Approval
from bot.domain.errors import KeyUnfitError, SettingsError
from bot.domain.seal import Seal
from bot.domain.statement import requester_of
from bot.runtime.settings import Settings

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

UNSIGNED = "what people decide is not signed, so everybody who can write to Redis can forge it: set ASSENT_SIGNING_KEY and ASSENT_RING"


@dataclass(frozen=True, slots=True)
class BotKeys:
    """Signs only while its public key is valid, since nobody would accept anything else."""

    signer: "CryptoSigner"
    key: RingKey
    """Its public key, as the ring had it at the start."""
    ring: Ring
    """The public keys with which the bot checks what it reads back."""
    seal: Seal
    """Marks what else the bot keeps in Redis. All replicas have the same."""

    @property
    def verifier(self) -> Verifier:
        """Says which signatures count."""
        return Verifier(self.ring, self.key.namespace)

    @property
    def problem(self) -> str:
        """Why nobody would accept what this key signs now; empty when they would."""
        return _why_unfit(self.ring, self.key.kid, self.key.namespace)

    def wrong_team(self, team: str) -> str | None:
        """Say why this key does not sign for a workspace; `None` when it does."""
        key = self.ring.keys.get(self.key.kid, self.key)
        if key.team == team:
            return None
        return (
            f"the ring binds the signing key {key.kid} to the workspace {key.team}, and the bot is in {team}: "
            f"make a key with `python -m bot keys signing create KEY_FILE --ring RING --team {team}`"
        )

    def sign(
        self,
        state: Approval,
        actions: Sequence[ActionStatement],
        *,
        at: datetime,
        asked: str = "",
        policy: str,
        use_within: timedelta,
    ) -> str:
        """Sign what one click decides, or what decides in the place of one. Gives the statement as the record keeps it.

        Args:
            state: The record as it was judged.
            actions: What is decided about each action.
            at: When it was decided, by the clock of the bot.
            asked: What the message or form asked that was pressed, by `bot.domain.approval`; empty where none was.
            policy: The version of the rules that judged it.
            use_within: How long after the deadline an approved call may run.

        Raises:
            KeyUnfitError: when the key is not valid now.
        """
        if problem := self.problem:
            raise KeyUnfitError(problem)
        interrupt, deadline = state.interrupt, unix_milliseconds(state.deadline)
        statement = Statement(
            kid=self.key.kid,
            ns=self.key.namespace,
            team=self.key.team or "",
            rec=interrupt.id,
            run=run_of(interrupt.run),
            aud=interrupt.agent,
            body=bytes_digest(state.body),
            policy=policy,
            requester=requester_of(state),
            message=asked,
            at=unix_milliseconds(at),
            deadline=deadline,
            use_by=deadline + use_within // timedelta(milliseconds=1),
            silence=state.on_expiry,
            actions=tuple(actions),
        )
        return signed(self.signer, RECEIPT, dump_statement(statement))

    def sign_alone(self, state: Approval, said: ActionStatement) -> str:
        """Sign what a standing approval or the deadline decides about one action. Raises as `sign` does."""
        admission = state.admission
        policy, within = admission.policy_version, admission.terms[said.i].use_within
        return self.sign(state, [said], at=datetime.now(UTC), policy=policy, use_within=within)

    def sign_head(self, data: bytes) -> bytes:
        """Sign a head of the audit log. Raises as `sign` does."""
        if problem := self.problem:
            raise KeyUnfitError(problem)
        return bytes.fromhex(self.signer.sign(data).signature)


def problem_of_head(
    ring: Ring, namespace: str, head: Mapping[str, str], signature: bytes, data: bytes
) -> str:
    """Say what is wrong with the signature of a head of the audit log; empty when nothing is."""
    key, log = ring.keys.get(head.get("key", "")), head["log"].rpartition("/")[0]
    is_own = key and key.purpose in {"receipts", "log"} and key.namespace == namespace == log
    if not key or not is_own or not key.verifies(signature, data):
        return "it is not signed with a key of the bots"
    if key.revoked:
        return f"the key {key.kid} is revoked, so what it signed counts no more"
    if not key.could_sign_at(int(datetime.fromisoformat(head["at"]).timestamp() * 1000)):
        return f"the key {key.kid} signs only between its not_before and not_after"
    return ""


def load_bot_keys(settings: Settings) -> BotKeys | None:
    """Read the keys that these settings name; `None` when they name none.

    Raises:
        SettingsError: when one is missing or broken, or the ring does not have the key for this bot.
    """
    given = {
        SIGNING_VARIABLE: settings.signing_key,
        RING_VARIABLE: settings.ring,
        "ASSENT_SEAL_KEY": settings.seal_key,
    }
    missing = [name for name, value in given.items() if not value]
    if missing == [*given] and not settings.require_signed:
        return None
    if missing or not settings.signing_key or not settings.ring or not settings.seal_key:
        raise SettingsError(
            f"{missing[0]} is not set: a bot that signs needs {', '.join(given)}, and does not start without them; "
            f"{CREATE} and `python -m bot keys signing seal KEY_FILE` make them"
        )
    try:
        signer = read_signer(settings.signing_key, where=SIGNING_VARIABLE)
        ring = Ring.load(settings.ring, where=RING_VARIABLE)
    except InvalidRequestError as error:
        raise SettingsError(str(error)) from error
    kid = signer.public_key.keyid
    if unfit := _why_unfit(ring, kid, settings.namespace):
        raise SettingsError(f"{settings.ring}: {unfit}")
    return BotKeys(signer, ring.keys[kid], ring, Seal.parse(settings.seal_key, namespace=settings.namespace))


def _why_unfit(ring: Ring, kid: str, namespace: str) -> str:
    key = ring.keys.get(kid)
    if key is None:
        wrong = "is not in the ring"
    elif key.purpose != "receipts":
        wrong = f"is for {key.purpose}, and a bot signs receipts"
    elif key.namespace != namespace:
        wrong = f"is for the namespace {key.namespace!r}, and this bot has {namespace!r}"
    elif key.revoked:
        wrong = "is revoked"
    elif not key.could_sign_at(time.time_ns() // 1_000_000):
        wrong = "signs only between its not_before and not_after"
    else:
        return ""
    return f"the key {kid} {wrong}: start the bot with a key that is valid now; {CREATE} makes one"


def load_seal(settings: Settings) -> Seal | None:
    """Read the seal alone. An operator has no signing key. Returns `None` when no seal key is set.

    Raises:
        SettingsError: when it is broken.
    """
    return Seal.parse(settings.seal_key, namespace=settings.namespace) if settings.seal_key else None


def another_seal(meta: Mapping[str, str], seal: Seal | None, keys: Keys) -> str:
    """Say why a bot with this seal cannot work beside the others of its namespace; empty when it can."""
    known, anew = meta.get("seal"), f"first remove the field `seal` of {keys.meta} in Redis"
    if known and seal is None:
        what = "ASSENT_SEAL_KEY is not set, and the bots of this namespace have one"
        return f"{what}: give this one the same keys; if none of them shall have keys any more, {anew}"
    if known and seal and not seal.holds(known, "", "meta", ()):
        what = "the bots of this namespace seal with another key, so this one would refuse their requests"
        cure = "write that key behind yours, after a comma; if it was lost or given away"
        return f"ASSENT_SEAL_KEY: {what}: {cure}, {anew}"
    return ""


async def agree_on_seal(redis: Redis, keys: Keys, seal: Seal | None, *, address: str = "") -> None:
    """Make sure that this bot has the key with which the others seal, or none where they have none.

    Raises:
        ServerUnreachableError: when Redis does not answer.
        SettingsError: when it does not have that key.
    """
    with explaining(address):
        meta: Any = await redis.hgetall(keys.meta)
        if problem := another_seal(meta, seal, keys):
            raise SettingsError(problem)
        if seal and meta.get("seal") != (own := seal.mark("", "meta", ())):
            await redis.hset(keys.meta, "seal", own)
