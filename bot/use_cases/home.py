"""Finds what waits for a person, and what they asked for and decided. Every request is judged as a click on it would be."""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_adapter.errors import InvalidRequestError
from bot.domain.approval import Approval
from bot.domain.home import HomePage, Look, Row
from bot.domain.votes import Ballot
from bot.domain.waiting import Spot
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


@dataclass
class _Search:
    """What was met on the way through the list."""

    entries: list[str]
    agent: str
    read: int = 0
    after: Spot | None = None
    """The last entry that was looked at."""
    is_over: bool = False

    @property
    def is_long(self) -> bool:
        return self.read >= MOST_READ


@dataclass(frozen=True, slots=True)
class Home:
    """Finds the requests of one person."""

    store: ApprovalStore
    judge: Judge
    directory: Directory
    standing: StandingApprovals

    async def page(self, user: str, look: Look) -> HomePage:
        """Give the page that a person looks at.

        Raises:
            PersonUnknownError, SlackError: when Slack does not say who they are.
            ServerUnreachableError: when Redis does not answer.
        """
        match look.section:
            case "waiting":
                return await self._waiting(user, look, await self._entries(user))
            case "standing":
                return _of_standing(look, await self.standing.revocable(user))
            case section:
                return await self._mine_of(look, await self.store.mine(section, user))

    async def _mine_of(self, look: Look, ids: list[str]) -> HomePage:
        agents = {_agent(interrupt_id) for interrupt_id in ids}
        ids = [interrupt_id for interrupt_id in ids if look.agent in {"", _agent(interrupt_id)}][look.first :]
        # The entry of a record that is gone leads nowhere.
        found = [await self._readable(interrupt_id) for interrupt_id in ids[:ROWS]]
        rows = [Row(state, tuple(range(len(state.actions)))) for state in found if state]
        return HomePage(look, rows, _further(look, len(ids)), sorted(agents))

    async def _waiting(self, user: str, look: Look, entries: list[str]) -> HomePage:
        search = _Search(entries, look.agent, after=look.after)
        rows: list[Row] = []
        tools = {look.tool}
        last = look.after
        end: Spot | None = None
        async for spot, state, mine in self._asked(search, user):
            tools.update(_tools(state, mine))
            shown = tuple(index for index in mine if look.tool in {"", state.actions[index].request.name})
            if shown and len(rows) == ROWS:
                end = last
                break
            if shown:
                rows.append(Row(state, shown))
            last = spot
        else:
            end = None if search.is_over else search.after
        counts = await self.store.count_waiting(entries)
        if end or look.after:
            tools |= await self._further_tools(user, look, entries, counts)
        further = replace(look, after=end) if end else None
        return HomePage(look, rows, further, sorted({*counts, look.agent} - {""}), sorted(tools - {""}))

    async def _further_tools(
        self, user: str, look: Look, entries: list[str], counts: Mapping[str, int]
    ) -> set[str]:
        """Name the tools on all pages, where these are few requests. Of many, only those on the page are known."""
        if (counts.get(look.agent, 0) if look.agent else sum(counts.values())) > MOST_READ:
            return set()
        search = _Search(entries, look.agent)
        return {name async for _, state, mine in self._asked(search, user) for name in _tools(state, mine)}

    async def _asked(
        self, search: _Search, user: str
    ) -> AsyncIterator[tuple[Spot, Approval, tuple[int, ...]]]:
        """Give the open requests of the person's lists, in order, each with the actions that it waits for. Forget what has ended."""
        while not search.is_long:
            spots = await self.store.waiting(
                search.entries, agent=search.agent, after=search.after, limit=AT_ONCE
            )
            stale = []
            for spot in spots:
                search.after, search.read = spot, search.read + 1
                state = await self._readable(spot.interrupt_id)
                if state and state.is_open:
                    still = [index for index in range(len(state.actions)) if state.is_open_at(index)]
                    mine = [index for index in still if await self._waits_for(state, user, index)]
                    yield spot, state, tuple(mine)
                elif state is None or state.status != "pending":
                    stale.append(spot.interrupt_id)
            if stale:
                await self.store.drop_stale(search.entries, stale)
            if len(spots) < AT_ONCE:
                search.is_over = True
                return

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


def _of_standing(look: Look, given: Sequence[tuple[Approval, int]]) -> HomePage:
    agents = {state.agent for state, _ in given}
    of_agent = [(state, index) for state, index in given if look.agent in {"", state.agent}]
    tools = {state.actions[index].request.name for state, index in of_agent}
    rows = [
        Row(state, (index,))
        for state, index in of_agent
        if look.tool in {"", state.actions[index].request.name}
    ][look.first :]
    return HomePage(look, rows[:ROWS], _further(look, len(rows)), sorted(agents), sorted(tools))


def _tools(state: Approval, indices: Iterable[int]) -> set[str]:
    return {state.actions[index].request.name for index in indices}


def _agent(interrupt_id: str) -> str:
    return interrupt_id.partition(".")[0]
