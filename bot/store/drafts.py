"""What people have filled into forms, until they decide."""

import asyncio
from datetime import timedelta

from agent_adapter.errors import ServerUnreachableError
from bot.domain.drafts import Draft
from bot.domain.errors import StoreUnavailableError
from bot.store.connected import Connected
from bot.store.deliveries import WITHIN

KEPT = timedelta(days=1)
"""How long a form that nobody submits keeps what was typed."""


class Drafts(Connected):
    """Keeps one draft for each person and call. It decides nothing: what runs is what the last step shows."""

    async def draft(self, interrupt_id: str, index: int, user: str) -> Draft:
        """Give what this person has filled in. Without anything, an empty draft.

        Raises:
            StoreUnavailableError: when Redis does not answer in time.
        """
        found = await self._answer(self._redis.get(self._draft_key(interrupt_id, index, user)))
        return Draft.load(found) if found else Draft()

    async def save_draft(self, interrupt_id: str, index: int, user: str, draft: Draft) -> None:
        """Keep what this person has filled in, instead of what was kept before.

        Raises:
            StoreUnavailableError: when Redis does not answer in time.
        """
        key = self._draft_key(interrupt_id, index, user)
        if draft.is_empty:
            await self._answer(self._redis.delete(key))
        else:
            await self._answer(self._redis.set(key, draft.dump(), px=KEPT))

    def _draft_key(self, interrupt_id: str, index: int, user: str) -> str:
        return self.keys.lane_for(interrupt_id).draft(interrupt_id, index, user)

    async def _answer(self, call: object) -> str | None:
        try:
            async with asyncio.timeout(WITHIN):
                found: str | None = await self._guarded(call)
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not answer in time") from error
        return found
