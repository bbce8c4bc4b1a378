"""What is fixed before a card is drawn."""

from collections.abc import Sequence

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.identity import interrupt_id as id_of
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import dump_recorded
from bot.domain.admission import Admission
from bot.domain.agent_limits import Limits, What
from bot.domain.approval import Published
from bot.domain.audit import facts_of_question, facts_of_standing
from bot.domain.standing import StandingMatch
from bot.domain.waiting import circles_of, requester_of
from bot.runtime.offload import offload
from bot.store.codec import admission_fields
from bot.store.connected import Connected


class Admitting(Connected):
    """Admits interrupts, within what their agents may ask."""

    async def reserve(
        self, agent: str, limits: Limits, *, interrupt_id: str = "", size: int = 0
    ) -> tuple[What, int] | None:
        """Count an interrupt among the open ones of its agent, once, unless that would break a limit.

        Args:
            agent: Who asks.
            limits: What the policy says.
            interrupt_id: The record. Without one, the limits are only checked and nothing is counted.
            size: Bytes of an interrupt that is not stored yet.

        Returns:
            The limit that it would break, and how much it would be. For the limit of a minute, the milliseconds to wait.
            `None` when it breaks no limit.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        what, much = await self.scripts(
            "reserve",
            self._of(agent),
            interrupt=interrupt_id,
            size=size,
            most_pending=limits.pending,
            most_per_minute=limits.per_minute,
            most_bytes=limits.bytes,
        )
        return (what, int(much)) if what else None

    async def vouched(self, interrupt: Interrupt) -> frozenset[str]:
        """Name the people for whom a key of the HTTP API says that the agent acts here.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        # An interrupt that ended without an answer can be asked again: it has another id, but the same run and pauses.
        first = id_of(interrupt.agent, interrupt.run, interrupt.pauses)
        return frozenset(await self._guarded(self._redis.smembers(self.keys.lane_for(first).vouched(first))))

    async def admit(
        self,
        state: Published,
        admission: Admission,
        *,
        life: int | None = None,
        matched: Sequence[StandingMatch] = (),
    ) -> None:
        """Fix the terms that judge every click. Only the first call has an effect.

        Args:
            state: The record.
            admission: What to fix.
            life: The policy's milliseconds from publication to the deadline. The earlier of its deadline and the agent's counts.
            matched: Actions that a standing approval answers, if it is still active.
        """
        facts = await offload(state, facts_of_question, state, admission)
        uses = [part for each in matched for part in _use(state, admission, each)]
        await self.scripts(
            "admit",
            self._of(state.id),
            [*uses, *admission_fields(admission)],
            actions=len(state.interrupt.request.action_requests),
            lifetime=life,
            is_due=int(bool(admission.steps or admission.extension)),
            facts=facts,
            waiting=circles_of(admission),
            requester=requester_of(state.interrupt, admission),
            covered=len(matched),
        )


def _use(state: Published, admission: Admission, matched: StandingMatch) -> list[str | int]:
    """Write the decision of an action that a standing approval answers, and what that approval keeps of this use."""
    interrupt_id, _, index = matched.name.rpartition(":")
    decision = dump_recorded(
        ApproveDecision(),
        fingerprint=matched.fingerprint,
        decided_by=matched.by,
        policy=admission.policy_version,
        sticky=matched.name,
    )
    call = state.interrupt.request.action_requests[matched.index]
    facts = facts_of_standing(call, admission.terms[matched.index])
    return [matched.index, interrupt_id, index, matched.by, decision, encode(matched.kept), facts]
