"""An agent with four tools that write down what ran."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.integrations.langgraph import run
from tests.support.scripted_model import ScriptedModel, says

CONFIG = {"configurable": {"thread_id": "thread-1"}}
GO = {"messages": [("user", "go")]}
DONE = says(text="done")

MAIL = {"to": "a@x.com", "subject": "Hi", "body": "text"}
TURN = says(
    ("send_email", MAIL),
    ("read_file", {"path": "/etc/hosts"}),
    ("delete_file", {"path": "report.txt"}),
    ("ask_user", {"question": "Which env?"}),
)
GATED: Mapping[str, Any] = {
    "send_email": True,
    "delete_file": {"allowed_decisions": ["approve", "reject"], "description": "This cannot be undone."},
    "ask_user": {"allowed_decisions": ["respond"]},
}


@dataclass
class Office:
    """What the tools did, and agents that use them."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    breaks: set[str] = field(default_factory=set)
    """Paths on which `delete_file` fails."""

    @property
    def tools(self):
        def send_email(to: str, subject: str, body: str = "") -> str:
            """Send an email."""
            self.ran.append(("send_email", {"to": to, "subject": subject, "body": body}))
            return f"sent to {to}"

        def delete_file(path: str) -> str:
            """Delete a file."""
            self.ran.append(("delete_file", {"path": path}))
            if path in self.breaks:
                raise OSError(f"cannot delete {path}")
            return f"deleted {path}"

        async def read_file(path: str) -> str:
            """Read a file."""
            self.ran.append(("read_file", {"path": path}))
            return "data"

        def ask_user(question: str) -> str:
            """Ask the user."""
            raise AssertionError("a person answers in this tool's place")

        return [send_email, delete_file, read_file, ask_user]

    def agent(self, *turns: AIMessage, mode="batched", interrupt_on=GATED, checkpointer=None):
        """Make an agent that says these turns."""
        return create_agent(
            ScriptedModel(turns=turns),
            self.tools,
            middleware=[HumanInTheLoopMiddleware(dict(interrupt_on), interrupt_mode=mode)],
            checkpointer=checkpointer or InMemorySaver(),
        )

    def names(self) -> list[str]:
        """Name the tools that ran, in no particular order."""
        return sorted(name for name, _ in self.ran)


async def run_thread(graph, approvals, input=GO, **options):
    """Run the one thread that tests have."""
    return await run(graph, input, approvals=approvals, config=CONFIG, **options)


def answers_to_model(result) -> dict[str, tuple[str, str]]:
    """Give what the model got for each call: status and content by call id."""
    return {m.tool_call_id: (m.status, m.content) for m in result["messages"] if m.type == "tool"}
