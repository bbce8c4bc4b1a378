"""Edits meet the rules anew: what runs is judged by the rule that is about it, not by the one that was about the call before."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.identity import action_fingerprint
from agent_adapter.contract.names import is_person
from bot.domain.admission import Place, Terms
from bot.domain.admit import Refusal, where_asked
from bot.domain.approval import Approval
from bot.domain.errors import InterruptFaultError, SlackError
from bot.domain.ids import Remark
from bot.domain.masking import masked_change
from bot.domain.policy import Policy
from bot.domain.rules import RISKS, Rule
from bot.domain.votes import Proposal, name_of_proposal
from bot.rendering.blocks import json_size
from bot.rendering.calls import asked
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import plan_parts
from bot.rendering.pages import measured_proposal
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.text.literal import clip, one_line

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
    directory: Directory

    async def meet(
        self, state: Approval, index: int, decision: EditDecision, author: str, *, until: float
    ) -> Opening | str | None:
        """Say what an edit is by the newest rules: `None` where the rule is the same, a sentence where it cannot be, else what it opens."""
        policy, admitted = self.policies(), state.admission.terms[index]
        interrupt = state.interrupt
        asked = interrupt.request.action_requests[index]
        edited = asked.model_copy(update={"args": decision.edited_action.args})
        rule = await offload(state, policy.rule_for, interrupt.agent, edited.name, edited.args)
        before = await offload(state, policy.rule_for, interrupt.agent, asked.name, asked.args)
        place = where_asked(policy, interrupt, edited, rule)
        if isinstance(place, Refusal):
            return _refused(rule, place.reason)
        if rule.agent == "verified" and not state.admission.agent_verified:
            return _refused(rule, in_answer.AGENT_UNVERIFIED)
        if rule.requester == "required" and not state.admission.requester_known:
            return _refused(rule, in_answer.REQUESTER_UNVERIFIED)
        # Silence never approves an edit, so no time is given.
        met = policy.terms_for(interrupt, edited, rule)
        is_same_rule = is_same(admitted, met, state.joined(index))
        is_in_force = policy.version == state.admission.policy_version
        if is_same_rule and is_in_force and rule is before:
            # It asks where it asked before, so Slack need not say.
            return None
        if met.decisions is not None and "edit" not in met.decisions:
            return _refused(rule, in_answer.NO_EDITS)
        try:
            async with asyncio.timeout_at(until):
                channel = await self.slack.reach(place[0])
        except InterruptFaultError as error:
            return _refused(rule, in_answer.unreachable(str(error)))
        except (SlackError, TimeoutError):
            return in_answer.CHANNEL_UNKNOWN
        home = state.place_of(index)
        if is_same_rule and home.channel == channel:
            return None
        terms = await self._naming(stricter(admitted, met), until)
        if fault := _fault(state, index, decision, terms):
            return _refused(rule, fault)
        config = interrupt.request.review_configs[index]
        fingerprint = action_fingerprint(edited, config)
        proposal = Proposal(
            name=name_of_proposal(fingerprint, terms, channel),
            fingerprint=fingerprint,
            decision=decision,
            by=author,
            policy=policy.version,
            rule=rule.name,
            terms=terms,
            pages=0,
            channel=channel,
        )
        opening = await offload(state, _opening, state, index, proposal, place[1])
        fits = await offload(state, _fits, state, index, opening)
        return opening if fits else _refused(rule, in_answer.NO_ROOM)

    async def _naming(self, terms: Terms, until: float) -> Terms:
        try:
            async with asyncio.timeout_at(until):
                return await self.directory.named(terms)
        except TimeoutError:
            return terms


def _refused(rule: Rule, why: str) -> str:
    return in_answer.edit_refused(clip(one_line(rule.name), 80), why)


def _fault(state: Approval, index: int, decision: EditDecision, terms: Terms) -> str:
    """Say why nobody could agree with an edit; empty when people can."""
    people = {*terms.approvers} - state.kept_out(terms)
    if all(is_person(person) for person in people) and len(people) < terms.quorum:
        return in_answer.too_few_approvers(terms.quorum)
    asked = state.interrupt.request.action_requests[index].args
    if masked_change(asked, decision.edited_action.args, terms.masked) is not None:
        return in_answer.MASKS_THE_CHANGE
    return ""


def _opening(state: Approval, index: int, proposal: Proposal, thread_ts: str | None) -> Opening:
    # What has to be read is the same for everybody.
    proposal = measured_proposal(proposal, state.actions[index])
    beside = {number: place for number, place in state.places.items() if index in place.actions}
    place = None
    if all(known.channel != proposal.channel for known in beside.values()):
        call = asked(state.interrupt, state.admission.terms, state.admission.pages)[index]
        parts = plan_parts(state.interrupt, [call], timed=True)
        place = Place(
            channel=proposal.channel,
            thread_ts=thread_ts,
            actions=(index,),
            parts=parts,
            proposed=True,
        )
    # A card of its own calls them where it is asked as well.
    called = () if place else tuple(name for name in proposal.terms.mentioned if name != "channel")
    remark = Remark(
        kind="propose",
        places=tuple(beside),
        actions=(index,),
        mentions=tuple(name for name in called if name != proposal.by),
        also_in=place.channel if place else None,
        by=proposal.by,
    )
    return Opening(proposal, place, remark)


def _fits(state: Approval, index: int, opening: Opening) -> bool:
    """Whether Slack takes every message that shows it."""
    admission = state.admission
    if opening.place:
        admission = admission.model_copy(update={"places": (*admission.places, opening.place)})
    after = replace(state, admission=admission, proposals={**state.proposals, index: opening.proposal})
    return all(
        json_size(part.blocks) <= MOST_JSON and len(part.blocks) <= MOST_BLOCKS for part in render_card(after)
    )


# --- The stricter one of each term --------------------------------------------------------------------------------------


def stricter(admitted: Terms, met: Terms) -> Terms:
    """Give the terms of an edit that another rule decides about: the stricter one of each term, and the approvers of that rule."""
    return Terms(
        **{name: pick(getattr(admitted, name), getattr(met, name)) for name, pick in STRICTER.items()}
    )


def is_same(admitted: Terms, met: Terms, joined: frozenset[str]) -> bool:
    """Whether the rule about an edit has the same terms on which the call was asked, but for people whom a step added."""
    alike = all(getattr(admitted, name) == getattr(met, name) for name in _COMPARED)
    return alike and {*admitted.approvers} == {*met.approvers, *joined}


def _of_both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))


def _in_both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(each for each in one if each in other)


_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "requester_may_decide": lambda one, other: one and other,
    "decisions": _in_both,
    "quorum": max,
    "reject_quorum": max,
    "risk": lambda *both: max(both, key=RISKS.index),
    "mask": _of_both,
    "mask_random": _of_both,
    "modal_only": _of_both,
    "use_within": min,
}
"""What makes a rule another one for an edit, beside the approvers."""
STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    **_COMPARED,
    "approvers": lambda _, met: met,
    "named_only": lambda _, met: met,
    "on_call": lambda _, met: met,
    "allow_always": lambda *_: False,
    "confirm": lambda one, other: one or other,
    # The rule about the edited call says which of its values is typed.
    "type": lambda admitted, met: met or admitted,
    "by_silence": lambda *_: False,
    # Without a key on the card, no value has a fingerprint.
    "mask_key": lambda admitted, _: admitted,
    "headline": lambda admitted, _: admitted,
    "title": lambda admitted, _: admitted,
    # The call is rejected as it was asked, also while there is a proposal.
    "reject_reasons": lambda admitted, _: admitted,
    "tell_approvers": lambda one, other: one or other,
    "standing": lambda *_: None,
    "resembles": lambda one, other: one or other,
    "matched": lambda admitted, _: admitted,
    # A proposal names its rule itself.
    "rule": lambda *_: "",
}
"""The stricter one of each term."""
