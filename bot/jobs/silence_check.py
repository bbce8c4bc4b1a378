"""Checks whether silence may approve, when the deadline of a rule with `on_timeout: approve` has come."""

import asyncio
import logging
from dataclasses import dataclass
from itertools import islice

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError, SlackError
from bot.jobs.slack_watch import SlackWatch
from bot.sentences import to_agent
from bot.use_cases.judge import VOTER_FRESH_FOR, Judge

logger = logging.getLogger(__name__)

LOOK_WITHIN = 8.0
"""Seconds for all questions to Slack. After half a minute the agent continues by itself, as if rejected."""
PEOPLE_AT_MOST = 20
"""The most people that are checked for one entry of an approver list."""


@dataclass(frozen=True, slots=True)
class SilenceCheck:
    """Checks that the card is in Slack and that somebody could have objected. In doubt silence approves nothing."""

    slack_watch: SlackWatch
    judge: Judge

    async def why_not(self, state: Approval) -> str:
        """Say why silence approves nothing of a record whose deadline has come; empty when it may."""
        silent = [
            action
            for action in state.actions
            if not action.recorded and state.is_approved_by_silence(action.index)
        ]
        if not silent:
            return ""
        if self.slack_watch.health.slack_fault:
            # Slack will not answer now, and other deadlines should not wait for it.
            return to_agent.NOT_LOOKED
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                if not await self.slack_watch.sees(state):
                    return to_agent.CARD_GONE
                for action in silent:
                    if not await self._has_a_decider(state, action):
                        return to_agent.NOBODY_LEFT
        except (SlackError, PersonUnknownError, TimeoutError) as error:
            logger.warning("silence.not_looked", extra={"interrupt_id": state.id, "reason": str(error)})
            return to_agent.NOT_LOOKED
        return ""

    async def _has_a_decider(self, state: Approval, action: Action) -> bool:
        for entry in state.admission.terms[action.index].approvers:
            channel = state.place_of(action.index).channel
            people = await self.judge.directory.members(entry, channel, within=VOTER_FRESH_FOR)
            for user in islice(people, PEOPLE_AT_MOST):
                verdicts = await self.judge.may_decide(
                    state, user, [action.index], "reject", within=VOTER_FRESH_FOR
                )
                if verdicts[action.index].allowed:
                    return True
        return False
