"""What a click that opens a view does: who may see the view, and what it shows."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.errors import DoneBeforeError, SlackError
from bot.domain.transitions import read as note_read
from bot.domain.votes import Ballot, Written
from bot.listeners.pressed import Click
from bot.listeners.services import Services
from bot.rendering.blocks import Block
from bot.rendering.modal.forms import render_agree_view
from bot.rendering.modal.review import is_read, render_reading_view, render_review_view
from bot.rendering.modal.view import ViewMeta
from bot.rendering.pages import call_written
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases.answers import closed

# --- Who may see it. Each function says why not; empty means that they may. -----------------------------------------


async def may_decide(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may decide this action this way."""
    verdicts = await services.judge.may_decide(state, click.user, (click.number,), decision)
    return verdicts[click.number].sentence or _why_closed(state, click.number)


async def may_give_standing(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may approve this action and give a standing approval with it."""
    verdicts = await services.judge.may_decide(state, click.user, (click.number,), decision)
    if sentence := verdicts[click.number].sentence:
        return sentence
    verdict = await services.judge.may_give_standing(state, click.user, click.number)
    return verdict.sentence or _why_closed(state, click.number)


async def may_agree(services: Services, state: Approval, click: Click, _: str) -> str:
    """Those who may decide the proposal."""
    if stricter := state.proposals.get(click.number):
        verdict = await services.judge.may_cast(state, click.user, Ballot.on_proposal(stricter))
        return verdict.sentence or _why_closed(state, click.number)
    proposal = state.actions[click.number].proposal
    return await may_decide(services, state, click, proposal.decision.type if proposal else "edit")


async def may_decide_some(services: Services, state: Approval, click: Click, decision: str) -> str:
    """Those who may decide an action of the place this way."""
    meant = state.admission.places[click.number].actions
    return await services.judge.why_none(state, click.user, meant, decision)


async def may_hand_over(services: Services, state: Approval, click: Click, _: str) -> str:
    """The person to whom the place is assigned."""
    return services.assignments.why_not_handed_over(state, click.user, click.number)


async def anybody(_services: Services, state: Approval, click: Click, _: str) -> str:
    """Everybody who sees the card. A proposal can be read only while it is still open."""
    return in_answer.GONE if click.vote and state.actions[click.index].written(click.vote) is None else ""


def _why_closed(state: Approval, index: int) -> str:
    return "" if state.is_open_at(index) else closed(state, [index])


# --- What it shows --------------------------------------------------------------------------------------------------


def form(render: Callable[[Approval, int], Block]) -> Callable[[Services, Approval, Click], Awaitable[None]]:
    """Show a form for the action or the place that the button names."""

    async def show(services: Services, state: Approval, click: Click) -> None:
        await services.open(click, await offload(state, render, state, click.number))

    return show


async def look_and_agree(services: Services, state: Approval, click: Click) -> None:
    """Show the proposal in one form; where the call has to be read, page by page before it."""
    found = state.actions[click.number].proposal
    is_to_be_read = found and state.is_open_at(click.number) and found.name != click.vote
    if found and is_to_be_read and await offload(state, is_read, state, click.number, found):
        await _read(services, state, click, click.number, 1, found)
    else:
        await form(render_agree_view)(services, state, click)


async def read(services: Services, state: Approval, click: Click) -> None:
    """Show the first page of an action."""
    await _read(services, state, click, click.number, 1)


async def turn_page(services: Services, state: Approval, click: Click) -> None:
    """Show the page that the button names."""
    found = state.actions[click.index].written(click.vote) if click.vote else None
    await _read(services, state, click, click.index, click.number, found)


async def _read(
    services: Services, state: Approval, click: Click, index: int, page: int, found: Written | None = None
) -> None:
    """Show a page. If this person was shown all pages before it, note that they were shown this one."""
    call = state.actions[index]
    if found:
        call = await offload(state, call_written, call, found)
    read = state.pages_read(call, click.user)
    view = await offload(state, render_reading_view, state, index, page, pages_read=read, written=found)
    if page == read + 1:
        await _note(services, state, click.user, call, page)
    try:
        await services.turn(click, view)
    except DoneBeforeError:
        # A copy of the click: its first delivery has shown the page.
        raise
    except SlackError:
        await _note(services, state, click.user, call, read)
        raise


async def _note(services: Services, state: Approval, user: str, call: Action, pages: int) -> None:
    reading = partial(note_read, user=user, pages=[(call, pages)])
    await services.store.update(state, reading, is_told=False)


# --- A review of several calls: it is opened, and turned page by page ------------------------------------------------


async def may_review(services: Services, state: Approval, click: Click, _: str) -> str:
    """Those who may decide one of its calls in some way, and everybody when all are decided."""
    meant = _reviewed_calls(state, click)
    if not any(state.is_open_at(index) for index in meant):
        return ""
    reason = await services.judge.why_none(state, click.user, meant, *KNOWN_DECISIONS)
    # What somebody proposes may be for others to decide.
    for proposal in (state.proposals[index] for index in meant if reason and index in state.proposals):
        if (await services.judge.may_cast(state, click.user, Ballot.on_proposal(proposal))).allowed:
            return ""
    return reason


def _reviewed_calls(state: Approval, click: Click) -> tuple[int, ...]:
    """Give the open calls of a row, a message, or above parts of the whole place, for a review; all of them when none is open."""
    listed = tuple(index for index in sorted(click.named) if index < len(state.actions))
    here = listed or state.calls_on(click.part) or state.posted_calls(click.number)
    return tuple(index for index in here if state.is_open_at(index)) or here


async def open_review(services: Services, state: Approval, click: Click) -> None:
    """Show the first page."""
    meta = ViewMeta(state.id, click.number, 1, part=click.part.number, calls=_reviewed_calls(state, click))
    await services.open(click, await offload(state, render_review_view, state, meta, click.user))


async def turn_review(services: Services, state: Approval, click: Click) -> None:
    """Note that the person was shown the page on which they pressed, and show the next one."""
    if (meta := click.meta) is None:
        return
    await services.mark_shown(state, click.user, meta.pieces)
    newest = await services.store.admitted(state.id) or state
    meta = replace(meta, page=click.part.number)
    await services.turn(click, await offload(newest, render_review_view, newest, meta, click.user))
