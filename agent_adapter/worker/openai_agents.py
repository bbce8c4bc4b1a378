"""Runs of the OpenAI Agents SDK that any process can resume, from the stored state of their pause.

The SDK does not store how far a run came after its pause. So the output of each approved call is noted when the call ends,
and then the outcome of the run. A worker that takes over gives the noted outputs to the model instead of running those
calls again.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from pydantic_core import to_jsonable_python

from agent_adapter.extras import needs

try:
    from agents import Agent, RunHooks, Runner, Tool, ToolApprovalItem, __version__
    from agents.run_state import SUPPORTED_SCHEMA_VERSIONS
except ImportError as error:
    raise ImportError(needs("OpenAI Agents support", "openai-agents", error)) from error

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import Decision, RespondDecision
from agent_adapter.contract.interrupt import Continuation, Resume, needs_of
from agent_adapter.contract.outcome import RUNS
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.edit_check import RefusedAnswerError
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.openai_agents import PausedRun
from agent_adapter.integrations.openai_agents.paused import check_run
from agent_adapter.integrations.openai_agents.servers import check_servers
from agent_adapter.integrations.openai_agents.tools import approval_key_in
from agent_adapter.redis.claims import patiently
from agent_adapter.worker.loop import Finished, Notify, Paused, Turn

logger = logging.getLogger(__name__)

FRAMEWORK = "openai-agents"


class ResumableAgent:
    """An agent whose runs workers can resume.

    Args:
        name: The name of the agent; the same in the process that asks and in the worker.
        agent: The agent that each run starts with.
        version: The version of the agent's definition, as you count it. A run is resumed with the version it started with.
        options: Passed to every call of `Runner.run`.
        allow_always: As in `integrations.openai_agents.run`.
        storing: Passed to `RunState.to_json`: `context_serializer`, `strict_context`.
        restoring: Passed to `RunState.from_json`: `context_override`, `context_deserializer`, `strict_context`.
        over: Called when a run is over; `result` is the final output as JSON values.
    """

    def __init__(
        self,
        name: str,
        agent: Agent[Any],
        *,
        version: str,
        options: Mapping[str, Any] | None = None,
        allow_always: Collection[str] = (),
        storing: Mapping[str, Any] | None = None,
        restoring: Mapping[str, Any] | None = None,
        over: Notify | None = None,
    ) -> None:
        self.name = name
        self.agent = agent
        self.version = version
        self.over = over
        self._options = dict(options or {})
        self._allow_always = allow_always
        self._storing = dict(storing or {})
        self._restoring = dict(restoring or {})

    async def start(
        self, input: Any, *, approvals: ApprovalClient, **asking: Unpack[Asking]
    ) -> Paused | Finished:
        """Run the agent until it pauses, ask, and leave the rest to a worker.

        Args:
            input: As for `Runner.run`.
            approvals: A connected client.
            asking: Where, for whom and how long to ask, now and at later pauses: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

        Returns:
            `Paused` with the id of the question, or `Finished` with the final output.

        Raises:
            InvalidRequestError: when a pause cannot be reviewed, or its state is too large to be stored.
            AgentAdapterError: as in `ApprovalClient.publish`.
        """
        expect_client(approvals)
        check_asking(asking)
        approvals.check_open(keeps_state=True)
        check_run(self.agent, input, self._allow_always)
        await check_servers(self.agent)
        result = await Runner.run(self.agent, input, **self._options)
        paused = PausedRun.of(self.agent, result, allow_always=self._allow_always)
        if paused is None:
            return Finished(result.final_output)
        return await self._ask(paused, paused.dump(**self._storing), approvals, asking)

    @property
    def needs(self) -> Sequence[str]:
        """The continuations that it can resume: states in every schema that this SDK reads."""
        return [
            needs_of(FRAMEWORK, self.name, self.version, form) for form in sorted(SUPPORTED_SCHEMA_VERSIONS)
        ]

    async def go_on(self, turn: Turn) -> Paused | Finished | None:
        """Resume the run once, until its end or its next pause, and ask the next question."""
        if "outcome" in turn.journal:
            outcome = decode(turn.journal["outcome"])
        else:
            try:
                outcome = await self._run(turn)
                # Redis is waited for as long as it takes: nobody else knows what has happened.
                await patiently(partial(turn.journal.keep, "outcome", encode(outcome)))
            except RefusedAnswerError:
                # People are asked again.
                outcome = {"paused": turn.continuation.state}
        if "paused" not in outcome:
            return Finished(outcome["result"])
        following = await self._load(outcome["paused"])
        try:
            return await self._ask(following, outcome["paused"], turn.approvals, turn.asking)
        except ConsumedError:
            return None

    async def _run(self, turn: Turn) -> dict[str, Any]:
        """Resume the run, and return what it came to."""
        text = turn.continuation.state
        await check_servers(self.agent)
        paused = await self._load(text)
        items = paused.state.get_interruptions()[:MAX_ACTIONS]
        resume = await turn.answer_to(paused.interrupt(turn.approvals, interruptions=items))
        # What a dead worker has noted, by the position of the call.
        outputs = {
            position: str(decode(turn.journal[note]))
            for position, note in enumerate(map("output:{}".format, resume.indices))
            if note in turn.journal
        }
        top = decode(text)["state"]["current_agent"]["name"]
        if "began" in turn.journal:
            tools = _in_doubt(turn, items, resume, top=top, died=True)
            if tools and "again" not in turn.journal:
                raise await turn.journal.set_aside("a worker died", tools)
        await turn.journal.keep("began", "1")
        for position in outputs:
            if getattr(resume.decisions[position], "always", False):
                paused.state.approve(items[position], always_approve=True)
        # Calls that have run already are answered with their outputs.
        decisions: tuple[Decision | None, ...] = tuple(
            RespondDecision(message=outputs[position]) if position in outputs else decision
            for position, decision in enumerate(resume.decisions)
        )
        state = paused.decided(resume.model_copy(update={"decisions": decisions}), items)
        hooks = _Notes(turn, paused, self._options.get("hooks"))
        try:
            with paused.going_on(turn.approvals):
                result = await Runner.run(self.agent, state, **{**self._options, "hooks": hooks})
        except Exception as error:
            if tools := _in_doubt(turn, items, resume, top=top, died=False):
                raise await turn.set_aside(error, tools) from error
            raise
        if following := paused.then(result):
            return {"paused": following.dump(**self._storing)}
        return {"result": to_jsonable_python(result.final_output, fallback=str)}

    async def _ask(self, paused: PausedRun, text: str, approvals: ApprovalClient, asking: Asking) -> Paused:
        continuation = Continuation(
            framework=FRAMEWORK,
            name=self.name,
            version=self.version,
            state_schema=decode(text)["schema"],
            sdk=f"openai-agents {__version__}",
            state=text,
        )
        items = paused.state.get_interruptions()[:MAX_ACTIONS]
        with_continuation: Asking = {**asking, "continuation": continuation}
        interrupt = paused.interrupt(approvals, interruptions=items, **with_continuation)
        return Paused(await approvals.publish(interrupt))

    async def _load(self, text: str) -> PausedRun:
        return await PausedRun.load(self.agent, text, **self._restoring)


def _in_doubt(
    turn: Turn, items: Sequence[ToolApprovalItem], resume: Resume, *, top: str, died: bool
) -> list[str]:
    """Name the approved calls that may have taken effect, although no output of them is noted.

    A call that is noted, and was cut off by the death of a worker, is not among them: it runs again under its key.
    """
    doubtful = []
    for item, decision, index in zip(items, resume.decisions, resume.indices, strict=True):
        if decision is None or decision.type not in RUNS or f"output:{index}" in turn.journal:
            continue
        has_begun = f"call:{index}" in turn.journal
        if not _is_noted(item, top) or (has_begun and not died):
            doubtful.append(item.name or "a tool")
        elif has_begun:
            key = f"{resume.interrupt_id}:{index}"
            logger.warning("%s was cut off and runs again, under the key %s", item.name, key)
    return doubtful


def _is_noted(item: ToolApprovalItem, top: str) -> bool:
    """Whether a call is noted when it starts and ends. The SDK calls hooks only for function tools of the run's own agents."""
    raw = item.raw_item
    kind = raw.get("type") if isinstance(raw, Mapping) else raw.type
    return item.agent.name == top and kind == "function_call"


class _Notes(RunHooks[Any]):
    """Notes the start and the output of each decided call, and calls the owner's own hooks."""

    def __init__(self, turn: Turn, paused: PausedRun, own: RunHooks[Any] | None) -> None:
        self._turn = turn
        self._paused = paused
        self._own = own or RunHooks[Any]()
        for name in ("on_llm_start", "on_llm_end", "on_agent_start", "on_agent_end", "on_handoff"):
            setattr(self, name, getattr(self._own, name))

    async def on_tool_start(self, context: Any, agent: Any, tool: Tool) -> None:
        await self._note("call", context, "began")
        await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Tool, result: Any) -> None:
        await self._note("output", context, encode(str(result)))
        await self._own.on_tool_end(context, agent, tool, result)

    async def _note(self, kind: str, context: Any, text: str) -> None:
        interrupt_id, _, index = (approval_key_in(self._paused.calls, context) or "").rpartition(":")
        if interrupt_id == self._turn.interrupt.id:
            await patiently(partial(self._turn.journal.keep, f"{kind}:{index}", text))
