"""The use cases behind a click: judge the person, record the decision, say what came of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import inf

from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision, RejectDecision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.record import dump_recorded
from bot.aside import aside
from bot.errors import PersonUnknownError, SlackError, StoreUnavailableError, VotersUnknownError
from bot.fields import unix_milliseconds
from bot.ids import PartId
from bot.masks import masked_change
from bot.metrics import DECISIONS
from bot.people import Directory
from bot.policy import Verdict, may_decide
from bot.proposals import Opening, Proposals
from bot.rendering.message import bulk_actions, calls_on, numbers, with_proposal
from bot.rendering.modals import page_count
from bot.rendering.notices import (
    AGREE_YOURSELF,
    CHANNEL_UNKNOWN,
    GONE,
    NOT_SHOWN_HERE,
    counted,
    not_approved,
    proposed,
    told,
    uncounted,
)
from bot.rendering.rows import approver_names, needs_reading, place_of
from bot.rendering.text import clip, one_line
from bot.state import Action, ApprovalState, Place, Proposal, Terms, position_of
from bot.sticky import Grant
from bot.store import ApprovalStore, Outcome, Voters

logger = logging.getLogger(__name__)

WRITE_WITHIN = 1.0
"""Seconds that Redis may take between a click and its acknowledgement; Slack waits three."""
LOOK_UP_WITHIN = 1.5
"""Seconds that Slack may take to say who somebody is."""
VOTER_FRESH_FOR = 5.0
"""Seconds for which an answer about somebody is believed where several people or a high risk are decided about, or later
calls; about somebody else who agreed never one from before they agreed."""
JUDGED_AT_MOST = 5
"""How often the others are judged again because more people voted meanwhile."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to tell the person who clicked."""

    recorded: bool
    sentence: str = ""
    """Empty when the card itself says it."""
    keeps_form: bool = False
    """Whether the sentence belongs beside what was typed, which can be changed."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One decision on one action, and what judges everybody who makes it."""

    decision: Decision
    position: str
    terms: Terms
    channel: str
    """Whose members the approver `channel` means."""
    policy: str

    @property
    def needed(self) -> int:
        """How many people it takes."""
        return self.terms.needed(self.decision.type)

    @classmethod
    def on(cls, proposal: Proposal) -> "Ballot":
        """Agree with a proposal, on its own terms."""
        return cls(proposal.decision, proposal.position, proposal.terms, proposal.channel, proposal.policy)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Takes decisions of people about one workspace's records."""

    store: ApprovalStore
    directory: Directory
    proposals: Proposals | None = None
    """Judges edits by the newest rules; without, there are none but those of the card."""

    async def judge(
        self,
        state: ApprovalState,
        user: str,
        indices: Iterable[int],
        decision: str,
        *,
        until: float | None = None,
        within: float = inf,
    ) -> dict[int, Verdict]:
        """Say about each of these actions whether this person may decide so, by what was fixed when it was admitted.

        Args:
            state: The record.
            user: Who decides.
            indices: Of the actions.
            decision: Of which kind.
            until: When Slack has to have answered, by the clock of the loop.
            within: For how many seconds an answer of Slack is believed at most.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
        """
        admission = state.admission
        if admission is None:
            return dict.fromkeys(indices, Verdict(False, "This card is not ready yet."))
        async with _looking_up(user, until or _look_up_until()):
            return {
                index: await self._judge(
                    state,
                    user,
                    admission.terms(index),
                    channel_of(state, index),
                    decision,
                    within=within,
                )
                for index in indices
            }

    async def _judge(
        self,
        state: ApprovalState,
        user: str,
        terms: Terms,
        channel: str,
        decision: str,
        *,
        within: float = inf,
    ) -> Verdict:
        if terms.risk == "high" or terms.needed(decision) > 1:
            within = min(within, VOTER_FRESH_FOR)
        return may_decide(
            await self.directory.person(user, within=within),
            await self.directory.matching(user, terms.approvers, channel, within=within),
            terms,
            team=self.directory.team,
            requested_by=state.requested_by,
            thread_author=state.admission.thread_author if state.admission else None,
            decision=decision,
        )

    async def decide(
        self,
        state: ApprovalState,
        user: str,
        decisions: Mapping[int, Decision],
        *,
        code: str = "",
        grant: Grant | None = None,
    ) -> Answer:
        """Record one person's decision on some actions of a record: on those about which they may decide.

        Args:
            state: The record.
            user: Who decides.
            decisions: By the index of an action.
            code: What they typed of the code that approves an action of high risk.
            grant: For which later calls an approval holds, too.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        kind = next(iter(decisions.values())).type
        until = _look_up_until()
        verdicts = await self.judge(state, user, decisions, kind, until=until)
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
                return Answer(False, reasons)
            decisions = {index: decision for index, decision in decisions.items() if index not in refused}
        if sentence := await aside(state, first_objection, state, user, decisions, code=code):
            return Answer(False, sentence)
        if grant and (sentence := await self._grant_objection(state, user, decisions, grant)):
            return Answer(False, sentence)
        assert state.admission is not None
        ballots = {
            index: Ballot(
                decision,
                position_of(decision),
                state.admission.terms(index),
                channel_of(state, index),
                state.admission.policy_version,
            )
            for index, decision in decisions.items()
        }
        for index, decision in decisions.items():
            if isinstance(decision, EditDecision):
                met = await self._met(state, index, decision, user, until)
                if met == CHANNEL_UNKNOWN:
                    await self.store.note_missed(state.id)
                if isinstance(met, str):
                    return Answer(False, met, keeps_form=True)
                if met:
                    return await self._propose(state, user, index, met, until)
        return await self._vote(state, user, ballots, _left_out(refused), grant, until=until)

    async def _met(
        self, state: ApprovalState, index: int, decision: EditDecision, author: str, until: float
    ) -> Opening | str | None:
        """Say what an edit is: refused, in a sentence; a proposal; or `None` where it is decided like the call."""
        if sentence := await aside(state, masked_objection, state, index, decision):
            return sentence
        return (
            await self.proposals.meet(state, index, decision, author, until=until) if self.proposals else None
        )

    async def judge_proposal(self, state: ApprovalState, user: str, proposal: Proposal) -> Verdict:
        """Say whether this person may agree with a proposal, by what was fixed when it was made.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
        """
        return await self._judge_ballot(state, user, Ballot.on(proposal), _look_up_until())

    async def agree(
        self, state: ApprovalState, user: str, index: int, name: str, *, code: str = ""
    ) -> Answer:
        """Record that one person agrees with a proposal.

        Args:
            state: The record.
            user: Who agrees.
            index: Of the action.
            name: Of the proposal that they were shown.
            code: What they typed of the code that stands beside it.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        until = _look_up_until()
        action = state.actions[index]
        proposal = action.stricter
        if not state.is_open_at(index):
            return Answer(False, told(state, [index]))
        if proposal is None or proposal.name != name:
            return Answer(False, GONE)
        ballot = Ballot.on(proposal)
        verdict = await self._judge_ballot(state, user, ballot, until)
        if not verdict.allowed:
            return Answer(False, verdict.sentence)
        if not await aside(state, was_read, state, index, user, action.proposed):
            return Answer(
                False, f"The proposal for action {action.number} has to be read to its end before agreeing."
            )
        if action.proposed.has_code and code != action.proposed.code:
            return Answer(False, f"Type the code that stands beside the proposal for action {action.number}.")
        return await self._vote(state, user, {index: ballot}, until=until)

    async def _propose(
        self, state: ApprovalState, user: str, index: int, opening: Opening, until: float
    ) -> Answer:
        """Have an edit asked on the terms of the rule that is about it, and count its author where they may decide there."""
        proposal = opening.proposal
        ballot = Ballot.on(proposal)
        verdict = await self._judge_ballot(state, user, ballot, until)
        call = replace(state.actions[index], stricter=proposal).proposed
        counts = verdict.allowed and not call.has_code and not await aside(state, needs_reading, call)
        if counts and ballot.needed == 1:
            # Nobody else has to be asked.
            alone = replace(ballot, position=position_of(ballot.decision))
            return await self._vote(state, user, {index: alone}, until=until)
        outcome = await self.store.propose(
            state.id, index, proposal, opening.remark, place=opening.place, deadline=WRITE_WITHIN
        )
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
        newest = await self.store.load(state.id) or state
        if outcome not in {Outcome.RECORDED, Outcome.REPEAT}:
            return Answer(False, told(newest, [index]))
        if not counts:
            return Answer(True, proposed(newest, proposal, verdict.sentence or AGREE_YOURSELF))
        answer = await self._vote(newest, user, {index: ballot}, until=until)
        return replace(answer, sentence=f"{proposed(newest, proposal)} {answer.sentence}".strip())

    async def _judge_ballot(self, state: ApprovalState, user: str, ballot: Ballot, until: float) -> Verdict:
        async with _looking_up(user, until):
            return await self._judge(state, user, ballot.terms, ballot.channel, ballot.decision.type)

    async def _vote(
        self,
        state: ApprovalState,
        user: str,
        ballots: Mapping[int, Ballot],
        left_out: str = "",
        grant: Grant | None = None,
        *,
        until: float,
    ) -> Answer:
        """Record ballots of one person who may cast them, and say what came of it."""
        kind = next(iter(ballots.values())).decision.type
        outcomes, gone = await self._record(state, user, ballots, grant, until=until)
        for outcome in outcomes.values():
            DECISIONS.labels(kind, outcome).inc()
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
            return Answer(False, GONE)
        lost = [index for index, outcome in outcomes.items() if outcome in {Outcome.TAKEN, Outcome.CLOSED}]
        if not lost and not any(ballot.terms.needs_votes for ballot in ballots.values()):
            return Answer(True, left_out)
        newest = await self.store.load(state.id) or state
        said = [told(newest, lost), _votes_told(newest, user, outcomes), uncounted(gone), left_out]
        return Answer(len(lost) < len(outcomes), " ".join(filter(None, said)))

    async def _record(
        self,
        state: ApprovalState,
        user: str,
        ballots: Mapping[int, Ballot],
        grant: Grant | None = None,
        *,
        until: float,
    ) -> tuple[dict[int, Outcome], frozenset[str]]:
        """Record ballots of one person; also give the others whose votes were taken out.

        Whoever agreed before is judged again before anything is final. Who votes meanwhile is judged in the next round.
        """
        texts = {
            index: dump_recorded(
                ballot.decision,
                fingerprint=state.actions[index].fingerprint,
                decided_by=user,
                policy=ballot.policy,
            )
            for index, ballot in ballots.items()
        }
        token = token_of(state.id, texts, grant)
        outcomes = dict.fromkeys(ballots, Outcome.JUDGE_AGAIN)
        gone: set[str] = set()
        for _ in range(JUDGED_AT_MOST):
            left = {
                index: ballots[index] for index, found in outcomes.items() if found is Outcome.JUDGE_AGAIN
            }
            voters = await self._judge_others(state, user, left, until)
            gone |= {person for each in voters.values() for person in each.refused}
            outcomes |= await self.store.record_decision(
                state.id,
                {index: texts[index] for index in left},
                token=token,
                positions={index: ballot.position for index, ballot in left.items()},
                voters=voters,
                policies={index: ballot.policy for index, ballot in left.items()},
                person=user,
                deadline=min(WRITE_WITHIN, until + WRITE_WITHIN - asyncio.get_running_loop().time()),
                grant=grant,
            )
            if Outcome.JUDGE_AGAIN not in outcomes.values():
                return outcomes, frozenset(gone)
            state = await self.store.load(state.id) or state
        raise StoreUnavailableError("others kept voting while this vote was recorded")

    async def _judge_others(
        self, state: ApprovalState, user: str, ballots: Mapping[int, Ballot], until: float
    ) -> dict[int, Voters]:
        """Judge again who said the same before, where one more vote would make it final.

        Raises:
            VotersUnknownError: when Slack does not say.
        """
        try:
            async with _looking_up(user, until):
                found = await asyncio.gather(
                    *(self._voters(state, user, index, ballot) for index, ballot in ballots.items())
                )
        except PersonUnknownError as error:
            raise VotersUnknownError(str(error)) from error
        return dict(zip(ballots, found, strict=True))

    async def _voters(self, state: ApprovalState, user: str, index: int, ballot: Ballot) -> Voters:
        votes = [
            vote
            for vote in state.votes.get(index, ())
            if vote.user != user and vote.position == ballot.position
        ]
        if len(votes) + 1 < ballot.needed:
            return Voters()
        now = unix_milliseconds(state.now)
        verdicts = await asyncio.gather(
            *(
                self._judge(
                    state,
                    vote.user,
                    ballot.terms,
                    ballot.channel,
                    ballot.decision.type,
                    within=min(VOTER_FRESH_FOR, (now - int(vote.at)) / 1000),
                )
                for vote in votes
            )
        )
        judged = {vote.user: verdict.allowed for vote, verdict in zip(votes, verdicts, strict=True)}
        return Voters(
            allowed=frozenset(person for person, allowed in judged.items() if allowed),
            refused=frozenset(person for person, allowed in judged.items() if not allowed),
        )

    async def may_grant(self, state: ApprovalState, user: str, index: int, *, within: float = inf) -> Verdict:
        """Say whether this person may approve an action for later calls, too, beside approving it.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
        """
        sticky = state.actions[index].sticky
        if sticky is None:
            return Verdict(False, f"The policy offers no approval for later calls of action {index + 1}.")
        if sticky.approvers and not await self._is_among(state, user, sticky.approvers, index, within):
            return Verdict(
                False, f"For later calls, only {approver_names(sticky.approvers, at_most=8)} may approve."
            )
        return Verdict(True)

    async def _is_among(
        self, state: ApprovalState, user: str, approvers: Sequence[str], index: int, within: float
    ) -> bool:
        channel = channel_of(state, index)
        try:
            async with asyncio.timeout(LOOK_UP_WITHIN):
                return bool(await self.directory.matching(user, approvers, channel, within=within))
        except (SlackError, TimeoutError) as error:
            raise PersonUnknownError(str(error)) from error

    async def _grant_objection(
        self, state: ApprovalState, user: str, decisions: Mapping[int, Decision], grant: Grant
    ) -> str:
        """Say why an approval cannot hold for later calls; empty when it can."""
        for index, decision in decisions.items():
            verdict = await self.may_grant(state, user, index)
            if not verdict.allowed:
                return verdict.sentence
            sticky = state.actions[index].sticky
            if decision.type != "approve" or not sticky or not grant.is_within(sticky):
                return f"The policy does not allow that much for later calls of action {index + 1}."
        return ""

    async def approve_all(self, state: ApprovalState, user: str, part: PartId) -> Answer:
        """Approve what is open of the calls that one message shows, and of nothing else.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        shown = calls_on(state, part)
        if not shown:
            return Answer(False, NOT_SHOWN_HERE)
        answer = await self._decide_all(state, user, shown, ApproveDecision())
        apart = not_approved(with_proposal(state, shown))
        return replace(answer, sentence=f"{answer.sentence} {apart}".strip())

    async def reject_all(
        self, state: ApprovalState, user: str, place: int, *, message: str | None = None
    ) -> Answer:
        """Reject what is open of the calls that a place asks about and has shown.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        posted = [index for index in places(state)[place].actions if is_posted(state, place, index)]
        return await self._decide_all(state, user, posted, RejectDecision(message=message))

    async def _decide_all(
        self, state: ApprovalState, user: str, indices: Iterable[int], decision: Decision
    ) -> Answer:
        indices = tuple(indices)
        if meant := await aside(state, _without_objection, state, user, indices, decision):
            return await self.decide(state, user, dict.fromkeys(meant, decision))
        if any(_same(state.actions[index], user, decision) for index in indices):
            return Answer(True)
        return Answer(False, f"Nothing here is open that you could {decision.type}.")


def _look_up_until() -> float:
    """Say until when Slack may be asked for a click that comes now: for all questions together."""
    return asyncio.get_running_loop().time() + LOOK_UP_WITHIN


@asynccontextmanager
async def _looking_up(user: str, until: float) -> AsyncIterator[None]:
    """Ask Slack about people on behalf of a click.

    Raises:
        PersonUnknownError: when Slack does not say in time.
    """
    try:
        async with asyncio.timeout_at(until):
            yield
    except (SlackError, TimeoutError) as error:
        logger.warning("person.unknown", extra={"user": user, "reason": str(error)})
        raise PersonUnknownError(str(error)) from error


def _votes_told(state: ApprovalState, user: str, outcomes: Mapping[int, Outcome]) -> str:
    """Say what is missing for decisions that take more people; those that are final by now say so on the card."""
    voted = {
        index: outcome
        for index, outcome in outcomes.items()
        if outcome in {Outcome.COUNTED, Outcome.REPEAT}
        and state.is_open_at(index)
        and any(vote.user == user for vote in state.actions[index].votes)
    }
    new, old = ([i for i, found in voted.items() if found is o] for o in (Outcome.COUNTED, Outcome.REPEAT))
    return " ".join(filter(None, (counted(state, new, user), counted(state, old, user, again=True))))


def _left_out(refused: Mapping[int, str]) -> str:
    """Say which of several actions a person may not decide, and why."""
    by_sentence: dict[str, list[int]] = {}
    for index, sentence in refused.items():
        by_sentence.setdefault(sentence, []).append(index)
    return " ".join(
        f"Not decided by you: {'action' if len(indices) == 1 else 'actions'} {numbers(indices)}. {sentence}"
        for sentence, indices in by_sentence.items()
    )


def places(state: ApprovalState) -> Sequence[Place]:
    """Give the places where an interrupt is asked."""
    return state.admission.places if state.admission else ()


def channel_of(state: ApprovalState, index: int) -> str:
    """Give the channel where an action is asked: its members are meant by the approver `channel`."""
    place = place_of(state, index)
    return place.channel if place else ""


def first_objection(
    state: ApprovalState, user: str, decisions: Mapping[int, Decision], *, code: str = ""
) -> str:
    """Say why one of these decisions cannot be recorded now; empty when all can be."""
    for index, decision in decisions.items():
        action = state.actions[index]
        if action.recorded or not state.is_open:
            return told(state, [index]) if not _same(action, user, decision) else ""
        if not action.allows(decision.type):
            return f"The agent does not accept {decision.type} for action {action.number}."
        if getattr(decision, "always", False) and not action.config.allow_always:
            return f"The agent asks about this one call of action {action.number} only, not about later ones."
        if decision.type not in {"approve", "edit"}:
            continue
        if not was_read(state, index, user):
            return f"Action {action.number} is not all on its card: read all of it first, then decide at its end."
        if action.has_code and code != action.code:
            return f"The risk of action {action.number} is high: press Approve…, and type the code from its card."
    return ""


def masked_objection(state: ApprovalState, index: int, decision: EditDecision) -> str:
    """Say that an edit touches what nobody is shown; empty when it does not."""
    action = state.actions[index]
    name = masked_change(action.request.args, decision.edited_action.args, action.care.masked)
    if name is None:
        return ""
    return (
        f"The policy masks “{clip(one_line(name), 80)}”, and what is masked is never edited: nobody could see what they "
        "agree with. Take it out of what you typed. Nothing was recorded."
    )


def _without_objection(
    state: ApprovalState, user: str, indices: Sequence[int], decision: Decision
) -> list[int]:
    return [
        index
        for index in bulk_actions(state, indices, decision.type)
        if not first_objection(state, user, {index: decision})
    ]


def was_read(state: ApprovalState, index: int, user: str, call: Action | None = None) -> bool:
    """Whether this person could read all of an action, or of the call proposed in its place: at once, or to the end of its pages."""
    unread = needs_reading(call or state.actions[index])
    return not unread or state.pages_read(index, user, call) >= page_count(state, index, call)


def is_posted(state: ApprovalState, place: int, index: int) -> bool:
    """Whether the message that shows an action is there. A button above the parts can be pressed before they are."""
    parts = places(state)[place].parts
    number = next((number for number, part in enumerate(parts, 1) if index in part), 0)
    return number == 0 or PartId(place, number) in state.shown


def token_of(interrupt_id: str, texts: Mapping[int, str], grant: Grant | None = None) -> str:
    """Name a click by what it records, so that pressing again after a lost answer says "recorded"."""
    later = [grant.model_dump(mode="json")] if grant else []
    return digest("click", interrupt_id, sorted(texts.items()), *later)


def _same(action: Action, user: str, decision: Decision) -> bool:
    recorded = action.recorded
    if recorded is None or recorded.decision != decision:
        return False
    return user in (recorded.agreed_by or (recorded.decided_by,))
