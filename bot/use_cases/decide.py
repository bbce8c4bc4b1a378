"""One person decides: check whether they may, say what prevents it, and record the decision."""

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agent_adapter.contract.hitl import Decision, EditDecision
from agent_adapter.tracing import Span
from bot.domain.approval import Approval
from bot.domain.audit import facts_of_ballot
from bot.domain.errors import AsksOtherwiseError
from bot.domain.standing import StandingTerms
from bot.domain.transitions import Change, miss, propose
from bot.domain.votes import UNNAMED, Ballot, Outcome, Press, position_of
from bot.runtime.offload import offload
from bot.runtime.tracing import span_about
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.text.names import plain_name
from bot.use_cases.answers import (
    Answer,
    closed,
    left_out,
    proposed,
)
from bot.use_cases.judge import Judge, look_up_until
from bot.use_cases.missed_clicks import note_refused
from bot.use_cases.objections import first_objection, masked_objection
from bot.use_cases.propose import Opening, Proposals
from bot.use_cases.vote import Voting, as_asked

logger = logging.getLogger(__name__)


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
        shown: str = "",
        press: Press = UNNAMED,
    ) -> Answer:
        """Record one person's decisions on those actions of a record that they may decide.

        Args:
            state: The record.
            user: Who decides.
            decisions: The decision on each action, by its index.
            typed: The value that they typed to approve an action of high risk.
            note: What they write beside an approval.
            changes: What they want changed, where they reject for that.
            standing: Which later calls an approval approves as well.
            shown: The question of the button or form, by `bot.domain.question`.
            press: What was pressed: a second delivery of it changes nothing.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        kind = next(iter(decisions.values())).type
        with _span(state, kind, len(decisions)) as span:
            answer = await self._decide(
                state, user, decisions, kind, typed, note, changes, standing, shown, press
            )
            span.note(outcome=_outcome(answer))
        if press.how == "form":
            # A button is judged again by the newest record, and enters it itself.
            await note_refused(self.store, state.id, user, answer, button=kind, indices=[*decisions])
        return answer

    async def _decide(
        self,
        state: Approval,
        user: str,
        decisions: Mapping[int, Decision],
        kind: str,
        typed: str,
        note: str | None,
        changes: str | None,
        standing: StandingTerms | None,
        shown: str,
        press: Press,
    ) -> Answer:
        until = look_up_until()
        verdicts = await self.judge.may_decide(state, user, decisions, kind, until=until)
        refused = {index: verdict.sentence for index, verdict in verdicts.items() if not verdict.allowed}
        if refused:
            reasons = " ".join(dict.fromkeys(refused.values()))
            logger.info(
                "click.refused",
                extra={
                    "interrupt_id": state.id,
                    "user": user,
                    "actions": [{"index": index, "decision": kind} for index in refused],
                    "reason": reasons,
                },
            )
            if len(refused) == len(decisions):
                return Answer(False, reasons, why="not_allowed")
            decisions = {index: decision for index, decision in decisions.items() if index not in refused}
        if sentence := await offload(state, first_objection, state, user, decisions, typed=typed):
            return Answer(False, sentence)
        if standing and (sentence := await self._standing_objection(state, user, decisions, standing)):
            return Answer(False, sentence)
        for index, decision in decisions.items():
            if isinstance(decision, EditDecision):
                met = await self._judge_edit(state, index, decision, user, until)
                if isinstance(met, str):
                    return Answer(False, met)
                if met:
                    return await self._propose(state, user, index, met, shown, until, press)
        for index in decisions if changes else ():
            await self.store.note_changes(state, index)
        ballots = {
            index: replace(Ballot.on_call(state.admission, index, decision), note=note, changes=changes)
            for index, decision in decisions.items()
        }
        answer = await self._voting.cast(
            state,
            user,
            ballots,
            left_out(refused),
            standing,
            shown=shown,
            until=until,
            press=press,
        )
        return replace(answer, not_theirs=tuple(refused))

    async def why_no_edit(self, state: Approval, index: int, decision: EditDecision, author: str) -> str:
        """Say why these values cannot be recorded, before their author is asked whether they are meant; empty when they can."""
        met = await self._judge_edit(state, index, decision, author, look_up_until())
        return met if isinstance(met, str) else ""

    @property
    def _voting(self) -> Voting:
        return Voting(self.store, self.judge)

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

    async def agree(
        self,
        state: Approval,
        user: str,
        index: int,
        name: str,
        *,
        typed: str = "",
        shown: str = "",
        press: Press = UNNAMED,
    ) -> Answer:
        """Record that one person agrees with a proposal.

        Args:
            state: The record.
            user: Who agrees.
            index: The index of the action.
            name: The name of the proposal that they saw.
            typed: The value of the proposal, as they typed it.
            shown: The question of the form, as in `decide`.
            press: As in `decide`.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        with _span(state, "agree", 1) as span:
            answer = await self._agree(state, user, index, name, typed, shown, press)
            span.note(outcome=_outcome(answer))
        if press.how == "form":
            await note_refused(self.store, state.id, user, answer, button="approve", indices=[index])
        return answer

    async def _agree(
        self, state: Approval, user: str, index: int, name: str, typed: str, shown: str, press: Press
    ) -> Answer:
        until = look_up_until()
        action = state.actions[index]
        proposal = action.stricter
        if not state.is_open_at(index):
            return Answer(False, closed(state, [index]), why="outdated")
        if proposal is None or proposal.name != name:
            return Answer(False, in_answer.GONE, why="outdated")
        ballot = Ballot.on_proposal(proposal)
        verdict = await self.judge.may_cast(state, user, ballot, until=until)
        if not verdict.allowed:
            return Answer(False, verdict.sentence, why="not_allowed")
        if not state.has_read(action.proposed, user):
            return Answer(False, in_answer.read_proposal_first(index))
        if action.proposed.is_high_risk and not action.proposed.to_type.is_typed(typed):
            return Answer(False, in_answer.value_needed(index))
        return await self._voting.cast(state, user, {index: ballot}, shown=shown, until=until, press=press)

    async def _propose(
        self, state: Approval, user: str, index: int, opening: Opening, shown: str, until: float, press: Press
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
            return await self._voting.cast(state, user, {index: alone}, shown=shown, until=until, press=press)
        facts = facts_of_ballot(
            state, index, ballot, name=plain_name(self.judge.directory.name_of(user)), how="form"
        )

        def proposing(newest: Approval) -> tuple[Outcome, Change | None]:
            return propose(
                newest,
                index,
                proposal,
                opening.remark,
                place=opening.place,
                facts=facts,
                at=datetime.now(UTC),
            )

        outcome = await self.store.update(state, proposing)
        logger.info(
            "click.proposed",
            extra={
                "interrupt_id": state.id,
                "user": user,
                "index": index,
                "rule": proposal.rule,
                "outcome": outcome,
            },
        )
        try:
            newest = as_asked(await self.store.admitted(state.id) or state, state, [index])
        except AsksOtherwiseError:
            return Answer(False, in_answer.ASKS_OTHERWISE, why="outdated")
        if outcome not in {Outcome.RECORDED, Outcome.REPEAT}:
            return Answer(False, closed(newest, [index]), why="outdated")
        if not counts:
            return Answer(True, proposed(newest, proposal, verdict.sentence or in_answer.AGREE_YOURSELF))
        answer = await self._voting.cast(newest, user, {index: ballot}, shown=shown, until=until, press=press)
        return replace(answer, sentence=f"{proposed(newest, proposal)} {answer.sentence}".strip())

    async def _standing_objection(
        self, state: Approval, user: str, decisions: Mapping[int, Decision], standing: StandingTerms
    ) -> str:
        """Say why there can be no standing approval with this one; empty when there can."""
        for index, decision in decisions.items():
            verdict = await self.judge.may_give_standing(state, user, index)
            if not verdict.allowed:
                return verdict.sentence
            limits = state.actions[index].standing
            if decision.type != "approve" or not limits or not standing.is_within(limits):
                return in_answer.standing_too_wide(index)
        return ""


def _span(state: Approval, decision: str, actions: int) -> AbstractContextManager[Span]:
    return span_about(state, "assent.click", decision=decision, actions=actions)


def _outcome(answer: Answer) -> str:
    return "recorded" if answer.recorded else answer.why
