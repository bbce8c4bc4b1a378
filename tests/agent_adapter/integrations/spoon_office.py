"""A stock SpoonAI agent with tools that write down what ran."""

import json
from dataclasses import dataclass, field
from typing import Any

from spoon_ai.agents import ToolCallAgent
from spoon_ai.chat import ChatBot
from spoon_ai.schema import Function, LLMResponse, ToolCall
from spoon_ai.tools import ToolManager
from spoon_ai.tools.base import BaseTool


class ScriptedBot(ChatBot):
    """Says its turns one after another."""

    def __init__(self, *turns: LLMResponse) -> None:
        self.turns = list(turns)
        self.asked = 0

    async def ask_tool(self, **_: Any) -> LLMResponse:
        self.asked += 1
        return self.turns[self.asked - 1]

    def update_mem0_config(self, *_: Any, **__: Any) -> None:
        """Long-term memory is not for this one."""


def says(*calls: tuple[str, dict[str, Any] | str], text: str = "", ids: Any = None) -> LLMResponse:
    """Give a turn of the model: tool calls as (name, arguments), with the ids `call_1`, `call_2`, …"""
    return LLMResponse(
        content=text,
        tool_calls=[
            ToolCall(
                id=id,
                function=Function(name=name, arguments=args if isinstance(args, str) else json.dumps(args)),
            )
            for id, (name, args) in zip(
                ids or [f"call_{n}" for n in range(1, len(calls) + 1)], calls, strict=True
            )
        ],
        finish_reason="tool_calls" if calls else "stop",
        native_finish_reason="tool_calls" if calls else "stop",
    )


MAIL = {"to": "a@x.com", "subject": "Hi"}
TURN = says(
    ("send_email", MAIL), ("read_file", {"path": "notes.txt"}), ("delete_file", {"path": "report.txt"})
)
DONE = says(text="done")
GATED = {"send_email": True, "delete_file": {"allowed_decisions": ["approve", "reject"]}}


class Noting(BaseTool):
    """A tool that writes down its arguments."""

    note: Any

    async def execute(self, **args: Any) -> str:
        self.note((self.name, args))
        return f"{self.name} was done"


def _schema(**properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMAS = {
    "send_email": _schema(to="string", subject="string"),
    "delete_file": _schema(path="string"),
    "read_file": _schema(path="string"),
}


@dataclass
class Office:
    """What the tools did, and agents that use them."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def tools(self) -> list[BaseTool]:
        return [
            Noting(name=name, description=name, parameters=schema, note=self.ran.append)
            for name, schema in SCHEMAS.items()
        ]

    def agent(
        self, *turns: LLMResponse, middleware: Any = (), kind: Any = ToolCallAgent, **fields: Any
    ) -> Any:
        """Make an agent that says these turns."""
        return kind(
            llm=ScriptedBot(*turns),
            available_tools=ToolManager(self.tools),
            middleware=list(middleware),
            **fields,
        )

    def names(self) -> list[str]:
        """Name the tools that ran, in order."""
        return [name for name, _ in self.ran]


def answers(agent: Any) -> dict[str, str]:
    """Give what the model got for each call, by call id."""
    return {m.tool_call_id: m.content for m in agent.memory.get_messages() if m.role == "tool"}
