"""An agent with four tools that write down what ran."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from agent_adapter.integrations.langgraph import run, stream
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

    def agent(self, *turns: AIMessage, mode="batched", interrupt_on=GATED):
        """Make an agent that says these turns."""
        return gated(self.tools, *turns, interrupt_on=interrupt_on, mode=mode)

    def names(self) -> list[str]:
        """Name the tools that ran, in no particular order."""
        return sorted(name for name, _ in self.ran)


def gated(tools, *turns, interrupt_on=None, mode="batched", middleware=(), saver=None):
    """Make an agent that says these turns. Every call of its tools waits for a person, unless this says otherwise."""
    names = (getattr(tool, "name", None) or tool.__name__ for tool in tools)
    held = dict.fromkeys(names, True) if interrupt_on is None else dict(interrupt_on)
    return create_agent(
        ScriptedModel(turns=turns),
        tools,
        middleware=[HumanInTheLoopMiddleware(held, interrupt_mode=mode), *middleware],
        checkpointer=saver or InMemorySaver(),
    )


def with_subagent(tools, *turns, tasks=1, **options):
    """Make an agent of deepagents that hands out tasks in one turn, to a subagent that says these turns."""
    task = "task", {"description": "Do it.", "subagent_type": "mailer"}
    subagent = {
        "name": "mailer",
        "description": "Does it.",
        "system_prompt": "Do it.",
        "model": ScriptedModel(turns=turns),
        "tools": tools,
    }
    return create_deep_agent(
        ScriptedModel(turns=[says(*[task] * tasks), DONE]),
        subagents=[subagent],
        checkpointer=InMemorySaver(),
        **options,
    )


def in_a_node(inner, saver=None):
    """Make a graph whose node is this agent."""
    inner.checkpointer = None
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    return outer.compile(checkpointer=saver or InMemorySaver())


async def run_thread(graph, approvals, input=GO, **options):
    """Run the one thread that tests have."""
    return await run(graph, input, approvals=approvals, config=CONFIG, **options)


async def run_through_stream(graph, input, **how):
    """Do with `stream` what `run` does."""
    async for _ in stream(graph, input, **how):
        pass
    return (await graph.aget_state(CONFIG)).values


def answers_to_model(result) -> dict[str, tuple[str, str]]:
    """Give what the model got for each call: status and content by call id."""
    return {m.tool_call_id: (m.status, m.content) for m in result["messages"] if m.type == "tool"}
