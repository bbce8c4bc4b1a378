"""Admits a published record, which fixes its terms and places, or refuses it."""

import logging
from dataclasses import dataclass

from agent_adapter.errors import ReceiptError
from agent_adapter.receipts.question import check_question
from agent_adapter.tracing import span_within
from bot.domain.admission import Admission, Place, Told
from bot.domain.admit import Refusal, admit
from bot.domain.approval import Approval, Published
from bot.domain.errors import InterruptFaultError, SlackError
from bot.domain.seal import Seal, is_over_http
from bot.domain.standing import StandingMatch
from bot.jobs.policy_watch import PolicyKeeper
from bot.jobs.redis_restore import RestoreGuard
from bot.jobs.slack_call import SlackTrouble
from bot.rendering.card.layout import lay_out
from bot.runtime.health import PLACE
from bot.runtime.offload import offload
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.slack.manifest import DIRECT_SCOPES
from bot.store.records import ApprovalStore
from bot.use_cases.agent_limits import Quota, TooMuch
from bot.use_cases.standing import StandingApprovals, tell_uses

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Admissions:
    """Admits published records by the current policy."""

    store: ApprovalStore
    slack: SlackClient
    directory: Directory
    policies: PolicyKeeper
    standing: StandingApprovals
    quota: Quota
    restore_guard: RestoreGuard
    trouble: SlackTrouble

    async def on_published(self, state: Published) -> Approval | None:
        """Admit a record, or refuse it. `None` when it was refused, or ended meanwhile.

        Raises:
            SlackError: when Slack does not say now whether it can be asked there.
        """
        with span_within(
            "assent.admit",
            state.trace,
            interrupt_id=state.id,
            agent=state.agent,
            actions=len(state.interrupt.request.action_requests),
        ) as span:
            admitted = await self._on_published(state)
            span.note(outcome=admitted.status if admitted else "refused")
            return admitted

    async def _on_published(self, state: Published) -> Approval | None:
        vouched = await self.quota.take(state.interrupt.agent, interrupt=state.interrupt)
        if isinstance(vouched, TooMuch):
            await self.trouble.refuse(state.id, "limits", vouched.reason)
            return None
        # The keys of the HTTP API say nothing about another question than the one that was asked there. Without a seal nobody
        # can tell.
        is_asked_there = self.store.seal is None or _is_over_http(state, self.store.seal)
        admission = await offload(
            state,
            admit,
            self.policies.policy,
            state.interrupt,
            vouched=vouched if is_asked_there else frozenset(),
            verified=self._is_verified(state),
        )
        if isinstance(admission, Refusal):
            await self.trouble.refuse(state.id, admission.code, admission.reason)
            return None
        route, author = state.interrupt.route, None
        try:
            if route.channel and route.thread_ts:
                # Also where people are asked elsewhere.
                author = await self.directory.thread_author(route.channel, route.thread_ts)
            found = [await self._reachable(place) for place in admission.places]
        except InterruptFaultError as error:
            await self.trouble.refuse_unreachable(state, error)
            return None
        terms = tuple([await self.directory.named(own) for own in admission.terms])
        told = await self._where_to_tell(admission.told) if admission.told else None
        places = tuple(filter(None, found))
        fixed: dict[str, object] = {"told": told, "places": places, "thread_author": author, "terms": terms}
        fixed["unsigned"] = self.store.signing is None
        admission = await offload(state, lay_out, state.interrupt, admission.model_copy(update=fixed))
        return await self._admit(state, admission)

    def _is_verified(self, state: Published) -> bool:
        """Whether a key of its agent has signed the question, or a key of the HTTP API has asked it. Without a ring, nobody knows."""
        signing = self.store.signing
        if signing is None or not state.signature:
            return False
        if _is_over_http(state, signing.seal):
            return True
        try:
            check_question(
                signing.ring, state.signature, state.interrupt, state.body, namespace=signing.key.namespace
            )
        except ReceiptError as error:
            logger.warning("agent.not_verified", extra={"interrupt_id": state.id, "reason": str(error)})
            return False
        return True

    async def _admit(self, state: Published, admission: Admission) -> Approval | None:
        limit = admission.time_limit
        admitted = await self.store.admit(
            state,
            admission,
            life=None if limit is None else int(limit.total_seconds() * 1000),
            matched=await self._covered(state, admission),
        )
        if admitted:
            tell_uses(admitted)
            _warn_of_look_alikes(admitted)
        return admitted

    async def _covered(self, state: Published, admission: Admission) -> list[StandingMatch]:
        """Give the actions that standing approvals answer: none that somebody has refused, as this process saw."""
        found = await self.standing.matching(state, admission)
        asked = [matched for matched in found if not self.store.refused.has(state.id, matched.index)]
        return [matched for matched in asked if await self._is_still_active(matched)]

    async def _reachable(self, place: Place) -> Place | None:
        """Give a place with Slack's channel for a direct message. `None` when an additional place cannot be used."""
        try:
            self.slack.check_reach(place.channel)
            if place.channel[0] not in "UW":
                return place
            channel = await self.slack.open_direct_message(place.channel)
        except InterruptFaultError as error:
            if place.opened_by is None:
                raise
            logger.warning("escalation.unreachable", extra={"channel": place.channel, "reason": str(error)})
            return None
        self.trouble.health.warnings.pop(PLACE + place.channel, None)
        return place.model_copy(update={"channel": channel})

    async def _where_to_tell(self, told: Told) -> Told | None:
        """Give where a requester is told, with Slack's channel for a direct message. `None` when they cannot be told."""
        try:
            if why_not := await self._why_not_told(told):
                logger.warning("requester.not_told", extra={"user": told.person, "reason": why_not})
                return None
            if told.thread_ts:
                return told
            channel = await self.slack.open_direct_message(told.person)
            # Nobody else reads it.
            return told.model_copy(update={"channel": channel})
        except InterruptFaultError as error:
            logger.warning("requester.not_told", extra={"user": told.person, "reason": str(error)})
            return None

    async def _why_not_told(self, told: Told) -> str:
        person = await self.directory.person(told.person)
        if person.is_deactivated or person.is_bot or person.is_stranger:
            return "they are not a person of this workspace"
        missing = sorted(DIRECT_SCOPES.keys() - self.slack.me.scopes)
        return f"the app has no scope {', '.join(missing)}" if missing and not told.thread_ts else ""

    async def _is_still_active(self, matched: StandingMatch) -> bool:
        """Whether a standing approval is still active, also in what people see in Slack. In doubt the call is asked."""
        interrupt_id, _, index = matched.name.rpartition(":")
        before = await self.store.admitted(interrupt_id)
        messages = [
            part
            for part in (before.shown if before else ())
            if part.kind == "standing" and part.number == int(index)
        ]
        if before is None or not messages:
            return before is not None
        part, shown = messages[0], before.shown[messages[0]]
        await self.restore_guard.beat()
        card = before.shown.get(part.card)
        try:
            thread_ts = before.places[part.place].thread_ts or (card.ts if card else None)
            return not await self.restore_guard.is_behind(before, part, shown, thread_ts)
        except SlackError as error:
            logger.warning("standing.not_compared", extra={"interrupt_id": before.id, "reason": str(error)})
            return False


def _is_over_http(state: Published, seal: Seal) -> bool:
    return is_over_http(seal, state.id, state.body, state.signature)


def _warn_of_look_alikes(state: Approval) -> None:
    for action in state.actions:
        if action.terms.resembles:
            logger.warning(
                "tool.look_alike",
                extra={
                    "interrupt_id": state.id,
                    "tool": action.request.name,
                    "resembles": action.terms.resembles,
                },
            )
