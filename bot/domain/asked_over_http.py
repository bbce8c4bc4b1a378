"""What the HTTP API asks for an agent. It seals each question, and so bots know it again. Pure."""

from agent_adapter.receipts.statement import bytes_digest
from bot.domain.seal import Seal

_SEALED = "seal:"
"""Begins what stands in the place of an agent's own signature."""


def sealed_question(seal: Seal, record: str, body: str) -> str:
    """Give what is stored beside a question in the place of its agent's signature.

    Args:
        seal: Makes the mark.
        record: Its id.
        body: The question, before it is encrypted.
    """
    return _SEALED + seal.mark(record, "question", (bytes_digest(body),))


def is_over_http(seal: Seal, record: str, body: str, signature: str) -> bool:
    """Whether the HTTP API has asked this very question."""
    if not signature.startswith(_SEALED):
        return False
    return seal.holds(signature.removeprefix(_SEALED), record, "question", (bytes_digest(body),))
