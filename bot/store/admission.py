"""What is fixed before a card is drawn."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.identity import interrupt_id as id_of
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import dump_recorded
from agent_adapter.errors import SigningError
from agent_adapter.redis.private import Private, is_private
from agent_adapter.redis.scripts import Value
from bot.domain.admission import Admission
from bot.domain.agent_limits import Limits, What
from bot.domain.approval import Approval, Published
from bot.domain.audit import facts_of_question, facts_of_standing
from bot.domain.codec import admission_fields, body_digest, unix_milliseconds
from bot.domain.standing import StandingMatch
from bot.domain.statement import said_by_standing
from bot.domain.waiting import circle_of, requester_of
from bot.runtime.offload import offload
from bot.store.audit import FACTS
from bot.store.changes import Changes, comparable
from bot.store.reading import as_admitted
from bot.store.sealed import sealed_admission

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Beside:
    """What is kept about the run of an interrupt beside its record."""

    vouched: frozenset[str]
    """The people for whom a key of the HTTP API says that the agent acts."""
    changes: Mapping[int, str]
    """By the index of a call, the name of the earlier one to which somebody asked for changes."""


class Admitting(Changes):
    """Admits interrupts, within what their agents may ask."""

    async def reserve(
        self, agent: str, limits: Limits, *, interrupt: Interrupt | None = None, size: int = 0
    ) -> tuple[What, int] | Beside:
        """Count an interrupt among the open ones of its agent, once, unless that would break a limit.

        Args:
            agent: Who asks.
            limits: What the policy says.
            interrupt: That of the record. Without one, the limits are only checked and nothing is counted.
            size: Bytes of an interrupt that is not stored yet.

        Returns:
            What is kept beside the record; or the limit that it would break, and how much it would be. For the limit of a
            minute, the milliseconds to wait.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        # An interrupt that ended without an answer can be asked again: it has another id, but the same run and pauses.
        first = id_of(agent, interrupt.run, interrupt.pauses) if interrupt else ""
        calls = comparable(interrupt) if interrupt else []
        what, much, *beside = await self.scripts(
            "reserve",
            self._of(agent),
            (),
            [self._changes_of(interrupt, index) for index in calls] if interrupt else [],
            vouched=self.keys.vouched(first),
            interrupt=interrupt.id if interrupt else "",
            size=size,
            most_pending=limits.pending,
            most_per_minute=limits.per_minute,
            most_bytes=limits.bytes,
        )
        if what:
            return what, int(much)
        members, found = beside
        said = [member.partition(" ")[::2] for member in members]
        vouched = frozenset(
            person
            for person, mark in said
            if self.seal is None or self.seal.holds(mark, first, "vouched", (person,))
        )
        return Beside(vouched, {index: name for index, name in zip(calls, found, strict=True) if name})

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
        facts = await offload(state, facts_of_question, state, admission)
        asked = replace(state.admitted(admission), deadline=deadline_of(state, life))
        uses = [await self._use(asked, each) for each in matched]
        covered = [use for use in uses if use]
        record = await self.scripts(
            "admit",
            self._of(state.id),
            [
                *(part for use in covered for part in use),
                *_closed(self._fields(asked)),
            ],
            created=unix_milliseconds(state.created_at),
            asked_until=unix_milliseconds(state.deadline),
            deadline=unix_milliseconds(asked.deadline),
            actions=len(state.interrupt.request.action_requests),
            is_due=int(bool(admission.steps or admission.extension)),
            facts=Private(facts, FACTS),
            waiting=circle_of(admission),
            requester=requester_of(state.interrupt, admission),
            covered=len(covered),
        )
        return as_admitted(await self._taken(state.id, record))

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

    async def _use(self, asked: Approval, matched: StandingMatch) -> list[Value]:
        """Write the decision of an action that a standing approval answers, and what that approval keeps of this use.

        Empty when it cannot be signed: people are asked then.
        """
        decision = dump_recorded(
            ApproveDecision(),
            fingerprint=matched.fingerprint,
            decided_by=matched.by,
            policy=asked.admission.policy_version,
            sticky=matched.name,
        )
        statement = ""
        if self.signing:
            try:
                statement = await self.signing.sign_alone(asked, said_by_standing(asked, matched, decision))
            except SigningError as error:
                logger.warning("standing.not_signed", extra={"interrupt_id": asked.id, "reason": str(error)})
                return []
        interrupt_id, _, index = matched.name.rpartition(":")
        call = asked.interrupt.request.action_requests[matched.index]
        facts = Private(facts_of_standing(call, asked.admission.terms[matched.index]), FACTS)
        kept = Private(encode(matched.kept), f"sticky_uses:{index}", record=interrupt_id)
        written = Private(decision, f"d:{matched.index}")
        return [matched.index, interrupt_id, index, matched.by, written, kept, facts, statement]


def _closed(fields: Mapping[str, str]) -> Iterator[Value]:
    """Mark what quotes an agent among the fields of an admission: name, value, name, value, …"""
    for name, text in fields.items():
        yield from (name, Private(text, name) if is_private(name) else text)


def deadline_of(state: Published, life: int | None) -> datetime:
    """Give the deadline that counts: the earlier one of the agent's and the policy's.

    Args:
        state: The record. Beside its question, its times can be changed until people are asked. They make none longer.
        life: The policy's milliseconds from publication to the deadline.
    """
    limits = [state.interrupt.expires_in] + ([] if life is None else [timedelta(milliseconds=life)])
    return min(state.deadline, min(state.created_at, state.now) + min(limits))
