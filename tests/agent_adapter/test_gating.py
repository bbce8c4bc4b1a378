"""Which calls are gated, and what is asked about them."""

import logging

import pytest

from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.errors import InvalidRequestError
from agent_adapter.gating import Gate, from_camel_case

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


def description_of(gate, asked_call=MAIL, **given):
    return gate.review([asked_call], **given).request.action_requests[0].description


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


def test_decisions_may_hold_for_later_calls_only_where_the_framework_can_keep_them():
    """`allow_always` reaches the card, or is refused."""
    assert config_of(Gate({"send_email": {"allow_always": True}}, always=True)).allow_always
    with pytest.raises(InvalidRequestError, match=r"'send_email'\]\.allow_always: .* leave it out"):
        Gate({"send_email": {"allow_always": True}})


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


def test_a_call_without_a_description_gets_the_prefix():
    """The prefix speaks where nothing else does."""
    gate = Gate({"send_email": True, "pay": {"description": "Money."}}, description_prefix="Please look.")

    assert description_of(gate) == "Please look."
    assert description_of(gate, PAY) == "Money."
    assert description_of(Gate({"send_email": True})) is None


# --- Mistakes -----------------------------------------------------------------------------------------------------


async def _awaited(_):
    return False


class _Awaited:
    async def __call__(self, _):
        return False


MISTAKES = [
    ({"allowed_decisions": ["aprove"]}, r"\.allowed_decisions: 'aprove' is not a decision \(did you mean 'approve'\?\)"),
    ({"allowed_decisions": ["Reject"]}, r"\.allowed_decisions: 'Reject' is not a decision \(did you mean 'reject'\?\)"),
    ({"allowed_decisions": ["accept"]}, r"\.allowed_decisions: 'accept' is not a decision.*; choose from approve, edit, reject, respond"),
    ({"allowed_decisions": [["approve"]]}, r"\.allowed_decisions: \['approve'\] is not a decision"),
    ({"allowed_decisions": []}, r"\.allowed_decisions: the list is empty, so nobody could decide; pass some of approve"),
    ({"allowed_decisions": "approve"}, r"\.allowed_decisions: 'approve' is not a list"),
    ({"allowed_decisions": None}, r"\.allowed_decisions: None is not a list"),
    ({"allowed_decisions": ["edit", "edit"]}, r"\.allowed_decisions: a decision is listed twice"),
    ({"allowed_decision": ["approve"]}, r": there is no key 'allowed_decision' \(did you mean 'allowed_decisions'\?\)"),
    ({"allowedDecisions": ["approve"]}, r": there is no key 'allowedDecisions' \(did you mean 'allowed_decisions'\?\)"),
    ({"allow_accept": True}, r": there is no key 'allow_accept'; the keys are allowed_decisions, description, args_schema, when"),
    ({"when": True}, r"\.when: True is not a plain callable"),
    *(({key: given}, rf"\.{key}: .* plain callable") for key in ("when", "description") for given in (_awaited, _Awaited())),
    ({"description": 5}, r"\.description: 5 is neither a string nor a plain callable"),
    ({"description": ["Mail."]}, r"\.description: \['Mail\.'\] is neither a string"),
    ({"args_schema": dict}, r"\.args_schema: <class 'dict'> is not a JSON Schema"),
    ({"args_schema": {"default": float("nan")}}, r"\.args_schema\.default: nan is not a JSON number"),
    ({"allow_always": "yes"}, r"\.allow_always: 'yes' is neither True nor False"),
    (["approve"], r": \['approve'\] is neither True, False nor a config"),
    ("true", ": 'true' is neither True, False nor a config"),
    (1, ": 1 is neither True, False nor a config"),
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
        *(({"interrupt_on": policy}, "interrupt_on must be a mapping, not .*; pass {tool: True, False or a config}")
          for policy in (["send_email"], "send_email", True, None)),
        *(({"interrupt_on": {tool: True}}, "the name of a tool must be a string that is not empty") for tool in ("", 5, None)),
        ({"interrupt_on": {}, "description_prefix": 5}, "description_prefix must be a string, not int"),
        ({"interrupt_on": {"pay": {"allowed_decisions": ["respond"]}}, "decisions": ("approve", "reject")},
         "'respond' cannot be carried out here; choose from approve, reject"),
        *(({"interrupt_on": {}, "tools": tools}, "tools: .* are not names") for tools in ("send_email", [7])),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_be_meant_is_refused_with_the_cure(given, problem):
    """Also a list of names, and a decision that the framework could not carry out."""
    with pytest.raises(InvalidRequestError, match=problem):
        Gate(**given)


# --- One run ------------------------------------------------------------------------------------------------------


def test_an_override_never_ungates_a_tool_that_it_does_not_name():
    """Where LangChain JS replaces the whole map, so that loosening one tool un-gates all others, the others stay gated."""
    gate = Gate({"send_email": True, "pay": True, "read_file": False})

    run = gate.overridden({"send_email": False})

    assert asked(run, MAIL, PAY, FILE) == ["pay"]
    assert asked(gate.overridden({}), MAIL, PAY, FILE) == ["send_email", "pay"]


def test_an_override_gates_more_and_changes_what_it_names():
    """What it says about a tool stands in place of the tool's rule, whole."""
    gate = Gate(
        {"pay": {"allowed_decisions": ["approve"], "when": lambda _: False}}, description_prefix="Look."
    )

    run = gate.overridden({"read_file": True, "pay": {"allowed_decisions": ["approve", "reject"]}})

    assert asked(run, FILE, PAY) == ["read_file", "pay"]
    assert config_of(run, PAY).allowed_decisions == ("approve", "reject")
    assert description_of(run, FILE) == "Look."
    assert description_of(gate.overridden({"pay": True}, description_prefix="Today."), PAY) == "Today."


def test_a_policy_stays_as_it_was_made():
    interrupt_on = {"send_email": True}
    gate = Gate(interrupt_on)
    interrupt_on["send_email"] = False

    assert asked(gate.overridden({}), MAIL) == ["send_email"]


def test_an_override_is_checked_like_a_policy():
    """What the framework cannot carry out is refused here too."""
    gate = Gate({"send_email": True}, decisions=("approve", "reject"))

    with pytest.raises(InvalidRequestError, match="did you mean 'reject'"):
        gate.overridden({"send_email": {"allowed_decisions": ["rejct"]}})
    with pytest.raises(InvalidRequestError, match="'edit' cannot be carried out here"):
        gate.overridden({"send_email": {"allowed_decisions": ["edit"]}})
    with pytest.raises(InvalidRequestError, match="must be a mapping, not NoneType"):
        gate.overridden(None)
    with pytest.raises(InvalidRequestError, match=r"interrupt_on\['pays'\].*did you mean 'pay'"):
        Gate({"pay": True}, tools={"pay"}).overridden(**from_camel_case({"interruptOn": {"pays": True}}))


# --- camelCase ----------------------------------------------------------------------------------------------------

XPERT = {
    "interruptOn": {
        "send_email": True,
        "read_file": False,
        "pay": {
            "allowedDecisions": ["approve", "reject"],
            "description": "Money.",
            "argsSchema": {"type": "object", "required": ["amount"]},
        },
        "wipe": {"allowedDecisions": None, "description": None, "argsSchema": None},
    },
    "descriptionPrefix": "Please look.",
}


def test_xperts_configuration_is_read():
    """`true` means approve, edit and reject there; keys, prefix and schema are carried over."""
    gate = Gate(**from_camel_case(XPERT))

    review = gate.review([FILE, MAIL, PAY])

    assert review.indices == (1, 2)
    mail, pay = review.request.review_configs
    assert mail.allowed_decisions == ("approve", "edit", "reject")
    assert (pay.allowed_decisions, pay.args_schema) == (
        ("approve", "reject"),
        {"type": "object", "required": ["amount"]},
    )
    assert [action.description for action in review.request.action_requests] == ["Please look.", "Money."]
    assert config_of(gate, call("wipe")).allowed_decisions == ("approve", "edit", "reject")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"interupt_on": {}}, r"options: there is no key 'interupt_on' \(did you mean 'interruptOn'\?\)"),
        ({"interruptOn": {}, "customer": 5}, "options: there is no key 'customer'; the keys are interruptOn, descriptionPrefix"),
        ({"interruptOn": ["pay"]}, "interruptOn must be an object; leave it out to gate nothing"),
        ({"interruptOn": None}, "interruptOn must be an object; leave it out to gate nothing"),
        ([], "options must be .*, not list"),
        (
            {"interruptOn": {"pay": {"allowed_decisions": ["approve"]}}},
            r"interruptOn\['pay'\]: there is no key 'allowed_decisions' \(did you mean 'allowedDecisions'\?\)",
        ),
        ({"interruptOn": {"pay": {"allowedDecisions": []}}}, r"\['pay'\]\.allowed_decisions: the list is empty"),
        ({"interruptOn": {"pay": {"allowedDecisions": ["aprove"]}}}, r"\['pay'\].*did you mean 'approve'"),
        ({"interruptOn": {"pay": None}}, r"\['pay'\]: None is neither"),
    ],
)  # fmt: skip
def test_a_mistake_in_camel_case_is_named_in_camel_case(options, problem):
    """A misspelt option is no policy."""
    with pytest.raises(InvalidRequestError, match=problem):
        Gate(**from_camel_case(options))


# --- Where the tools are known -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False, {"allowed_decisions": ["approve"]}])
def test_name_of_no_tool_is_an_error_where_the_tools_are_known(given):
    """With the nearest one: the tool that was meant would not be gated."""
    with pytest.raises(
        InvalidRequestError,
        match=r"interrupt_on\['send_emial'\].*did you mean 'send_email'.*the tools are: pay, send_email",
    ):
        Gate({"send_emial": given}, tools=["send_email", "pay"])
