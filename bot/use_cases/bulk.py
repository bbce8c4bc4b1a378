"""One button for several actions: approve or reject all of them that a person may decide together."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from agent_adapter.contract.hitl import ApproveDecision, Decision, RejectDecision
from bot.domain.approval import Approval, decided_together, reviewed, with_proposal
from bot.domain.ids import MessageId
from bot.domain.votes import UNNAMED, Press
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases.answers import Answer, closed
from bot.use_cases.decide import Decisions
from bot.use_cases.who_may_decide import first_objection, is_repeat


async def approve_all(
    decisions: Decisions,
    state: Approval,
    user: str,
    part: MessageId,
    named: Collection[int],
    *,
    press: Press = UNNAMED,
) -> Answer:
    """Approve what may still be approved together of the calls that a button's question named, and nothing else."""
    here = state.calls_on(part)
    # What a colleague proposed when the question was drawn may be withdrawn by now: the person was told that it is left out.
    meant = [index for index in here if index in named]
    if not meant:
        return Answer(False, in_answer.NOT_SHOWN_HERE, why="outdated")
    answer = await _decide_all(decisions, state, user, meant, ApproveDecision(), press)
    apart = in_answer.not_approved(left) if (left := with_proposal(state, here)) else ""
    return replace(answer, sentence=f"{answer.sentence} {apart}".strip())


async def approve_reviewed(
    decisions: Decisions,
    state: Approval,
    user: str,
    named: Sequence[int],
    *,
    note: str | None,
    press: Press,
) -> Answer:
    """Approve what the end of a review named, with a note, if this person was shown all of it and it may still be approved so."""
    meant = reviewed(state, named, user)
    left = [index for index in named if index not in meant and state.is_open_at(index)]
    gone = [index for index in named if not state.is_open_at(index)]
    said = [closed(state, gone), in_answer.not_reviewed(left) if left else ""]
    if not meant:
        return Answer(False, " ".join(filter(None, said)) or in_answer.nothing_left("approve"))
    approved = dict.fromkeys(meant, ApproveDecision())
    answer = await decisions.decide(state, user, approved, note=note, press=press)
    return replace(answer, sentence=" ".join(filter(None, [answer.sentence, *said])))


async def reject_all(
    decisions: Decisions,
    state: Approval,
    user: str,
    place: int,
    *,
    message: str | None = None,
    press: Press = UNNAMED,
) -> Answer:
    """Reject what is open of the calls that a place asks about and has shown."""
    posted = state.posted_calls(place)
    return await _decide_all(decisions, state, user, posted, RejectDecision(message=message), press)


async def _decide_all(
    decisions: Decisions,
    state: Approval,
    user: str,
    indices: Iterable[int],
    decision: Decision,
    press: Press,
) -> Answer:
    indices = tuple(indices)
    if meant := await offload(state, _without_objection, state, user, indices, decision):
        return await decisions.decide(state, user, dict.fromkeys(meant, decision), press=press)
    if any(is_repeat(state.actions[index], user, decision) for index in indices):
        # It may have failed then, because nothing had confirmed it.
        await decisions.store.confirm()
        return Answer(True)
    return Answer(False, in_answer.nothing_left(decision.type))


def _without_objection(state: Approval, user: str, indices: Sequence[int], decision: Decision) -> list[int]:
    return [
        index
        for index in decided_together(state, indices, decision.type)
        if not first_objection(state, user, {index: decision})
    ]
