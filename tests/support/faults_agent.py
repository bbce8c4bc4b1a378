"""Runs one LangGraph agent as a process that a test can kill. Its thread and what its tools did are on disk.

The environment says what it works on; `AGENT_DOES` is one of

- `start`: give the thread its task and run it to its end, asking on the way,
- `go on`: the same for a thread that another process left,
- `answer one`: answer the first open pause by hand, and end.

It ends with what became of the run as its last line.
"""

import asyncio
import os
import time
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from agent_adapter.errors import AgentAdapterError
from agent_adapter.integrations.langgraph import run
from tests.conftest import an_agent
from tests.support.faults_bot import end_with_parent
from tests.support.scripted_model import ScriptedModel, says

CONFIG = {"configurable": {"thread_id": "thread-1"}}
TURNS = [says(("send_email", {"to": "al"}), ("delete_file", {"path": "report.txt"})), says(text="done")]


def note(line: str) -> None:
    """Write down what happened, at once and for good."""
    with Path(os.environ["AGENT_NOTES"]).open("a") as notes:
        notes.write(f"{line}\n")


def send_email(to: str) -> str:
    """Send an email."""
    note(f"send_email {to}")
    return "sent"


def delete_file(path: str) -> str:
    """Delete a file, slowly."""
    time.sleep(float(os.environ.get("AGENT_SLOWNESS", "0")))
    note(f"delete_file {path}")
    return "deleted"


async def main() -> None:
    does = os.environ["AGENT_DOES"]
    async with (
        AsyncSqliteSaver.from_conn_string(os.environ["AGENT_THREADS"]) as saver,
        an_agent(os.environ["REDIS_URL"]) as approvals,
    ):
        agent = create_agent(
            ScriptedModel(turns=TURNS),
            [send_email, delete_file],
            middleware=[
                HumanInTheLoopMiddleware(
                    {"send_email": True, "delete_file": True}, interrupt_mode=os.environ["AGENT_MODE"]
                )
            ],
            checkpointer=saver,
        )
        if does == "answer one":
            first, *_ = (await agent.aget_state(CONFIG)).interrupts
            await agent.ainvoke(Command(resume={first.id: {"type": "approve"}}), CONFIG)
            return
        task = {"messages": [("user", "go")]} if does == "start" else None
        try:
            result = await run(agent, task, approvals=approvals, config=CONFIG)
        except AgentAdapterError as error:
            note(f"ended: {type(error).__name__}")
        else:
            note(f"ended: {result['messages'][-1].content}")


if __name__ == "__main__":
    end_with_parent()
    asyncio.run(main())
