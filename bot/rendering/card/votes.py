"""What people say about an action: who may decide, how far their votes are, what somebody proposes, and what became of it."""

from collections.abc import Collection, Sequence

from agent_adapter.contract.hitl import EditDecision, RejectDecision, RespondDecision
from agent_adapter.contract.record import EXPIRED
from bot.domain.action import Action
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.masking import hide
from bot.domain.person import approver_names, mention
from bot.domain.votes import PROPOSAL, Proposal, Written, kind_of
from bot.rendering.arguments import change_lines
from bot.rendering.blocks import Block, json_size, literal_within
from bot.rendering.calls import caution_lines, typing_words
from bot.rendering.card.folded import pairs_of
from bot.rendering.changes import changes_blocks, changes_written
from bot.sentences import on_action, on_card, words
from bot.text.literal import clip, mrkdwn, one_line, visible

_SHOWN_POSITIONS = 3
_MOST = 1_500
"""The JSON characters that a proposal may take."""


def deciders(
    people: Sequence[str], terms: Sequence[Terms], *, at_most: int, channel: str = "", needed: int = 1
) -> str:
    """Mention these approvers in the way of their terms, as many of them as are needed or one of them."""
    mentioned = {name for each in terms for name in each.mentioned}
    named = {entry: name for each in terms for entry, name in each.named_only.items()}
    return approver_names(
        people,
        at_most=at_most,
        channel=channel,
        named_only={entry: name for entry, name in named.items() if entry not in mentioned},
        on_call={entry: people for each in terms for entry, people in each.on_call.items()},
        together=needed > 1,
    )


def proposal_deciders(state: Approval, proposal: Proposal, *, at_most: int) -> str:
    terms, channel = proposal.terms, words.place_name(proposal.channel) if len(state.places) > 1 else ""
    people = may_approve(state, terms)
    return deciders(people, [terms], at_most=at_most, channel=channel, needed=terms.quorum)


def may_approve(state: Approval, terms: Terms) -> tuple[str, ...]:
    """Name the approvers without the requester where that person may only reject, as long as others are named."""
    others = tuple(name for name in terms.approvers if name != state.requested_by)
    return terms.approvers if terms.requester_may_decide or not others else others


def is_mixed(admission: Admission, place: Place) -> bool:
    """Tell whether different people decide the actions of a place, now or after a step."""
    deciders = {
        (admission.terms[index].approvers, added_by_steps(admission, index)) for index in place.actions
    }
    return len(deciders) > 1


def added_by_steps(admission: Admission, index: int) -> tuple[str, ...] | None:
    """Name who decides an action after a step as well; `None` without one."""
    steps = (step for step in admission.steps if step.kind == "escalate" and index in step.actions)
    return next((step.approvers for step in steps), None)


def is_alone(place: Place) -> bool:
    """Tell whether a card has one action only. Its title and the line below then say what else its row would say."""
    return not place.parts and len(place.actions) == 1


def home(state: Approval, index: int) -> str:
    """Name the channel whose members may decide an action, where it is asked in others as well; else nothing."""
    return words.place_name(state.place_of(index).channel) if len(state.places) > 1 else ""


def vote_words(state: Approval, action: Action) -> list[str]:
    """Say who changed the call or wrote an answer, who says something else, and whom it waits for."""
    found = action.proposal
    lines = [_proposal_line(state, action, found)] if found else []
    others = [
        position
        for position in dict.fromkeys(vote.position for vote in action.votes)
        if not position.startswith(PROPOSAL) and not (found and position == found.position)
    ]
    for position in others[:_SHOWN_POSITIONS]:
        names = approver_names(action.voters(position), at_most=3)
        lines.append(on_action.voted(tally(action, position), names))
    if len(others) > _SHOWN_POSITIONS:
        lines.append(on_action.other_proposals(len(others) - _SHOWN_POSITIONS))
    voters = {vote.user for vote in action.votes}
    terms = state.admission.terms[action.index]
    left = [name for name in may_approve(state, terms) if name not in voters]
    if left and (others or (found and found.is_vote)):
        positions = {vote.position for vote in action.votes}
        missing = min(action.needed(position) - len(action.voters(position)) for position in positions)
        channel = home(state, action.index)
        names = deciders(left, [terms], at_most=3, channel=channel, needed=missing)
        lines[-1] = on_action.waiting_for(lines[-1], names)
    if action.stricter and action.proposed.is_high_risk:
        lines.append(typing_words(action.proposed, agree=True))
    return lines


def _proposal_line(state: Approval, action: Action, found: Written) -> str:
    """Say who wrote what the card shows, and who agrees; of a change that another rule decides about, by whom."""
    did = on_action.did(mention(found.by), found.decision.type)
    count = tally(action, found.position)
    if stricter := action.stricter:
        rule = mrkdwn(clip(one_line(stricter.rule), 80))
        return on_action.decided_under(did, count, rule, proposal_deciders(state, stricter, at_most=3))
    people = action.voters(found.position)
    if len(people) == 1:
        return on_action.and_agrees(did)
    return on_action.agreed(did, count, approver_names(people, at_most=3))


def tally(action: Action, position: str) -> str:
    kind, found = kind_of(position), action.proposal
    count, needed = len(action.voters(position)), action.needed(position)
    is_beside = found is not None and found.position != position
    return on_action.tally(kind, count, needed, beside_change=is_beside)


def proposal_text(action: Action) -> str:
    """Write what somebody proposes, as far as a card shows it."""
    match action.proposal:
        case Written(decision=EditDecision(edited_action=edited), terms=terms):
            lines = change_lines(action.request.args, edited.args, terms.masked, terms.modal_only)
            return "\n".join(lines)
        case Written(decision=RespondDecision(message=message)):
            return visible(message)
        case _:
            return ""


def with_proposal(action: Action, found: Written, blocks: list[Block], room: int) -> list[Block]:
    """Give the blocks of a call with what somebody proposes above the buttons, in so many JSON characters (300 or more)."""
    at, room = f"a:{action.index}:proposal", min(room, _MOST)
    changes = changes_written(action, found, on_card=True)
    said = changes_blocks(at, changes) if changes else []
    if not said or json_size(said) > room:
        said = [literal_within(at, proposal_text(action), room)]
    foot = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    return [*blocks[:foot], *said, *blocks[foot:]]


def status_of(state: Approval, action: Action) -> str:
    if action.recorded is not None:
        decision = action.recorded.decision
        if action.recorded.changes:
            return on_action.CHANGES_NOT_PASSED_ON if is_void(state) else on_action.CHANGES_REQUESTED
        for_run = bool(getattr(decision, "always", False))
        return on_action.decided(decision.type, is_void=is_void(state), for_run=for_run)
    if action.index in state.unsigned:
        return on_action.NOT_SIGNED
    if state.is_open:
        return on_action.OPEN
    asked = state.interrupt.request.review_configs[action.index]
    match state.status:
        case "withdrawn":
            return on_action.WITHDRAWN
        case "refused":
            return on_action.REFUSED
        # Silence rejects wherever the agent accepts that, even if the policy offers no button for it.
        case "expired" if not state.raises_at_deadline and "reject" in asked.allowed_decisions:
            return on_action.rejected_in_silence(has_votes=bool(action.votes))
        case _:
            return on_action.not_decided(has_votes=bool(action.votes))


def mark_of(state: Approval, action: Action) -> str:
    """Give the mark of what became of one call of several; empty while it is open, and while it is not known."""
    index, reported = action.index, state.outcomes.get(action.index)
    if index in state.unsigned:
        return on_card.MARKS["unsure"].strip()
    if state.is_open_at(index):
        return ""
    if reported and index in state.running([index]):
        return on_card.MARKS[reported.outcome.status].strip()
    if action.recorded is None or action.recorded.decision.type == "reject":
        is_over = action.recorded is None or action.recorded.decided_by == EXPIRED
        return on_card.MARKS["over" if is_over else "rejected"].strip()
    return ""


def is_void(state: Approval) -> bool:
    """Say whether nothing that was decided will be run or passed on."""
    raised = state.status == "expired" and state.raises_at_deadline
    return raised or state.status in {"withdrawn", "refused"}


def not_run_words(state: Approval, place: Place) -> list[str]:
    """Say that no call of a place ran; nothing where a program only asks, because nobody knows what it does then."""
    if any("words_only" in state.actions[index].config.effects for index in place.actions):
        return []
    if not (is_void(state) and state.status != "refused"):
        recorded = [state.recorded[index] for index in place.actions]
        is_over = state.status == "expired" or (state.status == "decided" and all(recorded))
        # Whom people ask for changes may ask for another call. This one did not run.
        if not is_over or any(found.decision.type != "reject" for found in recorded if found):
            return []
    return [on_card.not_run(len(place.actions))]


def outcome_text(action: Action) -> str:
    return _text_of(action, None)


def folded_text(action: Action) -> str:
    """Give the text of a decision without the changes that the line of a folded call shows."""
    changed = [pair for pair in pairs_of(action) if pair.is_changed]
    return _text_of(action, {pair.name for pair in changed if not pair.is_short} if changed else None)


def is_edited(action: Action) -> bool:
    return action.recorded is not None and isinstance(action.recorded.decision, EditDecision)


def _text_of(action: Action, named: Collection[str] | None) -> str:
    """Write what was decided and the note; of the changes of an edit only those of the named arguments, or all of them."""
    if (recorded := action.recorded) is None:
        return ""
    told = [visible(recorded.note)] if recorded.note else []
    match recorded.decision:
        case EditDecision(edited_action=edited):
            terms, asked = action.as_it_ran.terms, action.request.args
            after = hide(edited.args, terms.masked, terms.modal_only)
            cautions = caution_lines(after, action.shown(on_card=True))
            one, other = (
                {name: value for name, value in args.items() if named is None or name in named}
                for args in (asked, edited.args)
            )
            lines = change_lines(one, other, terms.masked, terms.modal_only) if named is None or named else []
            told = [*cautions, *lines, *told]
        case RejectDecision(message=message) | RespondDecision(message=message):
            # Beside what a person wants changed, the message only says to the model what to do about it.
            told = [visible(recorded.changes or message or ""), *told]
    return "\n".join(filter(None, told))


def common_outcome(state: Approval, place: Place, how: str = "") -> str:
    """Say what people decided and when, or that it is not signed, where it is the same of all actions of a card."""
    actions = [state.actions[index] for index in place.actions]
    by_people = all(
        (action.recorded and action.recorded.decided_by != EXPIRED) or action.index in state.unsigned
        for action in actions
    )
    if not by_people or not (place.rows or is_alone(place)):
        return ""
    lines = {outcome_line(state, action, how) for action in actions}
    return lines.pop() if len(lines) == 1 else ""


def outcome_line(state: Approval, action: Action, how: str = "") -> str:
    """Say what became of an action, who decided it, and when; where a title says the first, only the others."""
    status = status_of(state, action)
    recorded = action.recorded
    if recorded is None:
        return f"*{status}*"
    if recorded.decided_by == EXPIRED:
        return on_action.outcome_by_silence(status)
    people = approver_names(recorded.agreed_by or (recorded.decided_by,), at_most=20)
    is_said = how.startswith((status, on_card.CHANGED)) and bool(how)
    if recorded.sticky:
        people = words.SOMEBODY.lower() if recorded.sticky in state.quiet else people
        return on_action.outcome_by_standing(status, people, words.when(recorded.decided_at))
    return on_action.outcome("" if is_said else status, people, recorded.decided_at)
