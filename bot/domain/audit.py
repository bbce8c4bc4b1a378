"""What an audit entry says about a decision. Pure. Nothing that is masked is in it, also not inside of a digest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    RejectDecision,
    RespondDecision,
)
from bot.domain.action import Action, once
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval, Published
from bot.domain.masking import masked_digest, scrub
from bot.domain.votes import Ballot

How = Literal["click", "form", "standing", "silence"]
"""How somebody decided, or what decided in their place."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the audit says about one decision, beside its person, its time and the version of the rules."""

    text: str
    """A JSON object."""
    message: str
    """The message that asks. The audit says for how long it was there before the decision."""


def facts_of_ballot(state: Approval, index: int, ballot: Ballot, *, name: str, how: How) -> Facts:
    """Say what a person decides about an action, by the rule that judged it.

    Args:
        state: The record.
        index: The index of the action.
        ballot: What the person decides.
        name: What the person calls themselves now.
        how: How they said it.
    """
    action = state.actions[index]
    said = _said(action.request, _asked(action), ballot.decision, ballot.terms, action.secrets)
    # The message of a request for changes has more than the person wrote.
    own = {"reason": ballot.changes, "note": ballot.note}
    said |= {fact: scrub(text, action.secrets) for fact, text in own.items() if text}
    # Who may read these words later: the cards there show them.
    said["channels"] = _channels(state.places.values(), index)
    return Facts(_written(**said, name=name, rule=ballot.rule, how=how), str(state.message_of(index)))


def facts_of_silence(action: Action, decision: Decision) -> str:
    """Say what the deadline decides about an action."""
    said = _said(action.request, _asked(action), decision, action.terms, action.secrets)
    return _written(**said, rule=action.terms.rule, how="silence")


def facts_of_standing(call: ActionRequest, terms: Terms) -> str:
    """Say that a standing approval approves a call."""
    said = _said(call, masked_digest(call.name, call.args, terms.masked), ApproveDecision(), terms, ())
    return _written(**said, rule=terms.rule, how="standing")


def facts_of_question(state: Published, admission: Admission) -> str:
    """Say what a new record asks, and for each action where, and which rule decides about it."""
    requests = state.interrupt.request.action_requests
    opened = [place for place in admission.places if place.opened_by is None]
    asked = [
        _present(
            tool=call.name,
            asked=masked_digest(call.name, call.args, terms.masked),
            rule=terms.rule,
            channels=_channels(opened, index),
        )
        for index, (call, terms) in enumerate(zip(requests, admission.terms, strict=True))
    ]
    requested_by = admission.requested_by or state.interrupt.context.requested_by
    return _written(actions=asked, requested_by=requested_by)


def _channels(places: Iterable[Place], index: int) -> list[str]:
    return [place.channel for place in places if index in place.actions]


@once
def _asked(action: Action) -> str:
    return masked_digest(action.request.name, action.request.args, action.terms.masked)


def _said(
    call: ActionRequest, asked: str, decision: Decision, terms: Terms, secrets: Sequence[str]
) -> dict[str, Any]:
    said: dict[str, Any] = {"decision": decision.type, "tool": call.name, "asked": asked}
    match decision:
        case EditDecision(edited_action=edited):
            return {**said, "decided": masked_digest(call.name, edited.args, terms.masked)}
        case RespondDecision(message=message):
            return {**said, "decided": digest("answer", scrub(message, secrets))}
        case RejectDecision(message=message):
            return {**said, "reason": scrub(message or "", secrets)}
        case _:
            return {**said, "decided": asked}


def _written(**facts: Any) -> str:
    return encode(_present(**facts))


def _present(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value}
