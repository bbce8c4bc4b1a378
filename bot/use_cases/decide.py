"""One person decides: whether they may, what speaks against it, and the change that is committed."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.hitl import Decision, EditDecision
from agent_adapter.contract.outcome import RUNS
from agent_adapter.contract.record import dump_recorded, unix_milliseconds
from agent_adapter.tracing import span_within
from bot.domain.approval import Approval, question
from bot.domain.audit import facts_of_ballot
from bot.domain.errors import (
    AsksOtherwiseError,
    KeyUnfitError,
    NotConfirmedError,
    PersonUnknownError,
    StoreUnavailableError,
    VotersUnknownError,
)
from bot.domain.person import mention
from bot.domain.seal import CLOCKS_DIFFER
from bot.domain.standing import StandingTerms
from bot.domain.statement import said_by_person
from bot.domain.transitions import Cast, Change, cast, miss, propose
from bot.domain.votes import UNNAMED, Ballot, Outcome, Press, position_of
from bot.runtime.metrics import decisions_of
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.store.commits import ATTEMPTS, as_admitted
from bot.store.records import ApprovalStore
from bot.text.literal import plain_name
from bot.use_cases.answers import Answer, closed, left_out, proposed, so_far
from bot.use_cases.propose import Opening, Proposals
from bot.use_cases.who_may_decide import (
    VOTER_FRESH_FOR,
    Judge,
    first_objection,
    look_up_until,
    masked_objection,
)

logger = logging.getLogger(__name__)

WRITE_WITHIN = 1.0
"""Seconds that Redis may take between a click and its acknowledgement; Slack waits three."""
NOTHING: Mapping[int, str] = {}
_ASKS_OTHERWISE = Answer(False, in_answer.ASKS_OTHERWISE, is_final=True, draws_anew=True, why="outdated")


@dataclass(frozen=True, slots=True)
class Decisions:
    """Records decisions of people in one workspace."""

    store: ApprovalStore
    judge: Judge
    proposals: Proposals

    async def decide(
        self,
        state: Approval,
        user: str,
        decisions: Mapping[int, Decision],
        *,
        typed: str = "",
        note: str | None = None,
        changes: str | None = None,
        standing: StandingTerms | None = None,
        press: Press = UNNAMED,
    ) -> Answer:
        """Record one person's decisions of one type on those actions of a record that they may decide.

        `typed` is the value that they typed for an action of high risk, `changes` what they want changed where they reject for that.
        """
        kind, until = next(iter(decisions.values())).type, look_up_until()
        with span_within(
            "assent.click",
            state.trace,
            interrupt_id=state.id,
            agent=state.agent,
            decision=kind,
            actions=len(decisions),
        ) as span:
            verdicts = await self.judge.may_decide(state, user, decisions, kind, until=until)
            refused = {index: verdict.sentence for index, verdict in verdicts.items() if not verdict.allowed}
            meant = {index: decision for index, decision in decisions.items() if index not in refused}
            ballots = {
                index: Ballot.on_call(state.admission, index, decision, note=note, changes=changes)
                for index, decision in meant.items()
            }
            answer = (
                (_not_theirs(state, user, kind, refused, is_all=not meant) if refused else None)
                or await self._objection(state, user, meant, typed, standing, until)
                or await self._edited(state, user, meant, press, until)
                or await self._cast(state, user, ballots, press, until, standing=standing, refused=refused)
            )
            span.note(outcome="recorded" if answer.recorded else answer.why)
        return answer

    async def agree(
        self, state: Approval, user: str, index: int, name: str, *, typed: str = "", press: Press = UNNAMED
    ) -> Answer:
        """Record that one person agrees with the proposal of this name, and typed this value of it."""
        until, proposal = look_up_until(), state.proposals.get(index)
        with span_within(
            "assent.click", state.trace, interrupt_id=state.id, agent=state.agent, decision="agree", actions=1
        ) as span:
            if not state.is_open_at(index):
                answer = Answer(False, closed(state, [index]), why="outdated")
            elif proposal is None or proposal.name != name:
                answer = Answer(False, in_answer.GONE, why="outdated")
            else:
                ballot, call = Ballot.on_proposal(proposal), state.actions[index].proposed
                verdict = await self.judge.may_cast(state, user, ballot, until=until)
                if not verdict.allowed:
                    answer = Answer(False, verdict.sentence, why="not_allowed")
                elif not state.has_read(call, user):
                    answer = Answer(False, in_answer.read_proposal_first(index + 1))
                elif call.is_high_risk and not call.to_type.is_typed(typed):
                    answer = Answer(False, in_answer.value_needed(index + 1))
                else:
                    answer = await self._cast(state, user, {index: ballot}, press, until)
            span.note(outcome="recorded" if answer.recorded else answer.why)
        return answer

    async def why_no_edit(self, state: Approval, index: int, decision: EditDecision, author: str) -> str:
        """Say why these values cannot be recorded, before their author is asked whether they are meant; empty when they can."""
        met = await self._judge_edit(state, index, decision, author, look_up_until())
        return met if isinstance(met, str) else ""

    async def _objection(
        self,
        state: Approval,
        user: str,
        decisions: Mapping[int, Decision],
        typed: str,
        standing: StandingTerms | None,
        until: float,
    ) -> Answer | None:
        """Say what speaks against these decisions, or against the standing approval that is given with them."""
        if sentence := await offload(state, first_objection, state, user, decisions, typed=typed):
            return Answer(False, sentence)
        for index, decision in decisions.items() if standing else ():
            verdict = await self.judge.may_give_standing(
                state, user, index, until=until, within=VOTER_FRESH_FOR
            )
            if not verdict.allowed:
                return Answer(False, verdict.sentence)
            limits = state.actions[index].standing
            if decision.type != "approve" or not limits or not (standing and standing.is_within(limits)):
                return Answer(False, in_answer.standing_too_wide(index + 1))
        return None

    async def _edited(
        self, state: Approval, user: str, decisions: Mapping[int, Decision], press: Press, until: float
    ) -> Answer | None:
        """Refuse an edit, or ask it as a proposal. `None` where everything is decided on the terms of the call."""
        for index, decision in decisions.items():
            if isinstance(decision, EditDecision):
                met = await self._judge_edit(state, index, decision, user, until)
                if isinstance(met, str):
                    # To ask Slack a second time would take longer than it waits.
                    return Answer(False, met, is_final=met == in_answer.CHANNEL_UNKNOWN)
                if met:
                    return await self._propose(state, user, index, met, press, until)
        return None

    async def _judge_edit(
        self, state: Approval, index: int, decision: EditDecision, author: str, until: float
    ) -> Opening | str | None:
        """Say what becomes of an edit: a sentence refuses it, a proposal asks it, and `None` decides it like the call."""
        if sentence := await offload(state, masked_objection, state, index, decision):
            return sentence
        met = await self.proposals.meet(state, index, decision, author, until=until)
        if met == in_answer.CHANNEL_UNKNOWN:
            await self.store.update(state, miss)
        return met

    async def _propose(
        self, state: Approval, user: str, index: int, opening: Opening, press: Press, until: float
    ) -> Answer:
        """Ask an edit on the terms of the rule that decides about it. Count its author if they may decide there."""
        proposal = opening.proposal
        ballot = Ballot.on_proposal(proposal)
        verdict = await self.judge.may_cast(state, user, ballot, until=until)
        call = replace(state.actions[index], stricter=proposal).proposed
        counts = verdict.allowed and not call.is_high_risk and not call.must_read
        if counts and ballot.needed == 1:
            # The author may decide it alone, so nobody else has to be asked.
            alone = replace(ballot, position=position_of(ballot.decision))
            return await self._cast(state, user, {index: alone}, press, until)
        name = plain_name(self.judge.directory.name_of(user))
        proposing = partial(
            propose,
            index=index,
            proposal=proposal,
            remark=opening.remark,
            place=opening.place,
            facts=facts_of_ballot(state, index, ballot, name=name, how="form"),
            at=datetime.now(UTC),
            press=press,
        )
        outcome = await self.store.update(state, proposing)
        said = {"index": index, "rule": proposal.rule, "outcome": outcome}
        logger.info("click.proposed", extra={"interrupt_id": state.id, "user": user, **said})
        newest = await self.store.admitted(state.id) or state
        if not _asks_the_same(newest, state, [index]):
            return _ASKS_OTHERWISE
        if outcome not in {Outcome.RECORDED, Outcome.REPEAT}:
            return Answer(False, closed(newest, [index]), why="outdated")
        if not counts:
            return Answer(True, proposed(newest, proposal, verdict.sentence or in_answer.AGREE_YOURSELF))
        answer = await self._cast(newest, user, {index: ballot}, press, until)
        if not answer.recorded or not answer.sentence:
            # It came too late, or with this vote there are enough, and nothing is proposed any more.
            return answer
        return replace(answer, sentence=f"{proposed(newest, proposal)} {answer.sentence}")

    async def _cast(
        self,
        state: Approval,
        user: str,
        ballots: Mapping[int, Ballot],
        press: Press,
        until: float,
        *,
        standing: StandingTerms | None = None,
        refused: Mapping[int, str] = NOTHING,
    ) -> Answer:
        """Record ballots of one person who may cast them. `refused` says why they may not decide other actions."""
        if self.store.seal and datetime.now(UTC) > state.deadline + CLOCKS_DIFFER:
            # Redis would take it if somebody wrote a later deadline there. What was read may be from before an extension.
            return Answer(False, " ".join(in_answer.already_ended(index, "expired") for index in ballots))
        if await self._is_refusal_lost(state, ballots):
            return Answer(False, in_answer.REFUSAL_LOST, why="outdated")
        given = self._given(state, user, ballots, press, standing)
        try:
            outcomes, gone = await self._commit(state, given, until)
        except StoreUnavailableError as error:
            # Redis has it or may have it, and may lose it again.
            is_there = isinstance(error, NotConfirmedError)
            self._remember(
                state, ballots, dict.fromkeys(ballots, Outcome.REPEAT if is_there else Outcome.COUNTED)
            )
            raise
        except AsksOtherwiseError:
            return _ASKS_OTHERWISE
        except KeyUnfitError as error:
            return await self._not_signed(state, user, error)
        self._remember(state, ballots, outcomes)
        _log_decided(state, given, outcomes)
        return await self._answer(state, given, outcomes, gone, refused)

    async def _answer(
        self,
        state: Approval,
        given: Cast,
        outcomes: Mapping[int, Outcome],
        gone: frozenset[str],
        refused: Mapping[int, str],
    ) -> Answer:
        """Say what became of the ballots, where the card does not show it."""
        not_theirs, said = tuple(refused), left_out(refused) if refused else ""
        if Outcome.GONE in outcomes.values():
            return Answer(False, in_answer.GONE, why="outdated", not_theirs=not_theirs)
        if Outcome.DELETED in outcomes.values():
            return Answer(False, in_answer.OUTDATED, why="outdated", not_theirs=not_theirs)
        lost = [index for index, outcome in outcomes.items() if outcome in {Outcome.TAKEN, Outcome.CLOSED}]
        if not lost and not any(ballot.terms.needs_votes for ballot in given.ballots.values()):
            return Answer(True, said, not_theirs=not_theirs)
        newest = await self.store.admitted(state.id) or state
        sentences = [closed(newest, lost), so_far(newest, given.user, outcomes), said]
        if gone:
            sentences.insert(2, in_answer.uncounted([mention(person) for person in sorted(gone)]))
        is_recorded = len(lost) < len(outcomes)
        return Answer(is_recorded, " ".join(filter(None, sentences)), why="outdated", not_theirs=not_theirs)

    async def _not_signed(self, state: Approval, user: str, error: KeyUnfitError) -> Answer:
        said = {"interrupt_id": state.id, "user": user, "reason": str(error)}
        logger.error("click.not_signed", extra=said)
        await self.store.update(state, miss)
        return Answer(False, in_answer.MAY_NOT_SIGN, is_final=True, why="not_signed")

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

    def _given(
        self,
        state: Approval,
        user: str,
        ballots: Mapping[int, Ballot],
        press: Press,
        standing: StandingTerms | None,
    ) -> Cast:
        """Write what one person decides as the record keeps it."""
        name = plain_name(self.judge.directory.name_of(user))
        facts = {
            index: facts_of_ballot(state, index, ballot, name=name, how=press.how)
            for index, ballot in ballots.items()
        }
        texts = _texts(state, user, ballots, standing, name)
        return Cast(
            user=user,
            token=token_of(state.id, texts),
            press=press,
            ballots=ballots,
            texts=texts,
            facts=facts,
            standing=standing,
        )

    async def _commit(
        self, state: Approval, given: Cast, until: float
    ) -> tuple[dict[int, Outcome], frozenset[str]]:
        """Record ballots of one person, and give the other people whose votes were removed, as the newest record has it."""
        at = datetime.now(UTC)
        judged = await self._judged(state, given, until)
        outcomes, change = cast(state, judged)
        ends = min(asyncio.get_running_loop().time(), until) + WRITE_WITHIN
        change = self._signed(state, judged, change, at)
        turn = await self._turn(state.id, ends)
        try:
            is_fresh, newest = False, state
            for _ in range(ATTEMPTS):
                if change:
                    within = ends - asyncio.get_running_loop().time()
                    left = await self.store.commit(state, change, within=within)
                    if left is None:
                        return outcomes, _removed(state, judged.refused) if judged.refused else frozenset()
                    newest = as_admitted(left) or state
                    if newest.version == state.version:
                        # Nobody has changed it: it is too late by the clock of Redis.
                        newest = replace(newest, status="expired")
                elif is_fresh:
                    await self.store.confirm()
                    return outcomes, frozenset()
                else:
                    # Where Redis went back to an older state, it does not have what this process remembers.
                    newest = await self.store.admitted(state.id) or state
                if not _asks_the_same(newest, state, given.ballots):
                    raise AsksOtherwiseError("the record asks something else than a moment ago")
                state, is_fresh = newest, True
                judged = await self._judged(state, given, until)
                outcomes, change = cast(state, judged)
                change = self._signed(state, judged, change, at)
        finally:
            turn.release()
        raise StoreUnavailableError("others kept voting while this vote was recorded")

    async def _turn(self, interrupt_id: str, ends: float) -> asyncio.Lock:
        """Take the turn to decide about a record. The caller releases it."""
        turn = self.store.turn(interrupt_id)
        try:
            # Nearly every click finds it free, and needs no timer.
            async with asyncio.timeout_at(ends) if turn.locked() else nullcontext():
                await turn.acquire()
        except TimeoutError as error:
            raise StoreUnavailableError("others decide about this record, and Redis is slow") from error
        return turn

    def _signed(self, state: Approval, given: Cast, change: Change | None, at: datetime) -> Change | None:
        """Give a change with what these ballots say, signed, if this bot has a key and the change decides something."""
        signing = self.store.signing
        if signing is None or change is None or not change.entries:
            return change
        statement = signing.sign(
            state,
            said_by_person(state, given),
            at=at,
            asked=given.press.question,
            policy=next(iter(given.ballots.values())).policy,
            use_within=min(ballot.terms.use_within for ballot in given.ballots.values()),
        )
        return change.signed(given.token, statement)

    async def _judged(self, state: Approval, given: Cast, until: float) -> Cast:
        """Name those who agreed before and may not decide any more, when one more vote would make the decision final."""
        deciding = [
            (index, vote)
            for index, ballot in given.ballots.items()
            if (votes := ballot.alike(state.votes.get(index, ()), given.user))
            and len(votes) + 1 >= ballot.needed
            for vote in votes
        ]
        if not deciding:
            return given
        now = unix_milliseconds(state.now)
        try:
            verdicts = await asyncio.gather(
                *(
                    # Not by an answer that Slack gave before they agreed.
                    self.judge.may_cast(
                        state,
                        vote.user,
                        given.ballots[index],
                        until=until,
                        within=(now - int(vote.at)) / 1000,
                    )
                    for index, vote in deciding
                )
            )
        except PersonUnknownError as error:
            raise VotersUnknownError(str(error)) from error
        refused: dict[int, frozenset[str]] = {}
        for (index, vote), verdict in zip(deciding, verdicts, strict=True):
            if not verdict.allowed:
                refused[index] = refused.get(index, frozenset()) | {vote.user}
        return replace(given, refused=refused)


def _not_theirs(
    state: Approval, user: str, kind: str, refused: Mapping[int, str], *, is_all: bool
) -> Answer | None:
    """Log which actions a person may not decide. When that is all of them, give the answer."""
    reasons = " ".join(dict.fromkeys(refused.values()))
    actions = [{"index": index, "decision": kind} for index in refused]
    logger.info(
        "click.refused", extra={"interrupt_id": state.id, "user": user, "actions": actions, "reason": reasons}
    )
    return Answer(False, reasons, why="not_allowed") if is_all else None


def _log_decided(state: Approval, given: Cast, outcomes: Mapping[int, Outcome]) -> None:
    actions = []
    for index, outcome in outcomes.items():
        kind = given.ballots[index].decision.type
        decisions_of(kind, outcome).inc()
        actions.append({"index": index, "decision": kind, "outcome": outcome})
    logger.info("click.decided", extra={"interrupt_id": state.id, "user": given.user, "actions": actions})


def _removed(state: Approval, refused: Mapping[int, frozenset[str]]) -> frozenset[str]:
    """Name the people whose votes were removed. A vote that is not signed was nobody's."""
    return frozenset(
        vote.user for index, people in refused.items() for vote in state.votes[index] if vote.user in people
    )


def _asks_the_same(newest: Approval, state: Approval, indices: Iterable[int]) -> bool:
    """Whether a record still asks what it asked a moment ago. Nobody was asked anything else."""
    asked = tuple(indices)
    return question(newest, asked) == question(state, asked)


def _texts(
    state: Approval, user: str, ballots: Mapping[int, Ballot], standing: StandingTerms | None, name: str
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
