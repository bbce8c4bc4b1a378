"""Runs that any process can go on with: what a worker asks of a framework, one file for each."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.interrupt import Continuation, Interrupt, Resume, Status
from agent_adapter.runs import Journal


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for people; a worker goes on with it."""

    interrupt_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run came to its end."""

    result: Any


@dataclass(frozen=True, slots=True)
class GoneOn:
    """The run went on with this answer, and somebody else has taken it further from its next question. It is theirs."""


@dataclass(frozen=True, slots=True)
class Over:
    """What the owner of a run is told when a worker has nothing more to do for it."""

    interrupt: Interrupt
    """The last question."""
    status: Literal["finished"] | Status
    """`finished`; or how the question ended without an answer, and the run is still paused."""
    result: Any = None
    """What the run came to."""
    reason: str | None = None
    """Why a question was withdrawn or refused."""


Tell: TypeAlias = Callable[[Over], Awaitable[None]]
"""Called at least once for each run, and once more when a worker dies right after it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One decided question, and what a worker has at hand to go on with its run."""

    interrupt: Interrupt
    resume: Resume
    continuation: Continuation
    approvals: ApprovalClient
    journal: Journal

    @property
    def asking(self) -> Asking:
        """Ask the next question as the last one was asked."""
        last = self.interrupt
        return {
            "channel": last.route.channel,
            "thread_ts": last.route.thread_ts,
            "context": last.context.model_copy(update={"subagent": None}),
            "expires_in": last.expires_in,
            "on_expiry": last.on_expiry,
        }


class Resumable(Protocol):
    """One version of one agent, as it stands in a worker's registry."""

    over: Tell | None
    """Whom to tell when a run is over."""

    @property
    def needs(self) -> Sequence[str]:
        """Which continuations it takes, as `Continuation.needs` writes it."""

    async def go_on(self, turn: Turn) -> Paused | Finished | GoneOn:
        """Bring the run to its end or to its next pause, which is published.

        Called again after any crash or error, so it looks first at how far the run has come.
        """
