"""What a LangGraph server of the tests serves: agents without a checkpointer, since the server has its own."""

import os
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
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


def deploy(build: int) -> str:
    """Deploy a build."""
    return f"deployed: {interrupt(f'Deploy {build}?')}"


def ask_user(question: str) -> str:
    """Ask the user."""
    return f"heard: {interrupt(question)}"


CALLS = ("send_email", {"to": "al", "body": "hi"}), ("delete_file", {"path": "a.txt"})
DONE = says(text="done")

agent = create_agent(
    ScriptedModel(turns=[says(*CALLS), DONE]),
    [send_email, delete_file],
    middleware=[HumanInTheLoopMiddleware({"send_email": True, "delete_file": True})],
)
asks_twice = create_agent(
    ScriptedModel(turns=[says(("deploy", {"build": 17}), ("ask_user", {"question": "Who?"})), DONE]),
    [deploy, ask_user],
)
