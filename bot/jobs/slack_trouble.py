"""What an error of Slack means for a record: try again or refuse it, and say why to the agents that wait."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.approval import Approval, Published
from bot.domain.errors import InterruptFaultError, SlackBusyError, SlackError, WorkspaceFaultError
from bot.domain.ids import MessageId
from bot.runtime.health import PLACE, Health
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

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
