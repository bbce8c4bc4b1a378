"""How records end, and what happens before: the steps of a schedule, more time, assignments."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal

from agent_adapter.contract.record import GRACE
from agent_adapter.errors import InvalidRequestError, SigningError
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Value
from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.domain.messages import Remark
from bot.sentences import to_agent
from bot.store.codec import dumped, milliseconds, unix_milliseconds
from bot.store.reading import Reading
from bot.store.sealed import sealed_deadline
from bot.store.silent_decisions import NO_DECISIONS, SilentDecisions, decided_by_silence

logger = logging.getLogger(__name__)


class Ending(Reading):
    """Ends records, and keeps what happens to them before the end."""

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

    async def run_steps(
        self, interrupt_id: str, steps: Mapping[int, Remark | None], *, joined: str = ""
    ) -> int:
        """Note steps whose time has come, each with its remark in the thread, and have the card drawn.

        Args:
            interrupt_id: The record.
            steps: By number; without a remark, a step is skipped.
            joined: The circle of people, groups and channels that may decide from now on as well.

        Returns:
            How many were noted now; 0 when the record has ended.
        """
        now = str(unix_milliseconds(datetime.now(UTC)))
        said: list[str | int] = []
        for number, remark in steps.items():
            reached, text = (now, dumped(remark)) if remark else ("-", "")
            mark = self._mark(interrupt_id, f"reached:{number}", reached)
            said += [number, reached, mark, text, self._mark(interrupt_id, "remark", text)]
        return int(await self.scripts("run_steps", self._of(interrupt_id), said, waiting=joined))

    async def mark_claim_lapsed(self, interrupt_id: str) -> bool:
        """Have the card say that the agent took the answer and did not continue the run. False when that is not the case."""
        return bool(await self.scripts("mark_claim_lapsed", self._of(interrupt_id)))

    async def mark_untaken(self, interrupt_id: str, *, after: timedelta) -> bool:
        """Have the card say that no process of the agent goes on with the answer. False when that is not the case."""
        names = self._of(interrupt_id)
        return bool(await self.scripts("mark_untaken", names, after=milliseconds(after)))

    async def extend(self, state: Approval, remark: Remark, *, by: timedelta) -> str:
        """Move the deadline. Returns `extended`, `repeat` or `closed`.

        Args:
            state: The record as the person saw it. If somebody has extended it since then, it is not extended again.
            remark: What is said about it.
            by: How much later the deadline is.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        deadline = unix_milliseconds(state.deadline + by)
        seal, said = self.seal, dumped(remark)
        return await self._stored(
            "extend",
            state.id,
            seen=state.extended,
            deadline=deadline,
            mark=sealed_deadline(seal, state.id, state.extended + 1, deadline) if seal else None,
            by=remark.by or "",
            remark=said,
            remark_mark=self._mark(state.id, "remark", said),
        )

    async def assign(
        self, state: Approval, place: int, user: str, *, holder: str = "", remark: Remark | None = None
    ) -> str:
        """Assign a place to a person. Returns `assigned`, `taken` or `closed`.

        Args:
            state: The record.
            place: Its number.
            user: The new holder.
            holder: The person who hands it over; `None` when it is free.
            remark: What is said about it.

        Raises:
            StoreUnavailableError: when Redis did not answer in time.
        """
        lasts = state.places[place].assign or timedelta()
        known = state.assignments.get(place)
        seen = (
            f"{unix_milliseconds(known.since)} {unix_milliseconds(known.until)} {known.user}" if known else ""
        )
        now = datetime.now(UTC)
        claim = f"{unix_milliseconds(now)} {unix_milliseconds(now + lasts)} {user}"
        said = dumped(remark) if remark else ""
        return await self._stored(
            "assign",
            state.id,
            place=place,
            seen=seen,
            user=user,
            claim=claim,
            mark=self._mark(state.id, f"claim:{place}", claim),
            by=holder,
            remark=said,
            remark_mark=self._mark(state.id, "remark", said),
        )
