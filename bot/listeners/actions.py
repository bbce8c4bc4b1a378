"""Buttons: a decision is stored and then acknowledged; opening a modal decides nothing and is acknowledged first."""

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.errors import AgentAdapterError
from bot.attention import Attention
from bot.decisions import Answer, Decisions, places
from bot.errors import PersonUnknownError, SlackError, StoreUnavailableError
from bot.grants import Grants
from bot.ids import BULK_VERBS, EXTEND, PAGE, PLACE_VERBS, REVOKE, STICKY, PartId
from bot.listeners.payloads import Click, parse_click
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
from bot.rendering.notices import NOT_OPENED, NOT_RECORDED, OUTDATED, WHO_ARE_YOU, told
from bot.rendering.rows import ALWAYS
from bot.rendering.sticky import render_rules_view, render_sticky_view
from bot.slack_client import SlackClient
from bot.state import ApprovalState
from bot.tasks import Tasks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Buttons:
    """Handles every button on cards and in modals."""

    decisions: Decisions
    attention: Attention
    grants: Grants
    slack: SlackClient
    tasks: Tasks

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `block_actions` payload."""
        click = parse_click(body)
        if click.verb in {"approve", ALWAYS, "approve_all"}:
            await self._store_first(click, self._approve(click))
            await ack()
        elif click.verb in {"claim", EXTEND, REVOKE}:
            await self._store_first(click, self._attend(click))
            await ack()
        else:
            await ack()
            self.tasks.start(self._open(click))

    async def _store_first(self, click: Click, storing: Awaitable[Answer]) -> None:
        """Raise when it is not stored: Slack then shows the person that the click failed."""
        try:
            answer = await storing
        except PersonUnknownError:
            self._tell(click, WHO_ARE_YOU)
            return
        except (AgentAdapterError, StoreUnavailableError) as error:
            self._tell(click, NOT_RECORDED)
            raise StoreUnavailableError(str(error)) from error
        if answer.sentence:
            self._tell(click, answer.sentence)

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
        if click.verb != "approve_all":
            decision = ApproveDecision(always=click.verb == ALWAYS)
            return await self.decisions.decide(state, click.user, {click.number: decision})
        return await self.decisions.decide_all(state, click.user, click.verb, click.number)

    async def _open(self, click: Click) -> None:
        try:
            await self._open_now(click)
        except PersonUnknownError:
            await self._tell_now(click, WHO_ARE_YOU)
        except (AgentAdapterError, SlackError) as error:
            logger.warning(
                "form.not_opened", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
            await self._tell_now(click, NOT_OPENED)

    async def _open_now(self, click: Click) -> None:
        state = await self.decisions.store.load(click.interrupt_id)
        if state is None or not _is_there(state, click):
            await self._tell_now(click, OUTDATED)
            return
        if objection := await self._objection(state, click):
            await self._tell_now(click, objection)
            return
        if click.verb == PAGE:
            await self._read(state, click, click.index, click.number)
        elif click.verb == "read":
            await self._read(state, click, click.number, 1)
        elif click.view:
            await self.slack.push_view(click.trigger_id, _form(state, click))
        else:
            await self.slack.open_view(click.trigger_id, _form(state, click))

    async def _objection(self, state: ApprovalState, click: Click) -> str:
        if click.verb in {PAGE, "read"}:
            # Anybody who sees the card may read what it says.
            return ""
        if click.verb == "hand_over":
            return self.attention.why_not_handed_over(state, click.user, click.number)
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
        if not is_bulk and not state.is_open_at(click.number):
            return told(state, [click.number])
        return ""

    async def _read(self, state: ApprovalState, click: Click, index: int, page: int) -> None:
        """Show a page, noting that this person is shown it when they were shown all before it."""
        read = state.pages_read(index, click.user)
        view = render_reading_view(state, index, page, pages_read=read, channel=click.channel, ts=click.ts)
        if page == read + 1:
            await self.decisions.store.mark_read(state, index, click.user, page)
        try:
            if click.view:
                await self.slack.update_view(click.view["id"], click.view.get("hash"), view)
            else:
                await self.slack.open_view(click.trigger_id, view)
        except SlackError:
            await self.decisions.store.mark_read(state, index, click.user, read)
            raise

    def _tell(self, click: Click, sentence: str) -> None:
        self.tasks.start(self._tell_now(click, sentence))

    async def _tell_now(self, click: Click, sentence: str) -> None:
        if click.view:
            view = render_notice_view("Not done", sentence)
            await self.slack.update_view(click.view["id"], None, view)
        else:
            await self.slack.tell_user(click.channel, click.user, sentence, thread_ts=click.thread_ts)


def _is_there(state: ApprovalState, click: Click) -> bool:
    """Whether this button is one of ours, on a message of this very card: a copy elsewhere decides nothing."""
    if click.verb == PAGE:
        return True
    if click.verb == EXTEND:
        return click.number >= 0 and _is_on_card(state, click)
    count = len(places(state)) if click.verb in PLACE_VERBS else len(state.actions)
    return 0 <= click.number < count and (click.view is not None or _is_on_card(state, click))


def _is_on_card(state: ApprovalState, click: Click) -> bool:
    if any((shown.channel, shown.ts) == (click.channel, click.ts) for shown in state.shown.values()):
        return True
    # A message can be pressed before its post was noted.
    return any(
        place.channel == click.channel and PartId(number, part) not in state.shown
        for number, place in state.places.items()
        for part in range(len(place.parts) + 1)
    )


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
