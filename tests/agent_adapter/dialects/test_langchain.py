"""LangChain's batched pause, as the installed LangChain really makes it, and broken ones."""

import pytest

from agent_adapter.dialects import langchain
from tests.agent_adapter.integrations.office import CONFIG, GATED, GO, MAIL, TURN, Office
from tests.support.scripted_model import says


async def pause_of(turn=TURN, interrupt_on=GATED):
    """Give the value of the pause that this turn of the model makes."""
    agent = Office().agent(turn, interrupt_on=interrupt_on)
    (pause,) = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]
    return pause.value


async def test_real_pause_becomes_a_request_pair_by_pair():
    """Names, arguments and decisions as the framework has them; of its descriptions what somebody wrote, not its template."""
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
    assert [action.description for action in request.action_requests] == [
        None,
        "This cannot be undone.",
        None,
    ]


@pytest.mark.parametrize(
    ("description", "is_kept"),
    [
        ("Any prefix at all\n\nTool: delete_file\nArgs: {'path': \"it's\"}", False),
        ("\n\nTool: delete_file\nArgs: {'path': \"it's\"}", False),
        ("Tool execution requires approval\n\nTool: delete_file\nArgs: {'path': 'other'}", True),
        ("P\n\nTool: delete_file\nArgs: {'path': \"it's\"}\nThis is the last copy!", True),
        ("Careful.\n\nThe owner is away.\n\nTool: delete_file\nArgs: {'path': \"it's\"}", True),
    ],
)
def test_text_that_says_more_than_the_template_is_kept(description, is_kept):
    """A custom text that starts or ends like the template is still somebody's text."""
    action = {"name": "delete_file", "args": {"path": "it's"}, "description": description}
    config = {"action_name": "delete_file", "allowed_decisions": ["approve"]}

    request = langchain.to_request({"action_requests": [action], "review_configs": [config]})

    assert request.action_requests[0].description == (description if is_kept else None)


async def test_decisions_may_be_plain_values():
    """As they come from JSON; keys that the framework does not know are not handed on."""
    pause = await pause_of(says(("send_email", MAIL)))
    edited = {"name": "send_email", "args": {"to": "b"}}

    answer = langchain.to_resume([{"type": "edit", "edited_action": edited, "by": "U1"}], pause)

    assert answer == {"decisions": [{"type": "edit", "edited_action": edited}]}
