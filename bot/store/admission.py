"""What is fixed before a card is drawn."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.identity import interrupt_id as id_of
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import dump_recorded, unix_milliseconds
from agent_adapter.errors import UnreadableRecordError
from bot.domain import transitions
from bot.domain.admission import Admission
from bot.domain.approval import Approval, Published
from bot.domain.audit import facts_of_question, facts_of_standing
from bot.domain.codec import admission_fields, body_digest
from bot.domain.errors import KeyUnfitError
from bot.domain.policy import Limits, What
from bot.domain.standing import StandingMatch
from bot.domain.statement import said_by_standing
from bot.domain.transitions import Covered
from bot.runtime.offload import offload
from bot.store.commits import Committing, as_admitted
from bot.store.sealed import sealed_admission
from bot.store.work import WorkLeases

logger = logging.getLogger(__name__)


class Admitting(Committing, WorkLeases):
    """Admits interrupts, within what their agents may ask."""

    async def reserve(
        self, agent: str, limits: Limits, *, interrupt: Interrupt | None = None, size: int = 0
    ) -> tuple[What, int] | frozenset[str]:
        """Count an interrupt among the open ones of its agent, once, unless that would break a limit.

        Args:
            agent: Who asks.
            limits: What the policy says.
            interrupt: That of the record. Without one, the limits are only checked and nothing is counted.
            size: Bytes of an interrupt that is not stored yet.

        Returns:
            The people for whom a key of the HTTP API says that the agent acts; or the limit that it would break, and how
            much it would be. For the limit of a minute, the milliseconds to wait.
        """
        # An interrupt that ended without an answer can be asked again: it has another id, but the same run and pauses.
        first = id_of(agent, interrupt.run, interrupt.pauses) if interrupt else ""
        what, much, *people = await self.scripts(
            "reserve",
            self.keys.of(agent),
            (),
            vouched=self.keys.vouched(first),
            interrupt=interrupt.id if interrupt else "",
            size=size,
            most_pending=limits.pending,
            most_per_minute=limits.per_minute,
            most_bytes=limits.bytes,
        )
        if what:
            return what, int(much)
        said = [member.partition(" ")[::2] for member in people[0]]
        return frozenset(
            person
            for person, mark in said
            if self.seal is None or self.seal.holds(mark, first, "vouched", (person,))
        )

    async def admit(
        self,
        state: Published,
        admission: Admission,
        *,
        life: int | None = None,
        matched: Sequence[StandingMatch] = (),
    ) -> Approval | None:
        """Fix the terms that judge every click. Only the first call has an effect.

        Args:
            state: The record as it was judged. If the agent's side of it has changed since, nothing is fixed, and the
                record is looked at again.
            admission: What to fix.
            life: The policy's milliseconds from publication to the deadline.
            matched: Actions that a standing approval answers, if it is still active.

        Returns:
            The record as it is then; `None` when nothing was fixed.
        """
        if isinstance(state, Approval):
            return state
        facts = await offload(state, facts_of_question, state, admission)
        asked = replace(state.admitted(admission), deadline=deadline_of(state, life))
        is_asking = asked.now < asked.deadline and state.withdraw_asked is None
        found = [await self._cover(asked, each) for each in (matched if is_asking else ())]
        covered = [each for each in found if each]
        change = transitions.admit(asked, self._fields(asked), covered, facts=facts)
        times = {"created": state.created_at, "deadline": state.deadline}
        judged = {name: str(unix_milliseconds(time)) for name, time in times.items()}
        judged |= {"withdraw": ""} if covered else {}
        left = await self.commit(state, replace(change, judged=judged), is_told=False)
        if left is None:
            return await self.admitted(state.id)
        if left.status == "new":
            said = (state.created_at, state.deadline, state.withdraw_asked)
            if (left.created_at, left.deadline, left.withdraw_asked) == said and not left.is_past:
                raise UnreadableRecordError(f"{state.id}: its times are not as they are written")
            await self.queue_drawing(state.id)
        return as_admitted(left)

    def _fields(self, asked: Approval) -> dict[str, str]:
        fields = {**admission_fields(asked.admission), "asked": body_digest(asked.body)}
        if not self.seal:
            return fields
        return fields | sealed_admission(
            self.seal,
            asked.id,
            fields,
            created=unix_milliseconds(asked.created_at),
            deadline=unix_milliseconds(asked.deadline),
        )

    async def _cover(self, asked: Approval, matched: StandingMatch) -> Covered | None:
        """Use a standing approval for an action. `None` when it is not active any more, or cannot be signed: people are asked then."""
        text = dump_recorded(
            ApproveDecision(),
            fingerprint=matched.fingerprint,
            decided_by=matched.by,
            policy=asked.admission.policy_version,
            sticky=matched.name,
        )
        statement = ""
        if self.signing:
            try:
                statement = self.signing.sign_alone(asked, said_by_standing(asked, matched, text))
            except KeyUnfitError as error:
                logger.warning("standing.not_signed", extra={"interrupt_id": asked.id, "reason": str(error)})
                return None
        before = await self._readable(matched.name.rpartition(":")[0])
        using = partial(transitions.use, matched=matched)
        if before is None or not await self.update(before, using, is_told=False):
            return None
        call = asked.interrupt.request.action_requests[matched.index]
        facts = facts_of_standing(call, asked.admission.terms[matched.index])
        return Covered(matched, text, facts, statement)


def deadline_of(state: Published, life: int | None) -> datetime:
    """Give the deadline that counts: the earlier one of the agent's and the policy's.

    Args:
        state: The record. Beside its question, its times can be changed until people are asked. They make none longer.
        life: The policy's milliseconds from publication to the deadline.
    """
    limits = [state.interrupt.expires_in] + ([] if life is None else [timedelta(milliseconds=life)])
    return min(state.deadline, min(state.created_at, state.now) + min(limits))
