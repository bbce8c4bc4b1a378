"""SpoonAI's pauses: pairs checked twice, answers in its own words."""

import copy

import pytest

from agent_adapter.dialects import detect, spoon
from agent_adapter.errors import InvalidRequestError
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


BROKEN = {
    "configs in another order": (
        changed("review_configs", to=PAUSE["review_configs"][::-1]),
        r"review_configs\[0\].action_id is 'call_2', but action_requests\[0\].id is 'call_1'",
    ),
    "a config about another tool": (
        changed("review_configs", 0, "action_name", to="delete_file"),
        r"review_configs\[0\].action_name is 'delete_file'",
    ),
    "fewer configs": (
        changed("review_configs", to=PAUSE["review_configs"][:1]),
        "2 action_requests but 1 review_configs",
    ),
    "a call id twice": (
        {
            "action_requests": [PAUSE["action_requests"][0]] * 2,
            "review_configs": [PAUSE["review_configs"][0]] * 2,
        },
        "2 calls have the id 'call_1'; each needs its own",
    ),
    "no call id": (changed("action_requests", 0, "id", to=None), r"pause.action_requests\[0\].id"),
    "an empty call id": (changed("action_requests", 0, "id", to=""), r"pause.action_requests\[0\].id"),
    "no id in a config": (
        changed("review_configs", 1, "action_id", to=None),
        r"review_configs\[1\].action_id",
    ),
    "only respond": (
        changed("review_configs", 0, "allowed_decisions", to=["respond"]),
        r"review_configs\[0\].allowed_decisions: none of \['respond'\] is one of approve, edit, reject",
    ),
    "no decisions": (
        changed("review_configs", 0, "allowed_decisions", to=[]),
        r"review_configs\[0\].allowed_decisions: none of \[\]",
    ),
    "arguments as text": (changed("action_requests", 0, "args", to="{}"), r"pause.action_requests\[0\].args"),
    "no actions": ({"action_requests": [], "review_configs": []}, "pause.action_requests"),
}


@pytest.mark.parametrize(("payload", "says_what"), BROKEN.values(), ids=BROKEN)
def test_broken_pause_is_refused_naming_the_place(payload, says_what):
    """One sentence, before anything is stored."""
    with pytest.raises(InvalidRequestError, match=says_what):
        spoon.to_request(payload)


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
