"""Buttons, and the forms that they open: a press is acknowledged once it is stored, or once its person was told why it is not.

Opening a view decides nothing and is acknowledged first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agent_adapter.contract.hitl import ApproveDecision, RespondDecision
from bot.domain.approval import Approval
from bot.domain.errors import DoneBeforeError, NotConfirmedError, PersonUnknownError, StoreUnavailableError
from bot.listeners import editing, opening, submissions
from bot.listeners.home import HomeTab
from bot.listeners.opening import form
from bot.listeners.pressed import (
    OUTDATED,
    Click,
    Submission,
    has_form,
    parse_click,
    parse_submission,
    why_not,
    why_not_submitted,
)
from bot.listeners.services import TELL_WITHIN, Services
from bot.listeners.submissions import Handle, Reply, beside_first, closing, deciding, notice, voted
from bot.rendering import buttons
from bot.rendering.buttons import Button
from bot.rendering.calls import options_in_sight
from bot.rendering.home import permalink
from bot.rendering.modal import forms
from bot.rendering.modal.view import HOME
from bot.runtime.offload import offload
from bot.sentences import in_answer
from bot.use_cases import bulk
from bot.use_cases.answers import Answer

logger = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class Buttons:
    """Handles every button on cards and in views, and every form that one opened, as the table says."""

    services: Services
    home: HomeTab

    async def press(self, body: Mapping[str, Any]) -> None:
        """Handle one `block_actions` payload. It returns when the click is stored, or the person knows why it is not.

        Raises:
            MalformedError: when the payload names no button.
            NotToldError: when nothing was stored, and the person does not know why.
            StoreUnavailableError: when it is unknown whether Redis has stored it.
        """
        until = asyncio.get_running_loop().time() + TELL_WITHIN
        click = parse_click(body)
        match BY_VERB.get(click.verb):
            case button, Stores() as does:
                try:
                    storing = partial(self._store, click, button, does)
                    where = (click.channel, click.ts)
                    answer = await self._judged(click.interrupt_id, where, button, storing)
                except Exception as error:  # noqa: BLE001  # `why_failed` raises what nobody foresaw
                    await self._failed(click, error, until)
                else:
                    await self._answer(click, answer, until)
            case button, Opens() as does:
                self.services.tasks.start(self._open(click, button, does))
            case None if click.verb == HOME:
                self.home.press(body)
            case _:
                await self.services.refuse(click, in_answer.OUTDATED, until=until)

    async def submit(self, body: Mapping[str, Any]) -> Reply | None:
        """Handle one `view_submission` payload, and give the reply."""
        if body["view"]["callback_id"] == "notice":
            return None
        submission = parse_submission(body)
        try:
            return await self._submit(submission)
        except Exception as error:  # noqa: BLE001  # `why_failed` raises what nobody foresaw
            meta = submission.meta
            sentence = await self.services.why_failed(meta.id, submission.user, submission.form, error)
            match error:
                case PersonUnknownError():
                    # An error next to an input keeps what was typed.
                    return beside_first(submission, sentence)
                case NotConfirmedError():
                    return beside_first(submission, in_answer.NOT_CONFIRMED)
            if sentence:
                return notice(sentence)
            # Beside the first input, so that the text stays; without one, in place of the form.
            said = in_answer.NOT_SAVED if submission.first_input else in_answer.NOT_SUBMITTED
            return beside_first(submission, said)

    async def _judged(
        self,
        interrupt_id: str,
        where: tuple[str, str],
        button: Button,
        judge: Callable[[Approval], Awaitable[Answer]],
    ) -> Answer:
        """Judge by the record as this process last read it. Only what speaks against a press is read anew."""
        # What is about several calls needs the newest messages, and a proposal may have been changed in Redis since it was shown.
        state = self.services.store.recall(interrupt_id) if button.scope in {"action", "page"} else None
        answer = await judge(state) if state and not state.proposals else OUTDATED
        if not answer.recorded and not answer.is_final:
            state = await self.services.store.admitted(interrupt_id)
            answer = await judge(state) if state else OUTDATED
        if state and answer.draws_anew:
            await self.services.draw_again(state, *where)
        return answer

    async def _store(self, click: Click, button: Button, does: Stores, state: Approval) -> Answer:
        refused = why_not(state, click, button.scope, decides=does.decides)
        return refused or await does.store(self.services, state, click)

    async def _submit(self, submission: Submission) -> Reply:
        meta, answer, indices = submission.meta, OUTDATED, list[int]()
        match BY_VERB.get(submission.form):
            case button, Opens(submit=does) if does:
                indices = [meta.index] if button.scope == "action" else []
                reading = partial(self._read, submission, button, does)
                answer = await self._judged(meta.id, (meta.channel, meta.ts), button, reading)
        await self.services.note_refused(
            meta.id, submission.user, answer, button=submission.form, indices=indices
        )
        return self._back(submission, answer.reply or closing(answer))

    async def _read(self, submission: Submission, button: Button, does: Handle, state: Approval) -> Answer:
        if not has_form(state, submission, button.scope):
            return OUTDATED
        if sentence := why_not_submitted(state, submission.meta, button.scope):
            return Answer(False, sentence, why="outdated", draws_anew=True)
        return await does(self.services, state, submission)

    def _back(self, submission: Submission, reply: Reply) -> Reply:
        """After a form on top of a review or of a list: show both again, as they are now."""
        view, meta = submission.view, submission.meta
        is_done = reply == {"response_action": "clear"}
        is_notice = reply.get("view", {}).get("callback_id") == "notice"
        if not ((is_done or is_notice) and (meta.review or meta.listed)):
            return reply
        self.services.draw_below(view, meta, submission.user)
        has_more_below = view.get("previous_view_id") == view["root_view_id"] or bool(
            meta.review and meta.listed
        )
        # Without an action, Slack closes this form only.
        return {} if is_done and has_more_below else reply

    async def _answer(self, click: Click, answer: Answer, until: float) -> None:
        if not answer.recorded or answer.not_theirs:
            await self._enter(click, answer)
        if not answer.recorded:
            if answer.sentence:
                await self.services.refuse(click, answer.sentence, until=until)
            return
        if click.meta and click.view and click.in_reading:
            self.services.draw_below(click.view, click.meta, click.user)
        if answer.sentence or click.in_review:
            self._tell(click, answer.sentence, title=in_answer.RECORDED)

    async def _failed(self, click: Click, error: Exception, until: float) -> None:
        """Say why a click failed. Where nobody knows what is stored, Slack also shows that it failed."""
        if sentence := await self.services.why_failed(click.interrupt_id, click.user, click.verb, error):
            await self.services.refuse(click, sentence, until=until)
            return
        says = in_answer.not_confirmed if isinstance(error, NotConfirmedError) else in_answer.not_recorded
        url, ts = self.services.slack.me.url, click.ts
        address = permalink(url, click.channel, ts) if url and ts[:1].isdigit() else ""
        self._tell(click, says(address))
        raise StoreUnavailableError(str(error)) from error

    async def _open(self, click: Click, button: Button, does: Opens) -> None:
        try:
            await self._open_now(click, button, does)
        except DoneBeforeError as error:
            logger.info(
                "form.opened_before", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
        except Exception as error:  # noqa: BLE001  # as above
            if sentence := await self.services.why_failed(click.interrupt_id, click.user, click.verb, error):
                await self.services.tell(click, sentence)
                return
            logger.warning(
                "form.not_opened", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
            # Slack may have shown the view, and only its answer was lost. What is shown then stays.
            shown = click.view.get("hash") if click.view else None
            with suppress(DoneBeforeError):
                await self.services.tell(click, in_answer.NOT_OPENED, over=shown)

    async def _open_now(self, click: Click, button: Button, does: Opens) -> None:
        services = self.services
        state = await services.store.admitted(click.interrupt_id)
        refused = why_not(state, click, button.scope) if state else OUTDATED
        if state and refused and refused.draws_anew:
            await services.draw_again(state, click.channel, click.ts)
        elif state and not refused:
            if not (sentence := await does.may(services, state, click, button.decision)):
                await does.show(services, state, click)
                return
            refused = Answer(False, sentence, why="not_allowed")
        assert refused
        await self._enter(click, refused)
        await services.tell(click, refused.sentence)

    async def _enter(self, click: Click, answer: Answer) -> None:
        """Enter a click that stored nothing into the audit trail."""
        indices = [click.number] if click.number >= 0 else []
        await self.services.note_refused(
            click.interrupt_id, click.user, answer, button=click.verb, indices=indices
        )

    def _tell(self, click: Click, sentence: str, title: str = in_answer.NOT_DONE) -> None:
        self.services.tasks.start(self.services.tell(click, sentence, title=title))
