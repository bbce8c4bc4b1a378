"""Runs that any process can resume: what a worker needs from a framework. Each framework has one file."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.interrupt import Continuation, DecidedResume, Interrupt, Status
from agent_adapter.contract.record import in_order, matching_actions
from agent_adapter.edit_check import why_refused
from agent_adapter.errors import CutOffError
from agent_adapter.redis.claims import patiently
from agent_adapter.redis.runs import Journal, failed_with


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for people; a worker will resume it."""

    interrupt_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has ended."""

    result: Any


@dataclass(frozen=True, slots=True)
class Over:
    """How a run ended. A worker passes it to `over` when it has nothing more to do for the run."""

    interrupt: Interrupt
    """The last question."""
    status: Literal["finished"] | Status
    """`finished`; or how the question ended without an answer, in which case the run is still paused."""
    result: Any = None
    """The result of a finished run."""
    reason: str | None = None
    """Why the question was withdrawn or refused."""


Notify: TypeAlias = Callable[[Over], Awaitable[None]]
"""Called at least once for each run; a second time if a worker dies right after the first call."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One decided question, with everything that a worker needs to resume its run."""

    interrupt: Interrupt
    resume: DecidedResume
    continuation: Continuation
    approvals: ApprovalClient
    journal: Journal

    @property
    def asking(self) -> Asking:
        """The options for the next question: the same as for the last one."""
        last = self.interrupt
        return {
            "channel": last.route.channel,
            "thread_ts": last.route.thread_ts,
            "context": last.context.model_copy(update={"subagent": None, "again": None}),
            "expires_in": last.expires_in,
            "on_expiry": last.on_expiry,
        }

    async def answer_to(self, own: Interrupt) -> DecidedResume:
        """Return the decisions in the order of what this agent would ask.

        Raises:
            RefusedAnswerError: when an edit does not fit. People are then asked again.
        """
        resume = in_order(self.resume, matching_actions(self.interrupt, own))
        if problem := await why_refused(resume, own, self.interrupt):
            raise await self.approvals.refuse_answer(self.resume, problem)
        return resume

    async def set_aside(self, error: Exception, tools: Sequence[str]) -> CutOffError:
        """Note that the run failed when these tools may have run, and return the error to raise.

        Redis is waited for as long as it takes: nobody else knows what has happened.
        """
        return await patiently(partial(self.journal.set_aside, failed_with(error), tools))


class Resumable(Protocol):
    """One version of one agent, in the registry of a worker."""

    over: Notify | None
    """Called when a run is over."""

    @property
    def needs(self) -> Sequence[str]:
        """The continuations that it can resume, as `Continuation.needs` writes them."""

    async def go_on(self, turn: Turn) -> Paused | Finished | None:
        """Run until the end or the next pause, and publish the question of that pause; `None` if it was resumed from there.

        A worker calls it again after a crash or an error, so it first checks how far the run has come.
        """
