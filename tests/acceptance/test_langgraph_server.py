"""LangGraph server: its threads wait there, people decide in Slack, and the runs are resumed by command."""

import asyncio
import uuid

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client

from agent_adapter.integrations.langgraph import run
from tests.support import langgraph_server
from tests.support.lanes import require
from tests.support.pages import run_page
from tests.support.people import Someone
from tests.test_project import everything_is_approved  # noqa: F401 - a fixture

pytestmark = pytest.mark.nightly

GO = {"messages": [{"role": "user", "content": "go"}]}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Where the server and its tools write."""
    return tmp_path_factory.mktemp("langgraph")


@pytest.fixture(scope="module")
def address(directory):
    """A LangGraph server for the tests of this file."""
    require(
        "LangGraph server",
        langgraph_server.command(),
        "there is no `langgraph dev` here: make .venv-server/server.ok, or name the command in ASSENT_LANGGRAPH_CLI",
    )
    with langgraph_server.serving(directory, directory / "ran.txt") as address:
        yield address


@pytest.fixture
async def server(address):
    """A client of the server, as its own package makes it."""
    async with get_client(url=address) as client:
        yield client


@pytest.fixture
def ran(directory):
    """Read what the tools did on the server in this test."""
    file = directory / "ran.txt"
    file.write_text("")
    return lambda: sorted(file.read_text().splitlines())


def a_thread():
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


async def test_run_on_the_server_is_decided_in_slack(start_bot, slack, client, server, ran):
    """`RemoteGraph` is a graph like any other: what ran on the server is what was decided."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    graph = RemoteGraph("agent", client=server)
    running = asyncio.create_task(run(graph, GO, approvals=client, config=a_thread()))

    await dana.press_one(await dana.card("if nobody"), "approve:1")
    form = await dana.opened(await dana.showing("respond:0"), "respond:0")
    await dana.fill(form, Your_answer="I wrote to Al myself.")
    result = await running

    assert ran() == ["delete_file a.txt"]
    said = {m["tool_call_id"]: m["content"] for m in result["messages"] if m["type"] == "tool"}
    assert said == {"call_1": "I wrote to Al myself.", "call_2": "deleted a.txt"}
    await dana.card("the agent has resumed")


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_page_about_the_server_runs(address, redis_url, ran):
    """Three threads, gone on with in three ways: what was asked ran three times."""
    server_url = {'"http://localhost:2024"': address}
    await run_page("docs/how-to/use-from-langgraph-server.md", redis_url, instead=server_url)

    assert ran() == ["delete_file a.txt"] * 3 + ["send_email al hi"] * 3
