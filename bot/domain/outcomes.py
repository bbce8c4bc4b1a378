"""What an agent reports of its calls, as people may see it."""

from agent_adapter.contract.hitl import EditDecision
from bot.domain.approval import Approval
from bot.domain.masking import secrets_of


def secrets_in(state: Approval) -> tuple[str, ...]:
    """Give every text of the calls that is masked or kept off the card, as they were asked and as they ran."""
    masked = []
    for action in state.actions:
        proposal = action.stricter
        terms = [action.terms, *([proposal.terms] if proposal else [])]
        decision = action.recorded.decision if action.recorded else None
        ran = [decision.edited_action.args] if isinstance(decision, EditDecision) else []
        masked += [
            (args, {*own.masked, *own.modal_only}) for args in (action.request.args, *ran) for own in terms
        ]
    return secrets_of(masked)
