"""Replies that mention the app, until their author sends them as a change request."""

import asyncio
from datetime import timedelta

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import ServerUnreachableError
from bot.domain.errors import StoreUnavailableError
from bot.domain.mentioned import Mentioned
from bot.store.connected import Connected
from bot.store.deliveries import WITHIN

_FIELD = "mention"
KEPT = timedelta(days=1)
"""Slack repeats an event within minutes. The author may press the button for as long as they see it."""


class Mentions(Connected):
    """Keeps each reply under the id of its event."""

    async def note_mention(self, event_id: str, found: Mentioned) -> bool:
        """Keep a reply. `False` when this process or another one has kept the same event before.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        key, text = self._of_event(event_id), encode(found.model_dump(mode="json"))
        kept = self.cipher.close(text, record=key, field=_FIELD)
        return bool(await self._guarded(self._redis.set(key, kept, nx=True, px=KEPT)))

    async def mention(self, event_id: str) -> Mentioned | None:
        """Give a reply. `None` when it is not kept any more.

        Raises:
            StoreUnavailableError: when Redis does not answer in time.
        """
        key = self._of_event(event_id)
        try:
            async with asyncio.timeout(WITHIN):
                found: str | None = await self._guarded(self._redis.get(key))
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not answer in time") from error
        if not found:
            return None
        return Mentioned.model_validate(decode(self.cipher.open(found, record=key, field=_FIELD)))

    def _of_event(self, event_id: str) -> str:
        return self.keys.lane_for(event_id).mention(event_id)
