"""The button table: what a click on each button does, and what becomes of the form that it opens."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from agent_adapter.contract.hitl import ApproveDecision, RespondDecision
from bot.domain.approval import Approval
from bot.listeners import editing, opening, submissions
from bot.listeners.opening import form
from bot.listeners.pressed import OUTDATED, Click
from bot.listeners.services import Services
from bot.listeners.submissions import Handle, deciding, voted
from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.rendering.calls import options_in_sight
from bot.rendering.modal import forms
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases import bulk
from bot.use_cases.answers import Answer


@dataclass(frozen=True, slots=True)
class Stores:
    """A click that decides or stores something else before it is acknowledged."""

    store: Callable[[Services, Approval, Click], Awaitable[Answer]]
    decides: bool = False
    """Whether it decides. Its button is then on messages, in reviews and in readings, not in menus."""


@dataclass(frozen=True, slots=True)
class Opens:
    """A click that opens a view. It decides nothing, and is acknowledged first."""

    show: Callable[[Services, Approval, Click], Awaitable[None]]
    submit: Handle | None = None
    """What happens when its form is submitted. The `callback_id` of the form is the verb of the button."""
    may: Callable[[Services, Approval, Click, str], Awaitable[str]] = opening.may_decide
    """Says why this person may not see the view, for the decision that the button leads to."""


_APPROVE = ApproveDecision()


async def approve(services: Services, state: Approval, click: Click) -> Answer:
    """Approve one call."""
    return await services.decisions.decide(state, click.user, {click.number: _APPROVE}, press=click.press)


async def answer(services: Services, state: Approval, click: Click) -> Answer:
    """Give the answer that a question offers under the number of the button. The text is that of the record."""
    number = click.subject.partition(".")[2]
    offered = options_in_sight(state.actions[click.number])
    if click.view is not None or not number.isdecimal() or int(number) >= len(offered):
        return OUTDATED
    decision = {click.number: RespondDecision(message=offered[int(number)])}
    return await services.decisions.decide(state, click.user, decision, press=click.press)


async def finish_reading(services: Services, state: Approval, click: Click) -> Answer:
    """Approve the call that was read to its end, or agree with the proposal that was read."""
    if (meta := click.meta) is None:
        return OUTDATED
    user, index = click.user, meta.index
    stricter = state.proposals.get(index)
    if stricter and stricter.name == meta.vote:
        answer = await services.decisions.agree(state, user, index, meta.vote, press=click.press)
    else:
        decision = await offload(state, voted, state, meta, user) if meta.vote else _APPROVE
        if isinstance(decision, Answer):
            return decision
        answer = await services.decisions.decide(state, user, {index: decision}, press=click.press)
    # The reading covers the card, which would say it.
    return replace(answer, sentence=answer.sentence or in_answer.READ_AND_APPROVED)


async def approve_all(services: Services, state: Approval, click: Click) -> Answer:
    """Approve the calls that the question of the button named and its message shows."""
    return await bulk.approve_all(
        services.decisions, state, click.user, click.part, click.named, press=click.press
    )


async def revoke(services: Services, state: Approval, click: Click) -> Answer:
    """End a standing approval. If it was in a list, write the list again."""
    answer = await services.standing.revoke(state, click.user, click.number)
    if click.view and answer.recorded:
        services.refresh_list(click.user, click.listed, click.view["id"])
    return answer


TABLE: Mapping[Button, Stores | Opens] = {
    buttons.APPROVE: Stores(approve, decides=True),
    buttons.OPTION: Stores(answer, decides=True),
    buttons.APPROVE_ALL: Stores(approve_all, decides=True),
    buttons.ASSIGN: Stores(
        lambda services, state, click: services.assignments.assign(state, click.user, click.number)
    ),
    buttons.EXTEND: Stores(
        lambda services, state, click: services.assignments.extend(state, click.user, click.number)
    ),
    buttons.REVOKE: Stores(revoke),
    buttons.CONFIRM: Opens(form(forms.render_confirm_view), deciding(submissions.approval)),
    buttons.NOTE: Opens(form(forms.render_note_view), deciding(submissions.approval)),
    buttons.CHANGES: Opens(form(forms.render_changes_view), deciding(submissions.for_changes)),
    buttons.EDIT: Opens(editing.open_form, submit=editing.submit),
    buttons.FORM: Opens(editing.change_form, may=opening.anybody),
    buttons.REJECT: Opens(form(forms.render_reject_view), deciding(submissions.rejection)),
    buttons.RESPOND: Opens(form(forms.render_respond_view), deciding(submissions.answer)),
    buttons.STANDING: Opens(
        form(forms.render_standing_view),
        deciding(submissions.approval_from_now_on),
        may=opening.may_give_standing,
    ),
    buttons.FOR_RUN: Opens(form(forms.render_for_run_view), deciding(submissions.approval_for_run)),
    buttons.AGREE: Opens(opening.look_and_agree, submit=submissions.agree, may=opening.may_agree),
    buttons.READ: Opens(opening.read, may=opening.anybody),
    buttons.FINISH: Stores(finish_reading, decides=True),
    buttons.PAGE: Opens(opening.turn_page, may=opening.anybody),
    buttons.REVIEW: Opens(opening.open_review, submit=submissions.finish_review, may=opening.may_review),
    buttons.TURN: Opens(opening.turn_review, may=opening.anybody),
    buttons.REJECT_ALL: Opens(
        form(forms.render_reject_all_view), submit=submissions.reject_all, may=opening.may_decide_some
    ),
    buttons.HAND_OVER: Opens(
        form(forms.render_hand_over_view), submit=submissions.hand_over, may=opening.may_hand_over
    ),
}

BY_VERB = {button.verb: (button, does) for button, does in TABLE.items()}
"""The button of each verb. Slack sends the verb back."""
