"""Checks whether silence may approve, when the deadline of a rule with `on_timeout: approve` has come."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError, SlackError
from bot.domain.policy import Policy
from bot.jobs.slack_watch import SlackWatch
from bot.sentences import to_agent
from bot.store.connected import Refused
from bot.use_cases.who_may_decide import VOTER_FRESH_FOR, Judge

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
    refused: Refused
    """The calls that somebody refused. A person who can write to Redis can hide their answer there, but not here."""
    rules: Callable[[], Policy] | None = None
    """Gives the rules that hold now, for a bot that signs. It signs nothing that only the record in Redis says."""

    async def why_not(self, state: Approval) -> str:
        """Say why silence approves nothing of a record whose deadline has come; empty when it may."""
        silent = [
            action
            for action in state.actions
            if not action.recorded and state.is_approved_by_silence(action.index)
        ]
        if not silent:
            return ""
        if any(self.refused.has(state.id, action.index) for action in silent):
            return to_agent.WAS_REFUSED
        if self.slack_watch.health.slack_fault:
            # Slack will not answer now, and other deadlines should not wait for it.
            return to_agent.NOT_LOOKED
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                # Another server may answer, and no bot may have met it yet.
                await self.slack_watch.restore_guard.beat()
                if not await self.slack_watch.sees(state):
                    return to_agent.CARD_GONE
                if self.rules and (sentence := _unproven(state, silent, self.rules())):
                    return sentence
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


def _unproven(state: Approval, silent: Sequence[Action], rules: Policy) -> str:
    """Say why the rules and Slack do not prove that silence approves now; empty when they do.

    What the record says of its terms and times is in Redis, where somebody may have changed it. When a message was
    posted, its `ts` says in seconds, and it was just looked up in Slack.
    """
    if not (asked_by := state.asked_by):
        return to_agent.SHOWN_TOO_SHORT
    shown_for = timedelta(seconds=time.time() - max(float(shown.ts) for shown in asked_by.values()))
    for action in silent:
        rule = rules.rule_for(state.agent, action.request.name, action.request.args)
        if not rule.approves_silently or rule.time is None:
            return to_agent.NOT_BY_RULES
        if shown_for < 0.9 * rule.time:
            return to_agent.SHOWN_TOO_SHORT
    return ""
