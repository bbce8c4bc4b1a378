"""The batch as JavaScript writes it: keys, template and numbers."""

import copy
import json

import pytest

from agent_adapter.dialects import DIALECTS
from agent_adapter.dialects.camel_case import MAX_SAFE_INTEGER
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve

CAMEL, JS = DIALECTS["camel_case"], DIALECTS["langchain_js"]
SCHEMA = {"type": "object", "properties": {"customerId": {"type": "string"}}, "required": ["customerId"]}

PAUSE = {
    "actionRequests": [
        {
            "name": "send_email",
            "args": {"to": "a@x.com", "sendAt": None, "retry_count": 2},
            "description": "Please review this tool call before it runs\n\nTool: send_email\nArgs: "
            '{\n  "to": "a@x.com",\n  "sendAt": null,\n  "retry_count": 2\n}',
        },
        {"name": "run_sql", "args": {"query": "DROP"}, "description": "Review this SQL statement."},
        {"name": "update_customer", "args": {"customerId": "1"}},
    ],
    "reviewConfigs": [
        {"actionName": "send_email", "allowedDecisions": ["approve", "edit", "reject"]},
        {"actionName": "run_sql", "allowedDecisions": ["approve", "reject"]},
        {"actionName": "update_customer", "allowedDecisions": ["approve", "edit", "reject"], "argsSchema": SCHEMA},
    ],
}  # fmt: skip


def changed(*path, to):
    """Give the pause with one place changed."""
    payload = copy.deepcopy(PAUSE)
    *parents, last = path
    place = payload
    for key in parents:
        place = place[key]
    place[last] = to
    return payload


def edit(args):
    return {"type": "edit", "edited_action": {"name": "send_email", "args": args}}


def test_a_pause_becomes_a_request_pair_by_pair():
    """Keys of the arguments keep their own case; the schema comes along; only somebody's own text is kept."""
    request = CAMEL.to_request(PAUSE)

    assert [(action.name, action.args, action.description) for action in request.action_requests] == [
        ("send_email", {"to": "a@x.com", "sendAt": None, "retry_count": 2}, None),
        ("run_sql", {"query": "DROP"}, "Review this SQL statement."),
        ("update_customer", {"customerId": "1"}, None),
    ]
    assert [(config.allowed_decisions, config.args_schema) for config in request.review_configs] == [
        (("approve", "edit", "reject"), None),
        (("approve", "reject"), None),
        (("approve", "edit", "reject"), SCHEMA),
    ]


@pytest.mark.parametrize(
    "description",
    [
        'P\n\nTool: run_sql\nArgs: {"query": "SELECT"}',
        'P\n\nTool: run_sql\nArgs: {"query": "DROP"} on production!',
        'P\n\nTool: other\nArgs: {"query": "DROP"}',
        'Careful.\n\nSee below.\n\nTool: run_sql\nArgs: {"query": "DROP"}',
        'P\n\nTool: run_sql\nArgs: {"query": "DROP", "query": "DROP"}',
        "P\n\nTool: run_sql\nArgs: ",
    ],
)
def test_text_that_says_more_than_the_template_is_kept(description):
    """Whatever is not exactly the call is somebody's text."""
    payload = changed("actionRequests", 1, "description", to=description)

    assert CAMEL.to_request(payload).action_requests[1].description == description


def test_respond_is_never_offered():
    """The framework has none; a kind that nobody here has met is carried and not offered."""
    payload = changed("reviewConfigs", 1, "allowedDecisions", to=["approve", "respond", "postpone"])

    assert CAMEL.to_request(payload).review_configs[1].allowed_decisions == ("approve", "postpone")


def test_only_langchain_js_says_what_a_rejection_does_to_the_batch():
    """XpertAI runs the other calls; the payloads are equal, so the caller has to say which of the two it is."""
    alone = {key: values[:1] for key, values in PAUSE.items()}

    assert {config.effects for config in JS.to_request(PAUSE).review_configs} == {("reject_drops_batch",)}
    assert {config.effects for config in JS.to_request(alone).review_configs} == {()}
    assert {config.effects for config in CAMEL.to_request(PAUSE).review_configs} == {()}


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, 9007199254740993, 10**400])
@pytest.mark.parametrize(
    ("wrap", "path"),
    [
        (lambda number: {"id": number}, ".id"),
        (lambda number: {"rows": [1, {"of": [number]}]}, ".rows[1].of[0]"),
        (lambda number: {"a b": number}, ".a b"),
    ],
)
def test_integers_that_javascript_would_change_are_refused_with_their_path(wrap, path, number):
    """In what is asked and in what is edited; JavaScript would run another number than was shown."""
    with pytest.raises(InvalidRequestError) as asked:
        CAMEL.to_request(changed("actionRequests", 0, "args", to=wrap(number)))
    with pytest.raises(DecisionNotAllowedError) as edited:
        CAMEL.to_resume([edit(wrap(number)), approve(), approve()], PAUSE)

    assert str(asked.value).startswith(f"pause.actionRequests[0].args{path}: JavaScript is not exact")
    assert str(edited.value).startswith(f"decision 1 (send_email): editedAction.args{path}: JavaScript")


def test_integers_that_javascript_keeps_and_other_numbers_pass():
    """To the last digit."""
    args = {"max": MAX_SAFE_INTEGER, "min": -MAX_SAFE_INTEGER, "float": 1e300, "yes": True}

    request = CAMEL.to_request(changed("actionRequests", 0, "args", to=args))
    answer = CAMEL.to_resume([edit(args), approve(), approve()], PAUSE)

    assert request.action_requests[0].args == args
    assert json.loads(json.dumps(answer))["decisions"][0]["editedAction"]["args"] == args
