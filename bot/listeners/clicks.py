"""What a click that stores something does."""

from dataclasses import replace

from agent_adapter.contract.hitl import ApproveDecision, RespondDecision
from agent_adapter.errors import AgentAdapterError
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError
from bot.listeners.payloads import Click
from bot.listeners.services import Services
from bot.listeners.submissions import voted
from bot.rendering.modal.standing import render_standing_list
from bot.rendering.modal.view import render_notice_view
from bot.rendering.question_card import options_in_sight
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases import bulk
from bot.use_cases.answers import Answer

_APPROVE = ApproveDecision()


async def approve(services: Services, state: Approval, click: Click) -> Answer:
    """Approve one call."""
    decision = {click.number: _APPROVE}
    return await services.decisions.decide(
        state, click.user, decision, shown=click.question, press=click.press
    )


async def answer(services: Services, state: Approval, click: Click) -> Answer:
    """Give the answer that a question offers under the number of the button. The text is that of the record."""
    number = click.subject.partition(".")[2]
    offered = options_in_sight(state.actions[click.number])
    if click.view is not None or not number.isdecimal() or int(number) >= len(offered):
        return Answer(False, in_answer.OUTDATED, why="outdated")
    decision = {click.number: RespondDecision(message=offered[int(number)])}
    return await services.decisions.decide(
        state, click.user, decision, shown=click.question, press=click.press
    )


async def finish_reading(services: Services, state: Approval, click: Click) -> Answer:
    """Approve the call that was read to its end, or agree with the proposal that was read."""
    if (meta := click.meta) is None:
        return Answer(False, in_answer.OUTDATED, why="outdated")
    user, index, shown = click.user, meta.index, meta.question
    stricter = state.proposals.get(index)
    if stricter and stricter.name == meta.vote:
        answer = await services.decisions.agree(state, user, index, meta.vote, shown=shown, press=click.press)
    else:
        decision = await offload(state, voted, state, meta, user) if meta.vote else _APPROVE
        if isinstance(decision, Answer):
            return decision
        answer = await services.decisions.decide(
            state, user, {index: decision}, shown=shown, press=click.press
        )
    # The reading covers the card, which would say it.
    return replace(answer, sentence=answer.sentence or in_answer.READ_AND_APPROVED)


async def approve_all(services: Services, state: Approval, click: Click) -> Answer:
    """Approve the calls that the question of the button named and its message shows."""
    return await bulk.approve_all(
        services.decisions,
        state,
        click.user,
        click.part,
        click.named,
        shown=click.question,
        press=click.press,
    )


async def revoke(services: Services, state: Approval, click: Click) -> Answer:
    """End a standing approval. If it was in a list, draw the list again."""
    answer = await services.standing.revoke(state, click.user, click.number)
    if click.view and answer.recorded:
        services.tasks.start(_list_again(services, click.view["id"], click.user))
    return answer


async def _list_again(services: Services, view_id: str, user: str) -> None:
    try:
        view = render_standing_list(await services.standing.revocable(user))
    except (AgentAdapterError, PersonUnknownError):
        view = render_notice_view(in_answer.REVOKED, in_answer.STANDING_ENDED)
    await services.slack.update_view(view_id, None, view)
