"""Ends records that cannot be read or that somebody has changed, and removes the buttons from their cards."""

import logging

from agent_adapter.errors import InvalidRequestError
from bot.domain.errors import (
    BrokenSealError,
    SlackBusyError,
    SlackError,
    SlackUnclearError,
    WorkspaceFaultError,
)
from bot.domain.ids import Label
from bot.rendering.card.noted import render_unreadable
from bot.runtime.metrics import BROKEN_SEALS
from bot.slack.client import SlackClient
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)


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
