"""Whether silence may approve: looked at when the deadline of a rule that lets it has come."""

import asyncio
import logging
from dataclasses import dataclass
from itertools import islice

from bot.decisions import VOTER_FRESH_FOR, Decisions, channel_of
from bot.errors import PersonUnknownError, SlackError
from bot.lookout import Lookout
from bot.state import Action, ApprovalState
from bot.store import NOT_LOOKED

logger = logging.getLogger(__name__)

LOOK_WITHIN = 8.0
"""Seconds for all questions to Slack. After half a minute the agent goes on by itself, as rejected."""
PEOPLE_AT_MOST = 20
"""Of one entry of an approver list, who are looked at."""
CARD_GONE = "Silence does not approve it: its card was not in Slack any more at the deadline."
NOBODY_LEFT = "Silence does not approve it: nobody was left at the deadline who could have rejected it."


@dataclass(frozen=True, slots=True)
class Silence:
    """Looks whether the card is there and somebody could have objected. In doubt silence approves nothing."""

    lookout: Lookout
    decisions: Decisions

    async def why_not(self, state: ApprovalState) -> str:
        """Say why silence approves nothing of a record whose deadline has come; empty when it may."""
        silent = [
            action
            for action in state.actions
            if not action.recorded and state.is_approved_by_silence(action.index)
        ]
        if not silent:
            return ""
        if self.lookout.health.slack_fault:
            # Other deadlines need not wait for what Slack will not answer.
            return NOT_LOOKED
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                if not await self.lookout.sees(state):
                    return CARD_GONE
                for action in silent:
                    if not await self._has_a_decider(state, action):
                        return NOBODY_LEFT
        except (SlackError, PersonUnknownError, TimeoutError) as error:
            logger.warning("silence.not_looked", extra={"interrupt_id": state.id, "reason": str(error)})
            return NOT_LOOKED
        return ""

    async def _has_a_decider(self, state: ApprovalState, action: Action) -> bool:
        assert state.admission is not None
        for entry in state.admission.terms(action.index).approvers:
            channel = channel_of(state, action.index)
            people = await self.decisions.directory.members(entry, channel, within=VOTER_FRESH_FOR)
            for user in islice(people, PEOPLE_AT_MOST):
                verdicts = await self.decisions.judge(
                    state, user, [action.index], "reject", within=VOTER_FRESH_FOR
                )
                if verdicts[action.index].allowed:
                    return True
        return False
