"""What a card says of decisions that a failover has lost: who had decided what, and what may have run."""

from collections.abc import Callable, Sequence
from functools import partial

from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.mentions import mention
from bot.domain.messages import Remark
from bot.rendering.blocks import Block, context
from bot.sentences import on_action, on_card
from bot.sentences.kinds import Lost

_RUNS_NOTHING = {"reject", "respond"}
_SHOWN = 5


def lost_blocks(state: Approval, place: Place) -> list[Block]:
    """Say whose decisions are lost, while people have to make them again; and what it means where nobody can."""
    if _has_ended(state):
        lost = _lost_in(state, place, lambda _, index: state.recorded[index] is None)
        return [context("lost", on_card.lost_for_good(lost, _SHOWN, may_have_run=may_have_run(state)))]
    missing = _lost_in(state, place, partial(_is_missing, state))
    return [context("lost", on_card.lost(missing, _SHOWN))] if missing else []


def _has_ended(state: Approval) -> bool:
    """Whether a request has ended because its decisions are lost."""
    return state.status == "refused" and state.code == "went_back"


def may_have_run(state: Approval) -> bool:
    """Say whether a call of such a request may have run: one that is not known to be rejected or answered."""
    return not all(_runs_nothing(action, _remarks(state)) for action in state.actions)


def lost_status(state: Approval, action: Action) -> str:
    """Say of a call of such a request whether it may have run; empty where nobody had decided it, and in other requests."""
    lost = [remark for remark in _remarks(state) if action.index in remark.actions]
    if not (lost and _has_ended(state)):
        return ""
    return on_action.LOST_BUT_NOT_RUN if _runs_nothing(action, lost) else on_action.LOST_MAY_HAVE_RUN


def _remarks(state: Approval) -> list[Remark]:
    return [remark for remark in state.remarks.values() if remark.kind in {"lost", "lost_for_good"}]


def _runs_nothing(action: Action, lost: Sequence[Remark]) -> bool:
    if action.recorded is not None:
        return action.recorded.decision.type in _RUNS_NOTHING
    # How a vote ended, no bot may know any more.
    said = [remark for remark in lost if action.index in remark.actions and not remark.is_vote]
    # Where people were asked again, anything may have followed.
    is_known = any(remark.kind == "lost_for_good" for remark in said)
    return is_known and {remark.decision for remark in said} <= _RUNS_NOTHING


def _lost_in(state: Approval, place: Place, is_meant: Callable[[Remark, int], bool]) -> list[Lost]:
    """Give what each person decided in the same way. What a call may be approved in spite of comes first: not all are named."""
    made: dict[tuple[str, str, bool], set[int]] = {}
    for remark in _remarks(state):
        indices = {index for index in {*remark.actions} & {*place.actions} if is_meant(remark, index)}
        if remark.by and indices:
            made.setdefault((remark.by, remark.decision, remark.is_vote), set()).update(indices)
    found = [
        Lost(mention(by), sorted(indices), decision, is_vote)
        for (by, decision, is_vote), indices in made.items()
    ]
    return sorted(found, key=lambda lost: lost.decision == "approve")


def _is_missing(state: Approval, remark: Remark, index: int) -> bool:
    """Whether an action of a lost decision is still open, and its person has not decided it again."""
    voters = {vote.user for vote in state.votes.get(index, ())}
    return remark.kind == "lost" and state.is_open_at(index) and remark.by not in voters
