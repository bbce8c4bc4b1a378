"""What stands in the wrong place is answered with what to pass instead, before anything runs or is stored."""

import pytest
from redis import Redis as BlockingRedis

from agent_adapter import ApprovalClient, HITLRequest
from agent_adapter.errors import AgentAdapterError, WrongArgumentError
from agent_adapter.integrations import functions, langchain_dev_utils, langgraph, openai_agents, xpert
from agent_adapter.resumables.langgraph import ResumableGraph
from agent_adapter.resumables.openai_agents import ResumableAgent
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import InMemoryApprovalClient, approve
from agent_adapter.worker import ResumeWorker
from tests.support.builders import an_action

URL = "redis://127.0.0.1:1/0"
DICTIONARY = {"action_requests": []}


def a_request():
    request, config = an_action()
    return HITLRequest(action_requests=(request,), review_configs=(config,))


@pytest.fixture(params=["real", "in memory"])
async def client(request, redis_url):
    """Both clients answer alike."""
    if request.param == "in memory":
        async with InMemoryApprovalClient(lambda *_: approve(), agent="billing") as client:
            yield client
    else:
        async with ApprovalClient.from_url(redis_url, agent="billing") as client:
            yield client


async def entered(context):
    async with context:
        raise AssertionError("it let in")


@pytest.mark.parametrize("given", [URL, DICTIONARY, None, BlockingRedis])
def test_a_client_is_made_of_connections(given):
    """An address goes to from_url."""
    with pytest.raises(
        WrongArgumentError, match=r"redis: this is .*: for the address of a Redis, write `async with"
    ):
        ApprovalClient(given, agent="billing")
    with pytest.raises(WrongArgumentError, match="for the address of a Redis"):
        ApprovalClient(given)


@pytest.mark.parametrize("given", [DICTIONARY, None, 6379, ApprovalClient])
def test_an_address_is_a_text(given):
    """With one that works."""
    for kind in (ApprovalClient, SyncApprovalClient):
        with pytest.raises(WrongArgumentError, match=r"url: this is .*as in 'redis://localhost:6379/0'"):
            kind.from_url(given, agent="billing")


@pytest.mark.parametrize("given", [URL, DICTIONARY, None])
def test_a_client_that_blocks_is_made_of_the_other_one(given):
    """Or of an address, by from_url."""
    with pytest.raises(WrongArgumentError, match=r"write `with SyncApprovalClient\.from_url"):
        SyncApprovalClient(given)


def test_a_client_that_blocks_runs_what_an_asynchronous_function_returns():
    """Not the function itself."""
    blocking = SyncApprovalClient(ApprovalClient.from_url(URL, agent="billing"))

    with pytest.raises(WrongArgumentError, match="work: this is a function: call the asynchronous function"):
        blocking.run(langgraph.run)


@pytest.mark.parametrize("given", [DICTIONARY, "billing.1", None, a_request()])
async def test_what_is_published_is_an_interrupt(client, given):
    """The sentence says how it is made."""
    for attempt in (client.publish(given), entered(client.reviewing(given))):
        with pytest.raises(WrongArgumentError, match=r"interrupt: this is .*: pass the Interrupt"):
            await attempt


async def test_what_is_reviewed_is_a_batch(client):
    """A dictionary becomes one, and an interrupt has one already."""
    for given in (DICTIONARY, [DICTIONARY], URL):
        with pytest.raises(WrongArgumentError, match=r"request: this is .*HITLRequest\.model_validate"):
            await client.review(given)
    with pytest.raises(WrongArgumentError, match="an Interrupt: it has its batch already"):
        await client.review(client.interrupt(a_request()))


async def test_an_interrupt_is_named_by_its_id(client):
    """Not by itself."""
    given = client.interrupt(a_request())
    for attempt in (
        client.wait(given),
        client.record(given),
        client.withdraw(given),
        entered(client.resuming(given)),
        anext(client.decisions(given)),
    ):
        with pytest.raises(WrongArgumentError, match="interrupt_id: this is an Interrupt: pass the id"):
            await attempt


async def _all(events):
    return [event async for event in events]


INTEGRATIONS = {
    "langgraph.run": lambda given: langgraph.run(None, {}, approvals=given, config={}),
    "langgraph.stream": lambda given: _all(langgraph.stream(None, {}, approvals=given, config={})),
    "langchain_dev_utils": lambda given: langchain_dev_utils.run(None, {}, approvals=given, config={}),
    "openai_agents.run": lambda given: openai_agents.run(None, "x", approvals=given),
    "functions.run": lambda given: functions.run(print, {}, approvals=given),
    "xpert.run": lambda given: xpert.run({}, approvals=given, thread_id="1", send=print),
    "graph.start": lambda given: _graph().start({}, approvals=given, config={"configurable": {"thread_id": "1"}}),
    "agent.start": lambda given: ResumableAgent(name="a", agent=None, version="1").start("x", approvals=given),
}  # fmt: skip


def _graph():
    return ResumableGraph(name="a", graph=None, version="1")


@pytest.mark.parametrize("name", INTEGRATIONS)
@pytest.mark.parametrize("given", [URL, DICTIONARY, None, ApprovalClient])
async def test_an_integration_asks_through_a_client(name, given):
    """Nothing of the agent has run."""
    with pytest.raises(WrongArgumentError, match=r"approvals: this is .*: pass a client, as in `async with"):
        await INTEGRATIONS[name](given)


@pytest.mark.parametrize("name", INTEGRATIONS)
async def test_an_integration_is_asynchronous_and_says_how_a_client_that_blocks_runs_it(name):
    """Its own client goes in, and it runs the whole."""
    blocking = SyncApprovalClient(ApprovalClient.from_url(URL, agent="billing"))

    with pytest.raises(WrongArgumentError, match="a SyncApprovalClient: pass its `client`, and let it run"):
        await INTEGRATIONS[name](blocking)


def test_streams_and_workers_ask_through_a_client():
    """Before they begin."""
    for given in (URL, DICTIONARY):
        with pytest.raises(WrongArgumentError, match="pass a client"):
            openai_agents.stream(None, "x", approvals=given)
        with pytest.raises(WrongArgumentError, match="pass a client"):
            ResumeWorker(given, [])


def test_a_gate_takes_the_client_of_its_functions_kind():
    """Asynchronous or blocking; the sentence names the other one."""

    async def pay(amount: int) -> str:
        return str(amount)

    def pay_and_wait(amount: int) -> str:
        return str(amount)

    asynchronous = ApprovalClient.from_url(URL, agent="billing")
    for given in (URL, DICTIONARY, SyncApprovalClient(asynchronous)):
        with pytest.raises(AgentAdapterError, match="give requires_approval an ApprovalClient"):
            functions.requires_approval(given)(pay)
    for given in (URL, DICTIONARY, asynchronous):
        with pytest.raises(AgentAdapterError, match="give requires_approval a SyncApprovalClient"):
            functions.requires_approval(given)(pay_and_wait)


def test_a_wrong_argument_is_an_error_of_ours_and_of_type():
    """Whoever catches either finds it."""
    assert issubclass(WrongArgumentError, AgentAdapterError)
    assert issubclass(WrongArgumentError, TypeError)
