"""What is particular to single dialects: real pauses of LangChain and SpoonAI, numbers of JavaScript, flags of HumanInterrupt."""

import copy
import json

import pytest
from langchain_core.tools import StructuredTool
from pydantic import BaseModel

from agent_adapter.contract.numbers import MAX_SAFE_INTEGER
from agent_adapter.dialects import DIALECTS, custom, detect
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, GATED, GO, MAIL, Office, gated
from tests.support.lanes import require_spoonai
from tests.support.scripted_model import says


def changed(payload, *path, to):
    """Give a pause with one place changed."""
    payload = copy.deepcopy(payload)
    *parents, last = path
    place = payload
    for key in parents:
        place = place[key]
    place[last] = to
    return payload


def actions_of(dialect, payload):
    actions = DIALECTS[dialect].to_request(payload).action_requests
    return [(action.name, action.args, action.description) for action in actions]


# --- LangChain ----------------------------------------------------------------------------------------------------


async def per_call(turn, tools=None, interrupt_on=GATED):
    """Give the payload of the pause of each call by its tool."""
    agent = gated(tools or Office().tools, turn, interrupt_on=interrupt_on, mode="per_call")
    pauses = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]
    return {p.value["name"]: {**p.value, "response_schema": p.response_schema} for p in pauses}


async def config_of(tool, args):
    """Give how the one call of this tool is reviewed, per call."""
    allowed = {tool.name: {"allowed_decisions": ["approve", "edit"]}}
    (payload,) = (await per_call(says((tool.name, args)), [tool], allowed)).values()
    return DIALECTS["langchain_per_call"].to_request(payload).review_configs[0]


async def test_only_edit_as_single_decision_is_read_too():
    """Its schema stands without `oneOf`."""
    only = {"send_email": {"allowed_decisions": ["edit"]}}
    (payload,) = (await per_call(says(("send_email", MAIL)), interrupt_on=only)).values()

    (config,) = DIALECTS["langchain_per_call"].to_request(payload).review_configs

    assert (config.allowed_decisions, config.args_schema["required"]) == (("edit",), ["to", "subject"])


class Person(BaseModel):
    """Somebody."""

    reports: list["Person"] = []


class Team(BaseModel):
    """Somebody's people."""

    lead: Person


async def test_definitions_that_the_arguments_need_are_carried_along():
    """Nested and recursive models keep their references."""

    def form(team: Team) -> str:
        """Form a team."""
        return "formed"

    schema = (await config_of(StructuredTool.from_function(form), {"team": {"lead": {}}})).args_schema

    assert schema["properties"]["team"] == {"$ref": "#/$defs/Team"}
    assert {"Person", "Team"} <= schema["$defs"].keys()


async def test_tool_with_a_json_schema_is_shown_as_it_is():
    """Tools of MCP servers bring a finished schema instead of a model."""
    schema = {"type": "object", "properties": {"to": {"type": "string", "format": "email"}}, "required": ["to"]}  # fmt: skip
    tool = StructuredTool(name="send", description="Send.", args_schema=schema, func=lambda **args: "sent")

    assert (await config_of(tool, {"to": "a"})).args_schema.items() >= schema.items()


def test_schema_that_allows_any_arguments_is_left_out():
    """The framework writes a bare object where it has no tool at hand; the caller's tools may know more."""

    def branch(kind, **more):
        return {"type": "object", "properties": {"type": {"const": kind}, **more}}

    edited = {"properties": {"args": {"title": "Args", "type": "object"}}}
    schema = {"oneOf": [branch("approve"), branch("edit", edited_action=edited)]}
    call = {"type": "tool_approval", "tool_call_id": "call_1", "name": "t", "args": {}, "description": ""}

    (config,) = DIALECTS["langchain_per_call"].to_request({**call, "response_schema": schema}).review_configs
    assert config.args_schema is None


# --- Templates ----------------------------------------------------------------------------------------------------

PYTHONS = {
    "action_requests": [{"name": "wipe", "args": {"path": "it's"}}],
    "review_configs": [{"action_name": "wipe", "allowed_decisions": ["approve"]}],
}
SCHEMA = {"type": "object", "properties": {"customerId": {"type": "string"}}, "required": ["customerId"]}
SCRIPTS = {
    "actionRequests": [
        {"name": "send_email", "args": {"to": "a@x.com", "sendAt": None, "retry_count": 2}},
        {"name": "run_sql", "args": {"query": "DROP"}, "description": "Review this SQL statement."},
        {"name": "update_customer", "args": {"customerId": "1"}},
    ],
    "reviewConfigs": [
        {"actionName": "send_email", "allowedDecisions": ["approve", "edit", "reject"]},
        {"actionName": "run_sql", "allowedDecisions": ["approve", "reject"]},
        {"actionName": "update_customer", "allowedDecisions": ["approve", "edit", "reject"], "argsSchema": SCHEMA},
    ],
}  # fmt: skip
HUMAN = {
    "action_request": {"action": "pay", "args": {"to": "al"}},
    "config": {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": True},
}


@pytest.mark.parametrize(
    ("dialect", "pause", "place", "description", "is_kept"),
    [
        *(
            ("langchain", PYTHONS, ("action_requests", 0), description, is_kept)
            for description, is_kept in [
                ("Any prefix at all\n\nTool: wipe\nArgs: {'path': \"it's\"}", False),
                ("Tool execution requires approval\n\nTool: wipe\nArgs: {'path': 'other'}", True),
                ("P\n\nTool: wipe\nArgs: {'path': \"it's\"}\nThis is the last copy!", True),
            ]
        ),
        *(
            ("camel_case", SCRIPTS, ("actionRequests", 1), description, is_kept)
            for description, is_kept in [
                ('P\n\nTool: run_sql\nArgs: {\n  "query": "DROP"\n}', False),
                ('P\n\nTool: run_sql\nArgs: {"query": "SELECT"}', True),
                ('P\n\nTool: run_sql\nArgs: {"query": "DROP", "query": "DROP"}', True),
                ("P\n\nTool: run_sql\nArgs: ", True),
            ]
        ),
        ("human_interrupt", HUMAN, (), "Please review tool call: pay", False),
        ("human_interrupt", HUMAN, (), "P\n\nTool: pay\nArgs: {'to': 'al'}", False),
        ("human_interrupt", HUMAN, (), "Please review tool call: pay it", True),
    ],
)
def test_words_that_only_repeat_the_call_are_dropped(dialect, pause, place, description, is_kept):
    """A text that says more than the framework's template is somebody's text."""
    payload = changed(pause, *place, "description", to=description)

    *_, found = actions_of(dialect, payload)[place[1] if place else 0]

    assert found == (description if is_kept else None)


# --- camelCase ----------------------------------------------------------------------------------------------------


def test_a_pause_in_camel_case_becomes_a_request_pair_by_pair():
    """Keys of the arguments keep their own case; the schema comes along."""
    assert actions_of("camel_case", SCRIPTS) == [
        ("send_email", {"to": "a@x.com", "sendAt": None, "retry_count": 2}, None),
        ("run_sql", {"query": "DROP"}, "Review this SQL statement."),
        ("update_customer", {"customerId": "1"}, None),
    ]
    configs = DIALECTS["camel_case"].to_request(SCRIPTS).review_configs
    assert [config.args_schema for config in configs] == [None, None, SCHEMA]


def test_only_langchain_js_says_what_a_rejection_does_to_the_batch():
    """XpertAI runs the other calls; the payloads are equal, so the caller has to say which of the two it is."""
    alone = {key: values[:1] for key, values in SCRIPTS.items()}

    (config,) = DIALECTS["langchain_js"].to_request(alone).review_configs
    assert config.effects == ()


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, 10**400])
@pytest.mark.parametrize(
    ("wrap", "path"),
    [(lambda number: {"id": number}, ".id"), (lambda number: {"rows": [1, {"of": [number]}]}, ".rows[1].of[0]")],
)  # fmt: skip
def test_integers_that_javascript_would_change_are_refused_with_their_path(wrap, path, number):
    """In what is asked and in what is edited; JavaScript would run another number than was shown."""
    edit = {"type": "edit", "edited_action": {"name": "send_email", "args": wrap(number)}}
    with pytest.raises(InvalidRequestError) as asked:
        actions_of("camel_case", changed(SCRIPTS, "actionRequests", 0, "args", to=wrap(number)))
    with pytest.raises(DecisionNotAllowedError) as edited:
        DIALECTS["camel_case"].to_resume([edit, approve(), approve()], SCRIPTS)

    assert str(asked.value).startswith(f"pause.actionRequests[0].args{path}: JavaScript is not exact")
    assert str(edited.value).startswith(f"decision 1 (send_email): editedAction.args{path}: JavaScript")


def test_integers_that_javascript_keeps_and_other_numbers_pass():
    """To the last digit."""
    args = {"max": MAX_SAFE_INTEGER, "min": -MAX_SAFE_INTEGER, "float": 1e300, "yes": True}
    edit = {"type": "edit", "edited_action": {"name": "send_email", "args": args}}

    asked = actions_of("camel_case", changed(SCRIPTS, "actionRequests", 0, "args", to=args))
    answer = DIALECTS["camel_case"].to_resume([edit, approve(), approve()], SCRIPTS)

    assert asked[0][1] == args
    assert json.loads(json.dumps(answer))["decisions"][0]["editedAction"]["args"] == args


# --- SpoonAI ------------------------------------------------------------------------------------------------------

SPOONS = {
    "action_requests": [{"name": "wipe", "args": {"path": "r.txt"}, "id": "call_2"}],
    "review_configs": [
        {"action_name": "wipe", "action_id": "call_2", "allowed_decisions": ["approve", "reject"], "description": "Delete r.txt"}
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        ("spoon", changed(SPOONS, "review_configs", 0, "allowed_decisions", to=["approve", "respond", "postpone"])),
        ("camel_case", changed(SCRIPTS, "reviewConfigs", 0, "allowedDecisions", to=["approve", "respond", "postpone"])),
    ],
)  # fmt: skip
def test_respond_is_not_offered_where_the_framework_has_none(dialect, payload):
    """A kind that nobody here has met is carried."""
    assert DIALECTS[dialect].to_request(payload).review_configs[0].allowed_decisions == (
        "approve",
        "postpone",
    )


def test_spoonais_description_stands_in_the_review_config_and_a_bare_rejection_has_no_reason():
    assert actions_of("spoon", SPOONS) == [("wipe", {"path": "r.txt"}, "Delete r.txt")]
    assert DIALECTS["spoon"].to_resume([reject("")], SPOONS) == {"decisions": [{"type": "reject"}]}


def test_the_real_spoonai_writes_what_is_read_and_reads_what_is_written():
    """Its own classes make the pause and take the answer."""
    require_spoonai()
    from spoon_ai.tools import hitl

    value = hitl.InterruptValue(
        [hitl.ActionRequest("send_email", {"to": "a"}, "call_1"), hitl.ActionRequest("wipe", {}, "call_2")],
        [
            hitl.ReviewConfig("send_email", "call_1", ["approve", "edit", "reject"]),
            hitl.ReviewConfig("wipe", "call_2", ["approve", "reject"], "All of it"),
        ],
    ).to_dict()
    edited = {"type": "edit", "edited_action": {"name": "send_email", "args": {"to": "b"}}}

    answers = hitl.ResumeData.from_dict(DIALECTS["spoon"].to_resume([edited, reject("no")], value)).decisions

    assert detect(value) == "spoon"
    assert [(answer.type, answer.args, answer.reason) for answer in answers] == [
        ("edit", {"to": "b"}, None),
        ("reject", None, "no"),
    ]


# --- HumanInterrupt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "allowed", "effects"),
    [
        ({"allow_accept": True}, ("approve",), ()),
        ({"allow_accept": True, "allow_ignore": True}, ("approve", "reject"), ()),
        ({"allow_accept": True, "allow_ignore": False}, ("approve",), ()),
        ({"allow_accept": True, "allow_respond": True}, ("approve", "reject", "respond"), ("reject_as_answer",)),
        ({"allow_ignore": True, "allow_respond": True}, ("reject", "respond"), ()),
        ({"allow_edit": True, "allow_ignore": False, "allow_accept": True}, ("approve", "edit"), ()),
        ({"allow_edit": True, "allow_accept": True}, ("approve",), ()),
    ],
)  # fmt: skip
def test_flags_say_what_is_offered(flags, allowed, effects):
    """What is not allowed is not offered; a missing flag allows nothing."""
    (config,) = DIALECTS["human_interrupt"].to_request({**HUMAN, "config": flags}).review_configs

    assert (config.allowed_decisions, config.effects) == (allowed, effects)


def test_a_rejection_without_a_reason_asks_the_model_not_to_try_again():
    """The model reads the answer of a tool, so the words have to say what it was."""
    answer = DIALECTS["dev_utils"].to_resume([reject()], {**HUMAN, "config": {"allow_respond": True}})

    assert answer == {
        "type": "response",
        "args": "A person rejected this call of pay, and it was not executed. Do not repeat it unless asked to.",
    }


# --- Pauses of a program's own ------------------------------------------------------------------------------------

NAMES = ("boolean", "approve_reject", "text", "accept_reject")
VALUES = ["", 0, 1.5, True, None, [], {}, [1, {"a": None}], {"question": "x", "options": ["a"]}]


@pytest.mark.parametrize("name", NAMES)
def test_any_value_is_shown_whole(name):
    """An object by its keys, anything else as the one argument."""
    for value in VALUES:
        shown = value if isinstance(value, dict) and value else {"value": value}
        assert actions_of(name, value) == [("question", shown, None)]


@pytest.mark.parametrize(
    ("name", "decision", "answer"),
    [
        ("boolean", reject("approve"), False),
        ("approve_reject", reject(" APPROVE "), "reject"),
        ("text", respond("approve"), "approve"),
        ("accept_reject", reject(), {"type": "reject"}),
    ],
)
def test_a_rejection_never_reads_as_an_approval(name, decision, answer):
    written = DIALECTS[name].to_resume([decision], "Shall I?")

    assert (written, type(written)) == (answer, type(answer))


@pytest.mark.parametrize("allowed", [(), ("edit",), ("approve", "maybe")])
def test_custom_answers_offer_only_what_can_be_answered(allowed):
    with pytest.raises(
        InvalidRequestError, match="pass some of approve, reject, respond, and edit=… for edits"
    ):
        custom(lambda decision: decision.type, allowed_decisions=allowed)


def go(decision):
    """Write an answer of a program's own."""
    return {"go": decision.type == "approve"}


def test_custom_says_what_the_card_shows_and_how_an_edit_is_written():
    """Its function gets a copy: what was decided stays what it was."""
    schema = {"type": "object", "properties": {"build": {"type": "integer"}}}
    dialect = custom(
        go, edit=lambda args: {"go": True, "build": args.pop("build")}, tool="deploy", schema=schema
    )
    request = dialect.asked_by("a node").to_request({"build": 17})
    (action,), (config,) = request.action_requests, request.review_configs
    decision = edit({"build": 18})(action)

    assert (action.name, config.args_schema) == ("deploy", schema)
    assert config.allowed_decisions == ("approve", "reject", "edit")
    assert "edit" not in custom(go).allowed
    assert dialect.to_resume([decision], {"build": 17}) == {"go": True, "build": 18}
    assert decision.edited_action.args == {"build": 18}


@pytest.mark.parametrize("decide", [edit({"build": 18}), lambda _: reject()], ids=["edit", "reject"])
def test_an_answer_that_reads_as_an_approval_is_none(decide):
    """The program would run what it asked, and somebody has changed or rejected that."""
    dialect = custom(lambda decision: {"go": True}, edit=lambda args: {"go": True})
    (action,) = dialect.to_request({"build": 17}).action_requests

    with pytest.raises(DecisionNotAllowedError, match="the same as to approve"):
        dialect.to_resume([decide(action)], {"build": 17})


@pytest.mark.parametrize(
    ("write", "says_what"),
    [
        (lambda decision: None, "null"),
        (lambda decision: {1, 2}, "set is not a JSON value"),
        (lambda decision: decision.nothing, "the callable raised"),
    ],
)
def test_an_answer_that_a_callable_cannot_write_is_none(write, says_what):
    """Nothing that a program would read in its own way."""
    with pytest.raises(DecisionNotAllowedError, match=says_what):
        custom(write).to_resume([approve()], "Shall I?")
