"""What a click that opens a view does: who may see the view, and what it shows."""

from collections.abc import Awaitable, Callable

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.ballot import Ballot
from bot.domain.errors import SlackError
from bot.domain.votes import Proposal
from bot.listeners.payloads import Click
from bot.listeners.services import Services
from bot.rendering.blocks import Block
from bot.rendering.modal.forms import render_agree_view
from bot.rendering.modal.reading import render_reading_view
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases.answers import closed

# --- Who may see it. Each function says why not; empty means that they may. -----------------------------------------


async def may_decide(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may decide this action this way."""
    verdicts = await services.judge.may_decide(state, click.user, (click.number,), decision)
    return verdicts[click.number].sentence or _told_closed(state, click.number)


async def may_give_standing(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may approve this action and give a standing approval with it."""
    verdicts = await services.judge.may_decide(state, click.user, (click.number,), decision)
    if sentence := verdicts[click.number].sentence:
        return sentence
    verdict = await services.judge.may_give_standing(state, click.user, click.number)
    return verdict.sentence or _told_closed(state, click.number)


async def may_agree(services: Services, state: Approval, click: Click, _: str) -> str:
    """Those who may decide the proposal."""
    if stricter := state.proposals.get(click.number):
        verdict = await services.judge.may_cast(state, click.user, Ballot.on_proposal(stricter))
        return verdict.sentence or _told_closed(state, click.number)
    proposal = state.actions[click.number].proposal
    return await may_decide(services, state, click, proposal.decision.type if proposal else "edit")


async def may_decide_some(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may decide an action of the place this way."""
    meant = state.admission.places[click.number].actions
    verdicts = await services.judge.may_decide(state, click.user, meant, decision)
    return "" if any(verdict.allowed for verdict in verdicts.values()) else verdicts[meant[0]].sentence


async def may_hand_over(services: Services, state: Approval, click: Click, _: str) -> str:
    """The person to whom the place is assigned."""
    return services.assignments.why_not_handed_over(state, click.user, click.number)


async def anybody(_services: Services, state: Approval, click: Click, _: str) -> str:
    """Everybody who sees the card. A proposal can be read only while it is still open."""
    stricter = state.proposals.get(click.index)
    return in_answer.GONE if click.vote and (stricter is None or stricter.name != click.vote) else ""


def _told_closed(state: Approval, index: int) -> str:
    return "" if state.is_open_at(index) else closed(state, [index])


# --- What it shows --------------------------------------------------------------------------------------------------


def form(render: Callable[[Approval, int], Block]) -> Callable[[Services, Approval, Click], Awaitable[None]]:
    """Show a form for the action or the place that the button names."""

    async def show(services: Services, state: Approval, click: Click) -> None:
        await services.open(click, await offload(state, render, state, click.number))

    return show


async def look_and_agree(services: Services, state: Approval, click: Click) -> None:
    """Show the proposal in one form, or page by page when it does not fit a card."""
    if proposal := _to_be_read(state.actions[click.number]):
        await _read(services, state, click, click.number, 1, proposal)
    else:
        await form(render_agree_view)(services, state, click)


async def read(services: Services, state: Approval, click: Click) -> None:
    """Show the first page of an action."""
    await _read(services, state, click, click.number, 1)


async def turn_page(services: Services, state: Approval, click: Click) -> None:
    """Show the page that the button names."""
    proposal = state.proposals[click.index] if click.vote else None
    await _read(services, state, click, click.index, click.number, proposal)


def _to_be_read(action: Action) -> Proposal | None:
    """Give the proposal if its call does not fit a card: people can agree only after reading all pages."""
    return action.stricter if action.stricter and action.proposed.must_read else None


async def _read(
    services: Services, state: Approval, click: Click, index: int, page: int, proposal: Proposal | None = None
) -> None:
    """Show a page. If this person was shown all pages before it, note that they were shown this one."""
    store = services.store
    call = state.actions[index].proposed if proposal else state.actions[index]
    read = state.pages_read(call, click.user)
    view = await offload(state, render_reading_view, state, index, page, pages_read=read, proposal=proposal)
    if page == read + 1:
        await store.mark_read(state, call, click.user, page)
    try:
        await services.turn(click, view)
    except SlackError:
        await store.mark_read(state, call, click.user, read)
        raise
