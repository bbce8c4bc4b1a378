"""What a click that stores something does."""

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import AgentAdapterError
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError
from bot.domain.question import question
from bot.listeners.payloads import Click
from bot.listeners.questions import why_not
from bot.listeners.services import Services
from bot.rendering.mention import words_shown
from bot.rendering.modal.standing import render_standing_list
from bot.rendering.modal.view import render_notice_view
from bot.sentences import in_answer, in_mention, to_agent
from bot.store.deliveries import Delivery
from bot.use_cases import bulk
from bot.use_cases.answers import Answer


async def approve(services: Services, state: Approval, click: Click, delivery: Delivery) -> Answer:
    """Approve one call."""
    decision = {click.number: ApproveDecision()}
    return await services.decisions.decide(
        state, click.user, decision, shown=click.question, delivery=delivery
    )


async def approve_for_run(services: Services, state: Approval, click: Click, delivery: Delivery) -> Answer:
    """Approve one call, and every later call of its tool in the run."""
    decision = {click.number: ApproveDecision(always=True)}
    return await services.decisions.decide(
        state, click.user, decision, shown=click.question, delivery=delivery
    )


async def approve_all(services: Services, state: Approval, click: Click, delivery: Delivery) -> Answer:
    """Approve the calls that the question of the button named and its message shows."""
    return await bulk.approve_all(
        services.decisions,
        state,
        click.user,
        click.part,
        click.named,
        shown=click.question,
        delivery=delivery,
    )


async def send_changes(services: Services, state: Approval, click: Click, delivery: Delivery) -> Answer:
    """Ask for changes with the words of a reply. Only its author can, for a call that it was offered for."""
    reply = await services.store.mention(click.subject.partition(".")[2])
    if reply is None:
        return Answer(False, in_mention.TOO_LATE)
    if (reply.user, reply.channel) != (click.user, click.channel) or (
        state.id,
        click.number,
    ) not in reply.calls:
        return Answer(False, in_answer.OUTDATED)
    now = question(state, [click.number], *words_shown(reply.words))
    if sentence := why_not(click.question, now, services.store.signing):
        return Answer(False, sentence)
    decision = {click.number: RejectDecision(message=to_agent.changes(reply.words))}
    answer = await services.decisions.decide(
        state, click.user, decision, changes=reply.words, shown=click.question, delivery=delivery
    )
    if answer.recorded and click.response_url:
        # The card says it now. The question would offer to send the same words again.
        services.tasks.start(services.slack.take_back(click.response_url))
    return answer


async def revoke(services: Services, state: Approval, click: Click) -> Answer:
    """End a standing approval. If it was in a list, draw the list again."""
    answer = await services.standing.revoke(state, click.user, click.number)
    if click.view and answer.recorded:
        services.tasks.start(_list_again(services, click.view["id"], click.user))
    return answer


async def _list_again(services: Services, view_id: str, user: str) -> None:
    try:
        view = render_standing_list(await services.lists.revocable(user))
    except (AgentAdapterError, PersonUnknownError):
        view = render_notice_view(in_answer.REVOKED, in_answer.STANDING_REVOKED)
    await services.slack.update_view(view_id, None, view)
