"""The use cases around approvals that hold for later calls: what they cover, listing them, revoking them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.aside import aside
from bot.decisions import VOTER_FRESH_FOR, Answer, Decisions
from bot.errors import PersonUnknownError
from bot.metrics import DECISIONS
from bot.rendering.blocks import who
from bot.rendering.ledger import call_words
from bot.state import Action, Admission, ApprovalState
from bot.sticky import Covered, sticky_name

logger = logging.getLogger(__name__)

ENDED = "This holds for no more calls already."
LIST_WITHIN = 2.0
"""Seconds that it may take to see who may revoke what; the form has to be open within three."""

Given = tuple[ApprovalState, int]
"""The record that an approval was given in, and the index of its action."""


@dataclass(frozen=True, slots=True)
class Grants:
    """Looks after approvals that hold for later calls."""

    decisions: Decisions

    async def covering(self, state: ApprovalState, admission: Admission) -> list[Covered]:
        """Give the actions that somebody approved before, of a record that is about to be admitted. In doubt none.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        asked = replace(state, admission=admission)
        if not any(action.sticky for action in await aside(state, _actions, asked)):
            return []
        store = self.decisions.store
        given = await store.sticky(store.keys.lane_for(state.id), agent=state.interrupt.agent)
        found = [await self._covered(asked, action, given) for action in asked.actions]
        return [covered for covered in found if covered]

    async def _covered(self, asked: ApprovalState, action: Action, given: Sequence[Given]) -> Covered | None:
        for before, index in given:
            approver = _approver(before, index)
            if covers(before, index, asked, action) and await self._may_still(approver, asked, action.index):
                kept = {"interrupt_id": asked.id, "index": action.index, "requested_by": asked.requested_by}
                if before.sticky[index].grant.same == "tool":
                    kept["call"] = call_words(action)
                return Covered(
                    action.index, action.fingerprint, approver, sticky_name(before.id, index), kept
                )
        return None

    async def _may_still(self, user: str, asked: ApprovalState, index: int) -> bool:
        """Whether this person could approve this very call for later ones now."""
        try:
            fresh = VOTER_FRESH_FOR
            verdicts = await self.decisions.judge(asked, user, [index], "approve", within=fresh)
            return (
                verdicts[index].allowed
                and (await self.decisions.may_grant(asked, user, index, within=fresh)).allowed
            )
        except PersonUnknownError:
            return False

    async def revoke(self, state: ApprovalState, user: str, index: int) -> Answer:
        """End what was approved for later calls with an action.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        approval = state.sticky.get(index)
        if approval is None or not approval.is_live(state.now):
            return Answer(False, ENDED)
        if not await self._may_revoke(state, user, index):
            approver = who(_approver(state, index))
            return Answer(False, f"Only {approver} and whoever may approve this can revoke it.")
        outcome = await self.decisions.store.end_sticky(state.id, index, by=user)
        logger.info("sticky.revoked", extra={"interrupt_id": state.id, "user": user, "outcome": outcome})
        return Answer(outcome == "ended", "" if outcome == "ended" else ENDED)

    async def revocable(self, user: str) -> list[Given]:
        """Give everything that holds for later calls and that this person may revoke.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            ServerUnreachableError: when Redis does not answer.
        """
        store = self.decisions.store
        found = []
        try:
            async with asyncio.timeout(LIST_WITHIN):
                for lane in store.keys.all_lanes():
                    for state, index in await store.sticky(lane):
                        if await self._may_revoke(state, user, index):
                            found.append((state, index))
        except TimeoutError as error:
            raise PersonUnknownError("Slack or Redis took too long") from error
        return found

    async def _may_revoke(self, state: ApprovalState, user: str, index: int) -> bool:
        if user == _approver(state, index):
            return True
        return (await self.decisions.judge(state, user, [index], "approve"))[index].allowed


def _actions(state: ApprovalState) -> Sequence[Action]:
    return state.actions


def covers(before: ApprovalState, index: int, asked: ApprovalState, action: Action) -> bool:
    """Whether what was approved with an action holds for this one, by what the policy says now."""
    approval, sticky = before.sticky[index], action.sticky
    grant, known = approval.grant, before.actions[index]
    if sticky is None or not grant.is_within(sticky) or not approval.is_live(asked.now):
        return False
    if before.interrupt.agent != asked.interrupt.agent or known.request.name != action.request.name:
        return False
    if grant.scope == "run" and before.interrupt.run != asked.interrupt.run:
        return False
    if grant.same == "tool":
        return action.care.risk == "low"
    return known.fingerprint == action.fingerprint


def tell_uses(state: ApprovalState) -> None:
    """Log and count the actions that run without asking, for whoever operates the bot."""
    for action in state.actions:
        if action.recorded and action.recorded.sticky:
            DECISIONS.labels("approve", "sticky").inc()
            logger.info("sticky.used", extra={"interrupt_id": state.id, "sticky": action.recorded.sticky})


def _approver(state: ApprovalState, index: int) -> str:
    recorded = state.recorded[index]
    return recorded.decided_by if recorded else ""
