"""Clicks and forms that failed through no fault of the person. After one, silence does not approve the record."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from agent_adapter.errors import AgentAdapterError, ServerUnreachableError, UnreadableRecordError
from bot.domain.errors import StoreUnavailableError
from bot.domain.transitions import miss
from bot.store.records import ApprovalStore
from bot.use_cases.answers import Answer, Why

logger = logging.getLogger(__name__)

TRIES = 15
"""Tries, a second apart. If Redis answers none of them, no bot has a heartbeat either, and silence approves nothing."""


async def note_refused(
    store: ApprovalStore,
    interrupt_id: str,
    user: str,
    answer: Answer,
    *,
    button: str,
    indices: Sequence[int] = (),
) -> None:
    """Enter into the audit trail what was not recorded, and why. The person is answered also while Redis is gone."""
    entries: list[tuple[int | None, Why]] = [(index, "not_allowed") for index in answer.not_theirs]
    if not answer.recorded:
        entries = [(indices[0] if len(indices) == 1 else None, answer.why)]
    try:
        for index, why in entries:
            await store.note_click(interrupt_id, user, button=button, index=index, code=why)
    except (AgentAdapterError, StoreUnavailableError) as error:
        logger.warning("click.not_entered", extra={"interrupt_id": interrupt_id, "reason": str(error)})


async def note_missed(store: ApprovalStore, interrupt_id: str, user: str, button: str, code: str) -> None:
    """Note in the record and in the audit trail that somebody tried to decide and could not, and why."""
    for _ in range(TRIES):
        try:
            # Silence approves nothing of a record that cannot be read.
            with suppress(UnreadableRecordError):
                if state := await store.admitted(interrupt_id):
                    await store.update(state, miss, is_told=False)
            await store.note_click(interrupt_id, user, event="click_failed", button=button, code=code)
        except (ServerUnreachableError, StoreUnavailableError):
            await asyncio.sleep(1)
        else:
            return
    logger.error("click.not_noted", extra={"interrupt_id": interrupt_id})
