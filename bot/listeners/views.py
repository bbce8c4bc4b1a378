"""Forms: what was typed becomes a decision, or stays on the screen with the reason beside it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.contract.hitl import (
    ApproveDecision,
    Decision,
    EditDecision,
    EditedAction,
    RejectDecision,
    RespondDecision,
)
from agent_adapter.errors import AgentAdapterError, ServerFailedError, UnreadableRecordError
from bot.aside import aside
from bot.attention import Attention
from bot.decisions import Answer, Decisions, places
from bot.deliveries import handle_once
from bot.errors import PersonUnknownError, StoreUnavailableError
from bot.ids import STICKY
from bot.listeners.payloads import Submission, parse_submission
from bot.missed import noting_missed
from bot.rendering.forms import Errors, Unchanged, changed_input, parse_form
from bot.rendering.modals import CODE, parse_always, parse_code, parse_person, parse_words, render_notice_view
from bot.rendering.notices import (
    GONE,
    NOT_RECORDED,
    NOT_SAVED,
    NOTHING_CHANGED,
    ONLY_SPACES,
    OUTDATED,
    UNREADABLE,
    WRONG_CODE,
    told,
    unknown,
)
from bot.rendering.sticky import parse_grant
from bot.state import ApprovalState
from bot.tasks import Tasks

logger = logging.getLogger(__name__)

_OF_A_PLACE = ("reject_all", "hand_over")


@dataclass(frozen=True, slots=True)
class Forms:
    """Handles every submitted modal."""

    decisions: Decisions
    attention: Attention
    tasks: Tasks = field(default_factory=Tasks)

    async def submit(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `view_submission` payload."""
        if body["view"]["callback_id"] == "notice":
            await ack()
            return
        submission = parse_submission(body)
        try:
            store = self.decisions.store
            async with noting_missed(store, self.tasks, submission.meta.id):
                reply = await handle_once(store, self.tasks, body, partial(self._handle, submission))
        except PersonUnknownError as error:
            # Errors beside a field keep what was typed.
            reply = _beside_first(submission, unknown(error)) or _notice(unknown(error))
        except (UnreadableRecordError, ServerFailedError) as error:
            logger.warning(
                "record.unreadable", extra={"interrupt_id": submission.meta.id, "reason": str(error)}
            )
            reply = _notice(UNREADABLE)
        except (AgentAdapterError, StoreUnavailableError):
            reply = _beside_first(submission, NOT_SAVED) or _notice(NOT_RECORDED)
        await ack(**reply)

    async def _handle(self, submission: Submission) -> dict[str, Any]:
        state = await self.decisions.store.load(submission.meta.id)
        if state is None or not _is_there(state, submission):
            return _notice(OUTDATED)
        return await self._reply(state, submission)

    async def _reply(self, state: ApprovalState, submission: Submission) -> dict[str, Any]:
        if submission.form == "reject_all":
            answer = await self.decisions.reject_all(
                state,
                submission.user,
                submission.meta.index,
                message=parse_words(dict(submission.view)),
            )
            return _closing(answer)
        if submission.form == "hand_over":
            to = parse_person(dict(submission.view))
            return _closing(await self.attention.hand_over(state, submission.user, submission.meta.index, to))
        view = dict(submission.view)
        if _is_about_a_proposal(state, submission):
            return await self._agree(state, submission, parse_code(view))
        decision = await aside(state, _decision, state, submission)
        if not isinstance(decision, dict):
            answer = await self.decisions.decide(
                state,
                submission.user,
                {submission.meta.index: decision},
                code=parse_code(view),
                grant=parse_grant(view) if submission.form == STICKY else None,
            )
            if answer.keeps_form:
                block = await aside(state, _changed_input, state, submission, decision)
                block = block or submission.first_input
                return _beside(block, answer.sentence) or _notice(answer.sentence)
            return _closing(answer)
        return decision

    async def _agree(self, state: ApprovalState, submission: Submission, code: str) -> dict[str, Any]:
        meta = submission.meta
        stricter = state.proposals.get(meta.index)
        if stricter and _asks_for_code(submission) and code != state.actions[meta.index].proposed.code:
            return {"response_action": "errors", "errors": {CODE: WRONG_CODE}}
        return _closing(await self.decisions.agree(state, submission.user, meta.index, meta.vote, code=code))


def _is_there(state: ApprovalState, submission: Submission) -> bool:
    """Whether a form is about an action of this record, or a place: Python would count a negative index from the end."""
    index = submission.meta.index
    count = len(places(state)) if submission.form in _OF_A_PLACE else len(state.actions)
    return type(index) is int and 0 <= index < count


def _is_about_a_proposal(state: ApprovalState, submission: Submission) -> bool:
    """Whether this form agrees with an edit that another rule is about, and not with a vote."""
    stricter, vote = state.proposals.get(submission.meta.index), submission.meta.vote
    return bool(vote) and (submission.form == "read" or (stricter is not None and stricter.name == vote))


def _changed_input(state: ApprovalState, submission: Submission, decision: Decision) -> str | None:
    """Name the first input of an edit whose value is not what was asked."""
    if submission.form != "edit" or not isinstance(decision, EditDecision):
        return None
    action = state.actions[submission.meta.index]
    return changed_input(
        action.request.args, decision.edited_action.args, action.config.args_schema, action.care.masked
    )


def _decision(state: ApprovalState, submission: Submission) -> Decision | dict[str, Any]:
    """Read the decision that a form means, or the answer that keeps it open."""
    action = state.actions[submission.meta.index]
    if _asks_for_code(submission) and parse_code(dict(submission.view)) != action.code:
        return {"response_action": "errors", "errors": {CODE: WRONG_CODE}}
    match submission.form:
        case "read" | "confirm" | "sticky":
            return ApproveDecision()
        case "agree" if not state.is_open_at(action.index):
            return _notice(told(state, [action.index]))
        case "agree":
            meant = submission.meta.vote
            found = next((vote.decision for vote in action.votes if vote.name == meant), None)
            return found or _notice(GONE)
        case "reject":
            view = dict(submission.view)
            return RejectDecision(message=parse_words(view), always=parse_always(view))
        case "respond":
            message = parse_words(dict(submission.view))
            if message is None:
                return _beside_first(submission, ONLY_SPACES) or _notice(ONLY_SPACES)
            return RespondDecision(message=message)
        case _:
            parsed = parse_form(
                dict(submission.view), action.request.args, action.config.args_schema, action.care.masked
            )
    match parsed:
        case Errors(by_block):
            return {"response_action": "errors", "errors": by_block}
        case Unchanged():
            return _beside_first(submission, NOTHING_CHANGED) or _notice(NOTHING_CHANGED)
        case _:
            edited = EditedAction(name=action.request.name, args=parsed.args)
            return EditDecision(edited_action=edited)


def _asks_for_code(submission: Submission) -> bool:
    return any(block["block_id"] == CODE for block in submission.view["blocks"])


def _closing(answer: Answer) -> dict[str, Any]:
    if answer.recorded and not answer.sentence:
        # The whole stack: an edit may stand on top of a reading.
        return {"response_action": "clear"}
    return _notice(answer.sentence, title="Recorded" if answer.recorded else "Not done")


def _notice(sentence: str, *, title: str = "Not done") -> dict[str, Any]:
    return {"response_action": "update", "view": render_notice_view(title, sentence)}


def _beside_first(submission: Submission, sentence: str) -> dict[str, Any] | None:
    return _beside(submission.first_input, sentence)


def _beside(block: str | None, sentence: str) -> dict[str, Any] | None:
    return {"response_action": "errors", "errors": {block: sentence}} if block else None
