"""How records end, and what falls due after it."""

import logging
from datetime import timedelta
from typing import Literal

from agent_adapter.contract.record import GRACE
from agent_adapter.errors import InvalidRequestError, SigningError
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Value
from bot.domain.approval import Approval
from bot.domain.codec import milliseconds
from bot.domain.ids import MessageId
from bot.sentences import to_agent
from bot.store.reading import Reading
from bot.store.silent_decisions import NO_DECISIONS, SilentDecisions, decided_by_silence

logger = logging.getLogger(__name__)


class Ending(Reading):
    """Ends records."""

    async def settle(
        self,
        interrupt_id: str,
        status: Literal["expired", "withdrawn", "refused"],
        *,
        reason: str = "",
        code: str = "",
        why_not: str = to_agent.NOT_LOOKED,
    ) -> str:
        """End a record. Returns `settled`, or the word of the script that says why not.

        Args:
            interrupt_id: The record.
            status: How it ends.
            reason: Why it was withdrawn or refused.
            code: The code of the refusal.
            why_not: Why silence approves nothing at the deadline. Empty when it was checked that silence may approve.
        """
        state = await self._judged(interrupt_id)
        silence = await self._by_silence(state, why_not) if state and status == "expired" else NO_DECISIONS
        given: dict[str, Value] = {
            "ending": status,
            "reason": Private(reason, "reason"),
            "mark": self._mark(interrupt_id, "reason", reason),
            "code": code,
            "grace": milliseconds(GRACE),
            "since": silence.since,
        }
        return str(await self.scripts("settle", self._of(interrupt_id), silence.parts, **given))

    async def _judged(self, interrupt_id: str) -> Approval | None:
        """Read a record that is to end; `None` for one that cannot be read."""
        try:
            return await self.admitted(interrupt_id)
        except InvalidRequestError:
            return None

    async def _by_silence(self, state: Approval, why_not: str) -> SilentDecisions:
        """Give what the deadline decides."""
        silence = decided_by_silence(state, why_not)
        if self.signing is None:
            return silence
        try:
            return await silence.signed(state, self.signing)
        except SigningError as error:
            logger.warning("silence.not_signed", extra={"interrupt_id": state.id, "reason": str(error)})
            return decided_by_silence(state, to_agent.NOT_SIGNED)

    async def refuse_rewound(self, interrupt_id: str, part: MessageId, *, code: str, reason: str) -> None:
        """End a record that knows less than this message of it shows. The message stays as it is."""
        names = self._of(interrupt_id)
        said = Private(reason, "reason")
        mark = self._mark(interrupt_id, "reason", reason)
        await self.scripts("refuse_rewound", names, part=str(part), code=code, reason=said, mark=mark)

    async def start_retention(self, interrupt_id: str, *, stalled_after: timedelta | None = None) -> None:
        """Let the keys of a record expire once it has ended and its card says so. The keys of an open record stay.

        Args:
            interrupt_id: The record.
            stalled_after: For a record whose agent has something to run: how long after the end its card says that the
                agent does not go on.
        """
        after = None if stalled_after is None else milliseconds(stalled_after)
        await self.scripts("start_retention", self._of(interrupt_id), after=after)

    async def mark_claim_lapsed(self, interrupt_id: str) -> bool:
        """Have the card say that the agent took the answer and did not continue the run. False when that is not the case."""
        return bool(await self.scripts("mark_claim_lapsed", self._of(interrupt_id)))

    async def mark_untaken(self, interrupt_id: str, *, after: timedelta) -> bool:
        """Have the card say that no process of the agent goes on with the answer. False when that is not the case."""
        names = self._of(interrupt_id)
        return bool(await self.scripts("mark_untaken", names, after=milliseconds(after)))
