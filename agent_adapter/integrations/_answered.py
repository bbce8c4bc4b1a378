"""What an integration does between a question and its resumed run: it waits, claims the answer, and reads it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import TypeVar

from agent_adapter.client import ApprovalClient, withdrawn_on_cancel
from agent_adapter.contract.interrupt import DecidedResume, Interrupt
from agent_adapter.errors import DecisionNotAllowedError

T = TypeVar("T")


@asynccontextmanager
async def answered(
    approvals: ApprovalClient,
    interrupt: Interrupt,
    read: Callable[[DecidedResume], T],
    *,
    if_cancelled: str | None,
) -> AsyncIterator[tuple[DecidedResume, T]]:
    """Ask, and yield the answer and what was read from it. The body goes on with the run.

    An answer that does not fit is used up, and its card says why: it can be asked again.

    Args:
        approvals: A connected client.
        interrupt: The question.
        read: Turns the answer into what the framework resumes with.
        if_cancelled: The reason to withdraw the question with when the body is cancelled; `None` where another process can
            find the question.
    """
    async with (
        withdrawn_on_cancel(approvals, interrupt, if_cancelled) if if_cancelled else nullcontext(),
        approvals.reviewing(interrupt) as resume,
    ):
        try:
            found = read(resume)
        except DecisionNotAllowedError as error:
            raise await approvals.refuse_answer(resume, str(error)) from error
        yield resume, found
