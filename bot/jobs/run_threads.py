"""Finds the message under which a card stands, where the cards of a run share a thread."""

from datetime import timedelta

from agent_adapter.errors import InvalidRequestError
from bot.domain.approval import Approval, Published
from bot.store.records import ApprovalStore

SOON = 200
"""Milliseconds until it is looked again whether the first card of the run is there."""
LONGEST_WAIT = timedelta(minutes=1)
"""How long the first card of a run may take. Then the next one takes its place."""


async def find_thread(store: ApprovalStore, state: Approval, number: int) -> int | None:
    """Find under which message the card of a place stands, and note it. Returns milliseconds to wait if nobody knows yet."""
    channel, without = state.admission.places[number].channel, ""
    while (first := await store.first_of_run(state.interrupt, channel, instead=without)) != state.id:
        found = await _readable(store, first)
        if thread_ts := _card_in(found, channel):
            await store.note_thread(state, number, thread_ts)
            return None
        if found and _is_coming(found):
            return SOON
        without = first
    await store.note_thread(state, number, None)
    return None


async def leave_thread(store: ApprovalStore, state: Approval, number: int) -> None:
    """Have a card stand in the channel because the message above it is gone. Later cards of the run reply to this one."""
    place = state.admission.places[number]
    first = await store.first_of_run(state.interrupt, place.channel)
    await store.first_of_run(state.interrupt, place.channel, instead=first)
    await store.note_thread(state, number, None, instead=place.thread_ts or "")


async def _readable(store: ApprovalStore, interrupt_id: str) -> Published | None:
    try:
        return await store.load(interrupt_id)
    except InvalidRequestError:
        return None


def _card_in(state: Published | None, channel: str) -> str | None:
    """Give the `ts` of a record's card in a channel; not of one in a thread, which has no thread of its own."""
    if not isinstance(state, Approval):
        return None
    for part, shown in state.shown.items():
        is_alone = not state.admission.places[part.place].thread_ts
        if part.kind == "card" and shown.channel == channel and is_alone and shown.ts[0].isdigit():
            return shown.ts
    return None


def _is_coming(state: Published) -> bool:
    """Whether the card of a record, which is not there, will be posted soon."""
    return state.stage == "open" and not state.is_past and state.now - state.created_at < LONGEST_WAIT
