"""Assigning a card, handing it over, and extending its deadline."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.domain.approval import CLAIMED, Approval, Assignment
from bot.domain.ids import Remark
from bot.domain.person import mention
from bot.domain.transitions import assign, extend
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer
from bot.use_cases.who_may_decide import Judge

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assignments:
    """Assigns, hands over and extends. Other people can still decide meanwhile.

    Every verb raises PersonUnknownError when Slack does not say who they are, and StoreUnavailableError when Redis did
    not answer in time.
    """

    store: ApprovalStore
    judge: Judge

    async def extend(self, state: Approval, user: str, seen: int) -> Answer:
        """Extend the deadline, once for each time that the card offers it: `seen` is how often it had been extended on that card."""
        if objection := await self._objection(state, user, range(len(state.actions))):
            return Answer(False, objection)
        extension = state.admission.extension
        if seen < state.extended:
            await self.store.confirm()
            return Answer(True, in_answer.extended_before(state.deadline))
        if extension is None or not state.may_extend:
            return Answer(False, in_answer.NO_MORE_TIME)
        until = state.deadline + extension.by
        remark = Remark(kind="extend", places=tuple(state.places), by=user, until=until)
        outcome = await self.store.update(state, partial(extend, remark=remark, seen=state.extended))
        logger.info("interrupt.extended", extra={"interrupt_id": state.id, "user": user, "outcome": outcome})
        return Answer(outcome != "closed", in_answer.OVER if outcome == "closed" else "")

    async def assign(self, state: Approval, user: str, place: int) -> Answer:
        """Assign a place to the person who pressed."""
        return await self.mark(state, user, place, CLAIMED, state.places[place].assign or timedelta())

    async def mark(self, state: Approval, user: str, place: int, name: str, lasts: timedelta) -> Answer:
        """Note that the person who pressed says this about a place, for so long. The first who says it counts until then."""
        if objection := await self._objection(state, user, state.places[place].actions):
            return Answer(False, objection)
        if known := state.mark_at(place, name):
            is_mine = known.user == user
            await self.store.confirm()
            return Answer(is_mine, "" if is_mine else in_answer.already_looking(mention(known.user)))
        return await self._marked(state, place, user, name, lasts)

    def why_not_handed_over(self, state: Approval, user: str, place: int) -> str:
        """Say why somebody cannot hand over a place; empty when they can."""
        if not state.is_open:
            return in_answer.OVER
        assignment = state.assignment_at(place)
        if assignment is None:
            return in_answer.NOBODY_LOOKING
        is_mine = assignment.user == user
        return "" if is_mine else in_answer.hand_over_only_by(mention(assignment.user))

    async def hand_over(self, state: Approval, user: str, place: int, to: str) -> Answer:
        """Assign a place to somebody else, who must be allowed to decide there."""
        if objection := self.why_not_handed_over(state, user, place):
            return Answer(False, objection)
        if await self._objection(state, to, state.places[place].actions):
            return Answer(False, in_answer.hand_over_refused(mention(to)))
        claimed, held_now = state.marks[CLAIMED], state.assignment_at(place)
        held = next(number for number in state.places if claimed.get(number) is held_now)
        remark = Remark(kind="hand_over", places=(held,), mentions=(to,), by=user)
        lasts = state.places[held].assign or timedelta()
        return await self._marked(state, held, to, CLAIMED, lasts, remark)

    async def _objection(self, state: Approval, user: str, indices: range | tuple[int, ...]) -> str:
        """Say why this person may decide none of these actions, or why nobody can decide any more."""
        still = [index for index in indices if state.is_open_at(index)]
        if not still:
            return in_answer.OVER
        # All at once, because Slack waits only three seconds for all of them together.
        judged = await asyncio.gather(
            *(
                self.judge.may_decide(state, user, [index], _decision_to_judge(state, index))
                for index in still
            )
        )
        verdicts = [verdict for each in judged for verdict in each.values()]
        return "" if any(verdict.allowed for verdict in verdicts) else verdicts[0].sentence

    async def _marked(
        self,
        state: Approval,
        place: int,
        user: str,
        name: str,
        lasts: timedelta,
        remark: Remark | None = None,
    ) -> Answer:
        now, seen = datetime.now(UTC), state.marks.get(name, {}).get(place)
        marking = partial(
            assign, place=place, to=Assignment(user, now, now + lasts), seen=seen, remark=remark, mark=name
        )
        match await self.store.update(state, marking):
            case "assigned":
                return Answer(True)
            case "taken":
                return Answer(False, in_answer.SOMEBODY_WAS_FASTER)
            case _:
                return Answer(False, in_answer.OVER)


def _decision_to_judge(state: Approval, index: int) -> str:
    """Give the decision that stands for any decision. Most people may reject, so it is another one if there is one."""
    allowed = state.actions[index].config.allowed_decisions
    return next((decision for decision in allowed if decision != "reject"), allowed[0])
