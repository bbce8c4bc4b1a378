"""Which calls are gated, and what is asked about them."""

import logging

import pytest

from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.errors import InvalidRequestError
from agent_adapter.gating import Gate

ALL = ("approve", "edit", "reject", "respond")


def call(name, **args):
    return ActionRequest(name=name, args=args, id=f"call_{name}")


MAIL = call("send_email", to="dana@example.com")
FILE = call("read_file", path="report.txt")
PAY = call("pay", amount=500)


def asked(gate, *calls, **given):
    """Give the names that are asked about, in order."""
    review = gate.review(calls, **given)
    return [action.name for action in review.request.action_requests] if review else []


def config_of(gate, asked_call=MAIL, **given):
    return gate.review([asked_call], **given).request.review_configs[0]


# --- What is gated ------------------------------------------------------------------------------------------------


def test_true_gates_with_every_decision_and_false_or_absent_lets_pass():
    """Only what the policy names is asked, with all that can be decided."""
    gate = Gate({"send_email": True, "read_file": False})

    review = gate.review([FILE, MAIL, PAY, MAIL])

    assert review.indices == (1, 3)
    assert review.request.action_requests == (MAIL, MAIL)
    assert [config.allowed_decisions for config in review.request.review_configs] == [ALL, ALL]
    assert gate.review([FILE]) is gate.review([]) is None


def test_a_config_says_how_the_call_is_reviewed():
    """Decisions, description and schema reach the reviewer; the call's id and arguments stay."""
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    config = {
        "allowed_decisions": ["approve"],
        "description": "Mail leaves the house.",
        "args_schema": schema,
    }

    review = Gate({"send_email": config}).review([MAIL])

    assert review.request.action_requests[0] == MAIL.model_copy(
        update={"description": "Mail leaves the house."}
    )
    assert review.request.review_configs[0].model_dump() == {
        "action_name": "send_email",
        "allowed_decisions": ("approve",),
        "args_schema": schema,
        "allow_always": False,
        "effects": (),
        "headline": (),
        "integers": None,
    }


def test_a_config_goes_before_the_schema_of_the_tool():
    """What the policy says about arguments stands; where it says nothing, the tool's own schema is shown."""
    tools = {"send_email": {"title": "the tool's"}}

    assert config_of(Gate({"send_email": True}), schemas=tools).args_schema == {"title": "the tool's"}
    assert config_of(Gate({"send_email": {"args_schema": {}}}), schemas=tools).args_schema == {}
    assert config_of(Gate({"send_email": True}), schemas={}).args_schema is None


# --- when ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, 0, "", "False", [], True, False])
def test_only_false_lets_a_call_pass(answer):
    """A `when` that forgets to answer, or answers something else, gates; what it lets pass is this call alone."""
    gate = Gate({"pay": {"when": lambda given: given == PAY or answer}})

    assert asked(gate, call("pay", amount=5), PAY) == (["pay"] if answer is False else ["pay", "pay"])


def test_a_when_that_raises_gates_and_says_so_in_the_log(caplog):
    """An error never lets a call run undecided."""
    gate = Gate({"pay": {"when": lambda asked_call: asked_call.args["sum"] > 100}})

    with caplog.at_level(logging.ERROR):
        assert asked(gate, PAY) == ["pay"]

    assert [record.message for record in caplog.records] == ["policy.when_failed"]
    assert caplog.records[0].tool == "pay"
    assert "KeyError: 'sum'" in caplog.text


def test_callables_cannot_change_what_is_asked():
    """They get a copy: what is shown is what the model asked for."""

    def meddle(asked_call):
        asked_call.args["amount"] = 1
        return "a small payment"

    gate = Gate({"pay": {"when": meddle, "description": meddle}})

    assert gate.review([PAY]).request.action_requests[0].args == {"amount": 500}
    assert PAY.args == {"amount": 500}


# --- description --------------------------------------------------------------------------------------------------


def test_a_framework_may_say_what_its_descriptions_are_given():
    """Each call's own arguments reach the callable, also when calls between are not gated."""
    gate = Gate({"pay": {"description": lambda tool_call, state: f"{tool_call} in {state}"}})

    review = gate.review([FILE, PAY], described_from=[("file", "s1"), ("pay", "s2")])

    assert review.request.action_requests[0].description == "pay in s2"


@pytest.mark.parametrize(
    ("describe", "problem"),
    [
        (lambda asked_call: asked_call.args["sum"], r"raised KeyError\('sum'\)"),
        (lambda _: 5, "returned int, not a string"),
        (lambda _: None, "returned NoneType, not a string"),
    ],
)
def test_a_description_that_fails_asks_nothing(describe, problem):
    """A person is not asked to decide with less than the policy wanted them to read; the error names the tool."""
    gate = Gate({"send_email": True, "pay": {"description": describe}})

    with pytest.raises(
        InvalidRequestError,
        match=rf"interrupt_on\['pay'\]\.description: the callable {problem}; nothing was asked",
    ):
        gate.review([MAIL, PAY])


# --- Mistakes -----------------------------------------------------------------------------------------------------


async def _awaited(_):
    return False


class _Awaited:
    async def __call__(self, _):
        return False


MISTAKES = [
    ({"allowed_decisions": ["aprove"]}, r"\.allowed_decisions: 'aprove' is not a decision \(did you mean 'approve'\?\)"),
    ({"allowed_decisions": []}, r"\.allowed_decisions: Tuple should have at least 1 item"),
    ({"allowed_decisions": "approve"}, r"\.allowed_decisions: this is one str: pass a tuple"),
    ({"allowed_decision": ["approve"]}, r": there is no key 'allowed_decision' \(did you mean 'allowed_decisions'\?\)"),
    ({"allow_accept": True}, r": there is no key 'allow_accept'; the keys are allowed_decisions, description, args_schema, when"),
    ({"when": True}, r"\.when: True is not a plain callable"),
    *(({key: given}, rf"\.{key}: .* plain callable") for key in ("when", "description") for given in (_awaited, _Awaited())),
    ({"description": 5}, r"\.description: 5 is neither a string nor a plain callable"),
    ({"args_schema": dict}, r"\.args_schema: Input should be a valid dictionary"),
    ("true", ": 'true' is neither True, False nor a config"),
    (None, ": None is neither True, False nor a config"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "problem"), MISTAKES, ids=[problem for _, problem in MISTAKES])
def test_a_mistake_is_an_error_at_construction(config, problem):
    """A policy that cannot be meant names the tool, the key and the cure, before any agent runs."""
    with pytest.raises(InvalidRequestError, match=rf"interrupt_on\['send_email'\]{problem}"):
        Gate({"read_file": False, "send_email": config})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"interrupt_on": ["send_email"]}, "interrupt_on must be a mapping, not .*; pass {tool: True, False or a config}"),
        ({"interrupt_on": {"pay": {"allowed_decisions": ["respond"]}}, "decisions": ("approve", "reject")},
         "'respond' cannot be carried out here; choose from approve, reject"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_be_meant_is_refused_with_the_cure(given, problem):
    """Also a list of names, and a decision that the framework could not carry out."""
    with pytest.raises(InvalidRequestError, match=problem):
        Gate(**given)


@pytest.mark.parametrize("given", [True, False, {"allowed_decisions": ["approve"]}])
def test_name_of_no_tool_is_an_error_where_the_tools_are_known(given):
    """With the nearest one: the tool that was meant would not be gated."""
    with pytest.raises(
        InvalidRequestError,
        match=r"interrupt_on\['send_emial'\].*did you mean 'send_email'.*the tools are: pay, send_email",
    ):
        Gate({"send_emial": given}, tools=["send_email", "pay"])
