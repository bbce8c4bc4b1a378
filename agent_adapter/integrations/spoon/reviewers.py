"""Who decides about the gated calls of a turn: people in Slack, or a callback of the user."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from copy import deepcopy
from datetime import timedelta
from typing import Any, TypeAlias

from spoon_ai.tools import hitl

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient, withdrawn_on_cancel
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Context
from agent_adapter.contract.record import EXPIRED_MESSAGE
from agent_adapter.integrations.spoon.turn import Held, Refused
from agent_adapter.integrations.spoon.words import fitting, read_decisions

logger = logging.getLogger(__name__)

ApprovalCallback: TypeAlias = Callable[[hitl.ApprovalRequest], Any]
"""Returns SpoonAI's `ApprovalDecision`, its name or an `ApprovalResponse`; plain or asynchronous."""


async def ask_people(
    approvals: ApprovalClient, asking: Asking, asked: HITLRequest, agent: Any
) -> tuple[Sequence[Decision], Held]:
    """Ask about all calls on one card, and wait."""
    context = asking.get("context", Context())
    # SpoonAI names a subagent `<agent>/<subagent>`.
    _, _, subagent = str(getattr(agent, "name", "")).partition("/")
    named = context.model_copy(update={"subagent": context.subagent or subagent or None})
    own: Asking = {**asking, "context": named}
    interrupt = approvals.interrupt(asked, **own)
    # No other process could resume this run.
    async with (
        withdrawn_on_cancel(approvals, interrupt, "the agent's run has ended"),
        AsyncExitStack() as claim,
    ):
        resume = await claim.enter_async_context(approvals.reviewing(interrupt))
        return fitting(resume.decisions, asked), Held(approvals, resume, claim.pop_all())


async def ask_callback(
    function: ApprovalCallback, wait: timedelta, asked: HITLRequest
) -> list[Decision | Refused]:
    """Call the user's function for each action. A call that it does not decide in time is refused; so is one where it fails."""
    until = asyncio.get_running_loop().time() + wait.total_seconds()
    pairs = zip(asked.action_requests, asked.review_configs, strict=True)
    return [await _decide(function, action, config, until) for action, config in pairs]


async def _decide(
    function: ApprovalCallback, action: ActionRequest, config: ReviewConfig, until: float
) -> Decision | Refused:
    alone = HITLRequest(action_requests=(action,), review_configs=(config,))
    try:
        async with asyncio.timeout_at(until):
            answer = function(hitl.ApprovalRequest(action.name, deepcopy(action.args), str(action.id)))
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
