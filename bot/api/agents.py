"""The clients of agents that use HTTP, and how they know what they have asked."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.errors import ConflictError, ReceiptError
from agent_adapter.loops import Loop
from agent_adapter.receipts.question import check_question
from agent_adapter.receipts.ring import Ring
from bot.domain.seal import Seal, is_over_http, sealed_question


class Agents:
    """Opens an agent's client at its first request, as it would have one in its own process. All clients share one stream of wake-ups."""

    def __init__(self, url: str, **given: Any) -> None:
        """Prepare the clients. `given` goes to `ApprovalClient.from_url`."""
        # HTTP carries no continuation, so there is no state to encrypt.
        self._client_of = partial(ApprovalClient.from_url, url, state_cipher=Cipher(), **given)
        self._known: dict[str, ApprovalClient] = {}
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def find(self, name: str) -> ApprovalClient:
        """Give the client of this agent.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        async with self._opening:
            if name not in self._known:
                self._known[name] = await self._stack.enter_async_context(self._client_of(agent=name))
        return self._known[name]

    def loops(self) -> Iterator[Loop]:
        """Give the part that works in the background for all clients."""
        for client in self._known.values():
            yield from client.loops

    async def close(self) -> None:
        """Close every client."""
        await self._stack.aclose()


@dataclass(frozen=True, slots=True)
class SealedQuestions:
    """Seals each question that is asked through the API, and reads no other. Somebody else may be able to write to Redis."""

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
