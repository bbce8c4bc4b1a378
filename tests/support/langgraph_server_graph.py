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


CALLS = ("send_email", {"to": "al", "body": "hi"}), ("delete_file", {"path": "a.txt"})

agent = create_agent(
    ScriptedModel(turns=[says(*CALLS), says(text="done")]),
    [send_email, delete_file],
    middleware=[HumanInTheLoopMiddleware({"send_email": True, "delete_file": True})],
)


def deploy(build: int) -> str:
    """Deploy a build, if somebody says so."""
    return str(interrupt({"build": build}))


release = create_agent(ScriptedModel(turns=[says(("deploy", {"build": 17})), says(text="done")]), [deploy])
