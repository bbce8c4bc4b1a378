"""XpertAI's events in, the values that resume its conversations out."""

import asyncio
import copy
import json
import threading

import pytest

from agent_adapter.errors import ClaimedError, ConsumedError, InvalidRequestError, WrongArgumentError
from agent_adapter.integrations.xpert import run, to_request
from agent_adapter.testing import approve, edit, reject
from tests.support.deciding import deciding

FIRST, SECOND = "d5e8b2522f3c86bbdc5989438b46539c", "551c6ee1a636abc8f1e0fead6146eeec"


def review(*names):
    """Give the value of a pause about these tools, as XpertAI's middleware writes it."""
    return {
        "actionRequests": [
            {
                "name": name,
                "args": {"to": "a@x.com"},
                "description": "Please review this tool call before it runs\n\n"
                f'Tool: {name}\nArgs: {{\n  "to": "a@x.com"\n}}',
            }
            for name in names
        ],
        "reviewConfigs": [
            {"actionName": name, "allowedDecisions": ["approve", "edit", "reject"]} for name in names
        ],
    }


def task(*pauses):
    """Give a task of a paused run."""
    return {
        "id": "4c8cd80c-1203-5c0c-afa6-7fc72ebbe736",
        "name": "Middleware_hitl_after_model",
        "path": ["__pregel_pull", "Middleware_hitl_after_model"],
        "interrupts": [{"id": id, "value": value} for id, value in pauses],
    }


def event_of(*tasks):
    """Give the event as it comes over the wire."""
    event = {"type": "event", "event": "on_interrupt", "data": {"tasks": list(tasks)}}
    return json.loads(json.dumps(event))


EVENT = event_of(task((FIRST, review("send_email", "run_sql", "update_customer"))))
TWO = event_of(
    task((FIRST, review("send_email"))), {**task(), "interrupts": []}, task((SECOND, review("wipe")))
)
ANSWERS = {"send_email": approve(), "run_sql": reject("no DROP"), "update_customer": edit({"to": "b@x.com"})}
ANSWER = {
    "decisions": [
        {"type": "approve"},
        {"type": "reject", "message": "no DROP"},
        {"type": "edit", "editedAction": {"name": "update_customer", "args": {"to": "b@x.com"}}},
    ]
}


class Conversation:
    """The side of XpertAI: what it was resumed with."""

    def __init__(self):
        self.resumed = []

    async def resume(self, value):
        self.resumed.append(value)
        return "resumed"


async def test_several_pauses_are_one_question_and_answered_by_id():
    """Tasks that do not wait are passed over."""
    conversation = Conversation()

    await run(
        TWO,
        approvals=deciding(send_email=approve(), wipe=reject()),
        thread_id="conversation-1",
        send=conversation.resume,
    )

    assert conversation.resumed == [
        {FIRST: {"decisions": [{"type": "approve"}]}, SECOND: {"decisions": [{"type": "reject"}]}}
    ]


async def test_an_event_that_comes_twice_resumes_its_conversation_once():
    """While it is being answered, and afterwards; the people are asked once."""
    approvals, conversation = deciding(**ANSWERS), Conversation()
    sending, sent = asyncio.Event(), asyncio.Event()

    async def slowly(value):
        sending.set()
        await sent.wait()
        return await conversation.resume(value)

    def again(send):
        return run(copy.deepcopy(EVENT), approvals=approvals, thread_id="conversation-1", send=send)

    first = asyncio.create_task(again(slowly))
    await sending.wait()
    with pytest.raises(ClaimedError):
        await again(conversation.resume)
    sent.set()
    await first
    with pytest.raises(ConsumedError):
        await again(conversation.resume)

    assert conversation.resumed == [ANSWER]
    assert len(approvals.reviewer.asked) == 3


CLIENT_TOOL = {"clientToolCalls": [{"name": "request_user_input", "args": {}, "id": "call_1"}]}
BROKEN = {
    "another event": ({**EVENT, "event": "on_message_end"}, "event.event is 'on_message_end'"),
    "no data": ({"event": "on_interrupt"}, r'event.data: Field required; an event has the form \{"event": "on_interrupt"'),
    "the text of an event": (json.dumps(EVENT), "event: this is a text: pass what json.loads reads"),
    "tasks that do not wait": (event_of(task(), {"name": "agent"}), "no task has interrupts"),
    "an id twice": (event_of(task((FIRST, review("a")), (FIRST, review("b")))), f"2 interrupts have the id '{FIRST}'"),
    "an id that LangGraph does not read beside others": (
        event_of(task((FIRST, review("a")), ("mine", review("b")))),
        "'mine' is not the id of a LangGraph pause",
    ),
    "a broken review": (
        event_of(task((FIRST, {"actionRequests": []}))),
        f"interrupt {FIRST}: pause.reviewConfigs: Field required",
    ),
    "a call of a client-side tool": (event_of(task((FIRST, CLIENT_TOOL))), f"interrupt {FIRST}: .*'clientToolCalls'"),
}  # fmt: skip


@pytest.mark.parametrize(("event", "says_what"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_event_is_refused_before_anybody_is_asked(event, says_what):
    """Naming the place."""
    with pytest.raises(InvalidRequestError, match=says_what):
        to_request(event)
    with pytest.raises(InvalidRequestError, match=says_what):
        await run(event, approvals=deciding(), thread_id="1", send=Conversation().resume)


async def test_a_plain_function_sends_the_answer_once():
    """It runs beside the loop, so that one that waits for XpertAI stops nothing."""
    sent, approvals = [], deciding(**ANSWERS)

    def send(value):
        sent.append((value, threading.current_thread() is threading.main_thread()))
        return "resumed"

    result = await run(EVENT, approvals=approvals, thread_id="1", send=send)
    with pytest.raises(ConsumedError):
        await run(EVENT, approvals=approvals, thread_id="1", send=send)

    assert result == "resumed"
    assert sent == [(ANSWER, False)]


@pytest.mark.parametrize(
    ("wrong", "says_what"),
    [
        ({"send": None}, "send: this is None: pass the function"),
        ({"thread_id": None}, "thread_id: this is None: pass the id of the conversation"),
        ({"thread_id": ""}, "thread_id: this text is empty"),
    ],
)
async def test_what_could_not_send_or_find_its_question_is_refused_before_anybody_is_asked(wrong, says_what):
    """Without an id, an event that comes twice would be asked twice and resumed twice."""
    approvals, conversation = deciding(), Conversation()
    given = {"thread_id": "1", "send": conversation.resume, **wrong}

    with pytest.raises(WrongArgumentError, match=says_what):
        await run(EVENT, approvals=approvals, **given)

    assert (approvals.asked, conversation.resumed) == ((), [])
