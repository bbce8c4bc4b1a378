"""What stands in the wrong place is answered with what to pass instead, before anything runs or is stored."""

import asyncio
import subprocess
import sys
from datetime import timedelta
from functools import partial

import pytest
from agents import Agent
from langgraph.graph import StateGraph

from agent_adapter import ActionRequest, ApprovalClient, Context, HITLRequest, ReviewConfig, requires_receipt
from agent_adapter.dialects import custom
from agent_adapter.errors import AgentAdapterError, UnknownInterruptError, WrongArgumentError
from agent_adapter.gating import Gate
from agent_adapter.integrations import (
    functions,
    langchain_dev_utils,
    langgraph,
    openai_agents,
    pydantic_ai,
    xpert,
)
from agent_adapter.receipts.ring import Ring
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve
from agent_adapter.worker import ResumeWorker
from agent_adapter.worker.langgraph import ResumableGraph
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.support.builders import asking

URL = "redis://127.0.0.1:1/0"
DICTIONARY = {"action_requests": []}


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


@pytest.mark.parametrize("given", [DICTIONARY, "billing.1", None, asking()])
async def test_what_is_published_is_an_interrupt(client, given):
    """The sentence says how it is made."""
    for attempt in (client.publish(given), entered(client.reviewing(given))):
        with pytest.raises(WrongArgumentError, match=r"interrupt: this is .*: pass the Interrupt"):
            await attempt


async def test_an_interrupt_is_named_by_its_id(client):
    """Not by itself."""
    given = client.interrupt(asking())
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


THREAD = {"configurable": {"thread_id": "1"}}
INTEGRATIONS = {
    "langgraph.run": lambda client, given: langgraph.run(Unrun(), {}, approvals=client, config=THREAD, **given),
    "langgraph.stream": lambda client, given: _all(langgraph.stream(Unrun(), {}, approvals=client, config=THREAD, **given)),
    "langchain_dev_utils": lambda client, given: langchain_dev_utils.run(Unrun(), {}, approvals=client, config=THREAD, **given),
    "openai_agents.run": lambda client, given: openai_agents.run(None, "x", approvals=client, **given),
    "openai_agents.stream": lambda client, given: _all(openai_agents.stream(None, "x", approvals=client, **given)),
    "pydantic_ai.run": lambda client, given: pydantic_ai.run(None, "x", approvals=client, **given),
    "functions.run": lambda client, given: functions.run(_gated, {"to": "al"}, approvals=client, **given),
    "xpert.run": lambda client, given: xpert.run({}, approvals=client, thread_id="1", send=print, **given),
    "graph.start": lambda client, given: ResumableGraph(name="a", graph=None, version="1").start({}, approvals=client, config=THREAD, **given),
    "agent.start": lambda client, given: ResumableAgent(name="a", agent=None, version="1").start("x", approvals=client, **given),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGRATIONS)
@pytest.mark.parametrize("given", [URL, DICTIONARY, None, ApprovalClient])
async def test_an_integration_asks_through_a_client(name, given):
    """Nothing of the agent has run."""
    with pytest.raises(WrongArgumentError, match=r"approvals: this is .*: pass a client, as in `async with"):
        await INTEGRATIONS[name](given, {})


@pytest.mark.parametrize("name", INTEGRATIONS)
async def test_an_integration_is_asynchronous_and_says_how_a_client_that_blocks_runs_it(name):
    """Its own client goes in, and it runs the whole."""
    blocking = SyncApprovalClient(ApprovalClient.from_url(URL, agent="billing"))

    with pytest.raises(WrongArgumentError, match="a SyncApprovalClient: pass its `client`, and let it run"):
        await INTEGRATIONS[name](blocking, {})


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


# --- How to ask -----------------------------------------------------------------------------------------------------

WRONG_OPTIONS = [
    ({"expires_in": "5m"}, r"expires_in: this is a text: pass a timedelta, as in timedelta\(minutes=5\)"),
    ({"expires_in": True}, r"expires_in: this is a bool: pass a timedelta, as in timedelta\(minutes=5\), or seconds"),
    ({"expires_in": float("nan")}, r"expires_in: nan is not from 1 second to 7 days"),
    ({"expires_in": timedelta(days=8)}, r"expires_in: 8 days, 0:00:00 is not from 1 second to 7 days"),
    ({"channel": ""}, "channel: this text is empty: pass the id of a Slack channel, as in 'C0123ABCD', or leave it out"),
    ({"on_expiry": "aprove"}, r"on_expiry: 'aprove' is not one of reject, raise \(did you mean 'approve'\?\); approve is one only"),
    ({"chanel": "C0123ABCD"}, r"chanel: no such option \(did you mean 'channel'\?\); the options are channel, thread_ts"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "says"), WRONG_OPTIONS, ids=[f"{row[0]}" for row in WRONG_OPTIONS])
async def test_the_error_about_a_wrong_option_names_the_right_one(client, given, says):
    """A wait of another length, or a card in another channel, would be noticed too late."""
    with pytest.raises(WrongArgumentError, match=f"^{says}"):
        await client.review(asking(), **given)


async def _never(*_args, **_options):
    raise AssertionError("it ran")


class Unrun:
    """A graph that may not run."""

    ainvoke = aget_state = _never


async def _gated(to: str) -> None: ...


ASKS = INTEGRATIONS | {
    "requires_approval": lambda client, given: functions.requires_approval(client, **given)(_gated),
}


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("given", [{"expires_in": "5m"}, {"chanel": "C0123ABCD"}])
async def test_an_integration_refuses_a_wrong_argument_before_anything_runs(name, given):
    """Not at the first pause, when half of the work is done."""
    client = InMemoryApprovalClient(lambda *_: approve())
    with pytest.raises(WrongArgumentError, match=r"expires_in: this is a text|did you mean 'channel'"):
        await ASKS[name](client, given)


# --- What is asked --------------------------------------------------------------------------------------------------

ACTION = {"name": "pay", "args": {}}
CONFIG = {"action_name": "pay", "allowed_decisions": ["approve"]}


@pytest.mark.parametrize("run", [langgraph.run, langchain_dev_utils.run])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"config": "t1"}, r'config: this is a text: pass config=\{"configurable"'),
        ({"config": {"configurable": "t1"}}, r"config\[.configurable.\]: this is a text"),
        ({"tools": ["pay"]}, r"tools\[0\]: this is a text: pass a list of tools or functions"),
        ({"tools": "pay"}, "tools: this is a text: pass a list of tools or functions"),
    ],
)
async def test_the_error_about_a_wrong_argument_of_a_graph_names_the_place(client, run, given, says):
    """Before the graph runs."""
    with pytest.raises(WrongArgumentError, match=says):
        await run(
            object(), None, approvals=client, **{"config": {"configurable": {"thread_id": "t"}}, **given}
        )


def test_a_client_belongs_to_one_event_loop(redis_url):
    """One that is open in another, or that a client which blocks runs, says what to do."""
    client, first = ApprovalClient.from_url(redis_url, agent="billing"), asyncio.new_event_loop()
    first.run_until_complete(client.__aenter__())
    with SyncApprovalClient.from_url(redis_url, agent="billing") as blocking:
        uses = [partial(used.review, asking()) for used in (client, blocking.client)]
        for use in (client.__aenter__, partial(client.record, "billing.x"), *uses, client.close):
            with pytest.raises(
                AgentAdapterError, match="in another event loop or process: open one with `async with`"
            ):
                asyncio.run(use())
    first.run_until_complete(client.close())
    first.close()


def test_a_client_that_was_closed_is_opened_again_in_another_event_loop(redis_url):
    """Also where more calls than it has connections waited for one in the first."""
    client = ApprovalClient.from_url(redis_url, agent="billing")

    async def look():
        async with client:
            looks = [client.record("billing.x") for _ in range(100)]
            return {type(each) for each in await asyncio.gather(*looks, return_exceptions=True)}

    assert asyncio.run(look()) == asyncio.run(look()) == {UnknownInterruptError}


_FORKS = """
import asyncio, os, sys
from agent_adapter import ApprovalClient
loop, client = asyncio.new_event_loop(), ApprovalClient.from_url(sys.argv[1], agent="billing")
loop.run_until_complete(client.__aenter__())
if os.fork() == 0:
    loop.run_until_complete(client.record("billing.x"))
os.wait()
"""


def test_a_client_belongs_to_one_process(redis_url):
    """Also where a forked one goes on with the same event loop: it would read the answers of the other."""
    forked = subprocess.run(
        [sys.executable, "-c", _FORKS, redis_url], check=True, capture_output=True, text=True, timeout=60
    )
    assert "opened in another event loop or process" in forked.stderr


# --- Anything else --------------------------------------------------------------------------------------------------


def _in_memory():
    return InMemoryApprovalClient(lambda *_: approve(), agent="billing")


def _from_url(url=URL, **given):
    return ApprovalClient.from_url(url, agent="billing", **given)


def _interrupt(**given):
    return _in_memory().interrupt(asking(), **given)


GATE = Gate({"pay": True})
AGENT, DUMP = Agent(name="a"), '{"assent":1,"agent":"a"}'
MISPLACED = [
    (lambda: Context(requestd_by="U0NOOR"), r"Context: there is no 'requestd_by' \(did you mean 'requested_by'\?\); the fields are requested_by, title"),
    (HITLRequest, r"HITLRequest\.action_requests: Field required"),
    (lambda: HITLRequest([ACTION], [CONFIG]), "HITLRequest: pass everything by its name: action_requests, review_configs"),
    (lambda: HITLRequest(action_requests=ActionRequest(**ACTION), review_configs=[CONFIG]), r"HITLRequest\.action_requests: this is one ActionRequest: pass a tuple"),
    (lambda: ReviewConfig(action_name="pay", allowed_decisions="approve"), r"ReviewConfig\.allowed_decisions: this is one str: pass a tuple"),
    (lambda: Context(links=[{"label": "Ticket", "url": "https://example.com", "ulr": ""}]), r"Context\.links\[0\]: there is no 'ulr'; the fields are label, url"),
    (lambda: HITLRequest(action_requests=[ACTION], review_configs=[{**CONFIG, "allowed_decisions": ["approve", "rejct"]}]), r"HITLRequest\.review_configs\[0\]\.allowed_decisions: 'rejct' is not a decision .*'reject'"),
    (lambda: ApprovalClient(URL), "redis: this is a text: for the address of a Redis, write `async with"),
    (lambda: SyncApprovalClient(URL), r"client: this is a text: .*write `with SyncApprovalClient\.from_url"),
    (lambda: SyncApprovalClient.from_url(6379, agent="billing"), "url: this is an int: .*as in 'redis://localhost:6379/0'"),
    (lambda: ResumeWorker(DICTIONARY, []), "approvals: this is a dictionary: pass a client"),
    (lambda: SyncApprovalClient.from_url(URL, agent="billing", claim_lease=30), "claim_lease: this is an int: pass a timedelta, as in"),
    (lambda: SyncApprovalClient.from_url(URL, agent="billing", namspace="x"), r"namspace: .* no such argument \(did you mean 'namespace'"),
    (lambda: _from_url(claim_lease=timedelta(0)), "claim_lease: 0 seconds are too short: pass a timedelta"),
    (lambda: _from_url(ring=5), "ring: this is an int: pass the path of the file of public keys"),
    (lambda: _from_url(ring=Ring(), min_people=-1), "min_people: -1 is below 0: pass how many people must have agreed"),
    (lambda: _from_url(signer="x"), "signer: this is a text: pass what read_signer gives"),
    (lambda: _from_url("http://localhost"), "not the address of a Redis: write redis://host:6379/0"),
    (lambda: SyncApprovalClient(_from_url()).run(langgraph.run), "work: this is a function: call the asynchronous function"),
    (lambda: _interrupt(run="r", pauses="call"), r"pauses: this is a text: pass a tuple with an id for each action"),
    (lambda: _interrupt(pauses=("call",)), "pauses: without a run, nobody could find this question again"),
    (lambda: requires_receipt(keys=None, audience="billing"), "keys: this is None: say whom to trust"),
    (lambda: requires_receipt(keys=Ring(), audience="billing", used="used.db"), r"used: this is a text: pass a store, as in SqliteUsed"),
    (lambda: functions.run(len, '{"obj": []}', approvals=_in_memory()), r"arguments: this is a text: .*json\.loads"),
    (lambda: functions.requires_approval(print), r"approvals: this is a builtin_function_or_method: say whom to ask, as in `@requires"),
    (lambda: functions.run(functions.requires_approval(_in_memory())(_gated), {"to": "x"}, approvals=_in_memory()), "_gated is gated already: people would be asked twice"),
    (lambda: functions.requires_approval(_in_memory(), on_rejct=str), r"on_rejct: no such option \(did you mean 'on_reject'"),
    (lambda: ASKS["langgraph.run"](_in_memory(), {"optoins": {}}), r"optoins: .*'options'.*the framework itself takes goes into options="),
    (lambda: langgraph.run(Unrun(), {}, approvals=_in_memory(), config=THREAD, options="x"), "options: this is a text: pass a dictionary"),
    (lambda: langgraph.run({"messages": []}, Unrun(), approvals=_in_memory(), config=THREAD), r"graph: this is a dictionary: pass the graph .*, and after it its input"),
    (lambda: langgraph.run(StateGraph(dict), {}, approvals=_in_memory(), config=THREAD), r"graph: this is a .*StateGraph: pass the graph that \.compile\("),
    (lambda: langgraph.to_request({"__interrupt__": []}), r"pauses: this is a dictionary: pass result\["),
    (lambda: GATE.review([ACTION]), r"calls\[0\]: this is a dictionary: pass a list of calls"),
    (lambda: custom(print, allowed_decisions="approve"), r"allowed_decisions: this is a text: pass some of approve, reject, respond"),
    (lambda: custom(print, edit={"go": True}), "edit: this is a dictionary: pass a function of the changed arguments"),
    (lambda: custom(print, tool=7), "tool: this is an int: pass a name, as in tool='pay'"),
    (lambda: custom(print, schema="object"), "schema: this is a text: pass a JSON Schema"),
    (lambda: ScriptedReviewer({"pay": "approve"}), r"answers: this is a text: write approve\(\)"),
    (lambda: ResumeWorker(_in_memory(), [AGENT]), r"registry: this is a list: pass a list of ResumableGraph"),
    (lambda: openai_agents.run(AGENT, DUMP, approvals=_in_memory()), r"input: this is the text of a paused run, .*await PausedRun\.load\(agent, text\)"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "says"), MISPLACED, ids=[row[1] for row in MISPLACED])
async def test_what_is_in_the_wrong_place_is_told_with_what_to_pass_instead(write, says):
    """Before anything is asked or runs: a requester that nobody reads, or a button that is not there, would be lost in silence."""
    with pytest.raises(WrongArgumentError, match=f"^(this is )?{says}") as said:
        await write()

    assert "pydantic" not in str(said.value)


def test_an_open_client_is_not_opened_again(redis_url):
    """It goes on as it was."""
    with SyncApprovalClient.from_url(redis_url, agent="billing") as blocking:
        for again in (blocking.__enter__, lambda: blocking.run(blocking.client.__aenter__())):
            with pytest.raises(AgentAdapterError, match="open already: use it"):
                again()
        assert blocking.publish(blocking.interrupt(asking()))
