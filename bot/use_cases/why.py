"""Why something was approved: finds the record of a card, and says who may see it."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from agent_adapter.contract.wire import MAX_LIFE
from agent_adapter.errors import InvalidRequestError
from bot.domain.approval import Approval
from bot.domain.audit_entry import AuditEntry
from bot.domain.bulk import calls_on
from bot.domain.errors import InterruptFaultError, PersonUnknownError, SlackError
from bot.domain.ids import Label
from bot.domain.person import is_person
from bot.domain.queue import QueueLabel
from bot.domain.who_may_decide import is_outsider
from bot.sentences import in_why
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.store.audit import AuditStore
from bot.store.joined import JoinedStores, JoinedTrails
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

WITHIN = 10.0
"""Seconds that Slack may take. The view is open by then."""
_BEFORE, _AFTER = timedelta(days=2), MAX_LIFE + timedelta(days=40)
"""How long before and after its message something about a request can have happened."""
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Why:
    """What is known about a card."""

    interrupt_id: str
    state: Approval | None
    """The record, while there is one."""
    indices: Sequence[int]
    """The actions that the message shows."""
    entries: Sequence[AuditEntry]
    channels: Collection[str] = ()
    """Channels where the person reads what cards show."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Answers *Why was this approved?*"""

    store: ApprovalStore | JoinedStores
    audit: AuditStore | JoinedTrails
    slack: SlackClient
    directory: Directory
    _searching: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the whole audit trail is read: anybody may give any id, and each search reads every day that is kept."""

    async def find(self, user: str, channel: str, ts: str, thread_ts: str | None) -> Why | str:
        """Give what is known about the card that a message is, or the sentence that says why it is not shown.

        The message is read from Slack: what it says of itself there, only this bot can have written.

        Raises:
            PersonUnknownError: when Slack does not say who asks, or what the message is.
            ServerUnreachableError: when Redis does not answer.
        """
        label = await self._label(channel, ts, thread_ts)
        if not isinstance(label, Label):
            return label
        state = await self._record(label.interrupt_id)
        if state and not _is_message_of(state, channel, ts):
            return in_why.NOT_A_CARD
        if sentence := await self._why_not(user, channel, state):
            return sentence
        posted = _time_of(ts)
        entries = await self._entries(label.interrupt_id, posted - _BEFORE, posted + _AFTER)
        if state is None and not entries:
            # Somebody may have erased them. The trail says so from when they did, and that may be long after.
            async with self._searching:
                entries = await self._entries(label.interrupt_id, posted + _AFTER)
        if state is None:
            return Why(label.interrupt_id, None, (), entries, [channel]) if entries else in_why.NOTHING_KNOWN
        indices = _indices(state, label)
        return Why(label.interrupt_id, state, indices, _about(indices, entries))

    async def of(self, user: str, interrupt_id: str) -> Why | str:
        """Give what is known about a request, or the sentence that says why it is not shown.

        A person sees those of its calls that a channel of theirs shows. Whoever sees none does not learn that it exists.

        Raises:
            PersonUnknownError: when Slack does not say who asks.
            ServerUnreachableError: when Redis does not answer.
        """
        state = await self._record(interrupt_id)
        if state is None:
            return await self._of_trail(user, interrupt_id)
        seen: set[int] = set()
        for place in state.places.values():
            # Whose direct message it is, Slack does not say: only somebody who is named as an approver is sure to be meant.
            is_theirs = not place.channel.startswith("D") or _is_named(user, state)
            if is_theirs and not await self._why_not(user, place.channel, state):
                seen.update(place.actions)
        if not seen:
            return in_why.NO_SUCH_REQUEST
        # A request in a queue has no message of its own, or only one that says how it ended.
        asked = min([state.created_at, *(_time_of(shown.ts) for shown in state.shown.values())])
        return Why(
            interrupt_id,
            state,
            sorted(seen),
            _about(seen, await self._entries(interrupt_id, asked - _BEFORE)),
        )

    async def names_now(self, entries: Iterable[AuditEntry]) -> Mapping[str, str]:
        """Say what those who are named in some entries call themselves now. Whom Slack does not name in time is left out."""
        people = dict.fromkeys(entry["by"].split()[-1] for entry in entries if entry["name"] and entry["by"])
        found: dict[str, str] = {}
        with suppress(SlackError, TimeoutError):
            async with asyncio.timeout(WITHIN):
                for user in [each for each in people if is_person(each)][:_MOST_NAMES]:
                    found[user] = (await self.directory.person(user)).name
        return found

    async def _of_trail(self, user: str, interrupt_id: str) -> Why | str:
        """Answer from the audit trail alone. It names the channels where each call was asked, and direct messages are nobody's."""
        async with self._searching:
            entries = await self._entries(interrupt_id)
        asked_in = _channels_of(entries)
        asked = {name for names in asked_in.values() for name in names if name.startswith(("C", "G"))}
        channels = {channel for channel in asked if not await self._why_not(user, channel, None)}
        seen = {index for index, where in asked_in.items() if channels & where}
        if not seen:
            return in_why.NO_SUCH_REQUEST
        return Why(interrupt_id, None, (), _about(seen, entries), channels)

    async def _label(self, channel: str, ts: str, thread_ts: str | None) -> Label | str:
        """Read the label of a card; of another message, the sentence that says why there is nothing to show."""
        try:
            async with asyncio.timeout(WITHIN):
                seen = await self.slack.look(channel, thread_ts, ts, ts)
        except InterruptFaultError:
            # The bot is not in this channel, so none of its cards is there.
            return in_why.NOT_A_CARD
        except (SlackError, TimeoutError) as error:
            raise PersonUnknownError(str(error)) from error
        is_queue = QueueLabel.of(seen.messages.get(ts, {}), self.slack.me.bot_id) is not None
        return seen.labels.get(ts) or (in_why.OF_A_QUEUE if is_queue else in_why.NOT_A_CARD)

    async def _record(self, interrupt_id: str) -> Approval | None:
        try:
            return await self.store.admitted(interrupt_id)
        except InvalidRequestError:
            logger.warning("record.unreadable", extra={"interrupt_id": interrupt_id, "reason": "asked why"})
            return None

    async def _why_not(self, user: str, channel: str, state: Approval | None) -> str:
        """Say why somebody may not see it; empty when they may. What a card shows is for its channel."""
        try:
            async with asyncio.timeout(WITHIN):
                person = await self.directory.person(user)
                # A direct message has no other readers.
                is_member = channel.startswith("D") or await self.directory.matching(
                    user, ["channel"], channel
                )
        except (SlackError, TimeoutError) as error:
            raise PersonUnknownError(str(error)) from error
        if not is_member or person.is_deactivated:
            return in_why.NOT_A_MEMBER
        is_named = state is not None and _is_named(user, state)
        return in_why.OUTSIDE if is_outsider(person, self.directory.team) and not is_named else ""

    async def _entries(
        self, interrupt_id: str, since: datetime | None = None, until: datetime | None = None
    ) -> list[AuditEntry]:
        found = self.audit.entries(since, until, about=interrupt_id)
        try:
            return [entry async for entry in found]
        except OSError as error:
            logger.error("audit.not_read", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
            return []


def _is_named(user: str, state: Approval) -> bool:
    return any(user in terms.approvers for terms in state.admission.terms)


def _time_of(ts: str) -> datetime:
    return datetime.fromtimestamp(float(ts), UTC)


def _channels_of(entries: Iterable[AuditEntry]) -> Mapping[int, set[str]]:
    """Say where each call was asked, as the trail names it."""
    found = defaultdict[int, set[str]](set)
    for entry in entries:
        for index, channels in entry.asked_in:
            found[index].update(channels)
    return found


def _about(indices: Collection[int], entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """Leave out what is about other calls: another channel may be asked about them."""
    wanted = {"", *map(str, indices)}
    return [entry for entry in entries if entry["index"] in wanted]


def _is_message_of(state: Approval, channel: str, ts: str) -> bool:
    shown = {(shown.channel, shown.ts) for shown in state.shown.values()}
    return (channel, ts) in shown | state.gone


def _indices(state: Approval | None, label: Label) -> Sequence[int]:
    """Give the actions that a message shows. Messages beside them are about all actions of their place."""
    if state is None:
        return ()
    place = state.places.get(label.part.place)
    return calls_on(state, label.part) or (place.actions if place else ())
