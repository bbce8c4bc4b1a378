"""SpoonAI's pauses: pairs checked twice, answers in its own words."""

import copy

from agent_adapter.dialects import detect, spoon
from agent_adapter.testing import approve, reject
from tests.support.lanes import require_spoonai

PAUSE = {
    "action_requests": [
        {"name": "send_email", "args": {"to": "a@x.com"}, "id": "call_1"},
        {"name": "delete_file", "args": {"path": "r.txt"}, "id": "call_2"},
    ],
    "review_configs": [
        {
            "action_name": "send_email",
            "action_id": "call_1",
            "allowed_decisions": ["approve", "edit", "reject"],
        },
        {
            "action_name": "delete_file",
            "action_id": "call_2",
            "allowed_decisions": ["approve", "reject"],
            "description": "Delete r.txt",
        },
    ],
}


def changed(*path, to):
    """Give the pause with one place changed."""
    payload = copy.deepcopy(PAUSE)
    *parents, last = path
    place = payload
    for key in parents:
        place = place[key]
    place[last] = to
    return payload


def test_ids_decisions_and_descriptions_are_read():
    """The description stands in the review config."""
    request = spoon.to_request(PAUSE)

    assert [(a.name, a.args, a.id, a.description) for a in request.action_requests] == [
        ("send_email", {"to": "a@x.com"}, "call_1", None),
        ("delete_file", {"path": "r.txt"}, "call_2", "Delete r.txt"),
    ]
    assert [config.allowed_decisions for config in request.review_configs] == [
        ("approve", "edit", "reject"),
        ("approve", "reject"),
    ]


def test_respond_is_never_offered():
    """The framework would read it as an approval."""
    payload = changed("review_configs", 0, "allowed_decisions", to=["approve", "respond"])

    assert spoon.to_request(payload).review_configs[0].allowed_decisions == ("approve",)


def test_a_rejection_without_a_reason_has_none():
    """The framework then uses words of its own."""
    assert spoon.to_resume([reject(), reject("")], PAUSE) == {
        "decisions": [{"type": "reject"}, {"type": "reject"}]
    }


def test_the_real_package_writes_what_is_read_and_reads_what_is_written():
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

    answers = hitl.ResumeData.from_dict(spoon.to_resume([edited, reject("no")], value)).decisions

    assert detect(value) == "spoon"
    assert [(answer.type, answer.args, answer.reason) for answer in answers] == [
        ("edit", {"to": "b"}, None),
        ("reject", None, "no"),
    ]
    assert spoon.to_resume([approve(), approve()], value)["decisions"] == [{"type": "approve"}] * 2
