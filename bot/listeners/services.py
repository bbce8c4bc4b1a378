"""What the handlers of buttons and forms use: the use cases, Slack, and answers to the person who clicked."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agent_adapter.errors import (
    AgentAdapterError,
    ServerFailedError,
    ServerUnreachableError,
    UnreadableRecordError,
)
from bot.domain.approval import Approval
from bot.domain.errors import (
    BrokenSealError,
    NotConfirmedError,
    NotToldError,
    PersonUnknownError,
    SlackError,
    StoreUnavailableError,
    VotersUnknownError,
)
from bot.domain.transitions import miss
from bot.domain.transitions import read as note_read
from bot.listeners.pressed import Click
from bot.rendering.buttons import REVIEW
from bot.rendering.modal.review import render_review_view
from bot.rendering.modal.view import ViewMeta, pressed_at, render_notice_view
from bot.runtime.offload import Tasks, offload
from bot.sentences import in_answer
from bot.slack.client import SlackClient
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer, Why
from bot.use_cases.assign import Assignments
from bot.use_cases.decide import Decisions
from bot.use_cases.standing import StandingApprovals
from bot.use_cases.who_may_decide import Judge

logger = logging.getLogger(__name__)

TRIES = 15
"""To note a click that failed, a second apart. If Redis answers none of them, no bot has a heartbeat either, and silence approves nothing."""
TELL_WITHIN = 2.6
"""Seconds after a click in which the bot must say to the person why nothing was stored. Slack waits three."""


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases, the store and Slack."""

    store: ApprovalStore
    judge: Judge
    decisions: Decisions
    assignments: Assignments
    standing: StandingApprovals
    slack: SlackClient
    tasks: Tasks = field(default_factory=Tasks)
    refresh_list: Callable[[str, str, str], None] = lambda _user, _look, _view_id: None
    """Writes a list in a view again, as somebody looked at it."""

    async def why_failed(self, interrupt_id: str, user: str, button: str, error: Exception) -> str:
        """Say to a person why a click or a form failed; empty where nobody knows what is stored. Silence then approves nothing.

        Raises:
            Exception: the error, when nobody foresaw it.
        """
        if not isinstance(error, NotToldError):
            self.tasks.start(self._note_missed(interrupt_id, user, button, type(error).__name__))
        about = {"interrupt_id": interrupt_id, "reason": str(error)}
        match error:
            case PersonUnknownError():
                is_about_others = isinstance(error, VotersUnknownError)
                return in_answer.WHO_AGREED if is_about_others else in_answer.WHO_ARE_YOU
            case UnreadableRecordError() | ServerFailedError():
                logger.warning("record.unreadable", extra=about)
                if not isinstance(error, BrokenSealError):
                    return in_answer.UNREADABLE
                await self.store.queue_drawing(interrupt_id)
                return in_answer.CHANGED
            case NotConfirmedError():
                # What it decided counts, so it belongs into the log like any other.
                logger.warning("click.not_confirmed", extra={"interrupt_id": interrupt_id, "user": user})
                return ""
            case AgentAdapterError() | StoreUnavailableError() | SlackError():
                return ""
        raise error

    async def _note_missed(self, interrupt_id: str, user: str, button: str, code: str) -> None:
        """Note in the record and in the audit trail that somebody tried to decide and could not, and why."""
        for _ in range(TRIES):
            try:
                # Silence approves nothing of a record that cannot be read.
                with suppress(UnreadableRecordError):
                    if state := await self.store.admitted(interrupt_id):
                        await self.store.update(state, miss, is_told=False)
                await self.store.note_click(
                    interrupt_id, user, event="click_failed", button=button, code=code
                )
            except (ServerUnreachableError, StoreUnavailableError):
                await asyncio.sleep(1)
            else:
                return
        logger.error("click.not_noted", extra={"interrupt_id": interrupt_id})

    async def note_refused(
        self, interrupt_id: str, user: str, answer: Answer, *, button: str, indices: Sequence[int] = ()
    ) -> None:
        """Enter into the audit trail what was not recorded, and why. The person is answered also while Redis is gone."""
        entries: list[tuple[int | None, Why]] = [(index, "not_allowed") for index in answer.not_theirs]
        if not answer.recorded:
            entries = [(indices[0] if len(indices) == 1 else None, answer.why)]
        try:
            for index, why in entries:
                await self.store.note_click(interrupt_id, user, button=button, index=index, code=why)
        except (AgentAdapterError, StoreUnavailableError) as error:
            logger.warning("click.not_entered", extra={"interrupt_id": interrupt_id, "reason": str(error)})

    async def open(self, click: Click, view: Mapping[str, Any]) -> None:
        """Open a view, on top of the one in which the button was pressed. Slack stacks three: the third one is replaced."""
        found = pressed_at(view, click.channel, click.ts, click.review, click.listed)
        if click.view and click.listed and click.review and not click.in_review:
            await self.slack.update_view(click.view["id"], click.view.get("hash"), found)
        elif click.view:
            await self.slack.push_view(click.trigger_id, found)
        else:
            await self.slack.open_view(click.trigger_id, found)

    async def turn(self, click: Click, view: Mapping[str, Any]) -> None:
        """Open a view that replaces the one in which the button was pressed; on top of a review that is not its own, or of a list."""
        is_review = view["callback_id"] == REVIEW.verb
        if click.view and not click.is_in_list and click.in_review == is_review:
            review = "" if is_review else click.review
            found = pressed_at(view, click.channel, click.ts, review, click.listed)
            await self.slack.update_view(click.view["id"], click.view.get("hash"), found)
        else:
            await self.open(click, view)

    async def draw_again(self, state: Approval, channel: str, ts: str) -> None:
        """Have the message drawn again that was pressed, since it asks something else.

        Silence then approves nothing. What Redis says about the message only helps to find it.
        """
        await self.store.update(state, miss)
        for part, shown in state.shown.items():
            if (shown.channel, shown.ts) == (channel, ts):
                await self.store.invalidate_part(state.id, part)
                return
        await self.store.queue_drawing(state.id)

    async def refuse(self, click: Click, sentence: str, *, until: float) -> None:
        """Say to the person that nothing was stored, before the click is acknowledged. Otherwise it looks as if it was stored.

        Raises:
            NotToldError: when Slack has not taken it in time. Do not acknowledge the click, so that Slack shows that it failed.
        """
        telling = self.tasks.start(self.tell(click, sentence))
        try:
            async with asyncio.timeout_at(until):
                # A call to Slack that takes longer still ends, so the person gets the sentence later.
                await asyncio.shield(telling)
        except (SlackError, TimeoutError) as error:
            raise NotToldError(str(error) or "Slack took too long") from error

    async def tell(
        self, click: Click, sentence: str, *, over: str | None = None, title: str = in_answer.NOT_DONE
    ) -> None:
        """Say something to the person who clicked, and to nobody else. It replaces the view of the hash `over`, or whatever is shown there now.

        Raises:
            DoneBeforeError: when the view has another hash by now.
            SlackError: when Slack did not take it.
        """
        notice = render_notice_view(title, sentence)
        if click.in_review and click.view:
            await self.review_again(click.review, click.view["id"], click.user, sentence, over=over)
            if click.listed:
                self.refresh_list(click.user, click.listed, click.view["root_view_id"])
        elif click.is_in_list:
            await self.slack.push_view(click.trigger_id, notice)
        elif click.view:
            await self.slack.update_view(click.view["id"], over, notice)
        elif click.is_on_home:
            await self.slack.open_view(click.trigger_id, notice)
        else:
            await self.slack.tell_user(click.channel, click.user, sentence, thread_ts=click.thread_ts)

    async def mark_shown(self, state: Approval, user: str, shown: Iterable[tuple[int, int]]) -> None:
        """Note which pages of which calls a person was shown, each call in the order of its pages."""
        read: dict[int, int] = {}
        for index, page in shown:
            if page == read.get(index, state.pages_read(state.actions[index], user)) + 1:
                read[index] = page
        pages = [(state.actions[index], page) for index, page in read.items()]
        await self.store.update(state, partial(note_read, user=user, pages=pages), is_told=False)

    def draw_below(self, view: Mapping[str, Any], meta: ViewMeta, user: str) -> None:
        """Show the review and the list below a view as they are now."""
        root = view["root_view_id"]
        if meta.review:
            # Slack stacks three views at most, so above a list the review is right below this view.
            review_id = str(view.get("previous_view_id")) if meta.listed else root
            self.tasks.start(self.review_again(meta.review, review_id, user))
        if meta.listed:
            self.refresh_list(user, meta.listed, root)

    async def review_again(
        self, carried: str, view_id: str, user: str, said: str = "", *, over: str | None = None
    ) -> None:
        """Draw the page of a review again, after something was decided in it or on top of it."""
        meta = ViewMeta.load(carried)
        state = await self.store.admitted(meta.id)
        if state is not None:
            view = await offload(state, render_review_view, state, meta, user, said=said)
            await self.slack.update_view(
                view_id, over, pressed_at(view, meta.channel, meta.ts, listed=meta.listed)
            )
