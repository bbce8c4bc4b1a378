"""Which actions one button decides together."""

from collections.abc import Iterable

from bot.domain.approval import Approval


def decided_together(approval: Approval, indices: Iterable[int], decision: str) -> tuple[int, ...]:
    """Give the open actions of these that may be decided together: none of high risk, to be read first, or with a proposal."""
    return tuple(
        index
        for index in indices
        if approval.is_open_at(index)
        and (action := approval.actions[index]).allows(decision)
        and not action.is_high_risk
        and not (decision == "approve" and (action.must_read or action.proposal))
    )


def reviewed(approval: Approval, indices: Iterable[int], user: str) -> tuple[int, ...]:
    """Give the open actions of these that somebody may approve together at the end of a review, which showed all of each."""
    return tuple(
        index
        for index in indices
        if approval.is_open_at(index)
        and (action := approval.actions[index]).allows("approve")
        and not action.is_high_risk
        and action.proposal is None
        and approval.pages_read(action, user) >= max(action.pages, 1)
    )


def put_to_vote(approval: Approval, indices: Iterable[int]) -> list[int]:
    """Give the actions of these that do not run yet when one more person approves them."""
    found = (approval.actions[index] for index in indices)
    return [each.index for each in found if each.terms.quorum - len(each.voters("approve")) > 1]


def with_proposal(approval: Approval, indices: Iterable[int]) -> list[int]:
    """Give the open actions of these that could be approved and for which somebody proposes something else."""
    found = (approval.actions[index] for index in indices if approval.is_open_at(index))
    return [action.index for action in found if action.allows("approve") and action.proposal]
