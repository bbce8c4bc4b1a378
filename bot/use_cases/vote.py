"""Records the ballots of one person, for actions that one person decides and for actions that need several."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agent_adapter.contract.identity import digest
from agent_adapter.contract.outcome import RUNS
from agent_adapter.contract.record import dump_recorded, unix_milliseconds
from agent_adapter.errors import SigningError
from agent_adapter.receipts.statement import Statement
from bot.domain.approval import Approval
from bot.domain.audit import facts_of_ballot
from bot.domain.errors import (
    AsksOtherwiseError,
    KeyUnfitError,
    NotConfirmedError,
    PersonUnknownError,
    StoreUnavailableError,
    VotersUnknownError,
)
from bot.domain.question import question
from bot.domain.seal import CLOCKS_DIFFER
from bot.domain.standing import StandingTerms
from bot.domain.statement import Occasion, said_by_person, statement_of
from bot.domain.transitions import Cast, Change, cast, miss
from bot.domain.votes import Ballot, Outcome, Press, Vote
from bot.runtime.metrics import decisions_of
from bot.sentences import in_answer
from bot.store.commits import ATTEMPTS
from bot.store.reading import as_admitted
from bot.store.records import ApprovalStore
from bot.text.names import plain_name
from bot.use_cases.answers import Answer, closed, so_far, uncounted
from bot.use_cases.judge import Judge

logger = logging.getLogger(__name__)

WRITE_WITHIN = 1.0
"""Seconds that Redis may take between a click and its acknowledgement; Slack waits three."""


@dataclass(slots=True)
class _Signature:
    """The last statement of a click that was signed. It is signed again only when it says something else."""

    of: Statement | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Voting:
    """Records ballots of people who were allowed to cast them."""

    store: ApprovalStore
    judge: Judge

    async def cast(
        self,
        state: Approval,
        user: str,
        ballots: Mapping[int, Ballot],
        left_out: str = "",
        standing: StandingTerms | None = None,
        *,
        shown: str,
        until: float,
        press: Press,
    ) -> Answer:
        """Record ballots of one person who may cast them, and give the answer.

        Args:
            state: The record as it was judged.
            user: Who decides.
            ballots: What they decide, by the index of the action.
            left_out: What they are told about other actions.
            standing: Which later calls an approval approves as well.
            shown: The question of the button or form. The statement names it.
            until: When Slack must have answered, by the clock of the event loop.
            press: As in `Decisions.decide`.
        """
        if self.store.seal and datetime.now(UTC) > state.deadline + CLOCKS_DIFFER:
            # Redis would take it if somebody wrote a later deadline there. What was read may be from before an extension.
            return Answer(False, " ".join(in_answer.already_ended(index, "expired") for index in ballots))
        if await self._is_refusal_lost(state, ballots):
            return Answer(False, in_answer.REFUSAL_LOST, why="outdated")
        kind = next(iter(ballots.values())).decision.type
        try:
            outcomes, gone = await self._record(
                state, user, ballots, standing, shown=shown, until=until, press=press
            )
        except StoreUnavailableError as error:
            # Redis has it or may have it, and may lose it again.
            is_there = isinstance(error, NotConfirmedError)
            said = Outcome.REPEAT if is_there else Outcome.COUNTED
            self._remember(state, ballots, dict.fromkeys(ballots, said))
            raise
        except AsksOtherwiseError:
            return Answer(False, in_answer.ASKS_OTHERWISE, is_final=True, draws_anew=True, why="outdated")
        except SigningError as error:
            logger.error(  # noqa: TRY400  # only an unforeseen failure of a service has a cause to show
                "click.not_signed",
                extra={"interrupt_id": state.id, "user": user, "reason": str(error)},
                exc_info=error.__cause__,
            )
            await self.store.update(state, miss)
            unfit = isinstance(error, KeyUnfitError)
            sentence = in_answer.MAY_NOT_SIGN if unfit else in_answer.NOT_SIGNED
            return Answer(False, sentence, is_final=True, why="not_signed")
        for outcome in outcomes.values():
            decisions_of(kind, outcome).inc()
        self._remember(state, ballots, outcomes)
        logger.info(
            "click.decided",
            extra={
                "interrupt_id": state.id,
                "user": user,
                "actions": [
                    {"index": index, "decision": ballots[index].decision.type, "outcome": outcome}
                    for index, outcome in outcomes.items()
                ],
            },
        )
        if Outcome.GONE in outcomes.values():
            return Answer(False, in_answer.GONE, why="outdated")
        if Outcome.DELETED in outcomes.values():
            return Answer(False, in_answer.OUTDATED, why="outdated")
        lost = [index for index, outcome in outcomes.items() if outcome in {Outcome.TAKEN, Outcome.CLOSED}]
        if not lost and not any(ballot.terms.needs_votes for ballot in ballots.values()):
            return Answer(True, left_out)
        newest = await self.store.admitted(state.id) or state
        sentences = [closed(newest, lost), so_far(newest, user, outcomes), uncounted(gone), left_out]
        return Answer(len(lost) < len(outcomes), " ".join(filter(None, sentences)), why="outdated")

    def _remember(
        self, state: Approval, ballots: Mapping[int, Ballot], outcomes: Mapping[int, Outcome]
    ) -> None:
        """Keep in this process what was refused."""
        for index, outcome in outcomes.items():
            is_there = outcome in {Outcome.RECORDED, Outcome.COUNTED, Outcome.REPEAT}
            if is_there and ballots[index].decision.type not in RUNS:
                is_final = outcome is Outcome.RECORDED or (
                    outcome is Outcome.REPEAT and ballots[index].needed == 1
                )
                self.store.refused.add(state.id, index, is_final=is_final)

    async def _is_refusal_lost(self, state: Approval, ballots: Mapping[int, Ballot]) -> bool:
        """Whether this would let a call run that somebody refused for good, and Redis went back to a time before that."""
        refused = [
            index
            for index, ballot in ballots.items()
            if ballot.decision.type in RUNS and self.store.refused.is_final(state.id, index)
        ]
        if not refused:
            return False
        newest = await self.store.admitted(state.id)
        is_lost = newest is None or any(newest.actions[index].recorded is None for index in refused)
        if is_lost:
            # The bot that draws it compares it with its card.
            await self.store.queue_drawing(state.id)
        return is_lost

    async def _record(
        self,
        state: Approval,
        user: str,
        ballots: Mapping[int, Ballot],
        standing: StandingTerms | None = None,
        *,
        shown: str,
        until: float,
        press: Press,
    ) -> tuple[dict[int, Outcome], frozenset[str]]:
        """Record ballots of one person. Also give the other people whose votes were removed.

        Whenever somebody else has changed the record meanwhile, all of it is judged again by what is there then.
        """
        name = plain_name(self.judge.directory.name_of(user))
        given = Cast(
            user=user,
            # Pressing again is the same click, also when Slack does not say the name any more.
            token=token_of(state.id, _texts(state, user, ballots, standing)),
            press=press,
            ballots=ballots,
            texts=_texts(state, user, ballots, standing, name),
            facts={
                index: facts_of_ballot(state, index, ballot, name=name, how=press.how)
                for index, ballot in ballots.items()
            },
            standing=standing,
        )
        asking, signature = Occasion(at=datetime.now(UTC), message=shown), _Signature()
        judged = replace(given, refused=await self._judge_others(state, user, ballots, until))
        # The key and Redis share this time, since Slack waits for both.
        ends = min(asyncio.get_running_loop().time(), until) + WRITE_WITHIN
        _, change = cast(state, judged)
        # Signed before its turn, so that a slow key keeps nobody else waiting.
        if change:
            await self._sign(state, judged, change, asking, signature, until=ends)
        async with self._turn(state.id, ends):
            return await self._commit(state, given, asking, signature, until=until, ends=ends)

    @asynccontextmanager
    async def _turn(self, interrupt_id: str, ends: float) -> AsyncIterator[None]:
        turn = self.store.turn(interrupt_id)
        try:
            async with asyncio.timeout_at(ends):
                await turn.acquire()
        except TimeoutError as error:
            raise StoreUnavailableError("others decide about this record, and Redis is slow") from error
        try:
            yield
        finally:
            turn.release()

    async def _commit(
        self,
        state: Approval,
        given: Cast,
        asking: Occasion,
        signature: "_Signature",
        *,
        until: float,
        ends: float,
    ) -> tuple[dict[int, Outcome], frozenset[str]]:
        is_fresh = False
        for _ in range(ATTEMPTS):
            refused = await self._judge_others(state, given.user, given.ballots, until)
            judged = replace(given, refused=refused)
            outcomes, change = cast(state, judged)
            newest: Approval | None
            if change:
                change = await self._sign(state, judged, change, asking, signature, until=ends)
                within = ends - asyncio.get_running_loop().time()
                left = await self.store.commit(state, change, within=within)
                if left is None:
                    return outcomes, _removed(state, refused)
                newest = as_admitted(left)
                if newest and newest.version == state.version:
                    # Nobody has changed it: it is too late by the clock of Redis.
                    newest = replace(newest, status="expired")
            elif is_fresh:
                await self.store.confirm()
                return outcomes, frozenset()
            else:
                # Where Redis went back to an older state, it does not have what this process remembers.
                newest = await self.store.admitted(state.id)
            state, is_fresh = as_asked(newest or state, state, given.ballots), True
        raise StoreUnavailableError("others kept voting while this vote was recorded")

    async def _sign(
        self,
        state: Approval,
        given: Cast,
        change: Change,
        asking: Occasion,
        signature: "_Signature",
        *,
        until: float,
    ) -> Change:
        """Give a change with what these ballots say, signed, if this bot has a key and the change decides something.

        Raises:
            SigningError: when the key has not signed in time.
        """
        signing = self.store.signing
        if signing is None or not change.entries:
            return change
        statement = statement_of(
            state,
            signing.issuer,
            asking,
            said_by_person(state, given),
            policy=next(iter(given.ballots.values())).policy,
            use_within=min(ballot.terms.use_within for ballot in given.ballots.values()),
        )
        if statement != signature.of:
            signature.of, signature.text = statement, await signing.sign(statement, until=until)
        return change.signed(given.token, signature.text)

    async def _judge_others(
        self,
        state: Approval,
        user: str,
        ballots: Mapping[int, Ballot],
        until: float,
    ) -> dict[int, frozenset[str]]:
        """Name those who agreed before and may not decide any more, when one more vote would make the decision final.

        Raises:
            VotersUnknownError: when Slack does not say.
        """
        deciding = {
            index: votes
            for index, ballot in ballots.items()
            if (votes := ballot.alike(state.votes.get(index, ()), user)) and len(votes) + 1 >= ballot.needed
        }
        if not deciding:
            return {}
        try:
            found = await asyncio.gather(
                *(self._refused(state, votes, ballots[index], until) for index, votes in deciding.items())
            )
        except PersonUnknownError as error:
            raise VotersUnknownError(str(error)) from error
        return dict(zip(deciding, found, strict=True))

    async def _refused(
        self, state: Approval, votes: Sequence[Vote], ballot: Ballot, until: float
    ) -> frozenset[str]:
        now = unix_milliseconds(state.now)
        verdicts = await asyncio.gather(
            *(
                # Not by an answer that Slack gave before they agreed.
                self.judge.may_cast(state, vote.user, ballot, until=until, within=(now - int(vote.at)) / 1000)
                for vote in votes
            )
        )
        judged = zip(votes, verdicts, strict=True)
        return frozenset(vote.user for vote, verdict in judged if not verdict.allowed)


def _removed(state: Approval, refused: Mapping[int, frozenset[str]]) -> frozenset[str]:
    """Name the people whose votes were removed. A vote that is not signed was nobody's."""
    return frozenset(
        vote.user for index, people in refused.items() for vote in state.votes[index] if vote.user in people
    )


def as_asked(newest: Approval, state: Approval, indices: Iterable[int]) -> Approval:
    """Give a record as it is now, when it still asks what it asked a moment ago.

    Raises:
        AsksOtherwiseError: when it asks something else about these actions now. Nobody was asked that.
    """
    asked = tuple(indices)
    if question(newest, asked) != question(state, asked):
        raise AsksOtherwiseError("the record asks something else than a moment ago")
    return newest


def _texts(
    state: Approval,
    user: str,
    ballots: Mapping[int, Ballot],
    standing: StandingTerms | None,
    name: str = "",
) -> dict[int, str]:
    """Write the decisions of a person as the record keeps them."""
    return {
        index: dump_recorded(
            ballot.decision,
            fingerprint=state.actions[index].fingerprint,
            decided_by=user,
            name=name,
            note=ballot.note,
            changes=ballot.changes,
            policy=ballot.policy,
            standing=standing.model_dump(mode="json") if standing else None,
        )
        for index, ballot in ballots.items()
    }


def token_of(interrupt_id: str, texts: Mapping[int, str]) -> str:
    """Name a click by what it records. Pressing again after a lost answer then says "recorded"."""
    return digest("click", interrupt_id, sorted(texts.items()))
