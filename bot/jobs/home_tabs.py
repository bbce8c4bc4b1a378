"""Writes the open Home tabs of those again whose lists have changed: once for all that happens within a second."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.approval import Approval
from bot.domain.errors import SlackError
from bot.slack.pacing import Pacing
from bot.use_cases.home import Home

logger = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks at what has changed."""


@dataclass(frozen=True, slots=True)
class HomeTabs:
    """Collects the records that this process has drawn, and finds whose Home tab shows them. A click waits for none of it."""

    home: Home
    pacing: Pacing
    write: Callable[[str, str], Awaitable[None]]
    """Writes the tab of a person, as they last looked at it."""
    _changed: dict[str, Approval] = field(default_factory=dict)
    _stale: dict[str, None] = field(default_factory=dict)
    """Whose tabs are to be written, those that wait longest first."""

    def note(self, state: Approval) -> None:
        """Note that a record was drawn."""
        self._changed[state.id] = state

    async def run(self, loop: Loop) -> None:
        """Look every second, until cancelled."""
        while True:
            try:
                await self._find()
                await self._write(loop)
                loop.beat()
            except AgentAdapterError as error:
                loop.hinder(str(error))
            await asyncio.sleep(EVERY)

    async def _find(self) -> None:
        looks = await self.home.store.home_looks() if self._changed else {}
        while self._changed:
            interrupt_id, state = self._changed.popitem()
            try:
                self._stale.update(dict.fromkeys(sorted(await self.home.concerned(state, looks.keys()))))
            except SlackError as error:
                # Nobody decides by a list. The next change writes it again, and to open it does.
                logger.warning("home.not_updated", extra={"interrupt_id": interrupt_id, "reason": str(error)})

    async def _write(self, loop: Loop) -> None:
        while self._stale and not await self.pacing.turn_to_publish():
            loop.expect()
            user = next(iter(self._stale))
            del self._stale[user]
            # They may have turned a page since.
            if look := (await self.home.store.home_looks()).get(user):
                await self.write(user, look)
