"""What an agent signs about a question, so that the bot knows who asks."""

import hashlib
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from pydantic import ConfigDict

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError, ReceiptError
from agent_adapter.receipts.dsse import load_envelope, signed
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.statement import run_of

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

QUESTION = "application/vnd.assent.question.v1+json"
"""The payload type."""
VERSION: Final = 1


class Question(WireModel):
    """A question, as its agent has signed it."""

    model_config = ConfigDict(extra="forbid")

    v: Literal[1] = VERSION
    kid: str
    """The name of the key that signs it."""
    ns: str
    """The namespace in Redis."""
    rec: str
    """The id of the record."""
    run: str
    """The digest of the agent's run: `run_of`."""
    agent: str
    body: str
    """The SHA-256 of the question as it is stored, before it is encrypted, in hex."""
    at: int
    """When it was signed, in Unix milliseconds."""


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
    """Sign a question, and return the envelope."""
    said = _said(interrupt, body, namespace)
    payload = encode({"v": VERSION, "kid": signer.public_key.keyid, **said, "at": at}).encode()
    return signed(signer, QUESTION, payload)


def check_question(ring: Ring, text: str, interrupt: Interrupt, body: str, *, namespace: str) -> None:
    """Check that a key of its agent has signed this very question.

    Raises:
        ReceiptError: when it has not; `code` says which check failed.
    """
    envelope = load_envelope(text)
    key = ring.check(envelope, purpose="agent", type=QUESTION)
    question = _load(envelope.payload)
    expected = {"kid": key.kid, **_said(interrupt, body, namespace)}
    for name, value in expected.items():
        if getattr(question, name) != value:
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
    if not key.could_sign_at(question.at):
        raise ReceiptError(
            f"{interrupt.id} was signed outside of the time of the key {key.kid}", code="key_time"
        )


def _said(interrupt: Interrupt, body: str, namespace: str) -> dict[str, Any]:
    return {
        "ns": namespace,
        "rec": interrupt.id,
        "run": run_of(interrupt.run),
        "agent": interrupt.agent,
        "body": hashlib.sha256(body.encode()).hexdigest(),
    }


def _load(payload: bytes) -> Question:
    try:
        return to_model(Question.model_validate, decode(payload.decode()), where="question")
    except (InvalidRequestError, UnicodeDecodeError) as error:
        raise ReceiptError(f"a signed question cannot be read: {error}", code="form") from error
