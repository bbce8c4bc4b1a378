"""Makes Slack agree with the record: post, update, or nothing."""

import asyncio
import logging
import secrets
from dataclasses import dataclass, field

from agent_adapter.contract.interrupt import Route
from agent_adapter.errors import InvalidRequestError
from bot.aside import aside
from bot.errors import (
    InterruptFaultError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.grants import Grants, tell_uses
from bot.health import NOT_YET, PLACE, Health
from bot.ids import KEPT, LEDGER, Label, PartId
from bot.pacing import Pacing, Queue
from bot.people import Directory
from bot.policy import Refusal
from bot.policy_keeper import PolicyKeeper
from bot.rendering.limits import SlackLimitError, check_message
from bot.rendering.lost import render_unreadable
from bot.rendering.message import Part, draw_parts, plan_parts
from bot.rewind import Rewind
from bot.room import Room
from bot.slack_client import SlackClient
from bot.state import ApprovalState, Place, Shown
from bot.sticky import Covered
from bot.store import ApprovalStore

logger = logging.getLogger(__name__)

FIRST_RETRY = 200
"""Milliseconds until a card is looked at again while the bot is still connecting."""
WORKSPACE_RETRY = 2_000
"""Milliseconds until a card is looked at again while no call to Slack can succeed."""
NOWHERE = "?"
"""Stands for the `ts` of a message that could not be posted."""
_GONE = {"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"}
_NO_THREAD = {"thread_not_found", "invalid_thread_ts"}
_POST, _EDIT = "chat.postMessage", "chat.update"
DELETED_AT_MOST = 10
"""Messages of one record that are posted again. Where somebody, or a program, deletes each of them, nobody can decide."""


@dataclass(frozen=True, slots=True)
class Presenter:
    """Draws what is owed. An old picture never lands on a new one: the record is read again before every call."""

    store: ApprovalStore
    slack: SlackClient
    directory: Directory
    pacing: Pacing
    policies: PolicyKeeper
    grants: Grants
    room: Room
    health: Health
    rewind: Rewind
    lease: int
    """Milliseconds that one call may take before another replica takes over."""
    _queue: Queue = field(default_factory=Queue)

    def wait(self, interrupt_id: str) -> int:
        """Milliseconds for which this record need not be looked at: it was told to wait, or has no turn to hope for."""
        if left := self._queue.remaining(interrupt_id):
            return left
        known = self.store.recall(interrupt_id)
        if known and known.is_shown and (closed := self.pacing.edits_closed(known.interrupt.agent)):
            # Only an edit can be owed.
            return self._queue.join(interrupt_id, closed)
        return 0

    async def present(self, interrupt_id: str) -> int | None:
        """Draw one record; `None` when Slack agrees with it, else in how many milliseconds to come again."""
        try:
            state = await self._ready(interrupt_id)
        except InvalidRequestError as error:
            await self._refuse_unreadable(interrupt_id, error)
            return None
        except (SlackBusyError, SlackUnclearError, WorkspaceFaultError) as error:
            return await self._not_admitted(interrupt_id, error)
        while state and (part := await aside(state, _outdated, state)):
            wait = await self._draw(state, part)
            if wait is not None:
                return wait
            state = await self.store.load(interrupt_id)
        if state and state.stage != "open":
            await self.store.rest(interrupt_id)
        return None

    async def _refuse_unreadable(self, interrupt_id: str, error: InvalidRequestError) -> None:
        """End a record that cannot be read, and take the buttons off its card: what they act on cannot be told."""
        standing, _ = await self.store.standing()
        messages = [each for each in standing if each.interrupt_id == interrupt_id]
        logger.error("record.unreadable", extra={"interrupt_id": interrupt_id, "reason": str(error)})
        outcome = await self.store.settle(interrupt_id, "refused", code="unreadable", reason=str(error))
        for message in messages if outcome == "settled" else ():
            text, blocks = render_unreadable()
            label = Label(interrupt_id, message.part, stage="ended")
            try:
                await self.slack.update_message(
                    message.shown.channel, message.shown.ts, text=text, blocks=blocks, label=label
                )
            except SlackError as failed:
                logger.warning("card.not_closed", extra={"interrupt_id": interrupt_id, "reason": str(failed)})
        await self.store.rest(interrupt_id)

    async def _ready(self, interrupt_id: str) -> ApprovalState | None:
        state = await self.store.load(interrupt_id)
        if state is None:
            return None
        if state.status == "new" and not state.is_past:
            return await self._admit(state)
        if state.is_past and state.status in {"new", "pending"}:
            if state.status == "pending" and state.stage == "open":
                # The clock looks whether people could object, ends it, and has it drawn.
                return None
            await self.store.settle(state.id, "expired")
            return await self.store.load(interrupt_id)
        return state

    async def _admit(self, state: ApprovalState) -> ApprovalState | None:
        if too_much := await self.room.take(state.interrupt.agent, interrupt_id=state.id):
            await self._refuse(state.id, "limits", too_much.reason)
            return None
        vouched = await self.store.vouched(state.interrupt)
        admit = self.policies.policy.admit
        admission = await aside(state, admit, state.interrupt, plan_parts, vouched=vouched)
        if isinstance(admission, Refusal):
            await self._refuse(state.id, admission.code, admission.reason)
            return None
        try:
            author = await self._thread_author(state.interrupt.route)
            found = [await self._reachable(place) for place in admission.places]
        except InterruptFaultError as error:
            await self._refuse_unreachable(state, error)
            return None
        limit = admission.time_limit
        fixed = {"places": tuple(filter(None, found)), "thread_author": author}
        admission = admission.model_copy(update=fixed)
        await self.store.admit(
            state,
            admission,
            life=None if limit is None else int(limit.total_seconds() * 1000),
            covered=[
                covered
                for covered in await self.grants.covering(state, admission)
                if await self._still_holds(covered)
            ],
        )
        admitted = await self.store.load(state.id)
        if admitted:
            tell_uses(admitted)
            _warn_of_look_alikes(admitted)
        return admitted

    async def _thread_author(self, route: Route) -> str | None:
        """Say who began the thread that the run came from, also where it is asked elsewhere."""
        if not route.channel or not route.thread_ts:
            return None
        return await self.directory.thread_author(route.channel, route.thread_ts)

    async def _still_holds(self, covered: Covered) -> bool:
        """Whether what was approved for later calls is live where people see it, too. In doubt it is asked."""
        interrupt_id, _, index = covered.name.rpartition(":")
        before = await self.store.load(interrupt_id)
        ledgers = [part for part in (before.shown if before else ()) if part.number == LEDGER + int(index)]
        if before is None or not ledgers:
            return before is not None
        part, shown = ledgers[0], before.shown[ledgers[0]]
        await self.rewind.beat()
        card = before.shown.get(PartId(part.place, 0))
        try:
            thread_ts = before.places[part.place].thread_ts or (card.ts if card else None)
            return not await self.rewind.is_behind(before, part, shown, thread_ts)
        except SlackError as error:
            logger.warning("sticky.not_compared", extra={"interrupt_id": before.id, "reason": str(error)})
            return False

    async def _reachable(self, place: Place) -> Place | None:
        """Give a place with the channel that Slack has for a direct message; `None` where it cannot be asked as well."""
        try:
            self.slack.check_reach(place.channel)
            if place.channel[0] not in "UW":
                return place
            channel = await self.slack.open_direct_message(place.channel)
        except InterruptFaultError as error:
            if place.opened_by is None:
                raise
            logger.warning("escalation.unreachable", extra={"channel": place.channel, "reason": str(error)})
            return None
        self.health.warnings.pop(PLACE + place.channel, None)
        return place.model_copy(update={"channel": channel})

    async def _not_admitted(self, interrupt_id: str, error: SlackError) -> int:
        logger.warning("slack.unavailable", extra={"interrupt_id": interrupt_id, "reason": str(error)})
        if isinstance(error, SlackBusyError):
            return int(error.retry_after * 1000)
        if isinstance(error, WorkspaceFaultError):
            self.health.fault("slack", str(error))
            await self.store.notice(interrupt_id, f"Slack refuses the app: {error}")
            return WORKSPACE_RETRY
        return 1_000

    async def _draw(self, state: ApprovalState, part: Part) -> int | None:
        """Make one message agree; `None` when it does, else in how many milliseconds to come again."""
        if fault := self.health.slack_fault:
            if fault == NOT_YET:
                return FIRST_RETRY
            await self.store.notice(state.id, f"Slack cannot be used: {fault}")
            return WORKSPACE_RETRY
        if wait := await self._turn(state, part):
            await self._tell_if_nothing_is_posted(state, part)
            return self._queue.join(state.id, wait)
        owner = secrets.token_hex(8)
        lease = await self.store.lease_part(state.id, part.id, owner=owner, lease=self.lease)
        self.rewind.hear(state.id, lease.epoch)
        if lease.outcome == "busy":
            return min(lease.since, 1_000)
        newest = await self.store.load(state.id)
        if newest is None:
            return None
        now_due = await aside(newest, _outdated, newest, part.id)
        call = _Call(self, newest, now_due or part, owner)
        if lease.outcome == "takeover" and part.id not in newest.shown:
            return await call.adopt(lease.since / 1000)
        return await (call.make() if now_due and _is_wanted(newest, part.id) else call.let_go())

    async def _tell_if_nothing_is_posted(self, state: ApprovalState, part: Part) -> None:
        """Tell whoever waits for a message that Slack takes none."""
        if part.id not in state.shown and (why := self.health.lasting(_POST)):
            await self.store.notice(state.id, f"Slack takes no messages: {why}")

    async def _turn(self, state: ApprovalState, part: Part) -> int:
        shown = state.shown.get(part.id)
        if shown is None:
            return await self.pacing.turn_to_post(part.channel, state.interrupt.agent)
        return await self.pacing.turn_to_edit(
            state.interrupt.agent, urgent=state.stage != "open" and shown.stage == "open"
        )

    async def _refuse_unreachable(self, state: ApprovalState, error: InterruptFaultError) -> None:
        """Refuse an interrupt, and tell the operator too where it is the policy that named the place."""
        if error.place not in {"", state.interrupt.route.channel}:
            logger.error("policy.place_unreachable", extra={"place": error.place, "reason": str(error)})
            self.health.warnings[PLACE + error.place] = (
                f"what the policy asks there is refused, because Slack says {error}"
            )
        await self._refuse(state.id, error.code, str(error))

    async def _refuse(self, interrupt_id: str, code: str, reason: str) -> None:
        logger.warning(
            "interrupt.refused", extra={"interrupt_id": interrupt_id, "code": code, "reason": reason}
        )
        await self.store.settle(interrupt_id, "refused", code=code, reason=reason)


def _warn_of_look_alikes(state: ApprovalState) -> None:
    for action in state.actions:
        if action.care.resembles:
            logger.warning(
                "tool.look_alike",
                extra={
                    "interrupt_id": state.id,
                    "tool": action.request.name,
                    "resembles": action.care.resembles,
                },
            )


def _outdated(state: ApprovalState, only: PartId | None = None) -> Part | None:
    """Give the first message (or that one) which Slack does not show as the record is.

    The message above numbered parts is edited after them: what somebody pressed is drawn first, and several presses
    are counted by one edit. What is missing in its thread comes after it: it may be gone.
    """
    above = None
    for part in draw_parts(state, only) if state.admission else ():
        shown = state.shown.get(part.id)
        if shown and shown.digest in {part.digest, KEPT}:
            continue
        if not _is_wanted(state, part.id) and part.id not in state.begun:
            continue
        if shown and part.id.number == 0 and state.places[part.id.place].parts:
            above = above or part
        else:
            return part if shown else above or part
    return above


def _is_wanted(state: ApprovalState, part: PartId) -> bool:
    """Whether Slack should show this: nobody needs a card that ended before it was ever shown, or a late reminder.

    Nor a card that asks nothing, unless the agent could not go on.
    """
    if part in state.shown or part.is_ledger:
        return True
    if _is_extra(state, part):
        return state.is_open
    is_stuck = state.stalled is not None or state.claim_has_lapsed
    is_asked = not state.is_covered(state.places[part.place]) or is_stuck
    return state.status in {"pending", "decided"} and is_asked


def _is_extra(state: ApprovalState, part: PartId) -> bool:
    """Whether people can decide without this message: a remark, or a card where it is asked as well."""
    return part.is_remark or state.places[part.place].is_extra


@dataclass(frozen=True, slots=True)
class _Call:
    """One call to Slack about one message, under its lease."""

    presenter: Presenter
    state: ApprovalState
    part: Part
    owner: str

    async def make(self) -> int | None:
        """Post or update; `None` when Slack shows the picture."""
        shown = self.state.shown.get(self.part.id)
        try:
            check_message(self.part.text, self.part.blocks)
            return await (self._update(shown) if shown else self._post())
        except SlackLimitError as error:
            return await self._final(InterruptFaultError("render", "msg_too_long", [str(error)]))
        except SlackBusyError as error:
            await self.let_go()
            pacing = self.presenter.pacing
            await (pacing.hold_edits(error.retry_after) if shown
                   else pacing.hold_posts(self.part.channel, error.retry_after))  # fmt: skip
            await self._failed(error, again_in=error.retry_after)
            return int(error.retry_after * 1000)
        except SlackUnclearError as error:
            logger.warning("slack.unclear", extra={"interrupt_id": self.state.id, "reason": str(error)})
            await self._failed(error, again_in=self.presenter.lease / 1000)
            if shown and error.answered:
                await self.let_go()
                return 1_000
            # What was sent may still arrive. The lease is held anew, so that what is drawn next lands on top of it,
            # and whoever comes after it looks in Slack before posting.
            await self._hold()
            return self.presenter.lease
        except WorkspaceFaultError as error:
            await self.let_go()
            self.presenter.health.fault("slack", f"{error}")
            await self.presenter.store.notice(self.state.id, f"Slack refuses the app: {error}")
            return WORKSPACE_RETRY
        except InterruptFaultError as error:
            return await self._final(error)

    async def _failed(self, error: SlackError, *, again_in: float) -> None:
        method = _EDIT if self.part.id in self.state.shown else _POST
        self.presenter.health.call_failed(method, str(error), again_in=again_in)
        await self.presenter._tell_if_nothing_is_posted(self.state, self.part)  # noqa: SLF001  # its other half

    async def adopt(self, since: float) -> int | None:
        """Take over from a call whose end is unknown: keep the message that is there, or post it now."""
        try:
            ts = await self.presenter.slack.find_message(
                self.part.channel,
                thread_ts=self._thread(),
                since=since,
                interrupt_id=self.state.id,
                part=self.part.id,
            )
        except InterruptFaultError as error:
            return await self._final(error)
        except SlackError as error:
            logger.warning("slack.not_searched", extra={"interrupt_id": self.state.id, "reason": str(error)})
            if isinstance(error, WorkspaceFaultError):
                self.presenter.health.fault("slack", str(error))
            return max(1_000, int(error.retry_after * 1000)) if isinstance(error, SlackBusyError) else 1_000
        if ts is None:
            return await (self.make() if _is_wanted(self.state, self.part.id) else self.let_go())
        logger.info("card.adopted", extra={"interrupt_id": self.state.id, "ts": ts})
        # What the found message shows is not known; an unknown digest has it drawn anew.
        await self._save(Shown(self.part.channel, ts, "?", "open"))
        return 0

    async def _post(self) -> int | None:
        ts = await self.presenter.slack.post_message(
            self.part.channel,
            text=self.part.text,
            blocks=self.part.blocks,
            thread_ts=self._thread(),
            label=self._label(),
        )
        self.presenter.health.call_worked(_POST)
        self.presenter.health.warnings.pop(PLACE + self.part.channel, None)
        self.presenter.rewind.note_sure(self.part.channel, ts)
        if not await self._save(self._shown(self.part.channel, ts)):
            # Our lease lapsed while Slack took its time, and somebody else has posted.
            await self._remove_if_orphan(ts)
        await self._heard()
        return None

    async def _update(self, shown: Shown) -> int | None:
        is_compared = not self.part.id.is_remark or self.part.id.is_ledger
        rewind = self.presenter.rewind
        if is_compared and await rewind.is_behind(self.state, self.part.id, shown, self._thread()):
            await self.let_go()
            return 0
        await self.presenter.slack.update_message(
            shown.channel, shown.ts, text=self.part.text, blocks=self.part.blocks, label=self._label()
        )
        self.presenter.health.call_worked(_EDIT)
        if not await self._save(self._shown(shown.channel, shown.ts)):
            # Somebody else drew while Slack took its time with us, and we may have drawn over it.
            await self.presenter.store.doubt_part(self.state.id, self.part.id)
        await self._heard()
        return None

    async def _final(self, error: InterruptFaultError) -> int | None:
        shown = self.state.shown.get(self.part.id)
        is_lost = shown and error.code in _GONE and shown.ts != NOWHERE and not self.part.id.is_remark
        if is_lost and self.state.is_open:
            return await self._ask_anew()
        if self.part.parent and not self.part.thread_ts and error.code in _NO_THREAD:
            # The card in whose thread this goes is gone, or it would be there: it is looked at first.
            await self.presenter.store.doubt_part(self.state.id, self.part.parent)
            if not self.part.id.is_remark:
                await self.let_go()
                return 1_000
        if _is_extra(self.state, self.part.id):
            logger.warning("extra.not_shown", extra={"interrupt_id": self.state.id, "reason": str(error)})
            await self._save(self._shown(self.part.channel, shown.ts if shown else NOWHERE))
            return None
        if shown:
            # There is nothing left to mend on this message.
            await self._save(self._shown(shown.channel, shown.ts))
        elif self.state.is_open:
            await self.let_go()
        else:
            # Ended, and never to be shown.
            await self._save(self._shown(self.part.channel, NOWHERE))
        if self.state.is_open:
            await self.presenter._refuse_unreachable(self.state, error)  # noqa: SLF001  # its other half
        return None

    async def _ask_anew(self) -> int | None:
        """Have a message of an open question posted again that somebody deleted, a card with all its parts.

        The parts are deleted before they are forgotten: a copy that no record knows would never be taken away.
        """
        if len(self.state.gone) >= DELETED_AT_MOST:
            await self.let_go()
            reason = f"its messages in {self.part.channel} were deleted {len(self.state.gone)} times: find out who deletes them, or ask elsewhere"
            await self.presenter._refuse(self.state.id, "card_deleted", reason)  # noqa: SLF001  # its other half
            return None
        logger.warning("card.deleted", extra={"interrupt_id": self.state.id, "part": str(self.part.id)})
        try:
            for part, shown in self.state.shown.items():
                if self.part.id.number == 0 and part.place == self.part.id.place and part.is_numbered:
                    await self._delete(shown)
        except SlackError as error:
            await self.let_go()
            return int(error.retry_after * 1000) if isinstance(error, SlackBusyError) else 1_000
        await self._save(None, forget=True)
        return 0

    async def _delete(self, shown: Shown) -> None:
        try:
            await self.presenter.slack.delete_message(shown.channel, shown.ts)
        except InterruptFaultError as error:
            logger.info("part.not_deleted", extra={"interrupt_id": self.state.id, "reason": str(error)})

    def _label(self) -> Label:
        stage, decided = self.state.stage, self.state.decided
        if self.part.id.is_ledger:
            approval = self.state.sticky[self.part.id.number - LEDGER]
            stage, decided = "ended" if approval.ended else "open", frozenset(range(len(approval.uses)))
        return Label(self.state.id, self.part.id, self.part.digest, stage, decided)

    def _thread(self) -> str | None:
        if self.part.thread_ts:
            # The card is itself a reply, which has no thread of its own.
            return self.part.thread_ts
        parent = self.part.parent and self.state.shown.get(self.part.parent)
        return parent.ts if parent else None

    def _shown(self, channel: str, ts: str) -> Shown:
        return Shown(channel, ts, self.part.digest, self.state.stage)

    async def _save(self, shown: Shown | None, *, forget: bool = False) -> bool:
        return await self.presenter.store.card_drawn(
            self.state.id, self.part.id, owner=self.owner, shown=shown, forget=forget
        )

    async def let_go(self) -> None:
        """Note that nothing was sent."""
        await self._save(None)

    async def _hold(self) -> None:
        presenter = self.presenter
        await presenter.store.lease_part(self.state.id, self.part.id, owner=self.owner, lease=presenter.lease)

    async def _heard(self) -> None:
        if self.state.notice:
            await self.presenter.store.notice(self.state.id, "")

    async def _remove_if_orphan(self, ts: str) -> None:
        """Take our message away unless it is the one that the record knows, once it knows one."""
        for _ in range(10):
            if kept := await self._kept():
                if kept.ts != ts:
                    await self.presenter.slack.delete_message(self.part.channel, ts)
                return
            # Whoever took over may still be posting; if they die, the next one finds our message or theirs.
            await asyncio.sleep(self.presenter.lease / 10_000)

    async def _kept(self) -> Shown | None:
        state = await self.presenter.store.load(self.state.id)
        return state.shown.get(self.part.id) if state else None
