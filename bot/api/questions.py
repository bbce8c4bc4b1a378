"""How the API knows what it has asked: its questions are in Redis, and somebody who can write there could change them."""

from dataclasses import dataclass

from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.errors import ConflictError, ReceiptError
from agent_adapter.receipts.question import check_question
from agent_adapter.receipts.ring import Ring
from bot.domain.seal import Seal, is_over_http, sealed_question


@dataclass(frozen=True, slots=True)
class SealedQuestions:
    """Seals each question that is asked through the API, and reads no other."""

    seal: Seal
    ring: Ring
    namespace: str

    async def mark(self, interrupt: Interrupt, body: str) -> str:
        """Give what is stored beside a question."""
        return sealed_question(self.seal, interrupt.id, body)

    def check(self, interrupt: Interrupt, body: str, mark: str) -> None:
        """Check that this is what was asked, to the last byte, here or by an agent with a key of its own.

        Raises:
            ConflictError: when nothing proves it.
        """
        if is_over_http(self.seal, interrupt.id, body, mark):
            return
        try:
            check_question(self.ring, mark, interrupt, body, namespace=self.namespace)
        except ReceiptError as error:
            raise ConflictError(
                f"{interrupt.id}: nothing proves that this is what its agent asked, so no answer to it is given here. "
                "Either somebody changed it in Redis, or an agent without a key asked it: ask it again through this API"
            ) from error
