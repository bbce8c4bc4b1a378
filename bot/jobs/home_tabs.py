"""Writes the open Home tabs of those again whose lists have changed: once for all that happens within a second."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.errors import SlackError
from bot.slack.pacing import Pacing
from bot.use_cases.home import Home

logger = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks at what has changed."""


@dataclass(frozen=True, slots=True)
class HomeTabs:
    """Collects the records that this process draws, and finds whose Home tab shows them. A click waits for none of it."""

    home: Home
    pacing: Pacing
    write: Callable[[str, str], Awaitable[None]]
    """Writes the tab of a person, as they last looked at it."""
    _changed: set[str] = field(default_factory=set)
    _stale: dict[str, None] = field(default_factory=dict)
    """Whose tabs are to be written, those that wait longest first."""

    def note(self, interrupt_id: str) -> None:
        """Note that a record has changed."""
        self._changed.add(interrupt_id)

    async def run(self, loop: Loop) -> None:
        """Look every second, until cancelled."""
        while True:
            loop.expect()
            try:
                looks = await self.home.store.home_looks() if self._changed else {}
                while self._changed:
                    await self._look_at(self._changed.pop(), looks.keys())
                await self._write(loop)
                loop.beat()
            except SlackError as error:
                # Nobody decides by a list. The next change writes it again, and to open it does.
                logger.warning("home.not_updated", extra={"reason": str(error)})
            except AgentAdapterError as error:
                loop.hinder(str(error))
            await asyncio.sleep(EVERY)

    async def _look_at(self, interrupt_id: str, people: Collection[str]) -> None:
        try:
            concerned = await self.home.concerned(interrupt_id, people)
        except AgentAdapterError:
            # Nobody notes it again when Redis answers.
            self._changed.add(interrupt_id)
            raise
        self._stale.update(dict.fromkeys(sorted(concerned)))

    async def _write(self, loop: Loop) -> None:
        while self._stale and not await self.pacing.turn_to_publish():
            loop.expect()
            # They may have turned a page since.
            looks = await self.home.store.home_looks()
            user = next(iter(self._stale))
            del self._stale[user]
            if look := looks.get(user):
                await self.write(user, look)
