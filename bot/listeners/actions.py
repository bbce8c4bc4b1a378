"""Buttons, and the forms that they open: a press is acknowledged once it is stored, or once its person was told why it is not.

Opening a view decides nothing and is acknowledged first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.domain.approval import Approval
from bot.domain.errors import DoneBeforeError, NotConfirmedError, PersonUnknownError, StoreUnavailableError
from bot.listeners.home import HomeTab
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
from bot.listeners.submissions import Handle, Reply, beside_first, closing, notice
from bot.listeners.table import BY_VERB, Opens, Stores
from bot.rendering.buttons import Button
from bot.rendering.modal.view import HOME
from bot.sentences import in_answer
from bot.slack.client import permalink
from bot.use_cases.answers import Answer

logger = logging.getLogger(__name__)


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
        address = permalink(self.services.slack.me.url, click.channel, click.ts) if click.ts else ""
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
