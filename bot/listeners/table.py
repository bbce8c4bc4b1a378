"""The button table: what a click on each button does, and what becomes of the form that it opens."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.domain.approval import Approval
from bot.listeners import clicks, editing, opening, reviewing, submissions
from bot.listeners.opening import form
from bot.listeners.payloads import Click
from bot.listeners.services import Services
from bot.listeners.submissions import Handle, deciding
from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.rendering.modal import forms, standing
from bot.use_cases.answers import Answer


@dataclass(frozen=True, slots=True)
class Stores:
    """A click that decides or stores something else before it is acknowledged."""

    store: Callable[[Services, Approval, Click], Awaitable[Answer]]
    decides: bool = False
    """Whether it decides. Its button is then on messages, in reviews and in readings, not in menus."""
    from_memory: bool = False
    """Whether the cached record is used first. The record is read from Redis only when something prevents the decision."""


@dataclass(frozen=True, slots=True)
class Opens:
    """A click that opens a view. It decides nothing, and is acknowledged first."""

    show: Callable[[Services, Approval, Click], Awaitable[None]]
    submit: Handle | None = None
    """What happens when the view is submitted. Its `callback_id` is the verb of the button."""
    may: Callable[[Services, Approval, Click, str], Awaitable[str]] = opening.may_decide
    """Says why this person may not see the view, for the decision that the button leads to."""


TABLE: Mapping[Button, Stores | Opens] = {
    buttons.APPROVE: Stores(clicks.approve, decides=True, from_memory=True),
    buttons.OPTION: Stores(clicks.answer, decides=True, from_memory=True),
    buttons.APPROVE_ALL: Stores(clicks.approve_all, decides=True),
    buttons.ASSIGN: Stores(
        lambda services, state, click: services.assignments.assign(state, click.user, click.number)
    ),
    buttons.EXTEND: Stores(
        lambda services, state, click: services.assignments.extend(state, click.user, click.number)
    ),
    buttons.REVOKE: Stores(clicks.revoke),
    buttons.CONFIRM: Opens(form(forms.render_confirm_view), submissions.approve),
    buttons.NOTE: Opens(form(forms.render_note_view), submissions.approve),
    buttons.CHANGES: Opens(form(forms.render_changes_view), submissions.ask_for_changes),
    buttons.EDIT: Opens(editing.open_form, editing.submit),
    buttons.FORM: Opens(editing.change_form, may=opening.anybody),
    buttons.REJECT: Opens(form(forms.render_reject_view), submissions.reject),
    buttons.RESPOND: Opens(form(forms.render_respond_view), deciding(submissions.answer)),
    buttons.STANDING: Opens(
        form(standing.render_standing_view),
        submissions.approve_from_now_on,
        may=opening.may_give_standing,
    ),
    buttons.FOR_RUN: Opens(form(forms.render_for_run_view), deciding(submissions.approval_for_run)),
    buttons.MORE: Opens(form(forms.render_more_view), may=opening.anybody),
    buttons.AGREE: Opens(opening.look_and_agree, submissions.agree, may=opening.may_agree),
    buttons.READ: Opens(opening.read, may=opening.anybody),
    buttons.FINISH: Stores(clicks.finish_reading, decides=True),
    buttons.PAGE: Opens(opening.turn_page, may=opening.anybody),
    buttons.REVIEW: Opens(reviewing.open_review, reviewing.finish, may=reviewing.may_review),
    buttons.TURN: Opens(reviewing.turn, may=opening.anybody),
    buttons.REJECT_ALL: Opens(
        form(forms.render_reject_all_view), submissions.reject_all, may=opening.may_decide_some
    ),
    buttons.HAND_OVER: Opens(
        form(forms.render_hand_over_view), submissions.hand_over, may=opening.may_hand_over
    ),
}

BY_VERB = {button.verb: (button, does) for button, does in TABLE.items()}
"""The button of each verb. Slack sends the verb back."""
