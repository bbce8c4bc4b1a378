"""The use cases behind a click: judge the person, record the decision, say what came of it."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_adapter.contract.hitl import ApproveDecision, Decision, RejectDecision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.record import dump_recorded
from bot.errors import PersonUnknownError, SlackError
from bot.ids import PartId
from bot.metrics import DECISIONS
from bot.people import Directory, Person
from bot.policy import Verdict, may_decide
from bot.rendering.message import bulk_actions, numbers
from bot.rendering.modals import page_count
from bot.rendering.notices import counted, told
from bot.rendering.rows import approver_names, needs_reading, place_of
from bot.state import Action, ApprovalState, Place, Terms, position_of
from bot.sticky import Grant
from bot.store import ApprovalStore, Outcome

logger = logging.getLogger(__name__)

WRITE_WITHIN = 1.0
"""Seconds that Redis may take between a click and its acknowledgement; Slack waits three."""
LOOK_UP_WITHIN = 1.5
"""Seconds that Slack may take to say who somebody is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to tell the person who clicked."""

    recorded: bool
    sentence: str = ""
    """Empty when the card itself says it."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """Takes decisions of people about one workspace's records."""

    store: ApprovalStore
    directory: Directory

    async def judge(
        self, state: ApprovalState, user: str, indices: Iterable[int], decision: str
    ) -> dict[int, Verdict]:
        """Say about each of these actions whether this person may decide so, by what was fixed when it was admitted.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
        """
        if state.admission is None:
            return dict.fromkeys(indices, Verdict(False, "This card is not ready yet."))
        try:
            async with asyncio.timeout(LOOK_UP_WITHIN):
                person = await self.directory.person(user)
                return {
                    index: await self._judge(state, state.admission.terms(index), person, index, decision)
                    for index in indices
                }
        except (SlackError, TimeoutError) as error:
            logger.warning("person.unknown", extra={"user": user, "reason": str(error)})
            raise PersonUnknownError(str(error)) from error

    async def _judge(
        self, state: ApprovalState, terms: Terms, person: Person, index: int, decision: str
    ) -> Verdict:
        return may_decide(
            person,
            await self.directory.matching(person.id, terms.approvers, channel_of(state, index)),
            terms,
            team=self.directory.team,
            requested_by=state.interrupt.context.requested_by,
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
        verdicts = await self.judge(state, user, decisions, kind)
        refused = {index: verdict.sentence for index, verdict in verdicts.items() if not verdict.allowed}
        if refused:
            reasons = " ".join(dict.fromkeys(refused.values()))
            logger.info("click.refused", extra={"interrupt_id": state.id, "user": user, "reason": reasons})
            if len(refused) == len(decisions):
                return Answer(False, reasons)
            decisions = {index: decision for index, decision in decisions.items() if index not in refused}
        if sentence := first_objection(state, user, decisions, code=code):
            return Answer(False, sentence)
        if grant and (sentence := await self._grant_objection(state, user, decisions, grant)):
            return Answer(False, sentence)
        texts = {
            index: dump_recorded(
                decision,
                fingerprint=state.actions[index].fingerprint,
                decided_by=user,
                policy=state.admission.policy_version if state.admission else None,
            )
            for index, decision in decisions.items()
        }
        outcomes = await self.store.record_decision(
            state.id,
            texts,
            token=token_of(state.id, texts, grant),
            positions={index: position_of(decision) for index, decision in decisions.items()},
            person=user,
            deadline=WRITE_WITHIN,
            grant=grant,
        )
        for outcome in outcomes.values():
            DECISIONS.labels(kind, outcome).inc()
        logger.info(
            "click.decided",
            extra={
                "interrupt_id": state.id,
                "user": user,
                "decision": kind,
                "outcomes": list(outcomes.values()),
            },
        )
        lost = [index for index, outcome in outcomes.items() if outcome in {Outcome.TAKEN, Outcome.CLOSED}]
        if not lost and not any(state.actions[index].care.needs_votes for index in outcomes):
            return Answer(True, _left_out(refused))
        newest = await self.store.load(state.id) or state
        said = [told(newest, lost), _votes_told(newest, user, outcomes), _left_out(refused)]
        return Answer(len(lost) < len(outcomes), " ".join(filter(None, said)))

    async def may_grant(self, state: ApprovalState, user: str, index: int) -> Verdict:
        """Say whether this person may approve an action for later calls, too, beside approving it.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
        """
        sticky = state.actions[index].sticky
        if sticky is None:
            return Verdict(False, f"The policy offers no approval for later calls of action {index + 1}.")
        if sticky.approvers and not await self._is_among(state, user, sticky.approvers, index):
            return Verdict(
                False, f"For later calls, only {approver_names(sticky.approvers, at_most=8)} may approve."
            )
        return Verdict(True)

    async def _is_among(self, state: ApprovalState, user: str, approvers: Sequence[str], index: int) -> bool:
        try:
            async with asyncio.timeout(LOOK_UP_WITHIN):
                return bool(await self.directory.matching(user, approvers, channel_of(state, index)))
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

    async def decide_all(
        self, state: ApprovalState, user: str, verb: str, place: int, *, message: str | None = None
    ) -> Answer:
        """Approve or reject whatever is still open at one place and allows it.

        Raises:
            PersonUnknownError: when Slack does not say who they are.
            StoreUnavailableError: when Redis did not answer in time.
        """
        decision: Decision = ApproveDecision() if verb == "approve_all" else RejectDecision(message=message)
        asked = places(state)[place]
        meant = [
            index
            for index in bulk_actions(state, asked, decision.type)
            if is_posted(state, place, index) and not first_objection(state, user, {index: decision})
        ]
        if meant:
            return await self.decide(state, user, dict.fromkeys(meant, decision))
        if any(_same(state.actions[index], user, decision) for index in asked.actions):
            return Answer(True)
        return Answer(False, f"Nothing here is open that you could {decision.type}.")


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


def was_read(state: ApprovalState, index: int, user: str) -> bool:
    """Whether this person could read all of an action: on the card, or to the end of its pages."""
    unread = needs_reading(state.actions[index])
    return not unread or state.pages_read(index, user) >= page_count(state, index)


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
