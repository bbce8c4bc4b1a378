"""Makes Slack agree with the record: post, update, or nothing."""

import logging
import secrets
import time
from dataclasses import dataclass, field

from agent_adapter.errors import InvalidRequestError, LockedRecordError
from bot.domain.approval import Approval, Published
from bot.domain.errors import (
    BrokenSealError,
    DamagedRecordError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.domain.ids import Label, MessageId
from bot.jobs.admit import Admissions
from bot.jobs.audit_mover import FULL
from bot.jobs.deadlines import next_after
from bot.jobs.outdated import Pictures, first_outdated, is_wanted
from bot.jobs.slack_call import WORKSPACE_RETRY, EditRefusedError, Line, SlackCall
from bot.rendering.card.card import Part, render_unreadable
from bot.runtime.health import NOT_YET
from bot.runtime.metrics import BROKEN_SEALS
from bot.runtime.offload import offload
from bot.slack.client import SlackClient
from bot.slack.pacing import Queue
from bot.store.messages import PartLease
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

FIRST_RETRY = 200
"""Milliseconds until a card is looked at again while the bot is still connecting."""
FULL_NOTICE = "the audit trail is full, so nobody is asked now: /readyz of the bot says why"


@dataclass(frozen=True, slots=True)
class Presenter:
    """Draws the cards that are owed. A lease brings the record as it is then, so an old picture never replaces a new one."""

    store: ApprovalStore
    admissions: Admissions
    line: Line
    _queue: Queue = field(default_factory=Queue)

    def wait(self, interrupt_id: str) -> int:
        """Milliseconds for which nothing can be drawn for this record: it has to wait, or it would not get a turn."""
        if left := self._queue.remaining(interrupt_id):
            return left
        known = self.store.recall(interrupt_id)
        if known and known.is_shown and (closed := self.line.pacing.edits_closed()):
            # Only an edit can be left to draw.
            return self._queue.join(interrupt_id, closed)
        return 0

    async def present(self, interrupt_id: str) -> int | None:
        """Draw one record. Returns `None` when Slack shows it, else the milliseconds until the next attempt."""
        try:
            return await self._present(interrupt_id)
        except BrokenSealError as error:
            await end_unreadable(self.store, self.line.slack, interrupt_id, error)
            return None

    async def _present(self, interrupt_id: str) -> int | None:
        try:
            state = await self._ready(interrupt_id)
        except (LockedRecordError, DamagedRecordError):
            # It is not ended: a bot with the key, or a corrected record, can still go on.
            raise
        except InvalidRequestError as error:
            await end_unreadable(self.store, self.line.slack, interrupt_id, error)
            return None
        except (SlackBusyError, SlackUnclearError, WorkspaceFaultError) as error:
            logger.warning("slack.unavailable", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            return await self.line.trouble.come_again_in(interrupt_id, error)
        if state and state.status == "new":
            await self.store.set_notice(interrupt_id, FULL_NOTICE)
            return WORKSPACE_RETRY
        refused: dict[MessageId, EditRefusedError] = {}
        pictures: Pictures = {}
        while isinstance(state, Approval) and (
            part := await offload(state, first_outdated, state, pictures, besides=refused)
        ):
            try:
                drawn = await self._draw(state, part, pictures)
            except EditRefusedError as error:
                # The other messages do not wait for it.
                refused[part.id], drawn = error, None
            if isinstance(drawn, int):
                return drawn
            state = drawn or await self.store.load(interrupt_id)
        if refused:
            raise next(iter(refused.values()))
        if state and state.stage != "open":
            await self.store.start_retention(interrupt_id, state, next_after(state))
        return None

    async def _ready(self, interrupt_id: str) -> Published | None:
        """Give a record that can be drawn, admitted or ended, or a new one that has to wait; `None` to draw nothing now."""
        state = await self.store.load(interrupt_id)
        if state is None:
            return None
        if state.status == "new" and not state.is_past:
            is_full = FULL in self.line.health.faults
            return state if is_full else await self.admissions.on_published(state)
        if state.is_past and state.status in {"new", "pending"}:
            if state.status == "pending" and state.stage == "open":
                # `Deadlines` checks whether people could object, ends it, and has it drawn.
                return None
            await self.store.settle(state.id, "expired")
            return await self.store.load(interrupt_id)
        return state

    async def _draw(self, state: Approval, part: Part, pictures: Pictures) -> Approval | int | None:
        """Draw one message. Gives the record that says that Slack shows it, `None` to read it again, or the milliseconds until the next try."""
        line = self.line
        if fault := line.health.slack_fault:
            if fault == NOT_YET:
                return FIRST_RETRY
            await self.store.set_notice(state.id, f"Slack cannot be used: {fault}")
            return WORKSPACE_RETRY
        shown = state.shown.get(part.id)
        # A message that still asks what is over is not held up.
        urgent = shown is not None and shown.stage == "open" and state.stage != "open"
        if shown and not urgent and (left := line.pacing.edited_lately(shown.channel, shown.ts)):
            return left
        if shown:
            wait = await line.pacing.turn_to_edit(state.interrupt.agent, urgent=urgent)
        else:
            wait = await line.pacing.turn_to_post(part.channel, state.interrupt.agent)
        if wait:
            await line.trouble.say_if_nothing_is_posted(state, part.id)
            return self._queue.join(state.id, wait)
        return await self._draw_now(state, part, pictures)

    async def _draw_now(self, state: Approval, part: Part, pictures: Pictures) -> Approval | int | None:
        line = self.line
        leased_until = time.monotonic() + line.lease / 1000
        lease = await self.store.lease_part(state, part.id, owner=secrets.token_hex(8), lease=line.lease)
        line.restore_guard.hear(lease.epoch)
        if lease.outcome == "busy":
            return min(lease.since, 1_000)
        newest = lease.state
        if newest is None:
            return None
        now_due = await offload(newest, first_outdated, newest, pictures, part.id)
        call = SlackCall(line, newest, now_due or part, lease.held, leased_until)
        if (since := self._may_be_there_since(newest, part, lease)) is not None:
            again_in = await call.adopt(since)
        elif now_due and is_wanted(newest, part.id):
            again_in = await call.make()
        else:
            again_in = await call.give_back()
        return self.store.recall(state.id) if call.is_drawn else again_in

    def _may_be_there_since(self, state: Approval, part: Part, lease: PartLease) -> float | None:
        """Give since when a message may be in Slack of which the record does not know; `None` when it is not."""
        if part.id in state.shown:
            return None
        if lease.outcome == "takeover":
            return lease.since / 1000
        return state.created_at.timestamp() if self.line.restore_guard.may_be_shown(state) else None


async def end_unreadable(
    store: ApprovalStore, slack: SlackClient, interrupt_id: str, error: InvalidRequestError
) -> None:
    """End a record that cannot be read, and remove the buttons from its card, since nobody knows what they would decide.

    Raises:
        SlackBusyError, SlackUnclearError, WorkspaceFaultError: when Slack does not take that now. Then do it again.
    """
    messages = await store.posted([interrupt_id])
    said = {"interrupt_id": interrupt_id, "reason": str(error)}
    if isinstance(error, BrokenSealError):
        logger.error("record.changed", extra=said)
        outcome = await store.settle(interrupt_id, "refused", code="seal", reason=str(error))
        BROKEN_SEALS.inc(outcome == "settled")
        text, blocks = render_unreadable(is_changed=True)
    else:
        logger.error("record.unreadable", extra=said)
        outcome = await store.settle(interrupt_id, "refused", code="unreadable", reason=str(error))
        text, blocks = render_unreadable()
    for message in messages if outcome in {"settled", "refused"} else ():
        label = Label(interrupt_id, message.part, stage="ended")
        try:
            await slack.update_message(
                message.shown.channel, message.shown.ts, text=text, blocks=blocks, label=label
            )
        except (SlackBusyError, SlackUnclearError, WorkspaceFaultError):
            raise
        except SlackError as failed:
            logger.warning("card.not_closed", extra={"interrupt_id": interrupt_id, "reason": str(failed)})
    await store.start_retention(interrupt_id)
