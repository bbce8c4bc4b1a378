"""The review of calls: it is opened, turned page by page, and approves at its end what was shown."""

from dataclasses import replace

from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.approval import Approval
from bot.domain.votes import Ballot
from bot.listeners.payloads import Click, Submission
from bot.listeners.services import Services
from bot.listeners.submissions import Handled, closing, confirm_objection
from bot.rendering.modal.questions import parse_note
from bot.rendering.modal.review import render_review_view
from bot.rendering.modal.view import ViewMeta
from bot.runtime.offload import offload
from bot.use_cases import bulk


async def may_review(services: Services, state: Approval, click: Click, _: str) -> str:
    """Those who may decide one of its calls in some way, and everybody when all are decided."""
    meant = _calls(state, click)
    if not any(state.is_open_at(index) for index in meant):
        return ""
    reason = await services.judge.why_none(state, click.user, meant, *KNOWN_DECISIONS)
    # What somebody proposes may be for others to decide.
    for proposal in (state.proposals[index] for index in meant if reason and index in state.proposals):
        if (await services.judge.may_cast(state, click.user, Ballot.on_proposal(proposal))).allowed:
            return ""
    return reason


def _calls(state: Approval, click: Click) -> tuple[int, ...]:
    """Give the calls that a review leads through: the open ones of a row, of a message, or above parts of the whole place.

    When none is open any more, it shows all of them.
    """
    listed = tuple(index for index in sorted(click.named) if index < len(state.actions))
    here = listed or state.calls_on(click.part) or state.posted_calls(click.number)
    return tuple(index for index in here if state.is_open_at(index)) or here


async def open_review(services: Services, state: Approval, click: Click) -> None:
    """Show the first page."""
    meta = ViewMeta(state.id, click.number, 1, part=click.part.number, calls=_calls(state, click))
    await services.open(click, await offload(state, render_review_view, state, meta, click.user))


async def turn(services: Services, state: Approval, click: Click) -> None:
    """Note that the person was shown the page on which they pressed, and show the next one."""
    if (meta := click.meta) is None:
        return
    await services.mark_shown(state, click.user, meta.pieces)
    newest = await services.store.admitted(state.id) or state
    meta = replace(meta, page=click.part.number)
    await services.turn(click, await offload(newest, render_review_view, newest, meta, click.user))


async def finish(services: Services, state: Approval, submission: Submission) -> Handled:
    """Approve the calls that the end of the review named, with a note where one was typed."""
    if objection := confirm_objection(submission):
        return Handled(objection)
    meta = submission.meta
    return closing(
        await bulk.approve_reviewed(
            services.decisions,
            state,
            submission.user,
            meta.named,
            note=parse_note(submission.view),
            press=submission.press,
        )
    )
