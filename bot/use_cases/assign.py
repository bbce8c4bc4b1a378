"""The use cases of whoever may decide and does not yet: looking at a card, handing it over, more time."""

import asyncio
import logging
from dataclasses import dataclass

from bot.decisions import Answer, Decisions
from bot.rendering.blocks import when, who
from bot.rendering.notices import OVER
from bot.schedule import Remark
from bot.state import ApprovalState

logger = logging.getLogger(__name__)

FREE = "Nobody is looking at this any more. Press “I am looking at this” first."


@dataclass(frozen=True, slots=True)
class Attention:
    """Takes what people say about a record without deciding it. Nothing here keeps anybody from deciding.

    Every verb raises PersonUnknownError when Slack does not say who they are, and StoreUnavailableError when Redis did
    not answer in time.
    """

    decisions: Decisions

    async def extend(self, state: ApprovalState, user: str, seen: int) -> Answer:
        """Give everybody more time, once for each time that the card offers it.

        Args:
            state: The record.
            user: Who pressed.
            seen: How often it had been extended on the card that they saw.
        """
        if objection := await self._objection(state, user, range(len(state.actions))):
            return Answer(False, objection)
        extension = state.admission.extension if state.admission else None
        if seen < state.extended:
            return Answer(True, f"It is open until {when(state.deadline)} already.")
        if extension is None or not state.may_extend:
            return Answer(False, "There is no more time to give now.")
        until = state.deadline + extension.by
        remark = Remark(kind="extend", places=tuple(state.places), by=user, until=until)
        outcome = await self.decisions.store.extend(state, remark, by=extension.by)
        logger.info("interrupt.extended", extra={"interrupt_id": state.id, "user": user, "outcome": outcome})
        return Answer(outcome != "closed", OVER if outcome == "closed" else "")

    async def claim(self, state: ApprovalState, user: str, place: int) -> Answer:
        """Say that somebody is looking at a place."""
        if objection := await self._objection(state, user, state.places[place].actions):
            return Answer(False, objection)
        if claim := state.claim_at(place):
            return Answer(
                claim.user == user, "" if claim.user == user else f"{who(claim.user)} is looking already."
            )
        return self._answer(await self.decisions.store.claim(state, place, user))

    def why_not_handed_over(self, state: ApprovalState, user: str, place: int) -> str:
        """Say why somebody cannot hand a place over; empty when they can."""
        if not state.is_open:
            return OVER
        claim = state.claim_at(place)
        if claim is None:
            return FREE
        return "" if claim.user == user else f"Only {who(claim.user)}, who is looking, can hand this over."

    async def hand_over(self, state: ApprovalState, user: str, place: int, to: str) -> Answer:
        """Have somebody else look at a place, who must be allowed to decide there."""
        if objection := self.why_not_handed_over(state, user, place):
            return Answer(False, objection)
        if await self._objection(state, to, state.places[place].actions):
            return Answer(False, f"{who(to)} may not decide this, so it stays with you.")
        held = next(n for n in state.places if state.claims.get(n) is state.claim_at(place))
        remark = Remark(kind="hand_over", places=(held,), mentions=(to,), by=user)
        return self._answer(await self.decisions.store.claim(state, held, to, holder=user, remark=remark))

    async def _objection(self, state: ApprovalState, user: str, indices: range | tuple[int, ...]) -> str:
        """Say why this person may decide none of these actions, or why nobody may any more."""
        still = [index for index in indices if state.is_open_at(index)]
        if not still:
            return OVER
        # All at once: each takes its time, and Slack waits three seconds for all of them.
        judged = await asyncio.gather(
            *(self.decisions.judge(state, user, [index], _weightiest(state, index)) for index in still)
        )
        verdicts = [verdict for each in judged for verdict in each.values()]
        return "" if any(verdict.allowed for verdict in verdicts) else verdicts[0].sentence

    def _answer(self, outcome: str) -> Answer:
        match outcome:
            case "claimed":
                return Answer(True)
            case "taken":
                return Answer(False, "Somebody else was faster: look at the card again.")
            case _:
                return Answer(False, OVER)


def _weightiest(state: ApprovalState, index: int) -> str:
    """Give the decision that is judged in the place of any: rejecting is open to the most people, so another if there is one."""
    allowed = state.actions[index].config.allowed_decisions
    return next((decision for decision in allowed if decision != "reject"), allowed[0])
