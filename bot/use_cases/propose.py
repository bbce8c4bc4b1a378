"""Edits meet the rules anew: what runs is judged by the rule that is about it, not by the one that was about the call before."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.identity import action_fingerprint, digest
from bot.aside import aside
from bot.errors import InterruptFaultError, SlackError
from bot.masks import masked_change
from bot.policy import Policy, Rule, is_same, stricter
from bot.rendering.blocks import is_person, json_size
from bot.rendering.limits import SlackLimitError, check_message
from bot.rendering.message import plan_parts, render_card
from bot.rendering.notices import CHANNEL_UNKNOWN
from bot.rendering.rows import place_of
from bot.rendering.text import clip, one_line
from bot.schedule import Remark
from bot.slack_client import SlackClient
from bot.state import ApprovalState, Place, Proposal, Terms

MOST_JSON, MOST_BLOCKS = 11_000, 48
"""What a message may take with a proposal on it; without one it is planned to take less."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A proposal that can be asked, and what goes with it."""

    proposal: Proposal
    place: Place | None
    """Where it is asked as well."""
    remark: Remark


@dataclass(frozen=True, slots=True)
class Proposals:
    """Judges edits by the newest rules."""

    policies: Callable[[], Policy]
    """Gives the rules in force."""
    slack: SlackClient

    async def meet(
        self, state: ApprovalState, index: int, decision: EditDecision, author: str, *, until: float
    ) -> Opening | str | None:
        """Say what an edit is by the newest rules.

        Args:
            state: The record.
            index: Of the action.
            decision: The edit.
            author: Who wrote it.
            until: When Slack has to have answered, by the clock of the loop.

        Returns:
            `None` where the rule is the same, so nothing changes; a sentence where it cannot be; else what it opens.
        """
        assert state.admission
        policy, admitted = self.policies(), state.admission.terms(index)
        interrupt = state.interrupt
        asked = interrupt.request.action_requests[index]
        edited = asked.model_copy(update={"args": decision.edited_action.args})
        rule = await aside(state, policy.rule_for, interrupt.agent, edited.name, edited.args)
        before = await aside(state, policy.rule_for, interrupt.agent, asked.name, asked.args)
        place = policy.place_for(rule, interrupt.route)
        refusal = policy.why_not_asked(interrupt, edited, rule)
        if refusal or place is None:
            return _refused(rule, refusal.reason if refusal else "nobody named a channel to ask in")
        if rule.requester == "required" and not state.admission.requester_known:
            return _refused(rule, "it requires to know for whom the agent acts, which only the agent says")
        met = policy.terms_for(interrupt, edited, rule)
        is_same_rule = is_same(admitted, met, state.joined(index))
        is_in_force = policy.version == state.admission.policy_version
        if is_same_rule and is_in_force and rule is before:
            # It asks where it asked before, so Slack need not say.
            return None
        if met.decisions is not None and "edit" not in met.decisions:
            return _refused(rule, "it offers no edit")
        try:
            async with asyncio.timeout_at(until):
                channel = await self.slack.reach(place[0])
        except InterruptFaultError as error:
            return _refused(rule, f"the bot cannot ask where it says ({error})")
        except (SlackError, TimeoutError):
            return CHANNEL_UNKNOWN
        home = place_of(state, index)
        if is_same_rule and home and home.channel == channel:
            return None
        terms = stricter(admitted, met)
        if fault := _fault(state, index, decision, terms):
            return _refused(rule, fault)
        config = interrupt.request.review_configs[index]
        fingerprint = action_fingerprint(edited, config)
        proposal = Proposal(
            name=digest("proposal", fingerprint, terms.model_dump(mode="json"), channel),
            fingerprint=fingerprint,
            decision=decision,
            by=author,
            policy=policy.version,
            rule=rule.name,
            terms=terms,
            channel=channel,
        )
        opening = await aside(state, _opening, state, index, proposal, place[1])
        fits = await aside(state, _fits, state, index, opening)
        return opening if fits else _refused(rule, "the card has no room to ask it")


def _refused(rule: Rule, why: str) -> str:
    name = clip(one_line(rule.name), 80)
    return f"With these values the rule “{name}” decides, and {why}. Nothing was recorded."


def _fault(state: ApprovalState, index: int, decision: EditDecision, terms: Terms) -> str:
    """Say why nobody could agree with an edit; empty when people can."""
    people = {*terms.approvers} - state.kept_out(terms)
    if all(is_person(person) for person in people) and len(people) < terms.quorum:
        return f"{terms.quorum} people have to agree, and the rules name fewer who may"
    asked = state.interrupt.request.action_requests[index].args
    if masked_change(asked, decision.edited_action.args, terms.masked) is not None:
        return "it masks what you changed, so nobody could see what they agree with"
    return ""


def _opening(state: ApprovalState, index: int, proposal: Proposal, thread_ts: str | None) -> Opening:
    assert state.admission
    beside = {number: place for number, place in state.places.items() if index in place.actions}
    place = None
    if all(known.channel != proposal.channel for known in beside.values()):
        parts = plan_parts(state.interrupt, [index], cares=_cares(state), timed=True)
        place = Place(
            channel=proposal.channel, thread_ts=thread_ts, actions=(index,), parts=parts, proposed=True
        )
    # A card of its own calls them where it is asked as well.
    called = () if place else tuple(name for name in proposal.terms.approvers if name != "channel")
    remark = Remark(
        kind="propose",
        places=tuple(beside),
        actions=(index,),
        mentions=tuple(name for name in called if name != proposal.by),
        also_in=place.channel if place else None,
        by=proposal.by,
    )
    return Opening(proposal, place, remark)


def _cares(state: ApprovalState) -> list[Terms]:
    assert state.admission
    return [state.admission.terms(index) for index in range(len(state.recorded))]


def _fits(state: ApprovalState, index: int, opening: Opening) -> bool:
    """Whether Slack takes every message that shows it."""
    admission = state.admission
    assert admission
    if opening.place:
        admission = admission.model_copy(update={"places": (*admission.places, opening.place)})
    after = replace(state, admission=admission, proposals={**state.proposals, index: opening.proposal})
    try:
        for part in render_card(after):
            check_message(part.text, part.blocks)
            if json_size(part.blocks) > MOST_JSON or len(part.blocks) > MOST_BLOCKS:
                return False
    except SlackLimitError:
        return False
    return True
