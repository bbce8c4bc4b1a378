"""The use cases of standing approvals: finding those that answer a call, listing them, revoking them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from bot.domain.action import Action
from bot.domain.admission import Admission
from bot.domain.approval import Approval, Published
from bot.domain.errors import PersonUnknownError
from bot.domain.person import mention
from bot.domain.standing import StandingMatch, standing_name
from bot.domain.transitions import end_standing
from bot.rendering.card.thread import call_words
from bot.runtime.metrics import decisions_of
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer
from bot.use_cases.who_may_decide import VOTER_FRESH_FOR, Judge

logger = logging.getLogger(__name__)

LIST_WITHIN = 2.0
"""Seconds to find out who may revoke what. The form has to be open within three."""

Given = tuple[Approval, int]
"""The record that has the standing approval, and the index of its action."""


@dataclass(frozen=True, slots=True)
class StandingApprovals:
    """Finds, lists and revokes standing approvals."""

    store: ApprovalStore
    judge: Judge

    async def matching(self, state: Published, admission: Admission) -> list[StandingMatch]:
        """Give the actions of a new record that standing approvals answer. In doubt, none."""
        asked = state.admitted(admission)
        if not any(action.standing for action in await offload(state, attrgetter("actions"), asked)):
            return []
        store = self.store
        given = await store.standing(agent=state.interrupt.agent)
        found = [await self._match(asked, action, given) for action in asked.actions]
        return [matched for matched in found if matched]

    async def _match(self, asked: Approval, action: Action, given: Sequence[Given]) -> StandingMatch | None:
        for before, index in given:
            approver = _approver(before, index)
            if applies_to(before, index, asked, action) and await self._may_still(
                approver, asked, action.index
            ):
                kept = {"interrupt_id": asked.id, "index": action.index, "requested_by": asked.requested_by}
                if before.standing[index].terms.same == "tool":
                    kept["call"] = call_words(action)
                return StandingMatch(
                    action.index, action.fingerprint, approver, standing_name(before.id, index), kept
                )
        return None

    async def _may_still(self, user: str, asked: Approval, index: int) -> bool:
        """Whether this person could give this standing approval now."""
        try:
            fresh = VOTER_FRESH_FOR
            verdicts = await self.judge.may_decide(asked, user, [index], "approve", within=fresh)
            return (
                verdicts[index].allowed
                and (await self.judge.may_give_standing(asked, user, index, within=fresh)).allowed
            )
        except PersonUnknownError:
            return False

    async def revoke(self, state: Approval, user: str, index: int) -> Answer:
        """End the standing approval that was given with an action."""
        approval = state.standing.get(index)
        if approval is None or not approval.is_live(state.now):
            await self.store.confirm()
            return Answer(False, in_answer.STANDING_ENDED)
        if not await self._may_revoke(state, user, index):
            approver = mention(_approver(state, index))
            return Answer(False, in_answer.revoked_only_by(approver))
        outcome = await self.store.update(state, partial(end_standing, index=index, by=user))
        logger.info("standing.revoked", extra={"interrupt_id": state.id, "user": user, "outcome": outcome})
        return Answer(outcome == "ended", "" if outcome == "ended" else in_answer.STANDING_ENDED)

    async def revocable(self, user: str) -> list[Given]:
        """List the active standing approvals that this person may revoke."""
        store = self.store
        found = []
        try:
            async with asyncio.timeout(LIST_WITHIN):
                for state, index in await store.standing():
                    if await self._may_revoke(state, user, index):
                        found.append((state, index))
        except TimeoutError as error:
            raise PersonUnknownError("Slack or Redis took too long") from error
        return found

    async def _may_revoke(self, state: Approval, user: str, index: int) -> bool:
        if user == _approver(state, index):
            return True
        return (await self.judge.may_decide(state, user, [index], "approve"))[index].allowed


def applies_to(before: Approval, index: int, asked: Approval, action: Action) -> bool:
    """Whether a standing approval answers this action, by the current policy."""
    approval, limits = before.standing[index], action.standing
    terms, known = approval.terms, before.actions[index]
    if limits is None or not terms.is_within(limits) or not approval.is_live(asked.now):
        return False
    if before.interrupt.agent != asked.interrupt.agent or known.request.name != action.request.name:
        return False
    # A tool may ask a question in its own words. An approval of its calls does not answer that question.
    if known.config.effects != action.config.effects:
        return False
    if terms.scope == "run" and before.interrupt.run != asked.interrupt.run:
        return False
    if terms.same == "tool":
        return action.terms.risk == "low"
    return known.fingerprint == action.fingerprint


def tell_uses(state: Approval) -> None:
    """Log and count the actions that run without asking, for the operators of the bot."""
    for action in state.actions:
        if action.recorded and action.recorded.sticky:
            decisions_of("approve", "sticky").inc()
            logger.info("standing.used", extra={"interrupt_id": state.id, "standing": action.recorded.sticky})


def _approver(state: Approval, index: int) -> str:
    recorded = state.recorded[index]
    return recorded.decided_by if recorded else ""
