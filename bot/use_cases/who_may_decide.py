"""Who may decide, and what speaks against a decision by anybody: it is decided, was not read, or its value was not typed.

People are looked up in Slack and judged by the terms that were fixed at admission. In doubt, the answer is no.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from agent_adapter.contract.hitl import Decision, EditDecision
from bot.domain.action import Action
from bot.domain.admission import Terms
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError, SlackError
from bot.domain.masking import masked_change
from bot.domain.person import Person, approver_names, is_on_call, mention
from bot.domain.votes import Ballot
from bot.sentences import in_answer
from bot.sentences.words import Outsider
from bot.slack.directory import Directory
from bot.text.literal import clip, one_line
from bot.use_cases.answers import closed

logger = logging.getLogger(__name__)

LOOK_UP_WITHIN = 1.5
"""Seconds that Slack may take to say who somebody is."""
VOTER_FRESH_FOR = 5.0
"""Seconds for which Slack's answer about a person is used for a quorum, a high risk or a standing approval. About a person
who agreed earlier, Slack is always asked after they agreed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a person may decide, and the sentence that says why not."""

    allowed: bool
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Says who may decide. Every method raises PersonUnknownError when Slack does not say who somebody is."""

    directory: Directory

    async def may_decide(
        self,
        state: Approval,
        user: str,
        indices: Iterable[int],
        decision: str,
        *,
        until: float | None = None,
        within: float = inf,
    ) -> dict[int, Verdict]:
        """Say for each of these actions whether this person may decide this way.

        Slack answers by `until`, not more than `within` seconds ago.
        """
        verdicts = {}
        for index in indices:
            terms = state.admission.terms[index]
            channel = state.place_of(index).channel if "channel" in terms.approvers else ""
            verdicts[index] = await self._judge(state, user, terms, channel, decision, until, within)
        return verdicts

    async def why_none(self, state: Approval, user: str, indices: Sequence[int], *decisions: str) -> str:
        """Say why this person may decide none of these actions in any of these ways; empty when they may decide one."""
        sentences = []
        for decision in decisions:
            verdicts = await self.may_decide(state, user, indices, decision)
            if any(verdict.allowed for verdict in verdicts.values()):
                return ""
            sentences.append(verdicts[indices[0]].sentence)
        return sentences[0]

    async def may_cast(
        self, state: Approval, user: str, ballot: Ballot, *, until: float | None = None, within: float = inf
    ) -> Verdict:
        """Say whether this person may cast a ballot, on the terms of the ballot."""
        kind = ballot.decision.type
        return await self._judge(state, user, ballot.terms, ballot.channel, kind, until, within)

    async def may_give_standing(
        self, state: Approval, user: str, index: int, *, until: float | None = None, within: float = inf
    ) -> Verdict:
        """Say whether this person may give a standing approval together with approving an action; as `may_decide`."""
        action = state.actions[index]
        limits = action.standing
        if limits is None:
            why = in_answer.proposed_otherwise if action.proposal else in_answer.no_standing_approval
            return Verdict(False, why(index + 1))
        if limits.approvers:
            channel = state.place_of(index).channel
            _, matching = await self._look_up(user, limits.approvers, channel, until, within)
            if not matching:
                return Verdict(False, in_answer.standing_only_by(approver_names(limits.approvers, at_most=8)))
        return Verdict(True)

    async def _judge(
        self,
        state: Approval,
        user: str,
        terms: Terms,
        channel: str,
        decision: str,
        until: float | None,
        within: float,
    ) -> Verdict:
        if terms.risk == "high" or terms.needed(decision) > 1:
            within = min(within, VOTER_FRESH_FOR)
        known = self.directory.recall(user, terms.approvers, channel, within=within)
        if known is None:
            known = await self._look_up(user, terms.approvers, channel, until, within)
        person, matching = known
        return may_decide(
            person,
            matching,
            terms,
            team=self.directory.team,
            requested_by=state.requested_by,
            thread_author=state.admission.thread_author,
            decision=decision,
        )

    async def _look_up(
        self, user: str, approvers: Sequence[str], channel: str, until: float | None, within: float
    ) -> tuple[Person, frozenset[str]]:
        """Ask Slack about somebody on behalf of a click."""
        try:
            async with asyncio.timeout_at(until or look_up_until()):
                return (
                    await self.directory.person(user, within=within),
                    await self.directory.matching(user, approvers, channel, within=within),
                )
        except (SlackError, TimeoutError) as error:
            logger.warning("person.unknown", extra={"user": user, "reason": str(error)})
            raise PersonUnknownError(str(error)) from error


def look_up_until() -> float:
    """Say until when all questions to Slack for a click that comes now must be answered."""
    return asyncio.get_running_loop().time() + LOOK_UP_WITHIN


def may_decide(
    person: Person,
    matching: frozenset[str],
    terms: Terms,
    *,
    team: str,
    requested_by: str | None,
    decision: str,
    thread_author: str | None = None,
) -> Verdict:
    """Say whether a person may decide an action, by its terms and the entries of its approver list that they match."""
    named = person.id in matching
    if person.is_deactivated:
        return Verdict(False, in_answer.DEACTIVATED)
    if not named and (kind := _outside(person, team)):
        return Verdict(False, in_answer.outsider(kind))
    if not matching:
        by_schedule = any(map(is_on_call, terms.approvers))
        names = [in_answer.FIRST_CHANNEL if name == "channel" else mention(name) for name in terms.approvers]
        return Verdict(False, in_answer.not_an_approver(names, by_schedule=by_schedule))
    if decision != "reject" and not terms.requester_may_decide:
        if person.id == requested_by:
            return Verdict(False, in_answer.FOR_YOU)
        if person.id == thread_author:
            return Verdict(False, in_answer.YOUR_THREAD)
    if terms.decisions is not None and decision not in terms.decisions:
        return Verdict(False, in_answer.decision_not_offered(decision, terms.decisions))
    return Verdict(True)


def _outside(person: Person, team: str) -> Outsider | None:
    if person.is_bot:
        return "bot"
    if person.is_stranger or not team or person.team_id != team:
        return "stranger"
    if person.is_guest:
        return "guest"
    return None


# --- What speaks against a decision, whoever makes it --------------------------------------------------------------


def first_objection(state: Approval, user: str, decisions: Mapping[int, Decision], *, typed: str = "") -> str:
    """Say why one of these decisions cannot be recorded now; empty when all can be."""
    for index, decision in decisions.items():
        action = state.actions[index]
        if action.recorded or not state.is_open:
            return closed(state, [index]) if not is_repeat(action, user, decision) else ""
        if not action.allows(decision.type):
            return in_answer.decision_not_offered(decision.type, action.config.allowed_decisions)
        if getattr(decision, "always", False):
            if not action.config.allow_always:
                return in_answer.only_this_call(index + 1)
            if decision.type == "approve" and not action.allows_for_run:
                return in_answer.proposed_otherwise(index + 1)
        if decision.type not in {"approve", "edit"}:
            continue
        if action.pages and not _has_read(state, action, user, decision):
            return in_answer.read_first(index + 1)
        if action.is_high_risk and not action.as_decided(decision).to_type.is_typed(typed):
            return in_answer.value_needed(index + 1)
    return ""


def _has_read(state: Approval, action: Action, user: str, decision: Decision) -> bool:
    """Whether a person was shown all of a call: as it was asked, or as an edit that they agree with would run it."""
    if state.has_read(action, user):
        return True
    found = action.voted(decision) if isinstance(decision, EditDecision) else None
    return found is not None and state.has_read_written(action.index, found, user)


def masked_objection(state: Approval, index: int, decision: EditDecision) -> str:
    """Say that an edit changes a masked value; empty when it does not."""
    action = state.actions[index]
    name = masked_change(action.request.args, decision.edited_action.args, action.terms.masked)
    return "" if name is None else in_answer.masked_values(clip(one_line(name), 80))


def is_repeat(action: Action, user: str, decision: Decision) -> bool:
    recorded = action.recorded
    if recorded is None or recorded.decision != decision:
        return False
    return user in (recorded.agreed_by or (recorded.decided_by,))
