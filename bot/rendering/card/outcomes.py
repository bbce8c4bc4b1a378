"""What became of an action: its state, who decided it, and the text of the decision."""

from collections.abc import Collection

from agent_adapter.contract.hitl import EditDecision, RejectDecision, RespondDecision
from agent_adapter.contract.record import EXPIRED
from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.masking import hide
from bot.domain.mentions import approver_names
from bot.rendering.arguments import change_lines
from bot.rendering.card.folded import pairs_of
from bot.rendering.card.votes import is_alone
from bot.rendering.cautions import caution_lines
from bot.sentences import on_action, on_card, words
from bot.text.literal import visible


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
    """Say what people decided and when, or that it is not signed, where it is the same of all actions of a card.

    No row says it again then, and it does not say again how, where the title says just that.
    """
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
        return on_action.outcome_by_standing(status, people, recorded.decided_at)
    return on_action.outcome("" if is_said else status, people, recorded.decided_at)
