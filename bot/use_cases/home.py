"""Finds what waits for a person, and what they asked for and decided. Every request is judged as a click on it would be."""

import logging
from dataclasses import dataclass, replace

from agent_adapter.errors import InvalidRequestError
from bot.domain.approval import Approval
from bot.domain.votes import Ballot
from bot.domain.waiting import HomePage, Look, Row
from bot.slack.directory import Directory
from bot.store.records import ApprovalStore
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge

logger = logging.getLogger(__name__)

ROWS = 10
"""How many requests a page shows."""
AT_ONCE = 20
"""How many entries are read at once."""
MOST_READ = 200
"""How many records are looked at for one page. Further ones are on the next page."""
_DECISIONS = ("approve", "respond", "edit", "reject")


@dataclass(frozen=True, slots=True)
class Home:
    """Finds the requests of one person."""

    store: ApprovalStore
    judge: Judge
    directory: Directory
    standing: StandingApprovals

    async def page(self, user: str, look: Look) -> HomePage:
        """Give the page that a person looks at."""
        if look.section == "waiting":
            return await self._waiting(user, look)
        if look.section == "standing":
            given = (await self.standing.revocable(user))[look.first :]
            rows = [Row(state, (index,)) for state, index in given[:ROWS]]
            return HomePage(look, rows, _further(look, len(given)))
        ids = (await self.store.mine(look.section, user))[look.first :]
        # The entry of a record that is gone leads nowhere.
        found = [await self._readable(interrupt_id) for interrupt_id in ids[:ROWS]]
        rows = [Row(state, tuple(range(len(state.actions)))) for state in found if state]
        return HomePage(look, rows, _further(look, len(ids)))

    async def _waiting(self, user: str, look: Look) -> HomePage:
        """Give the open requests that wait for a person. Forget those of their lists that have ended."""
        entries, rows, after = await self._entries(user), list[Row](), look.after
        for _ in range(MOST_READ // AT_ONCE):
            spots = await self.store.waiting(entries, after=after, limit=AT_ONCE)
            stale = []
            for spot in spots:
                state = await self._readable(spot.interrupt_id)
                if state is None or state.status != "pending":
                    stale.append(spot.interrupt_id)
                elif mine := await self._open_for(state, user):
                    if len(rows) == ROWS:
                        return HomePage(look, rows, replace(look, after=after))
                    rows.append(Row(state, mine))
                after = spot
            if stale:
                await self.store.drop_stale(entries, stale)
            if len(spots) < AT_ONCE:
                return HomePage(look, rows)
        return HomePage(look, rows, replace(look, after=after))

    async def _open_for(self, state: Approval, user: str) -> tuple[int, ...]:
        still = [index for index in range(len(state.actions)) if state.is_open_at(index)]
        return tuple([index for index in still if await self._waits_for(state, user, index)])

    async def _entries(self, user: str) -> list[str]:
        directory = self.directory
        return [
            user,
            *await directory.schedules_of(user),
            *await directory.groups_of(user),
            *await directory.channels_of(user),
        ]

    async def _waits_for(self, state: Approval, user: str, index: int) -> bool:
        """Whether this person may decide an action: they have not voted on the call, or not on what is proposed."""
        action = state.actions[index]
        voted_for = {vote.position for vote in action.votes if vote.user == user}
        proposal = state.proposals.get(index)
        if proposal and proposal.position not in voted_for:
            # A vote on the call as it was asked does not count for what is proposed since. That needs a vote of its own.
            verdict = await self.judge.may_cast(state, user, Ballot.on_proposal(proposal))
            if verdict.allowed:
                return True
        if voted_for:
            return False
        offered = next((decision for decision in _DECISIONS if action.allows(decision)), "")
        if not offered:
            return False
        return (await self.judge.may_decide(state, user, [index], offered))[index].allowed

    async def _readable(self, interrupt_id: str) -> Approval | None:
        try:
            return await self.store.admitted(interrupt_id)
        except InvalidRequestError as error:
            logger.warning("record.unreadable", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            return None


def _further(look: Look, left: int) -> Look | None:
    """Give the next page, if that many from here on are more than one page."""
    return replace(look, first=look.first + ROWS) if left > ROWS else None
