"""Realtime sessions of the OpenAI Agents SDK: calls wait for people while the conversation goes on."""

import asyncio
from contextlib import aclosing

import pytest
from agents import function_tool
from agents.realtime import (
    RealtimeAgent,
    RealtimeModel,
    RealtimeModelSendToolOutput,
    RealtimeModelToolCallEvent,
    RealtimeSession,
)

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.errors import InvalidRequestError
from agent_adapter.integrations.openai_agents import editable
from agent_adapter.integrations.openai_agents.realtime import NOT_APPROVED, events
from agent_adapter.testing import approve, reject
from tests.agent_adapter.integrations.test_openai_agents_kinds import Sums
from tests.support.deciding import deciding
from tests.support.faults import eventually
from tests.support.workers import ids


class Line(RealtimeModel):
    """A model at the other end of the line: it calls what the test says, and hears the outputs."""

    def __init__(self):
        self.listeners = []
        self.heard = {}
        self.outputs = asyncio.Queue()

    async def connect(self, options):
        pass

    async def close(self):
        pass

    def add_listener(self, listener):
        self.listeners.append(listener)

    def remove_listener(self, listener):
        self.listeners.remove(listener)

    async def send_event(self, event):
        if isinstance(event, RealtimeModelSendToolOutput):
            self.heard[event.tool_call.call_id] = event.output
            await self.outputs.put(event.output)

    async def send_event_if(self, event, send_if):
        if send_if():
            await self.send_event(event)
            return True
        return False

    async def call(self, arguments, call_id="call_1"):
        event = RealtimeModelToolCallEvent(name="pay", call_id=call_id, arguments=arguments)
        for listener in list(self.listeners):
            await listener.on_event(event)


class Talk:
    """A conversation whose events somebody reads, and what its tool did."""

    def __init__(self, approvals, tool=None, **options):
        self.paid, self.seen, self.line = [], [], Line()
        self.approvals, self.options = approvals, options
        self.does = lambda amount: f"paid {amount}"

        @editable
        @function_tool(needs_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return self.does(amount)

        agent = RealtimeAgent(name="Cashier", tools=[tool or pay])
        self.session = RealtimeSession(self.line, agent, None)

    async def __aenter__(self):
        await self.session.__aenter__()
        self.reading = asyncio.create_task(self.read())
        return self

    async def __aexit__(self, *_):
        self.reading.cancel()
        await asyncio.wait([self.reading])
        await self.session.close()

    async def read(self):
        async with aclosing(events(self.session, approvals=self.approvals, **self.options)) as found:
            async for event in found:
                self.seen.append(event.type)

    async def says(self, arguments='{"amount": 5}', call_id="call_1"):
        """Let the model call the tool, and give what it hears."""
        await self.line.call(arguments, call_id)
        async with asyncio.timeout(30):
            return await self.line.outputs.get()


@pytest.mark.parametrize("arguments", ['{"amount": "' + 300_000 * "9" + '"}', '{"amount": 5, "amount": 6}'])
async def test_a_call_that_cannot_be_asked_about_is_rejected(arguments):
    """The conversation goes on, and the next call is asked about. Of a key that comes twice, the tool would run the last."""
    async with Talk(deciding(approve())) as talk:
        first = await talk.says(arguments)
        second = await talk.says(call_id="call_2")

    assert (first, second) == (NOT_APPROVED, "paid 5")
    assert talk.paid == [5]
    assert talk.seen.count("tool_approval_required") == 2


async def test_a_decision_for_the_session_is_asked_once():
    """Later calls of the tool run without a card."""
    approvals = deciding(ApproveDecision(always=True))
    async with Talk(approvals, allow_always=["pay"]) as talk:
        outputs = [await talk.says(call_id=id) for id in ("call_1", "call_2")]

    assert outputs == ["paid 5", "paid 5"]
    assert len(approvals.reviewer.asked) == 1


async def test_two_sessions_with_the_same_call_id_are_two_questions():
    """What was approved in one conversation runs nothing in another."""
    approvals = deciding(approve(), reject("no"))
    async with Talk(approvals) as one, Talk(approvals) as other:
        await one.says()
        await other.says()

    assert (one.paid, other.paid) == ([5], [])


async def test_a_question_that_is_open_when_the_conversation_ends_is_withdrawn(client, store):
    """Nobody is left with a card about a call that can never run."""
    async with Talk(client) as talk:
        await talk.line.call('{"amount": 5}')
        (interrupt_id,) = await eventually(lambda: ids(store))

    assert (await store.load(interrupt_id)).withdraw_asked == "The conversation has ended."
    assert talk.paid == []


async def test_a_misspelt_gated_tool_of_a_server_ends_the_conversation_before_it_begins():
    """The tool that was meant would run with nobody asked."""
    talk = Talk(deciding())
    talk.session._current_agent.mcp_servers = [Sums([], {"ad": "always"})]

    with pytest.raises(InvalidRequestError, match=r"require_approval\['ad'\].*did you mean 'add'"):
        await anext(events(talk.session, approvals=talk.approvals))


@pytest.mark.parametrize(
    ("wrong", "says_what"),
    [
        ({"allow_always": ["pya"]}, r"allow_always\['pya'\]: no tool has this name; the tools are: pay"),
        ({"chanel": "C1"}, "chanel: no such option"),
    ],
)
async def test_what_stands_in_the_wrong_place_ends_the_conversation_before_it_begins(wrong, says_what):
    """Otherwise each call would be rejected, and only the log would say why."""
    talk = Talk(deciding())

    with pytest.raises(InvalidRequestError, match=says_what):
        await anext(events(talk.session, approvals=talk.approvals, **wrong))
