"""Submitted forms: each becomes a decision, or stays open with the reason next to an input."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.errors import AgentAdapterError, ServerFailedError, UnreadableRecordError
from bot.domain.approval import Approval
from bot.domain.errors import NotConfirmedError, PersonUnknownError, StoreUnavailableError
from bot.listeners.payloads import Submission, parse_submission
from bot.listeners.pressed import has_form, why_not_submitted
from bot.listeners.services import Services
from bot.listeners.submissions import Reply, beside_first, notice
from bot.listeners.table import BY_VERB, Opens
from bot.rendering.buttons import Button
from bot.sentences import in_answer
from bot.use_cases.answers import Answer, unknown
from bot.use_cases.missed_clicks import note_refused, noting_missed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Forms:
    """Handles every submitted view, as the table says for the button that opened it."""

    services: Services

    async def submit(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `view_submission` payload."""
        if body["view"]["callback_id"] == "notice":
            await ack()
            return
        submission = parse_submission(body)
        records, tasks = self.services.store, self.services.tasks
        try:
            async with noting_missed(records, tasks, submission.meta.id, submission.user, submission.form):
                reply = await self._handle(submission)
        except PersonUnknownError as error:
            # An error next to an input keeps what was typed.
            reply = beside_first(submission, unknown(error))
        except (UnreadableRecordError, ServerFailedError) as error:
            reply = notice(await self.services.why_unreadable(submission.meta.id, error))
        except NotConfirmedError:
            # What it decided counts, so it belongs into the log like any other.
            logger.warning(
                "click.not_confirmed", extra={"interrupt_id": submission.meta.id, "user": submission.user}
            )
            reply = _kept_open(submission, in_answer.NOT_CONFIRMED, in_answer.NOT_CONFIRMED)
        except (AgentAdapterError, StoreUnavailableError):
            reply = _kept_open(submission, in_answer.NOT_SAVED, in_answer.NOT_SUBMITTED)
        await ack(**reply)

    async def _handle(self, submission: Submission) -> Reply:
        state = await self.services.store.admitted(submission.meta.id)
        match BY_VERB.get(submission.form):
            case button, Opens(submit=submit) if (
                submit and state and has_form(state, submission, button.scope)
            ):
                reply = await self._asks_otherwise(state, submission, button)
                reply = reply or await submit(self.services, state, submission)
                return self._back(submission, reply)
        await self._enter_outdated(submission)
        return notice(in_answer.OUTDATED)

    async def _asks_otherwise(self, state: Approval, submission: Submission, button: Button) -> Reply | None:
        """Say that a form asks something else than its record, and have its card drawn again. `None` when it asks the same."""
        meta = submission.meta
        sentence = why_not_submitted(state, meta, button.scope)
        if not sentence:
            return None
        await self.services.draw_again(state, meta.channel, meta.ts)
        await self._enter_outdated(submission)
        return notice(sentence)

    async def _enter_outdated(self, submission: Submission) -> None:
        """Enter into the audit trail that a form was submitted that asks something else than its record."""
        outdated = Answer(False, why="outdated")
        records, meta = self.services.store, submission.meta
        await note_refused(records, meta.id, submission.user, outdated, button=submission.form)

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


def _kept_open(submission: Submission, beside_input: str, in_place: str) -> Reply:
    """Say that nothing counts as stored: beside the first input, so that the text stays; without one, in place of the form."""
    return beside_first(submission, beside_input) if submission.first_input else notice(in_place)
