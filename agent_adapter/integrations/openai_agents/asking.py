"""How the pauses of a run are asked about: all calls of a turn on one card, or each call on its own card."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from agents import RunState, ToolApprovalItem

from agent_adapter.asking import Asking, check_asking
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.integrations.openai_agents.paused import PausedRun


class Asker:
    """Asks about the pauses of one run, with the options of that run."""

    def __init__(
        self, approvals: ApprovalClient, asking: Asking, *, partial: bool, is_found_again: bool
    ) -> None:
        expect_client(approvals)
        check_asking(asking, beside=("session", "options", "allow_always", "partial"))
        approvals.check_open()
        self._approvals = approvals
        self._asking = asking
        self._partial = partial
        self._is_found_again = is_found_again
        """Whether another process could resume this run, and find its questions."""
        self._open: list[str] = []
        """The ids of questions that still wait, and that the run is not being resumed with."""

    @asynccontextmanager
    async def answered(self, paused: PausedRun) -> AsyncIterator[RunState[Any]]:
        """Ask about a pause, and yield the state with its decisions.

        Once the body runs the state, the answer is used up, even if the run fails: its tools may have run, and the SDK would
        run them again. Only a cancelled body gives the answer back, as a killed process does. Questions that nobody would
        read any more are withdrawn.
        """
        failure: Exception | None = None
        self._open = []
        try:
            async with AsyncExitStack() as stack:
                reviewing = [
                    (self._approvals.reviewing(interrupt), group)
                    for interrupt, group in await self._settled(paused)
                ]
                resumes = [(await stack.enter_async_context(entered), group) for entered, group in reviewing]
                state = paused.decided(*resumes)
                try:
                    yield state
                except Exception as error:  # noqa: BLE001  # raised again below, after the claim is finished
                    failure = error
                    for resume, _ in resumes:
                        await self._approvals.note_failure(resume, error)
        except BaseException:
            if not self._is_found_again:
                await self._approvals.withdraw_cancelled(*self._open, reason="The run that asked has ended.")
            raise
        if failure:
            await self._approvals.withdraw_cancelled(*self._open, reason="The run that asked has failed.")
            raise failure

    async def _settled(self, paused: PausedRun) -> list[tuple[Interrupt, list[ToolApprovalItem]]]:
        """Return the calls that are asked together; with `partial`, wait and return those that are decided first."""
        items = paused.state.get_interruptions()
        if not self._partial:
            together = items[:MAX_ACTIONS]
            interrupt = self._interrupt(paused, together)
            self._open = [interrupt.id]
            return [(interrupt, together)]
        interrupts = [self._interrupt(paused, [item]) for item in items]
        records: dict[str, list[ToolApprovalItem]] = {}
        for interrupt, item in zip(interrupts, items, strict=True):
            self._open.append(interrupt.id)
            # If the run has asked about all calls together before, this finds that record.
            record = await self._approvals.publish(interrupt)
            records.setdefault(record, []).append(item)
        self._open = list(records)
        waits = {
            in_background(self._approvals.wait(id), name=f"wait for {id}"): group
            for id, group in records.items()
        }
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            self._open = [id for id, wait in zip(records, waits, strict=True) if wait not in done]
            groups = [group for wait, group in waits.items() if wait in done]
            return [(self._interrupt(paused, group), group) for group in groups]
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _interrupt(self, paused: PausedRun, group: Sequence[ToolApprovalItem]) -> Interrupt:
        return paused.interrupt(self._approvals, interruptions=group, **self._asking)
