"""Receipts for tests: a bot's key and ring, and statements that it signs as tests want them."""

import base64
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import Signature

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.receipt import Receipt
from agent_adapter.receipts.dsse import digest_of, dump_envelope, load_envelope
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import kid_of, public_of, signer_of
from agent_adapter.receipts.statement import (
    RECEIPT,
    ActionStatement,
    Statement,
    bytes_digest,
    dump_statement,
    pause_of,
    run_of,
)
from bot.domain.seal import Seal
from bot.runtime.bot_keys import BotKeys

TEAM = "T0ASSENT"
SEAL = Seal("assent", (b"k" * 32,))
RECORD = "billing.0123456789abcdef0123456789abcdef"


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


class Signing:
    """A bot's key. Its statements approve `pay` by Dana, as long as a test does not say otherwise."""

    def __init__(self, seed: bytes | None = None, *, now: datetime | None = None) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(seed) if seed else Ed25519PrivateKey.generate()
        self.now = now or datetime.now(UTC)
        self.public = self.key.public_key().public_bytes_raw()
        self.kid = kid_of(self.public)

    def ring(self, **changed: Any) -> Ring:
        return Ring(
            [
                RingKey.of(
                    self.public, **({"purpose": "receipts", "namespace": "assent", "team": TEAM} | changed)
                )
            ]
        )

    def action(self, args: Any = None, **changed: Any) -> ActionStatement:
        text = args if isinstance(args, str) else encode({"to": "al"} if args is None else args)
        fields: dict[str, Any] = {
            "i": 0, "pause": pause_of("p", 0), "tool": "pay", "asked": bytes_digest(text), "runs": bytes_digest(text),
            "stored": bytes_digest("stored"), "kind": "approve", "position": "approve", "by": "U0DANA", "how": "click",
            "quorum": 1,
        }  # fmt: skip
        return ActionStatement(**fields | changed)

    def statement(self, *actions: ActionStatement, **changed: Any) -> Statement:
        fields: dict[str, Any] = {
            "kid": self.kid, "ns": "assent", "team": TEAM, "rec": RECORD, "run": run_of("thread-1"), "aud": "billing",
            "body": bytes_digest("the question"),
            "policy": "7f3c09d1be42", "at": milliseconds(self.now), "deadline": milliseconds(self.now + timedelta(hours=1)),
            "use_by": milliseconds(self.now + timedelta(hours=25)), "actions": actions or (self.action(),),
        }  # fmt: skip
        return Statement(**fields | changed)

    def sign(self, statement: Statement | bytes, *, type: str = RECEIPT) -> str:
        payload = statement if isinstance(statement, bytes) else dump_statement(statement)
        envelope = Envelope(payload, type, {})
        envelope.signatures[self.kid] = Signature(self.kid, self.key.sign(envelope.pae()).hex())
        return dump_envelope(envelope)

    def receipt(self, args: Any = None, *, rec: str = RECORD, index: int = 0, **changed: Any) -> Receipt:
        """Make the receipt of one approved call; `changed` are fields of its action."""
        text = args if isinstance(args, str) else encode({"to": "al"} if args is None else args)
        action = self.action(text, i=index, **changed)
        return Receipt((self.sign(self.statement(action, rec=rec)),), index, text)

    def agreed(self, people: Iterable[str], *, quorum: int, args: Any = None) -> Receipt:
        """Make the receipt of a call that these people approved one after the other."""
        envelopes: list[str] = []
        for person in people:
            counts = tuple(digest_of(load_envelope(each)) for each in envelopes)
            action = self.action(args, by=person, quorum=quorum, counts=counts)
            envelopes.append(self.sign(self.statement(action)))
        return Receipt(tuple(envelopes), 0, encode({"to": "al"} if args is None else args))


def bot_signing(key: Ed25519PrivateKey, team: str, **fields: Any) -> BotKeys:
    """Have a store sign with this key, in a ring of its own."""
    signer = signer_of(key)
    own = RingKey.of(public_of(signer), "receipts", **{"namespace": "assent", "team": team} | fields)
    return BotKeys(signer, own, Ring([own]), SEAL)


def ring_text(*keys: dict[str, Any]) -> str:
    return encode({"version": 1, "keys": list(keys)})


def listed(signing: Signing, **changed: Any) -> dict[str, Any]:
    """Give the entry of a key in a ring's file."""
    public = base64.b64encode(signing.public).decode()
    fields = {
        "kid": signing.kid,
        "public": public,
        "purpose": "receipts",
        "namespace": "assent",
        "team": TEAM,
    }
    return {name: value for name, value in (fields | changed).items() if value is not None}
