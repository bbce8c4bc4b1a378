# ruff: noqa: SLF001  # the SDK has no public names for the agent and the running calls of a session
"""Realtime sessions of the OpenAI Agents SDK: a call waits for people while the conversation goes on."""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Unpack, cast

from agents import Agent, ToolApprovalItem
from agents.realtime import RealtimeSession, RealtimeSessionEvent, RealtimeToolApprovalRequired
from openai.types.responses import ResponseFunctionToolCall

from agent_adapter.asking import Asking, check_asking, spelled_out
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision, RejectDecision
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.outcome import Outcome
from agent_adapter.errors import AgentAdapterError
from agent_adapter.idempotency import finding
from agent_adapter.integrations.openai_agents.calls import answers_to, to_request, words
from agent_adapter.integrations.openai_agents.checks import check_agent, check_servers
from agent_adapter.integrations.openai_agents.reporting import reporting, watch
from agent_adapter.integrations.openai_agents.tools import Edit, call_key, editing

logger = logging.getLogger(__name__)

NOT_APPROVED = "No person approved this call, so it did not run."


@spelled_out
async def events(
    session: RealtimeSession,
    *,
    approvals: ApprovalClient,
    allow_always: Collection[str] = (),
    **asking: Unpack[Asking],
) -> AsyncGenerator[RealtimeSessionEvent]:
    """Yield the session's own events, and ask people about each call that needs approval.

    The conversation goes on while people decide. A call that cannot be reviewed, or that nobody decides about, is rejected,
    and the log says why. When the iteration ends, open questions are withdrawn.

    Args:
        session: A session inside its own `async with`. Iterate over these events instead of the session.
        approvals: A connected client.
        allow_always: Names of tools for which a reviewer may decide once for the rest of the session.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Raises:
        InvalidRequestError: before the first event, when an argument is wrong, or when `allow_always` or the
            `require_approval` of a local MCP server names a tool that does not exist.
    """
    expect_client(approvals)
    check_asking(asking, beside=("allow_always",))
    approvals.check_open()
    agent = session._current_agent
    check_agent(agent, allow_always)
    await check_servers(agent)
    gate = _Gate(session, approvals, allow_always, asking)
    try:
        async for event in session:
            if isinstance(event, RealtimeToolApprovalRequired):
                gate.ask(event)
            yield event
    finally:
        await gate.close()


class _Gate:
    """The open questions of one session."""

    def __init__(
        self,
        session: RealtimeSession,
        approvals: ApprovalClient,
        allow_always: Collection[str],
        asking: Asking,
    ) -> None:
        self._session = session
        self._approvals = approvals
        self._allow_always = allow_always
        self._asking = asking
        self._run = secrets.token_hex(16)
        self._open: dict[asyncio.Task[None], str | None] = {}
        """The record of each question, once there is one."""

    def ask(self, event: RealtimeToolApprovalRequired) -> None:
        """Ask about a call while the conversation goes on."""
        watch(event.tool)
        task = in_background(self._review(_item(event)), name=f"review of {event.call_id}")
        self._open[task] = None
        task.add_done_callback(self._open.pop)

    def open_records(self) -> list[str]:
        """Give the records of the open questions."""
        return [record for record in self._open.values() if record]

    async def close(self) -> None:
        """End the open questions."""
        tasks, records = list(self._open), self.open_records()
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await self._approvals.withdraw_cancelled(*records, reason="The conversation has ended.")

    async def _review(self, item: ToolApprovalItem) -> None:
        call_id = item.call_id or ""
        try:
            interrupt = self._interrupt(item)
            if task := asyncio.current_task():
                self._open[task] = interrupt.id
            async with self._approvals.reviewing(interrupt) as resume:
                ((_, decision),) = answers_to(resume, [item], self._allow_always)
                # The tool may be an agent, whose own calls ask here too.
                keys = {call_id: resume.key(0)}
                with (
                    finding(lambda context: keys.get(context.tool_call_id)),
                    reporting(partial(self._report, keys, resume.claim)),
                ):
                    await self._answer(item, decision)
        except AgentAdapterError as error:
            logger.warning("%s (%s) was rejected: %s", item.name, call_id, error)
            await self._session.reject_tool_call(call_id, rejection_message=NOT_APPROVED)
        except Exception:
            logger.exception("%s (%s) was rejected", item.name, call_id)
            await self._session.reject_tool_call(call_id, rejection_message=NOT_APPROVED)

    def _report(self, keys: Mapping[str, str], claim: str, context: Any, outcome: Outcome) -> None:
        if key := keys.get(context.tool_call_id):
            self._approvals.report_later(key, outcome, claim=claim)

    def _interrupt(self, item: ToolApprovalItem) -> Interrupt:
        request = to_request([item], allow_always=self._allow_always)
        return self._approvals.interrupt(
            request, run=self._run, pauses=[item.call_id or ""], **self._asking.copy()
        )

    async def _answer(self, item: ToolApprovalItem, decision: Decision) -> None:
        call_id, always = item.call_id or "", bool(getattr(decision, "always", False))
        with editing() as edits:
            match decision:
                case ApproveDecision():
                    await self._run_tool(call_id, always=always)
                case EditDecision():
                    edits[call_key(item)] = Edit(decision.edited_action.args)
                    await self._run_tool(call_id)
                case _:
                    always = isinstance(decision, RejectDecision) and always
                    await self._session.reject_tool_call(
                        call_id, always=always, rejection_message=words(decision)
                    )

    async def _run_tool(self, call_id: str, *, always: bool = False) -> None:
        """Let a call run, and wait for its end: the claim of a process that dies in the tool then lapses."""
        before = set(self._session._tool_call_tasks)
        await self._session.approve_tool_call(call_id, always=always)
        if started := self._session._tool_call_tasks - before:
            # When the conversation ends, the answer is used up all the same.
            with suppress(asyncio.CancelledError):
                await asyncio.wait(started)


def _item(event: RealtimeToolApprovalRequired) -> ToolApprovalItem:
    """Return a call of a session in the form that other runs of the SDK use."""
    call = ResponseFunctionToolCall(
        type="function_call", name=event.tool.name, arguments=event.arguments, call_id=event.call_id
    )
    return ToolApprovalItem(agent=cast("Agent[Any]", event.agent), raw_item=call)
