"""Submitted forms: each becomes a decision, or stays open with the reason next to an input."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.approval import Approval
from bot.domain.errors import NotConfirmedError, PersonUnknownError
from bot.listeners.payloads import Submission, parse_submission
from bot.listeners.pressed import OUTDATED, has_form, remembered, why_not_submitted
from bot.listeners.services import Services
from bot.listeners.submissions import Handle, Handled, Reply, beside_first, closing, notice
from bot.listeners.table import BY_VERB, Opens
from bot.rendering.buttons import Button
from bot.sentences import in_answer
from bot.use_cases.answers import Answer


@dataclass(frozen=True, slots=True)
class Forms:
    """Handles every submitted view, as the table says for the button that opened it."""

    services: Services

    async def submit(self, body: Mapping[str, Any]) -> Reply | None:
        """Handle one `view_submission` payload, and give the reply."""
        if body["view"]["callback_id"] == "notice":
            return None
        submission = parse_submission(body)
        try:
            return await self._handle(submission)
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

    async def _handle(self, submission: Submission) -> Reply:
        services, meta, handled, indices = self.services, submission.meta, closing(OUTDATED), list[int]()
        match BY_VERB.get(submission.form):
            case button, Opens(submit=does) if does:
                indices = [meta.index] if button.scope == "action" else []
                if state := remembered(services.store, meta.id, button):
                    handled = await self._judged(state, submission, button, does)
                # As with a button: only what speaks against it is looked up.
                if not handled.answer.recorded and not handled.answer.is_final:
                    state = await services.store.admitted(meta.id)
                    handled = (
                        await self._judged(state, submission, button, does) if state else closing(OUTDATED)
                    )
                if state and handled.answer.draws_anew:
                    await services.draw_again(state, meta.channel, meta.ts)
        await services.note_refused(
            meta.id, submission.user, handled.answer, button=submission.form, indices=indices
        )
        return self._back(submission, handled.reply)

    async def _judged(self, state: Approval, submission: Submission, button: Button, does: Handle) -> Handled:
        if not has_form(state, submission, button.scope):
            return closing(OUTDATED)
        if sentence := why_not_submitted(state, submission.meta, button.scope):
            return closing(Answer(False, sentence, why="outdated", draws_anew=True))
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
