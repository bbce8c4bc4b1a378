"""XpertAI: turns its `on_interrupt` events into questions, and decisions into the values that resume its conversations.

XpertAI's middleware runs in XpertAI's own server. It sends an event when a run pauses, and takes the answer in a separate
request. The caller receives the event and sends the answer.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from pydantic import Field

from agent_adapter.asking import Asking, check_asking
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.hitl import HITLRequest, WireModel
from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.wire import to_model
from agent_adapter.dialects import by_name, detect
from agent_adapter.dialects.answers import share_out
from agent_adapter.errors import InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect, kind_of

Event = Mapping[str, Any]

# LangGraph reads a value as a map of pauses only if every key has this form.
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")

_FORM = '{"event": "on_interrupt", "data": {"tasks": [{"interrupts": [{"id": …, "value": …}]}]}}'


class _Pause(WireModel):
    id: str = Field(min_length=1)
    value: Any


class _Task(WireModel):
    interrupts: tuple[_Pause, ...] = ()


class _Data(WireModel):
    tasks: tuple[_Task, ...]


class _Event(WireModel):
    event: str
    data: _Data


def to_request(event: Event) -> HITLRequest:
    """Collect all pauses of an event into one batch, in the order of its tasks.

    Args:
        event: `{"event": "on_interrupt", "data": {"tasks": […]}}`, as JSON values.

    Returns:
        The batch, with one action for each call.

    Raises:
        UnknownDialectError: when one of its pauses is not a review, for example a call of a client-side tool.
        InvalidRequestError: when a pause cannot be reviewed as it is, or when this is another event.
    """
    requests = [_request_of(pause) for pause in _pauses(event)]
    return HITLRequest(
        action_requests=tuple(action for request in requests for action in request.action_requests),
        review_configs=tuple(config for request in requests for config in request.review_configs),
    )


def to_resume(resume: Resume, event: Event) -> dict[str, Any]:
    """Turn the decisions into the value that resumes the conversation.

    Args:
        resume: The answer; its decisions are in the order of the event's actions.
        event: The same as for `to_request`.

    Returns:
        `{"decisions": […]}` for one pause; for several pauses, a mapping from the id of each pause to such a value.

    Raises:
        DecisionNotAllowedError: when a decision does not fit; the pauses can still be answered.
    """
    pauses = _pauses(event)
    shares = share_out(resume, [_request_of(pause) for pause in pauses])
    answers = {
        pause.id: by_name(detect(pause.value)).to_resume(own, pause.value)
        for pause, own in zip(pauses, shares, strict=True)
    }
    return answers if len(answers) > 1 else answers[pauses[0].id]


async def run(
    event: Event,
    *,
    approvals: ApprovalClient,
    thread_id: str,
    send: Callable[[dict[str, Any]], Any],
    **asking: Unpack[Asking],
) -> Any:
    """Ask about an event, and resume the conversation with the decisions.

    If an event is delivered twice, both use the same question, and the conversation is resumed once.

    Args:
        event: As for `to_request`.
        approvals: A connected client.
        thread_id: The id of the conversation, or of its thread.
        send: Sends the value of `to_resume` to XpertAI. A function that is not asynchronous runs in a thread. After an
            error in it, the question stays answered, and the same event can be run again.
        asking: Where, for whom and how long to ask: `channel`, `thread_ts`, `context`, `expires_in`, `on_expiry`, `continuation`.

    Returns:
        The result of `send`.

    Raises:
        InvalidRequestError: when the event cannot be reviewed, or another argument is wrong. Nothing was asked.
        AgentAdapterError: as in `ApprovalClient.reviewing`. The conversation stays paused.
    """
    expect_client(approvals)
    check_asking(asking, beside=("thread_id", "send"))
    cure = "pass the id of the conversation, as in 'conversation-17': it finds the question again"
    expect(thread_id, str, where="thread_id", cure=cure)
    if not thread_id:
        raise WrongArgumentError(f"thread_id: this text is empty: {cure}")
    if not callable(send):
        raise WrongArgumentError(
            f"send: this is {kind_of(send)}: pass the function that hands the answer to XpertAI"
        )
    ids = [pause.id for pause in _pauses(event) for _ in _request_of(pause).action_requests]
    interrupt = approvals.interrupt(to_request(event), run=thread_id, pauses=ids, **asking)
    async with approvals.reviewing(interrupt) as resume:
        return await _sent(send, to_resume(resume, event))


async def _sent(send: Callable[[dict[str, Any]], Any], value: dict[str, Any]) -> Any:
    # A function that blocks the event loop would stop the renewal of the claim.
    is_async = inspect.iscoroutinefunction(send) or inspect.iscoroutinefunction(type(send).__call__)
    result = send(value) if is_async else await asyncio.to_thread(send, value)
    return await result if inspect.isawaitable(result) else result


def _pauses(event: Event) -> tuple[_Pause, ...]:
    expect(event, Mapping, where="event", cure=f"pass what json.loads reads: {_FORM}")
    try:
        read = to_model(_Event.model_validate, dict(event), where="event")
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{error}; an event has the form {_FORM}") from error
    if read.event != "on_interrupt":
        raise InvalidRequestError(f"event.event is {read.event!r}: only 'on_interrupt' asks for anything")
    pauses = tuple(pause for task in read.data.tasks for pause in task.interrupts)
    ids = [pause.id for pause in pauses]
    if not pauses:
        raise InvalidRequestError(
            "event.data.tasks: no task has interrupts; this run does not wait for anything"
        )
    for id in ids:
        if ids.count(id) > 1:
            raise InvalidRequestError(f"event.data.tasks: {ids.count(id)} interrupts have the id {id!r}")
        if len(ids) > 1 and not _PAUSE_ID.fullmatch(id):
            raise InvalidRequestError(
                f"event.data.tasks: {id!r} is not the id of a LangGraph pause, so it could not be answered together with others"
            )
    return pauses


def _request_of(pause: _Pause) -> HITLRequest:
    try:
        return by_name(detect(pause.value)).to_request(pause.value)
    except InvalidRequestError as error:
        raise type(error)(f"interrupt {pause.id}: {error}") from error
