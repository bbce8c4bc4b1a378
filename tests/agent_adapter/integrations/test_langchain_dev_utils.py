"""Tools decorated by langchain-dev-utils: its own handlers, a custom one, and ours."""

from datetime import date

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent_adapter import ActionRequest, Outcome
from agent_adapter.dialects import custom
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.langchain_dev_utils import handler, run, to_request, to_resume
from agent_adapter.testing import approve, edit, reject
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, answers_to_model
from tests.agent_adapter.integrations.till import Till, agent, asks_in_a_sentence, asks_with_the_arguments
from tests.support.builders import a_resume
from tests.support.deciding import deciding, outcomes_of
from tests.support.scripted_model import ScriptedModel, says


@pytest.fixture
def till():
    return Till()


# --- A custom handler: the example of the package's own page ------------------------------------------------------


async def test_handler_that_pauses_with_a_sentence_gets_accept_or_reject(till):
    """As in the package's page, without a name for what it reads. Silence is a rejection."""
    approvals = deciding(approve(), reject("why"), None)
    graph = agent(till.decorated(asks_in_a_sentence), *({"to": name} for name in ("al", "bo", "cy")))

    result = await run(graph, GO, approvals=approvals, config=CONFIG)

    shown = {"value": "I am about to call pay. Go on?"}
    assert [(action.name, action.args) for action in approvals.reviewer.asked] == [("pay", shown)] * 3
    assert till.paid == [("al", 5)]
    said = ["paid 5 to al", *["User rejected this tool call"] * 2]
    assert answers_to_model(result) == {f"call_{n}": ("success", text) for n, text in enumerate(said, 1)}


@pytest.mark.parametrize("dialect", [None, "accept_reject"])
@pytest.mark.parametrize("whose", ["theirs", "ours"])
async def test_other_handlers_beside_one_that_pauses_with_a_sentence(till, whose, dialect):
    """Each keeps its own decisions, Edit among them, whether or not the caller names what the sentence reads."""
    first = till.decorated(handler if whose == "ours" else None)
    second = till.decorated(asks_in_a_sentence)
    second.name = "pay_in_cash"
    turn = says(("pay", {"to": "al"}), ("pay_in_cash", {"to": "bo"}))
    graph = create_agent(ScriptedModel(turns=[turn, DONE]), [first, second], checkpointer=InMemorySaver())
    approvals = deciding(edit({"to": "cy"}), reject("no"))

    await run(graph, GO, approvals=approvals, config=CONFIG, dialect=dialect)

    assert till.paid == [("cy", 5)]


PAYS = custom(
    lambda decision: {"type": "accept" if decision.type == "approve" else "reject"},
    edit=lambda args: {"type": "edit", "args": args},
)


async def test_handler_that_pauses_with_the_arguments_can_take_an_edit(till):
    """The card has the name and the fields of the tool, and people read later what became of the call."""
    approvals = deciding(approve(), edit({"to": "di", "amount": 2}), reject("why"))
    graph = agent(till.decorated(asks_with_the_arguments), *({"to": name} for name in ("al", "bo", "cy")))

    result = await run(graph, GO, approvals=approvals, config=CONFIG, dialect=PAYS)

    (asked,) = approvals.asked
    shown = ActionRequest(name="pay", args={"to": "al", "amount": 5})
    assert asked.request.action_requests[0] == shown
    assert set(asked.request.review_configs[0].args_schema["properties"]) == {"to", "amount"}
    assert sorted(till.paid) == [("al", 5), ("di", 2)]
    said = ["paid 5 to al", "paid 2 to di", "not paid"]
    assert answers_to_model(result) == {f"call_{n}": ("success", text) for n, text in enumerate(said, 1)}
    assert await outcomes_of(approvals) == [Outcome.done(said[0]), Outcome.done(said[1]), None]


# --- Our handler --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "says_what"),
    [
        ({"decisions": [{"type": "edit", "edited_action": {"name": "nope", "args": {}}}]}, "'nope'"),
        ({"decisions": []}, "0 decisions for 1 actions"),
        ({"type": "accept"}, "an answer is"),
        ("yes", "an answer is"),
    ],
    ids=["another tool", "no decision", "another dialect", "text"],
)
async def test_answer_that_cannot_be_used_runs_nothing(till, answer, says_what):
    """Whoever resumes the graph without this library."""
    graph = agent(till.decorated(handler))
    (first,) = (await graph.ainvoke(GO, CONFIG))["__interrupt__"]

    with pytest.raises(DecisionNotAllowedError, match=says_what):
        await graph.ainvoke(Command(resume={first.id: answer}), CONFIG)

    assert till.paid == []


async def test_outcome_of_a_call_that_was_asked_with_its_defaults_is_reported(till):
    """The tool starts with what the model wrote, which is less than people read."""
    approvals = deciding(approve())

    await run(agent(till.decorated(handler)), GO, approvals=approvals, config=CONFIG)

    assert await outcomes_of(approvals) == [Outcome.done("paid 5 to al")]


async def test_typed_and_injected_arguments_are_shown_as_json_and_run_as_they_are():
    """A date is shown as text and arrives as a date; what LangGraph injects is neither shown nor lost in an edit."""
    booked = []

    @human_in_the_loop(handler=handler)
    @tool
    def book(day: date, runtime: ToolRuntime) -> str:
        """Book a day."""
        booked.append((day, runtime.tool_call_id))
        return "booked"

    turn = says(("book", {"day": "2026-11-20"}), ("book", {"day": "2026-11-21"}))
    graph = create_agent(ScriptedModel(turns=[turn, DONE]), [book], checkpointer=InMemorySaver())
    approvals = deciding(approve(), edit({"day": "2026-12-24"}))

    await run(graph, GO, approvals=approvals, config=CONFIG)

    assert [action.args for action in approvals.reviewer.asked] == [
        {"day": "2026-11-20"},
        {"day": "2026-11-21"},
    ]
    assert sorted(booked) == [(date(2026, 11, 20), "call_1"), (date(2026, 12, 24), "call_2")]


async def test_asynchronous_tool_under_the_decorator_that_blocks_is_refused_before_anybody_is_asked():
    """It could not run what was approved; the error names the decorator that can."""

    @human_in_the_loop(handler=handler)
    async def book(day: str) -> str:
        """Book a day."""
        return "booked"

    model = ScriptedModel(turns=[says(("book", {"day": "2026-11-20"})), DONE])
    graph = create_agent(model, [book], checkpointer=InMemorySaver())
    approvals = deciding()

    with pytest.raises(InvalidRequestError, match=r"book is asynchronous.*human_in_the_loop_async"):
        await run(graph, GO, approvals=approvals, config=CONFIG)

    assert approvals.asked == ()


# --- By hand ------------------------------------------------------------------------------------------------------


async def test_pauses_are_converted_without_run(till):
    """`to_request` and `to_resume` know the default handler's form."""
    graph = agent(till.decorated())
    pauses = (await graph.ainvoke(GO, CONFIG))["__interrupt__"]

    (config,) = to_request(pauses).review_configs
    assert set(config.allowed_decisions) == {"approve", "edit", "reject", "respond"}
    (action,) = to_request(pauses).action_requests
    resume = a_resume(edit({"to": "bo", "amount": 2})(action))
    await graph.ainvoke(to_resume(resume, pauses), CONFIG)

    assert till.paid == [("bo", 2)]
