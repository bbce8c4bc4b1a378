"""What a LangGraph server of the tests serves: agents without a checkpointer, since the server has its own."""

import os
from pathlib import Path
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.scripted_model import ScriptedModel, says


def _write_down(line: str) -> None:
    with Path(os.environ["RAN"]).open("a") as ran:
        ran.write(f"{line}\n")


def send_email(to: str, body: str) -> str:
    """Send an email."""
    _write_down(f"send_email {to} {body}")
    return f"sent to {to}"


def delete_file(path: str) -> str:
    """Delete a file."""
    _write_down(f"delete_file {path}")
    return f"deleted {path}"


def _reviewed(**options: Any) -> Any:
    calls = ("send_email", {"to": "al", "body": "hi"}), ("delete_file", {"path": "a.txt"})
    asks = HumanInTheLoopMiddleware({"send_email": True, "delete_file": True}, **options)
    model = ScriptedModel(turns=[says(*calls), says(text="done")])
    return create_agent(model, [send_email, delete_file], middleware=[asks])


async def task(description: str, subagent_type: str) -> str:
    """Run a subagent, as deepagents does."""
    result = await agent.ainvoke({"messages": [("user", description)]})
    return str(result["messages"][-1].content)


class _State(TypedDict):
    heard: str


def _ask(state: _State) -> _State:
    return {"heard": interrupt("Deploy?")}


def deploy(build: int) -> str:
    """Deploy a build."""
    return f"deployed: {interrupt(f'Deploy {build}?')}"


def ask_user(question: str) -> str:
    """Ask the user."""
    return f"heard: {interrupt(question)}"


def _asking(*calls: tuple[str, dict[str, Any]]) -> Any:
    return create_agent(
        ScriptedModel(turns=[says(*calls), says(text="done")]), [deploy, ask_user, send_email]
    )


agent = _reviewed()
per_call = _reviewed(interrupt_mode="per_call")
lead = create_agent(
    ScriptedModel(
        turns=[says(("task", {"description": "go", "subagent_type": "mailer"})), says(text="done")]
    ),
    [task],
)
asks_once = _asking(("deploy", {"build": 17}), ("send_email", {"to": "al", "body": "hi"}))
asks_twice = _asking(("deploy", {"build": 17}), ("ask_user", {"question": "Who?"}))
crew = StateGraph(MessagesState).add_node("cleaner", agent).add_edge(START, "cleaner").compile()
question = StateGraph(_State).add_node("ask", _ask).add_edge(START, "ask").compile()
stops = StateGraph(_State).add_node("ask", _ask).add_edge(START, "ask").compile(interrupt_before=["ask"])
