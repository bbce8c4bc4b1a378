"""What the gateway does with a request: it passes the list of tools on, and asks people before it calls one.

The server is called only while a client waits for the result. A call that a client drops leaves its question. The next identical
call of the same principal and run takes the answer, once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf
from typing import Any, TypeAlias

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from agent_adapter.ask import DecidedCall, to_calls
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import EditDecision, RespondDecision
from agent_adapter.contract.interrupt import Context, DecidedResume
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import RUNS, Outcome
from agent_adapter.edit_check import RefusedAnswerError
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ConsumedError,
    InterruptExpiredError,
    InvalidRequestError,
    RejectedError,
    UnknownInterruptError,
)
from agent_adapter.mcp.call import Caller, ToolCall, said, text_of
from agent_adapter.mcp.upstream import Upstream
from agent_adapter.receipts.values import is_approved

logger = logging.getLogger(__name__)
Open: TypeAlias = ServerRequestContext[Any, Any]
"""A request that a client waits for."""
Answer: TypeAlias = types.CallToolResult | types.ErrorData

SAY_EVERY = 2.0
"""Seconds between two progress notifications, and until it is noticed that a client over HTTP has gone."""
HELD = 50.0
"""Seconds for which a call is held open for a client that takes no progress: most give up after 60."""
MAY_HAVE_RUN = "an identical call was approved before, and nobody knows what became of it: what made it has ended, or still waits"
PENDING = (
    "Still pending: people in Slack have not decided about this call of {} yet, and it has not run (request {}). Call it again "
    "with the same arguments to go on waiting. Do not do it in another way."
)
WAITING = "People in Slack decide about {}."
UNKNOWN = {types.CONNECTION_CLOSED, types.INTERNAL_ERROR, types.PARSE_ERROR, types.INVALID_REQUEST}
"""The errors after which a call may have run. The SDK gives them, too, where an answer is lost or cannot be read."""
TOO_OLD = "it was approved, and for too long nobody called it"
TOO_EXACT = "a number of the edit has more digits than the protocol's libraries keep"
CHANGED = "the definition of its tool changed while people decided"


class StillPendingError(Exception):
    """Nobody has decided yet, and the client does not wait any longer."""


@dataclass(frozen=True)
class Rules:
    """Which calls are asked about, and how."""

    channel: str | None = None
    """The id of a Slack channel; without one, the bot's settings choose it."""
    expires_in: timedelta = timedelta(hours=1)
    """How long people may take."""
    allowed: Collection[str] = ()
    """The tools that run without a question."""
    trusts_read_only: bool = False
    """Whether a tool runs without a question when the server says that it only reads."""
    hold: float | None = None
    """Seconds for which a call is held open; by default as long as people may take, if the client takes progress."""
    use_within: timedelta = timedelta(minutes=10)
    """How long after a decision a call that was dropped may run by it."""


@dataclass
class Gateway:
    """Answers the requests of all clients."""

    approvals: ApprovalClient
    upstream: Upstream
    rules: Rules
    caller_of: Callable[[Open], Caller]
    """Who makes a call, and in which run."""
    _calls: set[asyncio.Task[Answer]] = field(default_factory=set)
    _uses: dict[str, int] = field(default_factory=dict)
    """By the first question about a call, which of its questions was the last that is known to be answered."""
    _left: set[str] = field(default_factory=set)
    """The questions without an answer that only clients of this process can find."""

    async def list_tools(self, _: Open, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await self.upstream.page(params)

    async def call_tool(self, ctx: Open, params: types.CallToolRequestParams) -> Any:
        """Answer a call. When its client cancels it, nothing more is done for it."""
        # The SDK cancels a handler again and again until it ends, also while it cleans up. A task is cancelled once.
        call = in_background(self._answer(ctx, params.name, params.arguments or {}), among=self._calls)
        try:
            await asyncio.wait([call])
        finally:
            call.cancel()
        return call.result()

    async def aclose(self) -> None:
        """Withdraw the questions whose answer nobody can get any more."""
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        for interrupt_id in self._left:
            await self.approvals.withdraw_cancelled(interrupt_id, "The program that asked has ended.")

    async def _answer(self, ctx: Open, name: str, args: dict[str, Any]) -> Answer:
        try:
            tool = await self._find(name)
            if self._lets_through(tool):
                return await self.upstream.call(name, args, ctx.session.report_progress)
            decided = await self._decided(ctx, name, args, self.caller_of(ctx))
            if isinstance(decided.decision, RespondDecision):
                return said(decided.decision.message, is_error=False)
            return await self._run(ctx, name, decided)
        except StillPendingError as error:
            return said(PENDING.format(name, error))
        except RejectedError as error:
            return said(str(error))
        except InterruptExpiredError:
            return said(f"{name} did not run: nobody decided in time")
        except AgentAdapterError as error:
            return said(f"{name} did not run: {error}")
        except MCPError as error:
            return error.error

    async def _find(self, name: str) -> types.Tool:
        if tool := await self.upstream.find(name):
            return tool
        raise InvalidRequestError(f"{self.upstream.name} has no tool of this name")

    def _lets_through(self, tool: types.Tool) -> bool:
        only_reads = tool.annotations is not None and tool.annotations.read_only_hint is True
        return tool.name in self.rules.allowed or (self.rules.trusts_read_only and only_reads)

    async def _decided(self, ctx: Open, name: str, args: dict[str, Any], caller: Caller) -> DecidedCall:
        """Return what people decided about a call. Its answer is used up."""
        started, again, use = time.monotonic(), None, 0
        while True:
            call = ToolCall(self.upstream.name, await self._find(name), args)
            request = call.to_request()
            use = max(use, self._uses.get(call.pause(caller, 0), 0))
            asked = self.approvals.interrupt(
                request,
                run=caller.run_id,
                pauses=(call.pause(caller, use),),
                channel=self.rules.channel,
                context=Context(requested_by=caller.principal, again=again),
                expires_in=self.rules.expires_in,
                on_expiry="raise",
            )
            try:
                record_id = await self.approvals.publish(asked)
                await self._wait(ctx, record_id, caller, started)
                async with self.approvals.resuming(record_id, interrupt=asked) as resume:
                    await self._check(call, resume)
            except (ClaimedError, UnknownInterruptError):
                # An identical call takes this answer at this moment, or Redis came back empty.
                await asyncio.sleep(0.1)
            except ConsumedError as error:
                again = MAY_HAVE_RUN if await self._is_unknown(error.interrupt_id) else None
                self._uses[call.pause(caller, 0)] = use
                use += 1
            except RefusedAnswerError as error:
                again = CHANGED if CHANGED in str(error) else None
                logger.info("answer.refused", extra={"interrupt_id": error.interrupt_id})
            else:
                (decided,) = to_calls(asked.request, resume)
                return decided

    async def _wait(self, ctx: Open, record_id: str, caller: Caller, started: float) -> None:
        """Wait until people have decided, and tell the client meanwhile."""
        takes_progress = ctx.meta is not None and ctx.meta.get("progress_token") is not None
        hold = self.rules.hold or (inf if takes_progress else HELD)
        if not caller.can_return:
            self._left.add(record_id)
        deciding = in_background(self.approvals.wait(record_id))
        # However short it is held, a call that comes again gets its answer.
        is_decided = (await self.approvals.record(record_id)).resume() is not None
        try:
            while not (is_decided or deciding.done()):
                waited = time.monotonic() - started
                if waited >= hold or await is_dropped(ctx):
                    raise StillPendingError(record_id)
                await ctx.session.report_progress(waited, message=WAITING.format(record_id))
                await asyncio.wait([deciding], timeout=min(SAY_EVERY, hold - waited))
            await deciding
        finally:
            deciding.cancel()
        self._left.discard(record_id)
        if await is_dropped(ctx):
            raise StillPendingError(record_id)

    async def _check(self, call: ToolCall, resume: DecidedResume) -> None:
        """Refuse an approval that was taken before, cannot be sent as it is, is too old, or is about a changed tool."""
        decision = resume.decisions[0]
        if decision.type not in RUNS:
            return
        if resume.is_repeated:
            raise await self.approvals.refuse_answer(resume, MAY_HAVE_RUN)
        edited = decision.edited_action.args if isinstance(decision, EditDecision) else {}
        if not is_approved(edited, as_floats(edited)):
            raise await self.approvals.refuse_answer(resume, TOO_EXACT)
        now = (await self.approvals.record(resume.interrupt_id)).read_at
        if now - resume.records[0].decided_at > self.rules.use_within:
            raise await self.approvals.refuse_answer(resume, TOO_OLD)
        if await self.upstream.find(call.tool.name) != call.tool:
            raise await self.approvals.refuse_answer(resume, CHANGED)

    async def _is_unknown(self, interrupt_id: str) -> bool:
        """Whether an answered call may have run, and nothing was reported of it."""
        record = await self.approvals.record(interrupt_id)
        return record.answer().decisions[0].type in RUNS and record.outcomes()[0] is None

    async def _run(self, ctx: Open, name: str, decided: DecidedCall) -> types.CallToolResult:
        """Call the tool with what may run, and report what came of it. Nothing is reported where that is not known."""
        try:
            result = await self.upstream.call(name, as_floats(decided.args), ctx.session.report_progress)
        except MCPError as error:
            if error.code not in UNKNOWN:
                await self._report(decided, Outcome.failed(error))
            raise
        words = text_of(result)
        await self._report(decided, Outcome.failed(words) if result.is_error else Outcome.done(words))
        return result

    async def _report(self, decided: DecidedCall, outcome: Outcome) -> None:
        interrupt_id, _, index = decided.key.rpartition(":")
        try:
            await self.approvals.report(interrupt_id, int(index), outcome)
        except AgentAdapterError as error:
            logger.warning("report.lost", extra={"key": decided.key, "reason": str(error)})


async def is_dropped(ctx: Open) -> bool:
    """Whether the client has ended the connection of this call. Without HTTP, the SDK cancels such a call by itself."""
    return isinstance(ctx.request, Request) and await ctx.request.is_disconnected()
