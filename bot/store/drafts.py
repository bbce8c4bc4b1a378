"""What people have filled into forms, until they decide."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from agent_adapter.errors import LockedRecordError
from agent_adapter.redis.scripts import Private
from bot.domain.drafts import Draft
from bot.domain.errors import StoreUnavailableError
from bot.store.connected import WITHIN, Connected

KEPT = timedelta(days=1)
"""How long a form that nobody submits keeps what was typed."""
_FIELD = "draft"
ATTEMPTS = 10
"""How often a change is tried again, because another press was quicker."""


class Drafts(Connected):
    """Keeps one draft for each person and call. It decides nothing: what runs is what the last step shows.

    Each method raises StoreUnavailableError when Redis does not answer in time.
    """

    async def draft(self, interrupt_id: str, index: int, user: str) -> Draft:
        """Give what this person has filled in. Without anything, an empty draft."""
        key = self.keys.draft(interrupt_id, index, user)
        return self._read(key, await self._written(key))

    async def change_draft(
        self, interrupt_id: str, index: int, user: str, change: Callable[[Draft], Awaitable[Draft]]
    ) -> Draft:
        """Change what this person has filled in, and give it. Presses at the same moment are all counted."""
        key, kept = self.keys.draft(interrupt_id, index, user), KEPT // timedelta(milliseconds=1)
        for _ in range(ATTEMPTS):
            before = await self._written(key)
            draft = await change(self._read(key, before))
            after = "" if draft.is_empty else Private(draft.dump(), _FIELD, record=key)
            swap = self._swap(key, {_FIELD: before}, {_FIELD: after}, kept=kept)
            if (await self._in_time(swap, WITHIN)).ran:
                return draft
        raise StoreUnavailableError("this form is changed too often")

    async def forget_draft(self, interrupt_id: str, index: int, user: str) -> None:
        """Remove what this person has filled in."""
        key = self.keys.draft(interrupt_id, index, user)
        await self._in_time(self._guarded(self._redis.delete(key)), WITHIN)

    def _read(self, key: str, written: str) -> Draft:
        try:
            return Draft.load(self.cipher.open(written, record=key, field=_FIELD))
        except LockedRecordError:
            # What was typed under a key that is gone is typed again.
            return Draft()

    async def _written(self, key: str) -> str:
        found: str | None = await self._in_time(self._guarded(self._redis.hget(key, _FIELD)), WITHIN)
        return found or ""
