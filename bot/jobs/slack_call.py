"""One call to Slack about one message, and what follows from its result or error, for a record and the agents that wait."""

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from datetime import timedelta

from agent_adapter.errors import ServerUnreachableError
from agent_adapter.tracing import span_within
from bot.domain.approval import Approval, Published
from bot.domain.errors import (
    BotError,
    InterruptFaultError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.domain.ids import Label, MessageId, Shown
from bot.jobs.outdated import is_extra, is_wanted, used_in
from bot.jobs.redis_restore import RestoreGuard
from bot.rendering.blocks import Block
from bot.rendering.card.card import Part, render_message
from bot.runtime.health import PLACE, Health
from bot.runtime.metrics import TIME_TO_CARD, exemplar_of
from bot.runtime.offload import Tasks
from bot.slack.client import SlackClient
from bot.slack.pacing import Pacing
from bot.store.messages import PartLease
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

NOWHERE = "?"
"""Kept in place of the `ts` of a message that could not be posted."""
GONE = {"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"}
_NO_THREAD = {"thread_not_found", "invalid_thread_ts"}
DELETED_AT_MOST = 10
"""How many deleted messages of one record are posted again. If more are deleted, somebody or a program deletes them all."""
RETRY = 1_000
"""Milliseconds until a call is tried again when it is unclear whether Slack carried it out."""
WORKSPACE_RETRY = 2_000
"""Milliseconds until a card is looked at again while no call to Slack can succeed."""
POST, EDIT = "chat.postMessage", "chat.update"
TRIED_FOR = timedelta(days=7)
"""How long after the end of its record a refused edit is tried: as long as the record of a resumed run is kept."""


@dataclass(frozen=True, slots=True)
class SlackTrouble:
    """Decides what happens with records while calls to Slack fail."""

    store: ApprovalStore
    health: Health

    async def come_again_in(self, interrupt_id: str, error: SlackError) -> int:
        """Give the milliseconds until the next attempt. If Slack refuses the app, note that for the agents and in `/readyz`."""
        match error:
            case SlackBusyError(retry_after=seconds):
                return int(seconds * 1000)
            case WorkspaceFaultError():
                self.health.fault("slack", str(error))
                await self.store.set_notice(interrupt_id, f"Slack refuses the app: {error}")
                return WORKSPACE_RETRY
            case _:
                return RETRY

    async def say_if_nothing_is_posted(self, state: Approval, part: MessageId) -> None:
        """Say to the agents that wait that Slack takes no messages now."""
        if part not in state.shown and (why := self.health.warnings.get(POST)):
            await self.store.set_notice(state.id, f"Slack takes no messages: {why}")

    async def refuse_unreachable(self, state: Published, error: InterruptFaultError) -> None:
        """Refuse an interrupt. If the policy named the place, warn the operator as well."""
        if error.place not in {"", state.interrupt.route.channel}:
            logger.error("policy.place_unreachable", extra={"place": error.place, "reason": str(error)})
            self.health.warnings[PLACE + error.place] = (
                f"what the policy asks there is refused, because Slack says {error}"
            )
        await self.refuse(state.id, error.code, str(error))

    async def refuse(self, interrupt_id: str, code: str, reason: str) -> None:
        """End an interrupt that cannot be asked. Its agent gets the code and the reason."""
        logger.warning(
            "interrupt.refused", extra={"interrupt_id": interrupt_id, "code": code, "reason": reason}
        )
        await self.store.settle(interrupt_id, "refused", code=code, reason=reason)


@dataclass(frozen=True, slots=True)
class Line:
    """What every call needs: Slack, its rate limits, the store, and the parts that record errors."""

    slack: SlackClient
    pacing: Pacing
    store: ApprovalStore
    health: Health
    restore_guard: RestoreGuard
    trouble: SlackTrouble
    tasks: Tasks
    lease: int
    """Milliseconds that one call may take before another replica takes over."""


class EditRefusedError(BotError):
    """Slack does not take an edit now, and may take it later: its channel may be archived."""


@dataclass(slots=True)
class SlackCall:
    """One call to Slack about one message, under its lease.

    Each method returns `None` when Slack shows the record now, else the milliseconds until the next attempt.
    """

    line: Line
    state: Approval
    part: Part
    held: str
    """Its lease, as it is stored."""
    leased_until: float
    """When the lease ends, by the monotonic clock."""
    is_drawn: bool = False
    """Whether Slack shows this part now, and the cached record says so."""

    @property
    def shown(self) -> Shown | None:
        """What Slack shows of the message, as far as the record knows."""
        return self.state.shown.get(self.part.id)

    async def make(self) -> int | None:
        """Post or update."""
        name = "assent.update_card" if self.shown else "assent.post_card"
        with span_within(
            name, self.state.trace, interrupt_id=self.state.id, agent=self.state.agent, part=str(self.part.id)
        ) as span:
            again_in = await self._make()
            span.note(again_in=again_in)
            return again_in

    async def _make(self) -> int | None:
        try:
            return await (self._update(self.shown) if self.shown else self._post())
        except InterruptFaultError as error:
            return await self._on_refused(error)
        except SlackBusyError as error:
            return await self._on_busy(error)
        except SlackUnclearError as error:
            return await self._on_unclear(error)
        except WorkspaceFaultError as error:
            await self.give_back()
            return await self.line.trouble.come_again_in(self.state.id, error)

    async def adopt(self, since: float) -> int | None:
        """Take over from a call whose result is unknown: keep the message if it is there, or post it now."""
        try:
            ts = await self._find(since)
        except InterruptFaultError as error:
            return await self._on_refused(error)
        except SlackError as error:
            logger.warning("slack.not_searched", extra={"interrupt_id": self.state.id, "reason": str(error)})
            return await self.line.trouble.come_again_in(self.state.id, error)
        if ts is None:
            return await (self.make() if is_wanted(self.state, self.part.id) else self.give_back())
        logger.info("card.adopted", extra={"interrupt_id": self.state.id, "ts": ts})
        # It is unknown what the found message shows. An unknown digest has it drawn again.
        await self._save(Shown(self.part.channel, ts, "?", "open"))
        return 0

    async def give_back(self) -> int | None:
        """Give the lease back, and note that nothing was sent."""
        await self._save(None)
        return None

    # --- The call itself ----------------------------------------------------------------------------------------------

    async def _post(self) -> int | None:
        began = time.monotonic()
        if began + self.line.slack.within > self.leased_until:
            return await self._on_late()
        part = await self._as_posted()
        ts = await self.line.slack.post_message(
            part.channel,
            text=part.text,
            blocks=part.blocks,
            thread_ts=self._thread(),
            label=self._label(),
        )
        self._measure(began)
        self.line.health.call_worked(POST)
        self.line.health.warnings.pop(PLACE + self.part.channel, None)
        self.line.restore_guard.note_sure(self.part.channel, ts)
        self.is_drawn = await self._save(self._drawn(self.part.channel, ts))
        if not self.is_drawn:
            # Slack was slow, our lease ended, and another process posts.
            self.line.tasks.start(self._remove_second(ts))
        await self._clear_notice()
        return None

    async def _as_posted(self) -> Part:
        """Give the message without mentions of people who gave a standing approval and were called about it within an hour."""
        state, id = self.state, self.part.id
        names = used_in(state, id)
        quiet = {name for name in names if id.kind == "card" or not await self.line.pacing.may_call(name)}
        return render_message(replace(state, quiet=frozenset(quiet)), id) if quiet else self.part

    async def _update(self, shown: Shown) -> int | None:
        is_compared = self.part.id.kind not in {"remark", "told"}
        restore_guard = self.line.restore_guard
        try:
            if is_compared and await restore_guard.is_behind(self.state, self.part.id, shown, self._thread()):
                await self.give_back()
                return 0
        except (SlackBusyError, SlackUnclearError) as error:
            return await self._on_not_compared(error)
        except ServerUnreachableError:
            await self.give_back()
            raise
        await self._edit(shown, self.part.blocks)
        self.line.health.call_worked(EDIT)
        self.line.pacing.note_edit(shown.channel, shown.ts)
        self.is_drawn = await self._save(self._drawn(shown.channel, shown.ts))
        if not self.is_drawn:
            # Slack was slow and another process drew meanwhile. Our call may have overwritten its picture.
            await self.line.store.invalidate_part(self.state.id, self.part.id)
        await self._clear_notice()
        return None

    async def _edit(self, shown: Shown, blocks: list[Block]) -> None:
        """Edit a message. If it asks nothing, its text takes the place of a picture that Slack refuses."""
        try:
            await self.line.slack.update_message(
                shown.channel, shown.ts, text=self.part.text, blocks=blocks, label=self._label()
            )
        except InterruptFaultError as error:
            is_picture = not (error.place or error.code in GONE)
            if self.state.is_open or not blocks or not is_picture:
                raise
            logger.warning("card.plainer", extra={"interrupt_id": self.state.id, "reason": str(error)})
            await self._edit(shown, [])

    def _measure(self, began: float) -> None:
        """Measure how long the first card of a request took. One that was deleted and comes back is not measured."""
        if self.part.id.kind == "card" and not self.state.shown and not self.state.gone:
            asked_for = (self.state.now - self.state.created_at).total_seconds()
            took = max(0.0, asked_for) + time.monotonic() - began
            TIME_TO_CARD.observe(took, exemplar_of(self.state.trace))

    # --- What became of it --------------------------------------------------------------------------------------------

    async def _on_late(self) -> int:
        """Do not post: another process may take over before this post has arrived, and would not find it."""
        logger.warning("card.late", extra={"interrupt_id": self.state.id})
        await self.give_back()
        await self.line.trouble.say_if_nothing_is_posted(self.state, self.part.id)
        return RETRY

    async def _on_busy(self, error: SlackBusyError) -> int:
        await self.give_back()
        if self.shown:
            await self.line.pacing.hold(error.retry_after, "edit")
        else:
            await self.line.pacing.hold(error.retry_after, "post", self.part.channel)
        await self._note_failure(error)
        return await self.line.trouble.come_again_in(self.state.id, error)

    async def _on_not_compared(self, error: SlackBusyError | SlackUnclearError) -> int:
        """Edit later: Slack does not say now what the message shows. Nothing was sent."""
        await self.give_back()
        if isinstance(error, SlackBusyError):
            kind = "replies" if self._thread() else "history"
            await self.line.pacing.hold(error.retry_after, kind)
        logger.warning("message.compared_later", extra={"interrupt_id": self.state.id, "reason": str(error)})
        if isinstance(error, SlackUnclearError) and not error.answered:
            return self.line.lease
        return await self.line.trouble.come_again_in(self.state.id, error)

    async def _on_unclear(self, error: SlackUnclearError) -> int:
        logger.warning("slack.unclear", extra={"interrupt_id": self.state.id, "reason": str(error)})
        await self._note_failure(error)
        if self.shown and error.answered:
            await self.give_back()
            return RETRY
        # The call may still arrive. The lease is taken again, so that the next picture comes after it.
        # The next process looks in Slack before it posts.
        lease = await self.line.store.lease_part(
            self.state, self.part.id, owner=self.held.split(" ")[1], lease=self.line.lease
        )
        self.held = lease.held
        if self.shown or not self._is_taken_over(lease):
            return self.line.lease
        # Our message may come beside that of the other process.
        await self.give_back()
        self.line.tasks.start(self._remove_second())
        return RETRY

    def _is_taken_over(self, lease: PartLease) -> bool:
        """Whether another process posts this message now, or has posted it."""
        return lease.outcome == "busy" or (lease.state is not None and self.part.id in lease.state.shown)

    async def _remove_second(self, ts: str = "") -> None:
        """Delete our message, because another process has posted one in its place. Without its `ts`, it is looked for later."""
        # Within that time a call to Slack has ended, and the other process has noted what it did.
        lease = self.line.lease / 1000
        try:
            for pause in (0.0, lease) if ts else (lease,):
                await asyncio.sleep(pause)
                state = await self.line.store.admitted(self.state.id)
                if kept := state and state.shown.get(self.part.id):
                    ts = ts or await self._find(self.state.now.timestamp(), kept.ts) or kept.ts
                    if ts != kept.ts:
                        await self.line.slack.delete_message(self.part.channel, ts)
                    return
        except (SlackError, ServerUnreachableError) as error:
            said = {"interrupt_id": self.state.id, "part": str(self.part.id), "reason": str(error)}
            logger.warning("card.second_may_stand", extra=said)

    async def _find(self, since: float, besides: str = "") -> str | None:
        return await self.line.slack.find_message(
            self.part.channel,
            thread_ts=self._thread(),
            since=since,
            interrupt_id=self.state.id,
            part=self.part.id,
            besides=besides,
        )

    async def _on_refused(self, error: InterruptFaultError) -> int | None:
        """Do without a message that Slack does not take now, or never. If nobody can decide without it, refuse the interrupt."""
        shown = self.shown
        is_lost = shown and error.code in GONE and shown.ts != NOWHERE and not self.part.id.is_beside
        if is_lost and self.state.is_open:
            return await self._on_deleted()
        if self.part.parent and not self.part.thread_ts and error.code in _NO_THREAD:
            # The thread is missing, so its card is probably gone. The card is checked first.
            await self.line.store.invalidate_part(self.state.id, self.part.parent)
            if not self.part.id.is_beside:
                await self.give_back()
                return RETRY
        is_final = not shown or shown.ts == NOWHERE or error.code in GONE | _NO_THREAD
        is_needed = self.state.is_open and not is_extra(self.state, self.part.id)
        if is_needed and (error.place or is_final):
            await self.give_back()
            await self.line.trouble.refuse_unreachable(self.state, error)
            return None
        ended = self.state.settled_at or self.state.now
        if shown and not is_final and self.state.now - ended < TRIED_FOR:
            await self.give_back()
            raise EditRefusedError(f"Slack does not take it: {error}") from error
        # Nothing more can be done for this message.
        if is_extra(self.state, self.part.id):
            logger.warning("extra.not_shown", extra={"interrupt_id": self.state.id, "reason": str(error)})
        await self._save(self._drawn(*((shown.channel, shown.ts) if shown else (self.part.channel, NOWHERE))))
        return None

    async def _on_deleted(self) -> int | None:
        """Have a deleted message of an open request posted again: a card together with all its parts."""
        if len(self.state.gone) >= DELETED_AT_MOST:
            await self.give_back()
            reason = f"its messages in {self.part.channel} were deleted {len(self.state.gone)} times: find out who deletes them, or ask elsewhere"
            await self.line.trouble.refuse(self.state.id, "card_deleted", reason)
            return None
        logger.warning("card.deleted", extra={"interrupt_id": self.state.id, "part": str(self.part.id)})
        try:
            for part, shown in self.state.shown.items():
                if part.kind == "part" and part.card == self.part.id:
                    await self._delete(shown)
        except SlackError as error:
            await self.give_back()
            return await self.line.trouble.come_again_in(self.state.id, error)
        await self._save(None, forget=True)
        return 0

    async def _note_failure(self, error: SlackError) -> None:
        self.line.health.call_failed(EDIT if self.shown else POST, str(error))
        await self.line.trouble.say_if_nothing_is_posted(self.state, self.part.id)

    async def _delete(self, shown: Shown) -> None:
        try:
            await self.line.slack.delete_message(shown.channel, shown.ts)
        except InterruptFaultError as error:
            logger.info("part.not_deleted", extra={"interrupt_id": self.state.id, "reason": str(error)})

    async def _clear_notice(self) -> None:
        if self.state.notice:
            await self.line.store.set_notice(self.state.id, "")

    async def _save(self, shown: Shown | None, *, forget: bool = False) -> bool:
        """Note what Slack shows now, and end the lease."""
        return await self.line.store.save_part(
            self.state.id,
            self.part.id,
            held=self.held,
            shown=shown,
            before=self.shown,
            forget=forget,
        )

    # --- What the message carries -------------------------------------------------------------------------------------

    def _label(self) -> Label:
        stage, decided = self.state.stage, self.state.decided
        if self.part.id.kind == "standing":
            approval = self.state.standing[self.part.id.number]
            stage, decided = "ended" if approval.ended else "open", frozenset(range(len(approval.uses)))
        return Label(self.state.id, self.part.id, self.part.digest, stage, decided)

    def _thread(self) -> str | None:
        if self.part.thread_ts:
            # The card is itself a reply, which has no thread of its own.
            return self.part.thread_ts
        parent = self.part.parent and self.state.shown.get(self.part.parent)
        return parent.ts if parent else None

    def _drawn(self, channel: str, ts: str) -> Shown:
        return Shown(channel, ts, self.part.digest, self.state.stage)
