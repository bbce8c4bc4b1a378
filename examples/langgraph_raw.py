"""A LangGraph graph that asks in its own words: `interrupt()` with a question, answered by a person in Slack.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.langgraph_raw
"""

import asyncio
import os
from datetime import timedelta
from typing import TypedDict

from agent_adapter import ApprovalClient
from agent_adapter.integrations.langgraph import run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Release(TypedDict):
    build: int
    outcome: str


def release(state: Release) -> dict[str, str]:
    released = interrupt({"question": "Release to production?", "build": state["build"]})
    return {"outcome": "released" if released else "not released"}


async def main() -> None:
    graph = StateGraph(Release).add_node(release).add_edge(START, "release")
    thread = {"configurable": {"thread_id": os.urandom(8).hex()}}
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="billing") as approvals:
        print("asking in Slack …")
        result = await run(
            graph.compile(checkpointer=InMemorySaver()),
            {"build": 17},
            approvals=approvals,
            config=thread,
            # The node reads true or false.
            dialect="boolean",
            expires_in=timedelta(hours=1),
        )
    print(f"build {result['build']}: {result['outcome']}")


if __name__ == "__main__":
    asyncio.run(main())
