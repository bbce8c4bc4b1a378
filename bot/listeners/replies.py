"""A reply in the thread of a card that mentions the app: its author may send it as a change request."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from bot.domain.approval import Approval
from bot.domain.errors import SlackError
from bot.domain.mentioned import Mentioned
from bot.rendering.mention import Call, can_choose, render_mention
from bot.rendering.modal.questions import MAX_REASON
from bot.runtime.offload import offload
from bot.runtime.tasks import Tasks
from bot.sentences import in_mention
from bot.slack.client import SlackClient
from bot.store.records import ApprovalStore
from bot.text.literal import units
from bot.text.written import written
from bot.use_cases.answers import closed

logger = logging.getLogger(__name__)

_EVENT_ID = re.compile(r"[A-Za-z0-9]{1,40}")


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers `app_mention` events. An answer decides nothing: that is for its button."""

    store: ApprovalStore
    slack: SlackClient
    tasks: Tasks

    async def mentioned(self, body: Mapping[str, Any]) -> None:
        """Handle one event. It is acknowledged first, since it decides nothing."""
        self.tasks.start(self._handle(str(body.get("event_id") or ""), body["event"]))

    async def _handle(self, event_id: str, event: Mapping[str, Any]) -> None:
        try:
            await self._answer(event_id, event)
        except (AgentAdapterError, SlackError) as error:
            extra = {"channel": event.get("channel"), "reason": str(error)}
            logger.warning("mention.not_answered", extra=extra)

    async def _answer(self, event_id: str, event: Mapping[str, Any]) -> None:
        """Answer a reply once for all processes. Only its author sees the answer."""
        if not _is_reply(event) or not _EVENT_ID.fullmatch(event_id):
            return
        channel, thread_ts = str(event["channel"]), str(event["thread_ts"])
        states = await self._asked_in(channel, thread_ts, str(event["ts"]))
        if not states:
            return
        words = written(str(event.get("text") or ""), self.slack.me.user_id)
        calls = _open_calls(states)
        kept = Mentioned(
            user=str(event["user"]),
            channel=channel,
            words=words,
            calls=tuple((state.id, action.index) for state, action in calls),
        )
        if not await self.store.note_mention(event_id, kept):
            logger.info("mention.answered_before", extra={"event_id": event_id})
            return
        sentence, blocks = _why_not(states[-1], words, calls), None
        if not sentence:
            has_files = bool(event.get("files"))
            sentence = in_mention.nothing_yet(has_files=has_files)
            blocks = await offload(states[-1], render_mention, event_id, words, calls, has_files=has_files)
        await self.slack.tell_user(channel, kept.user, sentence, thread_ts=thread_ts, blocks=blocks)

    async def _asked_in(self, channel: str, thread_ts: str, until: str) -> list[Approval]:
        """Give the records whose cards a thread shows, the oldest first."""
        seen = await self.slack.look(channel, thread_ts, thread_ts, until)
        names = dict.fromkeys(label.interrupt_id for _, label in sorted(seen.labels.items()))
        found = [await self._readable(name) for name in names]
        return [state for state in found if state]

    async def _readable(self, interrupt_id: str) -> Approval | None:
        try:
            return await self.store.admitted(interrupt_id)
        except UnreadableRecordError as error:
            logger.warning("record.unreadable", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            return None


def _is_reply(event: Mapping[str, Any]) -> bool:
    """Whether a person wrote it in a thread. What other apps write is not a person's word."""
    names = ("user", "channel", "ts", "thread_ts")
    return all(event.get(name) for name in names) and not event.get("bot_id") and not event.get("subtype")


def _open_calls(states: Sequence[Approval]) -> list[Call]:
    return [
        (state, action)
        for state in states
        for action in state.actions
        if state.is_open_at(action.index) and action.allows("reject")
    ]


def _why_not(state: Approval, words: str, calls: Sequence[Call]) -> str:
    """Say why a reply cannot be sent as a change request; empty when it can."""
    if not calls:
        return closed(state, range(len(state.actions)))
    if not words:
        return in_mention.NO_WORDS
    if units(words) > MAX_REASON:
        return in_mention.too_long(MAX_REASON)
    return "" if can_choose(calls) else in_mention.CHOOSE_ON_CARD
