"""LangGraph server: its threads wait there, people decide in Slack, and the runs are resumed by command."""

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client

from agent_adapter.dialects import custom
from agent_adapter.integrations.langgraph import run
from agent_adapter.testing import edit
from tests.agent_adapter.integrations.office import GO
from tests.support import langgraph_server
from tests.support.deciding import deciding
from tests.support.lanes import require
from tests.support.pages import run_page

pytestmark = pytest.mark.nightly


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
def ran(directory):
    """Read what the tools did on the server in this test."""
    file = directory / "ran.txt"
    file.write_text("")
    return lambda: sorted(file.read_text().splitlines())


@pytest.mark.usefixtures("everything_is_approved")
async def test_the_page_about_the_server_runs(address, redis_url, ran):
    """Three threads, gone on with in three ways: what was asked ran three times."""
    server_url = {'"http://localhost:2024"': address}
    await run_page("docs/how-to/use-from-langgraph-server.md", redis_url, instead=server_url)

    assert ran() == ["delete_file a.txt"] * 3 + ["send_email al hi"] * 3


async def test_a_tool_of_the_server_that_asks_by_itself_is_named_and_gets_an_edit(address):
    """The messages say which tool a node of the server runs."""
    approvals = deciding(deploy=edit({"build": 18}))
    reads = custom(
        lambda decision: {"go": decision.type == "approve"}, edit=lambda args: {"go": True, **args}
    )

    async with get_client(url=address) as server:
        thread = await server.threads.create()
        config = {"configurable": {"thread_id": thread["thread_id"]}}
        graph = RemoteGraph("release", client=server)
        result = await run(graph, GO, approvals=approvals, config=config, dialect=reads)

    (answer,) = [message["content"] for message in result["messages"] if message["type"] == "tool"]
    assert answer == str({"go": True, "build": 18})
