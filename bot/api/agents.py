"""The clients of agents that use HTTP. Each agent has one client here, as it would have in its own process."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

from agent_adapter.cipher import Cipher
from agent_adapter.client import ApprovalClient
from agent_adapter.loops import Loop
from agent_adapter.receipts.question import Marks
from agent_adapter.receipts.ring import Ring


class Agents:
    """Makes an agent's client at its first request. All clients share one stream of wake-ups."""

    def __init__(
        self,
        url: str,
        namespace: str,
        ring: Ring | None = None,
        *,
        record_cipher: Cipher | None = None,
        marks: Marks | None = None,
        credentials: str | None = None,
    ) -> None:
        self._url = url
        self._credentials = credentials
        self._record_cipher = record_cipher or Cipher()
        self._ring = ring
        self._marks = marks
        self._namespace = namespace
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
                client = ApprovalClient.from_url(
                    self._url,
                    agent=name,
                    namespace=self._namespace,
                    # HTTP carries no continuation, so there is no state to encrypt.
                    state_cipher=Cipher(),
                    record_cipher=self._record_cipher,
                    ring=self._ring,
                    marks=self._marks,
                    credentials=self._credentials,
                )
                self._known[name] = await self._stack.enter_async_context(client)
        return self._known[name]

    def loops(self) -> Iterator[Loop]:
        """Give the part that works in the background for all clients."""
        for client in self._known.values():
            yield from client.loops

    async def close(self) -> None:
        """Close every client."""
        await self._stack.aclose()
