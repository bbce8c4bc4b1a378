"""Running graphs of all shapes with approvals in between."""

import importlib.util
import operator
import sys
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agent_adapter.errors import InterruptExpiredError, InvalidRequestError
from agent_adapter.integrations import langgraph
from agent_adapter.integrations.langgraph import run, to_request
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, MAIL, TURN, Office, answers_to_model
from tests.support.scripted_model import ScriptedModel, says

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])
NOTHING_TO_ASK = InMemoryApprovalClient(ScriptedReviewer([]))


@MODES
async def test_each_decision_does_what_it_says(mode):
    """The edited call runs with the person's arguments, the rejected does not run, the answered one is answered."""
    office = Office()
    edited = {"to": "b@x.com", "subject": "S2"}
    reviewer = ScriptedReviewer(
        {"send_email": edit(edited), "delete_file": reject("no"), "ask_user": respond("staging")}
    )

    result = await run(
        office.agent(TURN, DONE, mode=mode), GO, approvals=InMemoryApprovalClient(reviewer), config=CONFIG
    )

    assert sorted(office.ran) == [
        ("read_file", {"path": "/etc/hosts"}),
        ("send_email", {**edited, "body": ""}),
    ]
    answers = answers_to_model(result)
    status, content = answers.pop("call_1")
    assert status == "success"
    assert content.startswith("Note: a human reviewer replaced this tool call")
    assert content.endswith("Tool response:\nsent to b@x.com")
    assert answers == {
        "call_2": ("success", "data"),
        "call_3": ("error", "User rejected the tool call for `delete_file` with reason: no"),
        "call_4": ("success", "staging"),
    }
    assert result["messages"][-1].content == "done"
    assert "__interrupt__" not in result


@MODES
async def test_approved_calls_run_unchanged(mode):
    """What was shown is what runs."""
    office = Office()
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": approve(), "ask_user": respond("x")})

    await run(
        office.agent(TURN, DONE, mode=mode), GO, approvals=InMemoryApprovalClient(reviewer), config=CONFIG
    )

    assert ("send_email", MAIL) in office.ran
    assert ("delete_file", {"path": "report.txt"}) in office.ran
    assert {action.name: action.args for action in reviewer.asked} == {
        "send_email": MAIL,
        "delete_file": {"path": "report.txt"},
        "ask_user": {"question": "Which env?"},
    }


@MODES
async def test_reject_without_a_reason_uses_the_words_of_the_framework(mode):
    """No reason is not an empty reason."""
    office = Office()
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": reject(), "ask_user": respond("x")})

    result = await run(
        office.agent(TURN, DONE, mode=mode), GO, approvals=InMemoryApprovalClient(reviewer), config=CONFIG
    )

    assert answers_to_model(result)["call_3"][1].startswith(
        "User rejected the tool call for `delete_file` with id call_3."
    )


@MODES
async def test_actions_are_asked_in_the_order_of_the_models_calls(mode):
    """A person reads the calls in the order in which the agent wrote them, whatever order the tasks ended in."""
    calls = [("delete_file", {"path": f"{number}.txt"}) for number in range(9)]
    reviewer = ScriptedReviewer({"delete_file": approve()})

    await run(
        Office().agent(says(*calls), DONE, mode=mode),
        GO,
        approvals=InMemoryApprovalClient(reviewer),
        config=CONFIG,
    )

    assert [action.args["path"] for action in reviewer.asked] == [args["path"] for _, args in calls]


async def test_more_pauses_than_one_question_holds_are_asked_one_after_another():
    """A turn of sixty calls is two questions; every call is asked once and runs once."""
    office = Office()
    turn = says(*(("delete_file", {"path": f"{number}.txt"}) for number in range(60)))
    reviewer = ScriptedReviewer({"delete_file": approve()})

    await run(
        office.agent(turn, DONE, mode="per_call"),
        GO,
        approvals=InMemoryApprovalClient(reviewer),
        config=CONFIG,
    )

    assert [action.args["path"] for action in reviewer.asked] == [f"{number}.txt" for number in range(60)]
    assert sorted(args["path"] for _, args in office.ran) == sorted(f"{number}.txt" for number in range(60))


@MODES
async def test_two_calls_of_one_tool_get_their_own_decisions(mode):
    """Decisions are matched to calls, not to names."""
    office = Office()
    turn = says(("delete_file", {"path": "a"}), ("delete_file", {"path": "b"}))
    reviewer = ScriptedReviewer({"delete_file": [reject("keep a"), approve()]})

    await run(
        office.agent(turn, DONE, mode=mode), GO, approvals=InMemoryApprovalClient(reviewer), config=CONFIG
    )

    assert office.ran == [("delete_file", {"path": "b"})]


@MODES
async def test_every_round_is_asked(mode):
    """Model servers reuse call ids in every turn; each turn is a question of its own."""
    office = Office()
    turns = [says(("delete_file", {"path": path})) for path in ("a", "b", "c")]
    reviewer = ScriptedReviewer({"delete_file": [approve(), reject("keep b"), approve()]})

    result = await run(
        office.agent(*turns, DONE, mode=mode), GO, approvals=InMemoryApprovalClient(reviewer), config=CONFIG
    )

    assert office.ran == [("delete_file", {"path": "a"}), ("delete_file", {"path": "c"})]
    assert result["messages"][-1].content == "done"


@MODES
async def test_calls_that_the_policy_lets_through_are_not_asked(mode):
    """`when` decides which calls pause."""
    office = Office()
    gated = {
        "delete_file": {
            "allowed_decisions": ["approve", "reject"],
            "when": lambda request: request.tool_call["args"]["path"].startswith("/etc"),
        }
    }
    turn = says(("delete_file", {"path": "/tmp/x"}), ("delete_file", {"path": "/etc/hosts"}))
    reviewer = ScriptedReviewer([reject("no")])

    await run(
        office.agent(turn, DONE, mode=mode, interrupt_on=gated),
        GO,
        approvals=InMemoryApprovalClient(reviewer),
        config=CONFIG,
    )

    assert office.ran == [("delete_file", {"path": "/tmp/x"})]
    assert [action.args["path"] for action in reviewer.asked] == ["/etc/hosts"]


async def test_run_without_a_pause_just_runs():
    """Nobody is asked when nothing pauses."""
    office = Office()

    result = await run(
        office.agent(says(("read_file", {"path": "x"})), DONE), GO, approvals=NOTHING_TO_ASK, config=CONFIG
    )

    assert result["messages"][-1].content == "done"


async def test_silence_rejects():
    """Nobody decided in time: the call does not run, and the model is told why."""
    office = Office()
    turn = says(("delete_file", {"path": "a"}))

    result = await run(
        office.agent(turn, DONE),
        GO,
        approvals=InMemoryApprovalClient(lambda action, config: None),
        config=CONFIG,
    )

    assert office.ran == []
    assert "Nobody decided in time." in answers_to_model(result)["call_1"][1]


async def test_silence_raises_where_the_run_asked_for_it():
    """With `on_expiry="raise"` the thread stays paused."""
    agent = Office().agent(says(("delete_file", {"path": "a"})), DONE)

    with pytest.raises(InterruptExpiredError):
        await run(
            agent,
            GO,
            approvals=InMemoryApprovalClient(lambda action, config: None),
            config=CONFIG,
            on_expiry="raise",
        )

    assert len((await agent.aget_state(CONFIG)).interrupts) == 1


# --- Graphs ----------------------------------------------------------------------------------------------------------


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


def asks(name: str, path: str):
    """Make a node that asks before it notes."""

    def node(state: Notes):
        answer = interrupt(
            {
                "action_requests": [{"name": "delete_file", "args": {"path": path}}],
                "review_configs": [
                    {"action_name": "delete_file", "allowed_decisions": ["approve", "reject"]}
                ],
            }
        )
        return {"notes": [f"{name}: {answer['decisions'][0]['type']}"]}

    return node


async def test_parallel_nodes_each_get_their_own_answer():
    """Pauses of parallel nodes are one batch, and each node gets the decision about its own call."""
    builder = StateGraph(Notes)
    for name in ("east", "west", "north", "south"):
        builder.add_node(name, asks(name, f"{name}.txt"))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    kept = {"west.txt", "south.txt"}
    reviewer = ScriptedReviewer(
        {"delete_file": lambda action: reject() if action.args["path"] in kept else approve()}
    )

    result = await run(graph, {"notes": []}, approvals=InMemoryApprovalClient(reviewer), config=CONFIG)

    assert sorted(result["notes"]) == ["east: approve", "north: approve", "south: reject", "west: reject"]


async def test_pauses_of_a_graph_inside_a_graph_are_asked():
    """An inner agent's pause surfaces on the outer run."""
    inner = StateGraph(Notes).add_node("ask", asks("inner", "x")).add_edge(START, "ask").compile()
    outer = (
        StateGraph(Notes)
        .add_node("inner", inner)
        .add_edge(START, "inner")
        .compile(checkpointer=InMemorySaver())
    )
    reviewer = ScriptedReviewer({"delete_file": approve()})

    result = await run(outer, {"notes": []}, approvals=InMemoryApprovalClient(reviewer), config=CONFIG)

    assert result["notes"] == ["inner: approve"]


def pauses_with(value):
    """Make a graph that pauses with this value, and notes what it is given."""
    builder = StateGraph(Notes)
    builder.add_node("ask", lambda state: {"notes": [interrupt(value)]})
    return builder.add_edge(START, "ask").compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("value", ["what is your name?", 7, None, [], {}, {"question": ["name", {"of": 1}]}])
async def test_a_pause_of_the_graphs_own_is_shown_whole_and_answered_with_words(value):
    """Any value can be asked about; the caller says that the graph reads text."""
    reviewer = ScriptedReviewer([respond("Noor")])

    result = await run(
        pauses_with(value),
        {"notes": []},
        approvals=InMemoryApprovalClient(reviewer),
        config=CONFIG,
        dialect="text",
    )

    assert [(action.name, action.args) for action in reviewer.asked] == [("interrupt", {"value": value})]
    assert result["notes"] == ["Noor"]


@pytest.mark.parametrize(
    ("value", "says_what"),
    [
        ({"review_configs": []}, "pause.action_requests"),
        ({"action_request": "send"}, "pause.action_request"),
        ([{"action_request": {"action": "send", "args": {}}}], r"pause\[0\].config"),
        ({"actionRequests": []}, "pause.reviewConfigs"),
        ({"type": "tool_approval"}, "pause.tool_call_id"),
        ({"at": {1, 2}}, "how it reads the answer"),
    ],
)
async def test_a_broken_request_is_refused_and_not_asked_about_as_it_is(value, says_what):
    """An answer in words would break a program that expects a decision. The thread stays paused."""
    graph = pauses_with(value)

    with pytest.raises(InvalidRequestError, match=says_what):
        await run(graph, {"notes": []}, approvals=NOTHING_TO_ASK, config=CONFIG)

    assert (await graph.aget_state(CONFIG)).interrupts[0].value == value


async def test_the_caller_names_the_dialect_of_pauses_of_the_graphs_own():
    """The graph takes `{"type": "accept"}`; nothing in its question says so."""
    approvals = InMemoryApprovalClient(ScriptedReviewer([approve()]))

    result = await run(
        pauses_with("go on?"), {"notes": []}, approvals=approvals, config=CONFIG, dialect="accept_reject"
    )

    assert result["notes"] == [{"type": "accept"}]


async def test_the_named_dialect_leaves_reviews_of_langchain_alone():
    """One name serves a run that pauses in several ways."""
    office = Office()
    reviewer = ScriptedReviewer({"delete_file": approve()})

    await run(
        office.agent(says(("delete_file", {"path": "a"})), DONE),
        GO,
        approvals=InMemoryApprovalClient(reviewer),
        config=CONFIG,
        dialect="accept_reject",
    )

    assert office.ran == [("delete_file", {"path": "a"})]


async def test_a_dialect_that_does_not_exist_is_refused_before_the_graph_runs():
    """The sentence lists those that there are."""
    office = Office()

    with pytest.raises(
        InvalidRequestError, match=r"'dev-utils' is not the name of a dialect; the names are .*dev_utils"
    ):
        await run(office.agent(TURN, DONE), GO, approvals=NOTHING_TO_ASK, config=CONFIG, dialect="dev-utils")

    assert office.ran == []


class Tenant(TypedDict):
    tenant: str


async def test_options_reach_every_call_of_the_graph():
    """A graph with a runtime context has it before and after the pause."""

    def node(state: Notes, runtime: Runtime[Tenant]):
        return {"notes": [*asks("n", "x")(state)["notes"], runtime.context["tenant"]]}

    builder = (
        StateGraph(Notes, context_schema=Tenant).add_node("n", node).add_edge(START, "n").add_edge("n", END)
    )
    graph = builder.compile(checkpointer=InMemorySaver())

    result = await run(
        graph,
        {"notes": []},
        approvals=InMemoryApprovalClient(ScriptedReviewer([approve()])),
        config=CONFIG,
        options={"context": {"tenant": "acme"}, "version": "v2"},
    )

    assert result.value["notes"] == ["n: approve", "acme"]


# --- What is refused before anything runs ----------------------------------------------------------------------------


async def test_graph_without_a_checkpointer_is_refused_before_it_runs():
    """It could not be resumed, so nothing may happen in it."""
    office = Office()
    agent = create_agent(
        ScriptedModel(turns=[TURN, DONE]),
        office.tools,
        middleware=[HumanInTheLoopMiddleware({"send_email": True})],
    )

    with pytest.raises(InvalidRequestError, match=r"no checkpointer.*compile"):
        await run(agent, GO, approvals=NOTHING_TO_ASK, config=CONFIG)

    assert office.ran == []


@pytest.mark.parametrize(
    ("config", "says_what"),
    [
        ({}, "thread_id"),
        ({"configurable": {"thread_id": ""}}, "thread_id"),
        ({"configurable": {"thread_id": "t", "checkpoint_id": "c"}}, "leave it out"),
    ],
)
async def test_config_that_could_not_be_resumed_is_refused_before_the_graph_runs(config, says_what):
    """The sentence names what to pass."""
    office = Office()

    with pytest.raises(InvalidRequestError, match=says_what):
        await run(office.agent(TURN, DONE), GO, approvals=NOTHING_TO_ASK, config=config)

    assert office.ran == []


def test_missing_framework_is_named_with_its_packages(monkeypatch):
    """Importing the integration without LangGraph says what to install."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "langgraph"]:
        monkeypatch.setitem(sys.modules, name, None)
    spec = importlib.util.spec_from_file_location("again", langgraph.__file__)

    with pytest.raises(ImportError, match=r'pip install "langchain>=1\.4\.6" "langgraph>=1\.2\.20"'):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


# --- Argument schemas ------------------------------------------------------------------------------------------------


class Configs(InMemoryApprovalClient):
    """Keeps the review configs that were published."""

    def __init__(self):
        super().__init__(
            ScriptedReviewer({"send_email": None, "delete_file": None, "ask_user": respond("x")})
        )
        self.schemas = {}

    async def publish(self, interrupt):
        self.schemas |= {
            config.action_name: config.args_schema for config in interrupt.request.review_configs
        }
        return await super().publish(interrupt)


@MODES
async def test_schemas_come_from_the_agents_own_tools(mode):
    """Neither mode leaves the reviewer without a form, although batched pauses carry no schema."""
    approvals = Configs()

    await run(Office().agent(TURN, DONE, mode=mode), GO, approvals=approvals, config=CONFIG)

    assert approvals.schemas["send_email"]["required"] == ["to", "subject"]
    assert approvals.schemas["send_email"]["properties"]["body"] == {
        "default": "",
        "title": "Body",
        "type": "string",
    }


async def test_schemas_come_from_the_tools_of_an_inner_agent():
    """A subagent's tools are found in its own graph."""
    inner = Office().agent(says(("delete_file", {"path": "a"})), DONE)
    inner.checkpointer = None
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    approvals = Configs()

    await run(outer.compile(checkpointer=InMemorySaver()), GO, approvals=approvals, config=CONFIG)

    assert approvals.schemas["delete_file"]["required"] == ["path"]


async def test_schemas_come_from_the_caller_where_the_graph_has_none():
    """Tools that a node calls by itself cannot be found; `tools=` names them, as functions or as tools."""
    graph = (
        StateGraph(Notes)
        .add_node("ask", asks("n", "x"))
        .add_edge(START, "ask")
        .compile(checkpointer=InMemorySaver())
    )
    with_tools, without = Configs(), Configs()
    elsewhere = {"configurable": {"thread_id": "thread-2"}}

    await run(graph, {"notes": []}, approvals=with_tools, config=CONFIG, tools=Office().tools)
    await run(graph, {"notes": []}, approvals=without, config=elsewhere)

    assert with_tools.schemas["delete_file"]["required"] == ["path"]
    assert without.schemas["delete_file"] is None


async def test_two_tools_of_one_name_are_not_mixed_up():
    """Where two agents of a graph have different tools of one name, no schema is better than the wrong one."""

    def delete_file(bucket: str) -> str:
        """Delete another kind of file."""
        return bucket

    inner = Office().agent(says(("delete_file", {"path": "a"})), DONE)
    inner.checkpointer = None
    builder = StateGraph(MessagesState).add_node("inner", inner).add_node("other", ToolNode([delete_file]))
    builder.add_edge(START, "inner")
    approvals = Configs()

    await run(builder.compile(checkpointer=InMemorySaver()), GO, approvals=approvals, config=CONFIG)

    assert approvals.schemas["delete_file"] is None


# --- Pauses handed in by the caller ----------------------------------------------------------------------------------


async def test_pauses_may_come_as_list_or_tuple():
    """`invoke` gives a list, a stream of updates a tuple, a state a tuple."""
    agent = Office().agent(TURN, DONE)
    pauses = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]

    assert to_request(list(pauses)) == to_request(tuple(pauses))


async def test_lists_of_pauses_that_cannot_be_answered_are_refused():
    """No pause, or one twice."""
    agent = Office().agent(TURN, DONE)
    (pause,) = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]

    with pytest.raises(InvalidRequestError, match="no pauses"):
        to_request([])
    with pytest.raises(InvalidRequestError, match=f"{pause.id} is listed 2 times"):
        to_request([pause, pause])
    with pytest.raises(InvalidRequestError, match="not the id of a LangGraph pause"):
        to_request([type(pause)(pause.value, id="mine")])


# --- Names of tools ------------------------------------------------------------------------------------------------------


@MODES
async def test_misspelt_tool_in_the_middleware_is_refused_before_the_agent_runs(mode):
    """The tool that was meant would run with nobody asked."""
    office = Office()
    agent = office.agent(TURN, DONE, mode=mode, interrupt_on={"delete_fil": True, "send_email": True})

    with pytest.raises(
        InvalidRequestError, match=r"interrupt_on\['delete_fil'\].*did you mean 'delete_file'.*tools="
    ):
        await run(agent, GO, approvals=NOTHING_TO_ASK, config=CONFIG)

    assert office.ran == []


@pytest.mark.parametrize("inside", ["a node", "a tool"])
async def test_misspelt_tool_of_an_agent_inside_is_refused_too(inside):
    """Also where the outer agent reviews nothing."""
    office = Office()
    worker = office.agent(TURN, DONE, interrupt_on={"send_mail": True})
    worker.checkpointer = None

    async def hand_over(task: str) -> str:
        """Hand a task to the worker."""
        return str(await worker.ainvoke({"messages": [("user", task)]}))

    if inside == "a node":
        builder = StateGraph(MessagesState).add_node("worker", worker).add_edge(START, "worker")
        graph = builder.compile(checkpointer=InMemorySaver())
    else:
        graph = create_agent(ScriptedModel(turns=[DONE]), [hand_over], checkpointer=InMemorySaver())

    with pytest.raises(InvalidRequestError, match=r"interrupt_on\['send_mail'\].*did you mean 'send_email'"):
        await run(graph, GO, approvals=NOTHING_TO_ASK, config=CONFIG)


async def test_tool_that_the_graph_adds_while_it_runs_is_named_by_the_caller():
    """It is in no tool node, so only the caller knows it."""
    office = Office()

    def archive(path: str) -> str:
        """Archive a file."""
        return path

    agent = office.agent(DONE, interrupt_on={"archive": True})

    result = await run(agent, GO, approvals=NOTHING_TO_ASK, config=CONFIG, tools=[archive])

    assert result["messages"][-1].content == "done"
