"""Hands clicks and forms to the namespace that has their record, where a bot serves two."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from bot.domain.errors import StoreUnavailableError
from bot.listeners.actions import Buttons
from bot.listeners.payloads import parse_click
from bot.listeners.views import Forms
from bot.rendering.modal.view import HOME, ViewMeta
from bot.store.deliveries import WITHIN
from bot.store.joined import first_with
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Handlers:
    """What handles the clicks and forms of one namespace."""

    store: ApprovalStore
    buttons: Buttons
    forms: Forms


@dataclass(frozen=True, slots=True)
class ByRecord:
    """Handles every click and every form as the namespace does that has its record."""

    each: Sequence[Handlers]
    """The new namespace first: it answers for a record that no namespace has."""

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `block_actions` payload."""
        click = parse_click(body) if self._has_choice else None
        found = await self._having(click.interrupt_id) if click and click.verb != HOME else self.each[0]
        await found.buttons.press(ack, body)

    async def submit(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `view_submission` payload."""
        carried = body["view"].get("private_metadata")
        has_record = self._has_choice and body["view"]["callback_id"] != "notice" and carried
        found = await self._having(ViewMeta.load(carried).id) if has_record else self.each[0]
        await found.forms.submit(ack, body)

    @property
    def _has_choice(self) -> bool:
        return len(self.each) > 1

    async def _having(self, interrupt_id: str) -> Handlers:
        """Find who has asked about a record.

        Raises:
            StoreUnavailableError: when Redis does not answer in time. The click is then shown as failed.
        """
        for handlers in self.each:
            if handlers.store.recall(interrupt_id):
                return handlers
        try:
            async with asyncio.timeout(WITHIN):
                return (
                    await first_with(self.each, lambda each: _has(each.store, interrupt_id)) or self.each[0]
                )
        except (AgentAdapterError, TimeoutError) as error:
            logger.warning("click.not_routed", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            raise StoreUnavailableError("Redis did not answer in time") from error


async def _has(store: ApprovalStore, interrupt_id: str) -> bool:
    try:
        return await store.admitted(interrupt_id) is not None
    except InvalidRequestError:
        # Its own namespace says why it cannot be read.
        return True
