"""Pydantic AI agents: runs that pause on tools that require approval.

A run pauses by ending with `DeferredToolRequests`, and all answers go into the next run together. This does not wait in a
`HandleDeferredToolCalls` handler: the history there has no results of the turn's other tools, so no other process could use it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable
from typing import Any, Unpack

from pydantic import ValidationError

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, expect_client, used_up
from agent_adapter.contract.arguments import decode_arguments
from agent_adapter.contract.hitl import (
    KNOWN_DECISIONS,
    ActionRequest,
    HITLRequest,
    ReviewConfig,
    first_problem,
)
from agent_adapter.contract.interrupt import DecidedResume, Resume
from agent_adapter.contract.numbers import as_floats
from agent_adapter.contract.outcome import Outcome
from agent_adapter.dialects.answers import check_answers, edit_note, rejection, share_out
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect
from agent_adapter.extras import needs
from agent_adapter.function_schema import check_edit_kept
from agent_adapter.idempotency import running_as

try:
    from pydantic_ai import ModelResponse, ModelRetry, ToolCallPart, ToolReturn, UserContent
    from pydantic_ai.agent import AbstractAgent, AgentRunResult
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
    from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset, FunctionToolset
except ImportError as error:
    raise ImportError(needs("Pydantic AI support", "pydantic-ai", error)) from error

_CARRIED = {"usage", "conversation_id", "run_id"}  # in the conversation, once there is one


def to_request(conversation: Conversation, *, toolsets: Iterable[AbstractToolset[Any]] = ()) -> HITLRequest:
    """Collect the calls of a paused run that wait for approval into one batch.

    Args:
        conversation: `result.conversation`. The calls are read from its messages, because these are what runs.
        toolsets: `agent.toolsets`, for the argument schemas of its functions.

    Raises:
        InvalidRequestError: when a call cannot be reviewed as it is, or waits for something else than an approval.
    """
    # To Pydantic AI, an answer in place of the tool is a denial.
    config = partial(ReviewConfig, allowed_decisions=KNOWN_DECISIONS, effects=("answer_as_rejection",))
    schemas, actions, configs = _schemas(toolsets), [], []
    for call in _waiting(conversation):
        name, id = call.tool_name, call.tool_call_id
        text = call.args if isinstance(call.args, str) and call.args else call.args_as_json_str()
        args = decode_arguments(text, where=f"{name} ({id})")
        actions.append(ActionRequest(name=name, args=args, id=id))
        configs.append(config(action_name=name, args_schema=schemas.get(name)))
    return HITLRequest(action_requests=tuple(actions), review_configs=tuple(configs))


def to_resume(resume: Resume, conversation: Conversation) -> DeferredToolResults:
    """Turn the decisions into the results for the next run. Each run that gets them runs the calls, so give them to one.

    Raises:
        DecisionNotAllowedError: when a decision does not fit its call.
    """
    request, results = to_request(conversation), DeferredToolResults()
    (given,) = share_out(resume, [request])
    for action, decision in zip(request.action_requests, check_answers(given, request), strict=True):
        results.approvals[str(action.id)] = _result(action.name, decision)
    return results


def _result(tool: str, decision: Any) -> ToolApproved | ToolDenied:
    if decision.type == "approve":
        return ToolApproved()
    if decision.type == "edit":
        return ToolApproved(override_args=as_floats(decision.edited_action.args))
    return ToolDenied(decision.message if decision.type == "respond" else rejection(tool, decision.message))


async def run(
    agent: AbstractAgent[Any, Any],
    prompt: str | Sequence[UserContent] | None = None,
    *,
    approvals: ApprovalClient,
    conversation: Conversation | None = None,
    save: Callable[[Conversation], Awaitable[Any] | Any] | None = None,
    options: Mapping[str, Any] | None = None,
    **asking: Unpack[Asking],
) -> AgentRunResult[Any]:
    """Run the agent until it finishes, and ask for approval at every pause.

    Args:
        agent: The agent. Its tools say which calls need approval.
        prompt: As for `agent.run`.
        approvals: A connected client.
        conversation: What to go on with. If it is paused, its question is used again if it was asked before.
        save: Gets the conversation at each pause, before people are asked, and at the end: `store.save`, for example.
        options: Passed to every call of `agent.run`: `deps`, `model`, `usage_limits`, `event_stream_handler`, …
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `agent.run`, when the agent has finished.

    Raises:
        InvalidRequestError: when an argument is wrong, or a pause cannot be reviewed. Nobody was asked about it.
        ConflictError: when a call or its tool is not the one that people were asked about before.
        ConsumedError: when the answer about this pause was used before.
        AgentAdapterError: as in `ApprovalClient.reviewing`. No call that was asked about has run.
    """
    expect_client(approvals)
    check_asking(asking, beside=("conversation", "save", "options"))
    approvals.check_open()
    expect(agent, AbstractAgent, where="agent", cure="pass the Agent itself, as in Agent('openai:gpt-5')")
    expect(conversation, Conversation | None, where="conversation", cure="pass `result.conversation`")
    given, stored = _settings(agent, options or {}, conversation), conversation
    while True:
        more: dict[str, Any] = {}
        async with AsyncExitStack() as answer:
            if conversation and (conversation.deferred_tool_requests or _open_calls(conversation)):
                request = to_request(conversation, toolsets=[*agent.toolsets, *(given.get("toolsets") or ())])
                places = {str(action.id): place for place, action in enumerate(request.action_requests)}
                asked = approvals.interrupt(request, run=_run_of(conversation), pauses=[*places], **asking)
                reason = None if save or conversation is stored else "The run that asked has ended."
                read = partial(to_resume, conversation=conversation)
                deciding = used_up(approvals, asked, read, if_cancelled=reason)
                resume, results = await answer.enter_async_context(deciding)
                calls = _DecidedCalls(approvals, resume, request, places)
                more = {"deferred_tool_results": results, "capabilities": [*given["capabilities"], calls]}
            result = await agent.run(prompt, conversation=conversation, **{**given, **more})
            conversation, prompt = result.conversation, None
            if save and isawaitable(saving := save(conversation)):
                await saving
        if not conversation.deferred_tool_requests:
            return result
        given = {name: given[name] for name in given.keys() - _CARRIED}


def _settings(agent: AbstractAgent[Any, Any], options: Mapping[str, Any], given: Any) -> dict[str, Any]:
    for name in options.keys() & {"message_history", "deferred_tool_results", *(_CARRIED if given else ())}:
        raise WrongArgumentError(f"options[{name!r}]: a conversation has it: pass conversation=… instead")
    spec = options.get("output_type") or agent.output_type
    # An agent with output validators takes no other output type, so it has to name this one itself.
    is_named = DeferredToolRequests in (spec if isinstance(spec, list | tuple) else [spec])
    more = {} if is_named else {"output_type": [spec, DeferredToolRequests]}
    return {"infer_name": False, **options, "capabilities": options.get("capabilities") or [], **more}


@dataclass
class _DecidedCalls(AbstractCapability[Any]):
    """The decided calls while their run goes on: an edit is kept as it is, tools have their keys, outcomes are reported."""

    approvals: ApprovalClient
    resume: DecidedResume
    request: HITLRequest
    waiting: dict[str, int]
    """By call id, the places of calls that have not begun. A later turn may use an id again."""

    def _edit(self, place: int) -> dict[str, Any] | None:
        edited = getattr(self.resume.decisions[place], "edited_action", None)
        return edited and edited.args

    async def wrap_tool_validate(self, ctx: Any, *, call: Any, args: Any, handler: Any, **_: Any) -> Any:
        """Refuse an edit that the tool does not take, or reads as something else. No call of the answer has begun."""
        place = self.waiting.get(call.tool_call_id) if ctx.tool_call_approved else None
        if place is None or (edit := self._edit(place)) is None:
            return await handler(args)
        try:
            read = await handler(args)
            # The fields of a model that is the only parameter are the arguments themselves.
            built = read if edit.keys() <= read.keys() else next(iter(read.values()), None)
            check_edit_kept(edit, self.request.action_requests[place].args, built)
        except (ValidationError, ModelRetry, InvalidRequestError) as error:
            said = first_problem(error, where="args") if isinstance(error, ValidationError) else error
            problem = f"the edited {call.tool_name} does not fit its tool: {said}"
            if len(self.waiting) < len(self.resume.decisions):
                raise DecisionNotAllowedError(problem) from error
            raise await self.approvals.refuse_answer(self.resume, problem) from error
        return read

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, args: Any, handler: Any, **_: Any) -> Any:
        """Run a decided call with its key, and report what became of it."""
        place = self.waiting.pop(call.tool_call_id, None) if ctx.tool_call_approved else None
        if place is None:
            return await handler(args)
        key, claim = self.resume.key(place), self.resume.claim
        try:
            with running_as(key):
                result = await handler(args)
        except Exception as error:
            self.approvals.report_later(key, Outcome.failed(error), claim=claim)
            raise
        said = result if isinstance(result, ToolReturn) else ToolReturn(result)
        self.approvals.report_later(key, Outcome.done(said.return_value), claim=claim)
        if (edit := self._edit(place)) is None:
            return result
        content = [said.content] if isinstance(said.content, str) else said.content or ()
        return replace(said, content=[edit_note(edit), *content])


def _waiting(conversation: Conversation) -> list[ToolCallPart]:
    """Return the calls that wait for approval."""
    requests = conversation.deferred_tool_requests or DeferredToolRequests()
    for call in requests.calls:
        raise InvalidRequestError(
            f"{call.tool_name} ({call.tool_call_id}) waits for a result from outside, which no approval is: let a "
            "HandleDeferredToolCalls capability of the agent answer it; nobody was asked"
        )
    calls = _open_calls(conversation)
    approved = {call.tool_call_id for call in requests.approvals}
    if {call.tool_call_id for call in calls} != approved or not _run_of(conversation):
        raise InvalidRequestError(
            "conversation: its messages have no run_id, or other open calls than its deferred_tool_requests, so nobody knows what "
            "waits for approval: pass `result.conversation` as a whole; nobody was asked"
        )
    return calls


def _open_calls(conversation: Conversation) -> list[ToolCallPart]:
    """Return the calls of the last response that have no result."""
    done = set()
    for message in reversed(conversation.messages):
        if isinstance(message, ModelResponse):
            return [call for call in message.tool_calls if call.tool_call_id not in done]
        done |= {getattr(part, "tool_call_id", None) for part in message.parts}
    return []


def _run_of(conversation: Conversation) -> str | None:
    """Return the id of the run that paused. Each run has its own, and pauses once."""
    responses = (each for each in reversed(conversation.messages) if isinstance(each, ModelResponse))
    return next((each.run_id for each in responses), None)


def _schemas(toolsets: Iterable[AbstractToolset[Any]]) -> dict[str, dict[str, Any]]:
    """Return the argument schemas of functions. A toolset that renames its tools is not looked into."""
    inner = [each.wrapped if isinstance(each, ApprovalRequiredToolset) else each for each in toolsets]
    tools = (tool for each in inner if isinstance(each, FunctionToolset) for tool in each.tools.values())
    return {tool.name: tool.tool_def.parameters_json_schema for tool in tools}
