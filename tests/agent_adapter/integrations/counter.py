"""A shop counter: agents of Pydantic AI with tools that write down what ran."""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import (
    Agent,
    CallDeferred,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.conversation import Conversation, ConversationTypeAdapter
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests


def model(*turns: str | list[ToolCallPart]) -> FunctionModel:
    """Make a model that says these turns, one after another."""
    left = iter(turns)

    def say(_messages: Any, _info: Any) -> ModelResponse:
        turn = next(left, None)
        if turn is None:
            raise LookupError("the model has no turn left")
        return ModelResponse(parts=[TextPart(turn)] if isinstance(turn, str) else turn)

    return FunctionModel(say)


def says(*calls: tuple[str, Any], first_call: int = 1) -> list[ToolCallPart]:
    """Give a turn of the model: calls as (name, arguments), with the ids `call_1`, `call_2`, …"""
    return [
        ToolCallPart(name, args, tool_call_id=f"call_{number}")
        for number, (name, args) in enumerate(calls, first_call)
    ]


def answers_to_model(result: Any) -> dict[str, tuple[str, Any]]:
    """Give what the model got for each call, by call id: the outcome and the content."""
    requests = [message for message in result.all_messages() if isinstance(message, ModelRequest)]
    parts = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
    return {part.tool_call_id: (part.outcome, part.content) for part in parts}


@dataclass
class Counter:
    """What the tools did, and agents that use them."""

    ran: list[tuple[str, Any]] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    """What a program has stored of its run, as JSON."""

    def agent(self, *turns: str | list[ToolCallPart], **options: Any) -> Agent[Any, Any]:
        """Make an agent whose model says these turns."""
        agent = Agent(model(*turns), **options)

        @agent.tool_plain(requires_approval=True)
        def pay(order: int, reason: str = "none") -> str:
            """Pay."""
            self.ran.append(("pay", order))
            return f"paid {order}"

        @agent.tool_plain
        def look_up(order: int) -> str:
            """Look an order up."""
            self.ran.append(("look_up", order))
            return "late"

        @agent.tool_plain
        def weigh(order: int) -> str:
            """Have somebody else weigh a parcel."""
            raise CallDeferred

        return agent

    def save(self, conversation: Conversation) -> None:
        """Store a conversation as a program does."""
        self.saved.append(dumped(conversation))

    async def paused(self, *calls: tuple[str, Any]) -> str:
        """Run an agent until it pauses on these calls, and give what another process gets."""
        result = await self.agent(says(*calls)).run("go", output_type=[str, DeferredToolRequests])
        self.save(result.conversation)
        return self.saved[-1]


def dumped(conversation: Conversation) -> str:
    """Give what a program stores."""
    return ConversationTypeAdapter.dump_json(conversation).decode()


def loaded(text: str) -> Conversation:
    """Read a stored conversation in another process."""
    return ConversationTypeAdapter.validate_json(text)


def changed(text: str, change: Any) -> Conversation:
    """Read a stored conversation in which somebody has changed something."""
    value = json.loads(text)
    change(value)
    return loaded(json.dumps(value))
