"""What an agent signs about a question, so that the bot knows who asks."""

from typing import TYPE_CHECKING, Any, Final, Protocol

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.numbers import whole
from agent_adapter.errors import InvalidRequestError, ReceiptError
from agent_adapter.receipts.dsse import load_envelope, signed
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.statement import bytes_digest, run_of

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

QUESTION = "application/vnd.assent.question.v1+json"
"""The payload type."""
VERSION: Final = 1


class Marks(Protocol):
    """Marks what a client asks, and knows it again. The HTTP API has one, because it asks for agents without a key."""

    async def mark(self, interrupt: Interrupt, body: str) -> str:
        """Give what is stored beside a question in the place of its agent's signature."""

    def check(self, interrupt: Interrupt, body: str, mark: str) -> None:
        """Check a question that was read back.

        Raises:
            ConflictError: when nothing proves that it is what was asked.
        """


def sign_question(signer: "Signer", interrupt: Interrupt, body: str, *, namespace: str, at: int) -> str:
    """Sign a question and its `body`, which is stored, at this Unix millisecond; return the envelope."""
    said = _said(signer.public_key.keyid, interrupt, body, namespace) | {"at": at}
    return signed(signer, QUESTION, encode(said).encode())


def check_question(ring: Ring, text: str, interrupt: Interrupt, body: str, *, namespace: str) -> None:
    """Check that a key of its agent has signed this very question."""
    envelope = load_envelope(text)
    key = ring.check(envelope, purpose="agent", type=QUESTION)
    fields, expected = _read(envelope.payload), _said(key.kid, interrupt, body, namespace)
    at = whole(fields.pop("at", None))
    if at is None or fields.keys() != expected.keys():
        raise ReceiptError("a signed question cannot be read", code="form")
    for name, value in expected.items():
        if fields[name] != value:
            raise ReceiptError(f"{interrupt.id}: what its agent has signed has another {name!r}", code=name)
    for code, named, bound in (
        ("agent", interrupt.agent, key.agent),
        ("namespace", namespace, key.namespace),
    ):
        if named != bound:
            raise ReceiptError(
                f"{interrupt.id} is of the {code} {named!r}, and the key {key.kid} signs for {bound!r}",
                code=code,
            )
    if not key.could_sign_at(at):
        raise ReceiptError(
            f"{interrupt.id} was signed outside of the time of the key {key.kid}", code="key_time"
        )


def _said(kid: str, interrupt: Interrupt, body: str, namespace: str) -> dict[str, Any]:
    return {
        "v": VERSION,
        "kid": kid,
        "ns": namespace,
        "rec": interrupt.id,
        "run": run_of(interrupt.run),
        "agent": interrupt.agent,
        "body": bytes_digest(body),
    }


def _read(payload: bytes) -> dict[str, Any]:
    try:
        return dict(decode(payload.decode()))
    except (InvalidRequestError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ReceiptError(f"a signed question cannot be read: {error}", code="form") from error
