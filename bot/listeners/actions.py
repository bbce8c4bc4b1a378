"""Buttons: a decision is stored and then acknowledged; opening a modal decides nothing and is acknowledged first."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.errors import AgentAdapterError, ServerFailedError, UnreadableRecordError
from bot.aside import aside
from bot.attention import Attention
from bot.decisions import Answer, Decisions, places
from bot.deliveries import handle_once
from bot.errors import DoneBeforeError, PersonUnknownError, SlackError, StoreUnavailableError
from bot.grants import Grants
from bot.ids import BULK_VERBS, EXTEND, PAGE, PLACE_VERBS, REVOKE, STICKY, PartId
from bot.listeners.once import Once
from bot.listeners.payloads import Click, parse_click
from bot.missed import noting_missed
from bot.rendering.message import calls_on
from bot.rendering.modals import (
    render_agree_view,
    render_confirm_view,
    render_edit_view,
    render_hand_over_view,
    render_notice_view,
    render_reading_view,
    render_reject_all_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.notices import (
    GONE,
    NOT_OPENED,
    NOT_RECORDED,
    OUTDATED,
    UNREADABLE,
    WHO_ARE_YOU,
    told,
    unknown,
)
from bot.rendering.rows import AGREE, ALWAYS, needs_reading
from bot.rendering.sticky import render_rules_view, render_sticky_view
from bot.slack_client import SlackClient
from bot.state import Action, ApprovalState, Proposal
from bot.tasks import Tasks

logger = logging.getLogger(__name__)

APPROVING = ("approve", ALWAYS, "approve_all")
"""Buttons that approve at once: they are on the messages of a card, never in a modal."""


@dataclass(frozen=True, slots=True)
class Buttons:
    """Handles every button on cards and in modals."""

    decisions: Decisions
    attention: Attention
    grants: Grants
    slack: SlackClient
    tasks: Tasks
    opened: Once = field(default_factory=Once)

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `block_actions` payload."""
        click = parse_click(body)
        if click.verb in APPROVING:
            await self._store_first(click, body, self._approve)
            await ack()
        elif click.verb in {"claim", EXTEND, REVOKE}:
            await self._store_first(click, body, self._attend)
            await ack()
        else:
            await ack()
            # A copy of a click would take back what its first delivery noted as read.
            if self.opened.is_first(click.trigger_id):
                self.tasks.start(self._open(click))

    async def _store_first(
        self, click: Click, body: Mapping[str, Any], store: Callable[[Click], Awaitable[Answer]]
    ) -> None:
        """Raise when it is not stored: Slack then shows the person that the click failed."""

        async def handle() -> dict[str, Any]:
            answer = await store(click)
            if answer.sentence:
                self._tell(click, answer.sentence)
            return {}

        try:
            async with noting_missed(self.decisions.store, self.tasks, click.interrupt_id):
                await handle_once(self.decisions.store, self.tasks, body, handle)
        except PersonUnknownError as error:
            self._tell(click, unknown(error))
        except (UnreadableRecordError, ServerFailedError) as error:
            logger.warning(
                "record.unreadable", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
            self._tell(click, UNREADABLE)
        except (AgentAdapterError, StoreUnavailableError) as error:
            self._tell(click, NOT_RECORDED)
            raise StoreUnavailableError(str(error)) from error

    async def _approve(self, click: Click) -> Answer:
        store = self.decisions.store
        known = store.recall(click.interrupt_id) if click.verb != "approve_all" else None
        answer = await self._answer(click, known)
        if not answer.recorded:
            # Reading the record costs more than all the rest, so only what speaks against a click is looked up.
            answer = await self._answer(click, await store.load(click.interrupt_id))
        return answer

    async def _attend(self, click: Click) -> Answer:
        state = await self.decisions.store.load(click.interrupt_id)
        if state is None or not _is_there(state, click):
            return Answer(False, OUTDATED)
        if click.verb == EXTEND:
            return await self.attention.extend(state, click.user, click.number)
        if click.verb == REVOKE:
            answer = await self.grants.revoke(state, click.user, click.number)
            if click.view and answer.recorded:
                self.tasks.start(self._list_again(click.view["id"], click.user))
            return answer
        return await self.attention.claim(state, click.user, click.number)

    async def _list_again(self, view_id: str, user: str) -> None:
        try:
            view = render_rules_view(await self.grants.revocable(user))
        except (AgentAdapterError, PersonUnknownError):
            view = render_notice_view("Revoked", "It holds for no more calls.")
        await self.slack.update_view(view_id, None, view)

    async def _answer(self, click: Click, state: ApprovalState | None) -> Answer:
        if state is None or not _is_there(state, click):
            return Answer(False, OUTDATED)
        if click.verb == "approve_all":
            return await self.decisions.approve_all(state, click.user, click.part)
        decision = ApproveDecision(always=click.verb == ALWAYS)
        return await self.decisions.decide(state, click.user, {click.number: decision})

    async def _open(self, click: Click) -> None:
        try:
            async with noting_missed(self.decisions.store, self.tasks, click.interrupt_id):
                await self._open_now(click)
        except PersonUnknownError:
            await self._tell_now(click, WHO_ARE_YOU)
        except DoneBeforeError as error:
            logger.info(
                "form.opened_before", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
        except (AgentAdapterError, SlackError) as error:
            logger.warning(
                "form.not_opened", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
            is_unreadable = isinstance(error, UnreadableRecordError | ServerFailedError)
            await self._tell_now(click, UNREADABLE if is_unreadable else NOT_OPENED)

    async def _open_now(self, click: Click) -> None:
        state = await self.decisions.store.load(click.interrupt_id)
        if state is None or not _is_there(state, click):
            await self._tell_now(click, OUTDATED)
            return
        if objection := await self._objection(state, click):
            await self._tell_now(click, objection)
            return
        if click.verb == PAGE and click.vote:
            await self._read(state, click, click.index, click.number, state.proposals[click.index])
        elif click.verb == PAGE:
            await self._read(state, click, click.index, click.number)
        elif click.verb == "read":
            await self._read(state, click, click.number, 1)
        elif click.verb == AGREE and (
            proposal := await aside(state, _to_be_read, state.actions[click.number])
        ):
            await self._read(state, click, click.number, 1, proposal)
        elif click.view:
            await self.slack.push_view(click.trigger_id, await aside(state, _form, state, click))
        else:
            await self.slack.open_view(click.trigger_id, await aside(state, _form, state, click))

    async def _objection(self, state: ApprovalState, click: Click) -> str:
        if click.verb == PAGE and click.vote:
            stricter = state.proposals.get(click.index)
            return "" if stricter and stricter.name == click.vote else GONE
        if click.verb in {PAGE, "read"}:
            # Anybody who sees the card may read what it says.
            return ""
        if click.verb == "hand_over":
            return self.attention.why_not_handed_over(state, click.user, click.number)
        if click.verb == AGREE and (proposal := state.proposals.get(click.number)):
            verdict = await self.decisions.judge_proposal(state, click.user, proposal)
            return verdict.sentence or _told_closed(state, click.number)
        decision = _decision_of(state, click)
        is_bulk = click.verb in BULK_VERBS
        meant = places(state)[click.number].actions if is_bulk else (click.number,)
        verdicts = await self.decisions.judge(state, click.user, meant, decision)
        if not any(verdict.allowed for verdict in verdicts.values()):
            return verdicts[meant[0]].sentence
        if click.verb == STICKY:
            verdict = await self.decisions.may_grant(state, click.user, click.number)
            if not verdict.allowed:
                return verdict.sentence
        return "" if is_bulk else _told_closed(state, click.number)

    async def _read(
        self, state: ApprovalState, click: Click, index: int, page: int, proposal: Proposal | None = None
    ) -> None:
        """Show a page, noting that this person is shown it when they were shown all before it."""
        call = state.actions[index].proposed if proposal else None
        read = state.pages_read(index, click.user, call)
        at = {"channel": click.channel, "ts": click.ts}
        view = await aside(
            state, render_reading_view, state, index, page, pages_read=read, proposal=proposal, **at
        )
        if page == read + 1:
            await self.decisions.store.mark_read(state, index, click.user, page, call)
        try:
            if click.view:
                await self.slack.update_view(click.view["id"], click.view.get("hash"), view)
            else:
                await self.slack.open_view(click.trigger_id, view)
        except SlackError:
            await self.decisions.store.mark_read(state, index, click.user, read, call)
            raise

    def _tell(self, click: Click, sentence: str) -> None:
        self.tasks.start(self._tell_now(click, sentence))

    async def _tell_now(self, click: Click, sentence: str) -> None:
        if click.view:
            view = render_notice_view("Not done", sentence)
            await self.slack.update_view(click.view["id"], None, view)
        else:
            await self.slack.tell_user(click.channel, click.user, sentence, thread_ts=click.thread_ts)


def _to_be_read(action: Action) -> Proposal | None:
    """Give the proposal whose call does not fit a card, so that agreeing with it comes at the end of a reading."""
    return action.stricter if action.stricter and needs_reading(action.proposed) else None


def _told_closed(state: ApprovalState, index: int) -> str:
    return "" if state.is_open_at(index) else told(state, [index])


def _is_there(state: ApprovalState, click: Click) -> bool:
    """Whether this button is one of ours, on the very message that it acts on: a copy elsewhere decides nothing."""
    if click.verb == PAGE:
        return type(click.index) is int and 0 <= click.index < len(state.actions)
    count = len(places(state)) if click.verb in PLACE_VERBS else len(state.actions)
    is_known = click.number >= 0 if click.verb == EXTEND else 0 <= click.number < count
    if not is_known or click.view is not None:
        return is_known and click.verb not in APPROVING
    return any(_carries(state, message, click) for message in _messages(state, click))


def _carries(state: ApprovalState, message: PartId, click: Click) -> bool:
    """Whether a message of this card can have this button."""
    if click.verb == "approve_all":
        return message == click.part
    if click.verb in PLACE_VERBS:
        return message == PartId(click.number, 0)
    if click.verb in {EXTEND, REVOKE}:
        return True
    return click.number in calls_on(state, message)


def _messages(state: ApprovalState, click: Click) -> list[PartId]:
    """Name the message of this card that was pressed: several are possible where it was pressed before its post was noted."""
    if (click.channel, click.ts) in state.gone:
        return []
    noted = [part for part, s in state.shown.items() if (s.channel, s.ts) == (click.channel, click.ts)]
    return noted or [
        part
        for number, place in state.places.items()
        if place.channel == click.channel
        for part in (PartId(number, n) for n in range(len(place.parts) + 1))
        if part not in state.shown
    ]


def _decision_of(state: ApprovalState, click: Click) -> str:
    """Name the decision at the end of a button's form."""
    match click.verb:
        case "confirm" | "sticky":
            return "approve"
        case "agree":
            proposal = state.actions[click.number].proposal
            return proposal.decision.type if proposal else "edit"
        case verb:
            return verb.removesuffix("_all")


def _form(state: ApprovalState, click: Click) -> dict[str, Any]:
    match click.verb:
        case "edit":
            return render_edit_view(state, click.number, channel=click.channel, ts=click.ts)
        case "reject":
            return render_reject_view(state, click.number, channel=click.channel, ts=click.ts)
        case "respond":
            return render_respond_view(state, click.number, channel=click.channel, ts=click.ts)
        case "confirm":
            return render_confirm_view(state, click.number, channel=click.channel, ts=click.ts)
        case "agree":
            return render_agree_view(state, click.number, channel=click.channel, ts=click.ts)
        case "reject_all":
            return render_reject_all_view(state, click.number, channel=click.channel, ts=click.ts)
        case "sticky":
            return render_sticky_view(state, click.number, channel=click.channel, ts=click.ts)
        case "hand_over":
            return render_hand_over_view(state, click.number, channel=click.channel, ts=click.ts)
        case _:
            return render_notice_view("Unknown button", OUTDATED)
