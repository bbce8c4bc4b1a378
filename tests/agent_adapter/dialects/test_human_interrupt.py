"""HumanInterrupt: one flag per decision, two forms, two shapes of an edit."""

import operator
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from agent_adapter.dialects import DIALECTS
from agent_adapter.errors import InvalidRequestError
from agent_adapter.integrations.langgraph import run
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, answers_to_model
from tests.support.scripted_model import ScriptedModel, says

ALL = {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": True}
CALL = {"action": "pay", "args": {"to": "al", "amount": 5}}


def pause(config=ALL, **changes):
    return {"action_request": CALL, "config": config, "description": None, **changes}


def allowed_by(payload, name="human_interrupt"):
    (config,) = DIALECTS[name].to_request(payload).review_configs
    return config.allowed_decisions, config.effects


@pytest.mark.parametrize(
    ("flags", "allowed", "effects"),
    [
        ({"allow_accept": True}, ("approve",), ()),
        ({"allow_accept": True, "allow_ignore": True}, ("approve", "reject"), ()),
        ({"allow_accept": True, "allow_ignore": False}, ("approve",), ()),
        (
            {"allow_accept": True, "allow_respond": True},
            ("approve", "reject", "respond"),
            ("reject_as_answer",),
        ),
        ({"allow_ignore": True, "allow_respond": True}, ("reject", "respond"), ()),
        ({"allow_edit": True, "allow_ignore": False, "allow_accept": True}, ("approve", "edit"), ()),
        ({"allow_edit": True, "allow_accept": True}, ("approve",), ()),
        (ALL, ("approve", "edit", "reject", "respond"), ()),
    ],
)
def test_flags_say_what_is_offered(flags, allowed, effects):
    """What is not allowed is not offered; a missing flag allows nothing."""
    assert allowed_by(pause(flags)) == (allowed, effects)


@pytest.mark.parametrize("name", ["dev_utils", "human_interrupt_classic"])
def test_naming_the_dialect_offers_edit_where_the_keys_do_not_tell_its_shape(name):
    """The caller knows which program asks."""
    flags = {"allow_accept": True, "allow_edit": True}

    assert allowed_by(pause(flags)) == (("approve",), ())
    assert allowed_by(pause(flags), name) == (("approve", "edit"), ())


def test_the_oldest_generation_of_dev_utils_breaks_on_ignore_so_a_rejection_is_an_answer():
    """It asks with `allow_ignore` all the same."""
    assert allowed_by([pause()], "human_interrupt_list") == (("approve", "edit", "reject", "respond"), ())
    assert allowed_by([pause()], "dev_utils_0_1") == (
        ("approve", "edit", "reject", "respond"),
        ("reject_as_answer",),
    )


def test_words_that_only_repeat_the_call_are_dropped():
    """langchain-dev-utils names the tool, LangChain's template name and arguments; the card does both."""
    says_nothing = ["Please review tool call: pay", f"P\n\nTool: pay\nArgs: {CALL['args']}", "", None]
    texts = [
        DIALECTS["human_interrupt"].to_request(pause(description=text)).action_requests[0].description
        for text in [*says_nothing, "Please review tool call: pay it"]
    ]

    assert texts == [None, None, None, None, "Please review tool call: pay it"]


def test_a_rejection_without_a_reason_asks_the_model_not_to_try_again():
    """The model reads the answer of a tool, so the words have to say what it was."""
    answer = DIALECTS["dev_utils"].to_resume([reject()], pause({"allow_respond": True}))

    assert answer == {
        "type": "response",
        "args": "A person rejected this call of pay, and it was not executed. Do not repeat it unless asked to.",
    }


BROKEN = {
    "no config": ("human_interrupt", {"action_request": CALL}, "pause.config: Field required"),
    "a flag that is no boolean": (
        "human_interrupt",
        pause({"allow_accept": "yes"}),
        "pause.config.allow_accept: Input should be a valid boolean",
    ),
    "nothing allowed": ("human_interrupt", pause({}), "pause.config: nothing that could be decided"),
    "edit alone, of no known shape": ("human_interrupt", pause({"allow_edit": True}), "name the dialect"),
    "arguments that are no object": (
        "human_interrupt",
        pause(action_request={"action": "pay", "args": "all"}),
        "pause.action_request.args",
    ),
    "arguments that are no JSON": (
        "human_interrupt",
        pause(action_request={"action": "pay", "args": {"at": float("nan")}}),
        r"action_requests\[0\].args.at: nan is not a JSON number",
    ),
    "no name": (
        "human_interrupt",
        pause(action_request={"action": "", "args": {}}),
        r"action_requests\[0\].name: 0 characters",
    ),
    "an empty list": ("human_interrupt_list", [], "pause: Tuple should have at least 1 item"),
    "a list with something else in it": (
        "human_interrupt_list",
        [pause(), "and?"],
        r"pause\[1\]: Input should be a valid dictionary",
    ),
}


@pytest.mark.parametrize(("name", "payload", "says_what"), BROKEN.values(), ids=BROKEN)
def test_broken_pause_is_refused_naming_the_place(name, payload, says_what):
    """One sentence, before anything is stored."""
    with pytest.raises(InvalidRequestError, match=says_what):
        DIALECTS[name].to_request(payload)


# --- Real programs -------------------------------------------------------------------------------------------------------

EDITED = {"to": "bo", "amount": 7}


class Notes(TypedDict):
    notes: Annotated[list, operator.add]


@pytest.mark.parametrize(
    ("decision", "received"),
    [
        (approve(), {"type": "accept", "args": None}),
        (edit(EDITED), {"type": "edit", "args": {"action": "pay", "args": EDITED}}),
        (reject("too much"), {"type": "ignore", "args": None}),
        (respond("paid by hand"), {"type": "response", "args": "paid by hand"}),
    ],
    ids=["approve", "edit", "reject", "respond"],
)
@pytest.mark.parametrize("listed", [True, False], ids=["list", "object"])
async def test_a_graph_gets_the_response_in_the_form_in_which_it_asked(listed, decision, received):
    """A list where it takes the first of a list, an object otherwise; the other would break its thread."""

    def node(state: Notes):
        return {"notes": [interrupt([pause()])[0] if listed else interrupt(pause())]}

    graph = StateGraph(Notes).add_node("ask", node).add_edge(START, "ask").compile(InMemorySaver())
    reviewer = ScriptedReviewer({"pay": decision})

    result = await run(graph, {"notes": []}, approvals=InMemoryApprovalClient(reviewer), config=CONFIG)

    assert result["notes"] == [received]


@pytest.mark.parametrize(
    ("decision", "ran", "said"),
    [
        (approve(), [("al", 5)], "paid 5 to al"),
        (edit(EDITED), [("bo", 7)], "paid 7 to bo"),
        (
            reject("too much"),
            [],
            "A person rejected this call of pay, and it was not executed. Their reason: too much",
        ),
        (respond("paid by hand"), [], "paid by hand"),
    ],
    ids=["approve", "edit", "reject", "respond"],
)
async def test_a_tool_of_dev_utils_does_what_was_decided(decision, ran, said):
    """With the dialect named, an edit reaches the tool as bare arguments and a rejection reaches the model in words."""
    payments = []

    @human_in_the_loop
    def pay(to: str, amount: int = 5) -> str:
        """Pay somebody."""
        payments.append((to, amount))
        return f"paid {amount} to {to}"

    model = ScriptedModel(turns=[says(("pay", {"to": "al"})), DONE])
    agent = create_agent(model, [pay], checkpointer=InMemorySaver())
    approvals = InMemoryApprovalClient(ScriptedReviewer({"pay": decision}))

    result = await run(agent, GO, approvals=approvals, config=CONFIG, dialect="dev_utils")

    assert payments == ran
    assert answers_to_model(result) == {"call_1": ("success", said)}
