"""A chat model that says what the test wrote down, so that agents run without a network."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Gives its turns one after another.

    The turn is chosen by the number of replies in the conversation, so running a node again says the same.
    """

    turns: Sequence[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        # LangChain's batched review changes the tool calls of the message that it is given.
        reply = self.turns[turn].model_copy(deep=True)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def says(*calls: tuple[str, dict[str, Any]], text: str = "", first_call: int = 1) -> AIMessage:
    """Give a turn of the model: tool calls as (name, arguments), with the ids `call_1`, `call_2`, …"""
    return AIMessage(
        content=text,
        tool_calls=[
            {"name": name, "args": args, "id": f"call_{number}", "type": "tool_call"}
            for number, (name, args) in enumerate(calls, first_call)
        ],
    )
