"""Forms: what was typed becomes a decision, or stays on the screen with the reason beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from agent_adapter.errors import AgentAdapterError
from bot.attention import Attention
from bot.decisions import Answer, Decisions
from bot.errors import PersonUnknownError, StoreUnavailableError
from bot.ids import STICKY
from bot.listeners.payloads import Submission, parse_submission
from bot.rendering.forms import Errors, Unchanged, parse_form
from bot.rendering.modals import CODE, parse_always, parse_code, parse_person, parse_words, render_notice_view
from bot.rendering.notices import (
    GONE,
    NOT_RECORDED,
    NOT_SAVED,
    NOTHING_CHANGED,
    OUTDATED,
    WHO_ARE_YOU,
    WRONG_CODE,
    told,
)
from bot.rendering.sticky import parse_grant
from bot.state import ApprovalState


@dataclass(frozen=True, slots=True)
class Forms:
    """Handles every submitted modal."""

    decisions: Decisions
    attention: Attention

    async def submit(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `view_submission` payload."""
        if body["view"]["callback_id"] == "notice":
            await ack()
            return
        submission = parse_submission(body)
        try:
            state = await self.decisions.store.load(submission.meta.id)
            reply = await self._reply(state, submission) if state else _notice(OUTDATED)
        except PersonUnknownError:
            # Errors beside a field keep what was typed.
            reply = _beside_first(submission, WHO_ARE_YOU) or _notice(WHO_ARE_YOU)
        except (AgentAdapterError, StoreUnavailableError):
            reply = _beside_first(submission, NOT_SAVED) or _notice(NOT_RECORDED)
        await ack(**reply)

    async def _reply(self, state: ApprovalState, submission: Submission) -> dict[str, Any]:
        if submission.form == "reject_all":
            answer = await self.decisions.decide_all(
                state,
                submission.user,
                "reject_all",
                submission.meta.index,
                message=parse_words(dict(submission.view)),
            )
            return _closing(answer)
        if submission.form == "hand_over":
            to = parse_person(dict(submission.view))
            return _closing(await self.attention.hand_over(state, submission.user, submission.meta.index, to))
        decision = _decision(state, submission)
        if not isinstance(decision, dict):
            view = dict(submission.view)
            answer = await self.decisions.decide(
                state,
                submission.user,
                {submission.meta.index: decision},
                code=parse_code(view),
                grant=parse_grant(view) if submission.form == STICKY else None,
            )
            return _closing(answer)
        return decision


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
            return RespondDecision(message=parse_words(dict(submission.view)) or "")
        case _:
            parsed = parse_form(
                dict(submission.view), action.request.args, action.config.args_schema, action.care.mask
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
    block = submission.first_input
    return {"response_action": "errors", "errors": {block: sentence}} if block else None
