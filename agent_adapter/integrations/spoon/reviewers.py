"""Who decides about the gated calls of a turn: people in Slack, or a callback of the user."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Protocol, TypeAlias

from spoon_ai.tools import hitl

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient, withdrawn_on_cancel
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Context, DecidedResume
from agent_adapter.contract.outcome import Outcome
from agent_adapter.contract.record import EXPIRED_MESSAGE
from agent_adapter.idempotency import running
from agent_adapter.integrations.spoon.turn import Refused, Verdicts
from agent_adapter.integrations.spoon.words import fitting, read_decisions

logger = logging.getLogger(__name__)

ApprovalCallback: TypeAlias = Callable[[hitl.ApprovalRequest], Any]
"""Returns SpoonAI's `ApprovalDecision`, its name or an `ApprovalResponse`; plain or asynchronous."""


class Reviewer(Protocol):
    """Decides about all gated calls of a turn."""

    async def decide(self, asked: HITLRequest, agent: Any) -> Verdicts:
        """Return one decision for each action, in action order."""


@dataclass(frozen=True)
class People:
    """Decide in Slack."""

    approvals: ApprovalClient
    asking: Asking

    async def decide(self, asked: HITLRequest, agent: Any) -> Verdicts:
        """Ask about all calls on one card, and wait."""
        asking: Asking = {**self.asking, "context": self._context(agent)}
        interrupt = self.approvals.interrupt(asked, **asking)
        # No other process could resume this run.
        async with (
            withdrawn_on_cancel(self.approvals, interrupt, "the agent's run has ended"),
            AsyncExitStack() as stack,
        ):
            resume = await stack.enter_async_context(self.approvals.reviewing(interrupt))
            decisions = fitting(resume.decisions, asked)
            # The claim is kept until the calls have run: that of a process which dies in one of them lapses.
            return Verdicts(
                decisions, partial(self._report, resume), partial(_running, resume), stack.pop_all().aclose
            )

    def _report(self, resume: DecidedResume, position: int, outcome: Outcome) -> None:
        self.approvals.report_later(resume.key(position), outcome, claim=resume.claim)

    def _context(self, agent: Any) -> Context:
        """Say which subagent asks: SpoonAI names it `<agent>/<subagent>`."""
        context = self.asking.get("context", Context())
        _, _, subagent = str(getattr(agent, "name", "")).partition("/")
        return context.model_copy(update={"subagent": context.subagent or subagent or None})


def _running(resume: DecidedResume, position: int) -> AbstractContextManager[None]:
    return running(resume.key(position), resume.receipt(position))


@dataclass(frozen=True)
class Callback:
    """Decides with a function of the user, one call after the other."""

    function: ApprovalCallback
    wait: timedelta

    async def decide(self, asked: HITLRequest, agent: Any) -> Verdicts:  # noqa: ARG002  # as the protocol
        """Call the function for each action. A call that it does not decide in time is refused; so is one where it fails."""
        until = asyncio.get_running_loop().time() + self.wait.total_seconds()
        pairs = zip(asked.action_requests, asked.review_configs, strict=True)
        return Verdicts([await self._decide(action, config, until) for action, config in pairs])

    async def _decide(self, action: ActionRequest, config: ReviewConfig, until: float) -> Decision | Refused:
        alone = HITLRequest(action_requests=(action,), review_configs=(config,))
        try:
            async with asyncio.timeout_at(until):
                answer = self.function(
                    hitl.ApprovalRequest(action.name, deepcopy(action.args), str(action.id))
                )
                answer = await answer if inspect.isawaitable(answer) else answer
            decision, args = hitl.normalize_decision(answer)
            (checked,) = read_decisions([{"type": decision.value, "args": args}], alone)
        except TimeoutError:
            return Refused(EXPIRED_MESSAGE)
        except Exception as error:
            # The user's code failed, or its answer is wrong: the model reads the error, and the call does not run.
            logger.exception("spoon.callback_failed", extra={"tool": action.name})
            return Refused(f"approval_callback: {error}")
        return checked
