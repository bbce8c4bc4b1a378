"""LangChain's batched pause, as the installed LangChain really makes it, and broken ones."""

import pytest

from agent_adapter.dialects import langchain
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, GATED, GO, MAIL, TURN, Office
from tests.support.scripted_model import says


async def pause_of(turn=TURN, interrupt_on=GATED):
    """Give the value of the pause that this turn of the model makes."""
    agent = Office().agent(turn, interrupt_on=interrupt_on)
    (pause,) = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]
    return pause.value


async def test_real_pause_becomes_a_request_pair_by_pair():
    """Names, arguments and allowed decisions are the framework's own, in its order."""
    request = langchain.to_request(await pause_of())

    assert [(action.name, action.args) for action in request.action_requests] == [
        ("send_email", MAIL),
        ("delete_file", {"path": "report.txt"}),
        ("ask_user", {"question": "Which env?"}),
    ]
    assert [config.allowed_decisions for config in request.review_configs] == [
        ("approve", "edit", "reject", "respond"),
        ("approve", "reject"),
        ("respond",),
    ]


async def test_only_the_text_that_somebody_wrote_is_kept():
    """The framework's template repeats the arguments that the card shows anyway."""
    request = langchain.to_request(await pause_of())

    assert [action.description for action in request.action_requests] == [
        None,
        "This cannot be undone.",
        None,
    ]


@pytest.mark.parametrize(
    ("description", "kept"),
    [
        ("Any prefix at all\n\nTool: delete_file\nArgs: {'path': \"it's\"}", None),
        ("\n\nTool: delete_file\nArgs: {'path': \"it's\"}", None),
        ("", None),
        ("Tool execution requires approval", "Tool execution requires approval"),
        (
            "Tool execution requires approval\n\nTool: delete_file\nArgs: {'path': 'other'}",
            "Tool execution requires approval\n\nTool: delete_file\nArgs: {'path': 'other'}",
        ),
        (
            "P\n\nTool: delete_file\nArgs: {'path': \"it's\"}\nThis is the last copy!",
            "P\n\nTool: delete_file\nArgs: {'path': \"it's\"}\nThis is the last copy!",
        ),
        (
            "Careful.\n\nThe owner is away.\n\nTool: delete_file\nArgs: {'path': \"it's\"}",
            "Careful.\n\nThe owner is away.\n\nTool: delete_file\nArgs: {'path': \"it's\"}",
        ),
    ],
)
def test_text_that_says_more_than_the_template_is_kept(description, kept):
    """A custom text that starts or ends like the template is still somebody's text."""
    action = {"name": "delete_file", "args": {"path": "it's"}, "description": description}
    config = {"action_name": "delete_file", "allowed_decisions": ["approve"]}

    request = langchain.to_request({"action_requests": [action], "review_configs": [config]})

    assert request.action_requests[0].description == kept


async def test_big_integers_and_key_order_survive():
    """What will run is what is shown, to the last digit."""
    args = {"z": 9223372036854775807, "a": [1.5, None, True, "ü\u202e"]}
    request = langchain.to_request(await pause_of(says(("delete_file", args))))

    assert request.action_requests[0].args == args
    assert list(request.action_requests[0].args) == ["z", "a"]


async def test_unknown_kind_beside_known_ones_is_carried():
    """A newer framework may allow what this version has not met."""
    pause = await pause_of()
    pause["review_configs"][1]["allowed_decisions"] = ["approve", "postpone"]

    assert langchain.to_request(pause).review_configs[1].allowed_decisions == ("approve", "postpone")


async def test_unknown_kind_is_not_handed_back():
    """Nothing is run on a decision that nobody here understands, even if it is allowed."""
    pause = await pause_of(says(("delete_file", {"path": "a"})))
    pause["review_configs"][0]["allowed_decisions"] = ["approve", "postpone"]

    with pytest.raises(DecisionNotAllowedError, match="'postpone' is not one of approve"):
        langchain.to_resume([{"type": "postpone"}], pause)


ACTION = {"name": "t", "args": {}}
CONFIG_OF_IT = {"action_name": "t", "allowed_decisions": ["approve"]}
BROKEN = {
    "no configs": ({"action_requests": [ACTION]}, "pause.review_configs: Field required"),
    "no actions": ({"action_requests": [], "review_configs": []}, "pause.action_requests"),
    "no name": (
        {"action_requests": [{"args": {}}], "review_configs": [CONFIG_OF_IT]},
        r"pause.action_requests\[0\].name: Field required",
    ),
    "empty name": (
        {
            "action_requests": [{**ACTION, "name": ""}],
            "review_configs": [{**CONFIG_OF_IT, "action_name": ""}],
        },
        r"action_requests\[0\].name",
    ),
    "actions that are no list": (
        {"action_requests": "t", "review_configs": [CONFIG_OF_IT]},
        "pause.action_requests",
    ),
    "arguments that are no object": (
        {"action_requests": [{**ACTION, "args": "{}"}], "review_configs": [CONFIG_OF_IT]},
        r"pause.action_requests\[0\].args",
    ),
    "arguments that are no JSON": (
        {"action_requests": [{**ACTION, "args": {"at": {1, 2}}}], "review_configs": [CONFIG_OF_IT]},
        r"action_requests\[0\].args.at: set is not a JSON value",
    ),
    "unpaired lists": (
        {"action_requests": [ACTION, ACTION], "review_configs": [CONFIG_OF_IT]},
        "2 action_requests but 1 review_configs",
    ),
    "pairs about different tools": (
        {"action_requests": [ACTION], "review_configs": [{**CONFIG_OF_IT, "action_name": "u"}]},
        r"review_configs\[0\].action_name is 'u'",
    ),
    "no decisions": (
        {"action_requests": [ACTION], "review_configs": [{**CONFIG_OF_IT, "allowed_decisions": []}]},
        r"pause.review_configs\[0\].allowed_decisions",
    ),
    "a decision twice": (
        {
            "action_requests": [ACTION],
            "review_configs": [{**CONFIG_OF_IT, "allowed_decisions": ["approve", "approve"]}],
        },
        r"review_configs\[0\].allowed_decisions: a decision is listed twice",
    ),
    "unknown decisions only": (
        {"action_requests": [ACTION], "review_configs": [{**CONFIG_OF_IT, "allowed_decisions": ["maybe"]}]},
        r"review_configs\[0\].allowed_decisions: none of \['maybe'\]",
    ),
    "decisions that are no text": (
        {"action_requests": [ACTION], "review_configs": [{**CONFIG_OF_IT, "allowed_decisions": [1]}]},
        r"pause.review_configs\[0\].allowed_decisions\[0\]",
    ),
    "no object at all": ("approve?", "pause"),
}


@pytest.mark.parametrize(("pause", "says_what"), BROKEN.values(), ids=BROKEN)
def test_broken_pause_is_refused_naming_the_place(pause, says_what):
    """One sentence, before anything is stored."""
    with pytest.raises(InvalidRequestError, match=says_what):
        langchain.to_request(pause)


async def test_answer_is_one_object_with_a_decision_for_each_action():
    """Reasons are given where there are some, and left out where there are none."""
    pause = await pause_of()

    answer = langchain.to_resume([reject(), reject("no"), respond("staging")], pause)

    assert answer == {
        "decisions": [
            {"type": "reject"},
            {"type": "reject", "message": "no"},
            {"type": "respond", "message": "staging"},
        ]
    }


async def test_decisions_may_be_plain_values():
    """As they come from JSON; keys that the framework does not know are not handed on."""
    pause = await pause_of(says(("send_email", MAIL)))
    edited = {"name": "send_email", "args": {"to": "b"}}

    answer = langchain.to_resume([{"type": "edit", "edited_action": edited, "by": "U1"}], pause)

    assert answer == {"decisions": [{"type": "edit", "edited_action": edited}]}


async def test_answer_with_another_number_of_decisions_is_refused():
    """It would break the thread for good."""
    with pytest.raises(DecisionNotAllowedError, match="4 decisions for 3 actions"):
        langchain.to_resume([approve()] * 4, await pause_of())
