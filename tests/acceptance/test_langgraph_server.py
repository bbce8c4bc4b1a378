"""LangGraph server: its threads wait there, people decide in Slack, and the runs are resumed by command."""

import asyncio
import uuid

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Interrupt as Pause
from langgraph_sdk import get_client

from agent_adapter.errors import ClaimedError, ConsumedError, InvalidRequestError, UnknownDialectError
from agent_adapter.integrations.langgraph import run, stream, to_request, to_resume
from tests.support import langgraph_server
from tests.support.lanes import require
from tests.support.pages import run_page
from tests.support.people import Someone, buttons, words
from tests.test_project import everything_is_approved  # noqa: F401 - a fixture

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


async def answer_and_approve(dana):
    """Answer in place of the e-mail, and let the file go."""
    card = await dana.card("wants to run")
    await dana.fill(await dana.opened(card, "respond:0"), answer="I wrote to Al myself.")
    await dana.press(card, "approve:1")


@pytest.mark.parametrize("name", ["agent", "per_call"])
async def test_run_on_the_server_is_decided_in_slack(start_bot, slack, client, server, ran, name):
    """`RemoteGraph` is a graph like any other: what ran on the server is what was decided."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    graph = RemoteGraph(name, client=server)
    running = asyncio.create_task(run(graph, GO, approvals=client, config=a_thread()))

    await answer_and_approve(dana)
    result = await running

    assert ran() == ["delete_file a.txt"]
    said = {m["tool_call_id"]: m["content"] for m in result["messages"] if m["type"] == "tool"}
    assert said == {"call_1": "I wrote to Al myself.", "call_2": "deleted a.txt"}
    await dana.card("the agent has resumed")


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "subagent"), [("lead", "mailer"), ("crew", "cleaner")])
async def test_card_says_which_subagent_on_the_server_asks(
    start_bot, slack, client, server, ran, name, subagent
):
    """One that a tool runs, as with deepagents, and one that is a node of the graph."""
    await start_bot()
    dana, graph = Someone(slack, "U0DANA"), RemoteGraph(name, client=server)
    running = asyncio.create_task(run(graph, GO, approvals=client, config=a_thread()))

    card = await dana.card("wants to run")
    assert f'subagent: "{subagent}"' in words(card["blocks"])
    await answer_and_approve(dana)
    await running

    assert ran() == ["delete_file a.txt"]


@pytest.mark.nightly
async def test_edit_runs_on_the_server_where_the_caller_gives_the_tools(
    start_bot, slack, client, server, ran
):
    """The tools are on the server; whoever passes them gets forms and checks of their arguments."""
    await start_bot()
    dana = Someone(slack, "U0DANA")

    def send_email(to: str, body: str) -> str:
        """Tell what the server's tool takes."""

    graph = RemoteGraph("agent", client=server)
    running = asyncio.create_task(run(graph, GO, approvals=client, config=a_thread(), tools=[send_email]))

    card = await dana.card("wants to run")
    await dana.fill(await dana.opened(card, "edit:0"), to="bo")
    await dana.fill(await dana.opened(card, "reject:1"))
    await running

    assert ran() == ["send_email bo hi"]


async def test_run_that_waits_on_the_server_is_gone_on_with(start_bot, slack, client, server, ran):
    """A run that somebody else started, and that nobody attends, waits on the server until `run` asks about it."""
    await start_bot()
    thread = await server.threads.create()
    started = await server.runs.create(thread["thread_id"], "agent", input=GO)
    await server.runs.join(thread["thread_id"], started["run_id"])
    config = {"configurable": {"thread_id": thread["thread_id"]}}

    graph = RemoteGraph("agent", client=server)
    running = asyncio.create_task(run(graph, None, approvals=client, config=config))
    await answer_and_approve(Someone(slack, "U0DANA"))
    result = await running

    assert ran() == ["delete_file a.txt"]
    assert result["messages"][-1]["content"] == "done"
    assert (await server.threads.get(thread["thread_id"]))["status"] == "idle"


@pytest.mark.nightly
async def test_pauses_of_a_thread_are_answered_by_hand(start_bot, slack, client, server, ran):
    """With nothing but the server's own client: its state in, its command out."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    id = (await server.threads.create())["thread_id"]
    await server.runs.wait(id, "agent", input=GO)
    pauses = [Pause(**pause) for pause in (await server.threads.get_state(id))["interrupts"]]
    asked = client.interrupt(
        to_request(pauses),
        run=id,
        pauses=[pause.id for pause in pauses for _ in pause.value["action_requests"]],
    )

    async def decided():
        async with client.reviewing(asked) as resume:
            command = {"resume": to_resume(resume, pauses).resume}
            return await server.runs.wait(id, "agent", command=command)

    running = asyncio.create_task(decided())
    await answer_and_approve(dana)
    result = await running

    assert ran() == ["delete_file a.txt"]
    assert result["messages"][-1]["content"] == "done"


@pytest.mark.nightly
async def test_chunks_come_from_the_server_before_and_after_the_decision(
    start_bot, slack, client, server, ran
):
    """`stream` gives the server's chunks through the pause."""
    await start_bot()
    graph = RemoteGraph("agent", client=server)

    async def listen():
        chunks = stream(graph, GO, approvals=client, config=a_thread(), stream_mode="updates")
        return [name async for chunk in chunks for name in chunk]

    listening = asyncio.create_task(listen())
    await answer_and_approve(Someone(slack, "U0DANA"))
    heard = await listening

    assert heard.index("__interrupt__") < heard.index("tools")
    assert ran() == ["delete_file a.txt"]


@pytest.mark.nightly
async def test_question_of_a_graph_on_the_server_is_answered_in_words(start_bot, slack, client, server):
    """A raw `interrupt()` on the server gets the person's words, once the caller says that it reads words."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    graph = RemoteGraph("question", client=server)
    config = a_thread()
    with pytest.raises(UnknownDialectError, match="how it reads the answer"):
        await run(graph, {"heard": ""}, approvals=client, config=config)
    running = asyncio.create_task(run(graph, None, approvals=client, config=config, dialect={"ask": "text"}))

    card = await dana.card("Deploy?")
    assert "edit:0" not in buttons(card)
    await dana.fill(await dana.opened(card, "respond:0"), answer="Tomorrow.")

    assert (await running)["heard"] == "Tomorrow."


@pytest.mark.nightly
async def test_tool_on_the_server_is_named_where_it_is_the_only_one_left(start_bot, slack, client, server):
    """The other call of its turn has ended, so nobody else can be asking."""
    await start_bot()
    dana, graph = Someone(slack, "U0DANA"), RemoteGraph("asks_once", client=server)
    running = asyncio.create_task(
        run(graph, GO, approvals=client, config=a_thread(), dialect={"deploy": "boolean"})
    )

    await dana.press(await dana.card("Deploy 17?"), "approve:0")

    assert "deployed: True" in [message["content"] for message in (await running)["messages"]]


@pytest.mark.nightly
async def test_tools_on_the_server_are_refused_where_each_may_be_the_one_that_asks(client, server):
    """A server does not tell which pause is whose, so nobody is asked."""
    graph, config = RemoteGraph("asks_twice", client=server), a_thread()
    for given in (GO, None):
        with pytest.raises(InvalidRequestError, match=r"nobody was asked.*'deploy'.*does not tell"):
            await run(graph, given, approvals=client, config=config, dialect={"deploy": "boolean"})


@pytest.mark.nightly
async def test_breakpoint_on_the_server_is_not_an_end(client, server):
    """The graph stops where nobody is asked: that is an error, and going on with the thread does not pass it."""
    config, graph = a_thread(), RemoteGraph("stops", client=server)

    for given in ({"heard": ""}, None):
        with pytest.raises(InvalidRequestError, match="stopped before 'ask' and nobody was asked"):
            await run(graph, given, approvals=client, config=config, dialect="text")

    assert (await server.threads.get_state(config["configurable"]["thread_id"]))["next"] == ["ask"]


@pytest.mark.nightly
async def test_two_who_attend_one_thread_resume_it_once(start_bot, slack, client, server, ran):
    """Both find the same question; one resumes, the other is told so, and each tool ran once."""
    await start_bot()
    config, graph = a_thread(), RemoteGraph("agent", client=server)
    first = asyncio.create_task(run(graph, GO, approvals=client, config=config))
    dana = Someone(slack, "U0DANA")
    await dana.card("wants to run")
    second = asyncio.create_task(run(graph, None, approvals=client, config=config))

    await answer_and_approve(dana)
    outcomes = await asyncio.gather(first, second, return_exceptions=True)

    assert ran() == ["delete_file a.txt"]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert all(isinstance(error, ClaimedError | ConsumedError) for error in refused)
    assert len(refused) == 1


@pytest.mark.nightly
async def test_thread_that_was_resumed_is_not_run_again(start_bot, slack, client, server, ran):
    """`run(graph, None)` on a finished thread asks nobody and runs no tool."""
    await start_bot()
    config, graph = a_thread(), RemoteGraph("agent", client=server)
    running = asyncio.create_task(run(graph, GO, approvals=client, config=config))
    await answer_and_approve(Someone(slack, "U0DANA"))
    await running

    await run(graph, None, approvals=client, config=config)

    assert ran() == ["delete_file a.txt"]


@pytest.mark.nightly
async def test_thread_without_a_name_is_refused_before_the_server_hears_of_it(client, server):
    """As with a graph in this process."""
    with pytest.raises(InvalidRequestError, match="thread_id"):
        await run(RemoteGraph("agent", client=server), GO, approvals=client, config={})


@pytest.mark.nightly
@pytest.mark.usefixtures("everything_is_approved")
async def test_the_page_about_the_server_runs(address, redis_url, ran):
    """Three threads, gone on with in three ways: what was asked ran three times."""
    server_url = {'"http://localhost:2024"': address}
    await run_page("docs/how-to/use-from-langgraph-server.md", redis_url, instead=server_url)

    assert ran() == ["delete_file a.txt"] * 3 + ["send_email al hi"] * 3
