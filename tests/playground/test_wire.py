"""What a call or an answer may look like on the wire, and how its connection may fail."""

import json

import pytest
from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from playground.errors import ControlError
from tests.playground.builders import section

CHANNEL = "C0APPROVALS"


@pytest.fixture
def headers(playground):
    return {"Authorization": f"Bearer {playground.bot_token}"}


async def post(http, playground, method, **request):
    async with http.post(f"{playground.api_url}{method}", **request) as response:
        return await response.json()


async def test_form_body_with_json_in_a_field_is_read(playground, http, headers):
    """A form carries structured arguments as JSON text."""
    form = {"channel": CHANNEL, "text": "x", "blocks": json.dumps([section()]), "unfurl_links": "0"}

    answer = await post(http, playground, "chat.postMessage", data=form, headers=headers)

    assert answer["message"]["blocks"][0]["type"] == "section"


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({"blocks": "[{"}, "must be valid JSON [json-pointer:/blocks]"),
        ({"unfurl_links": "yes"}, "must provide a boolean [json-pointer:/unfurl_links]"),
    ],
)
async def test_field_of_another_form_is_refused(playground, http, headers, field, sentence):
    """Blocks in a form must be JSON, and `yes` is not a boolean."""
    form = {"channel": CHANNEL, "text": "x", **field}

    answer = await post(http, playground, "chat.postMessage", data=form, headers=headers)

    assert answer["response_metadata"]["messages"] == [f"[ERROR] {sentence}"]


async def test_reading_method_does_not_read_a_json_body(playground, http, headers):
    """Slack takes JSON only where something is written."""
    answer = await post(http, playground, "users.info", json={"user": "U0DANA"}, headers=headers)

    assert answer["error"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("body", "error"), [("{", "invalid_json"), ("[]", "json_not_object"), ('"x"', "json_not_object")]
)
async def test_a_body_that_is_not_a_json_object_is_refused(playground, http, headers, body, error):
    """In Slack's words."""
    headers |= {"content-type": "application/json"}

    assert (await post(http, playground, "chat.postMessage", data=body, headers=headers))["error"] == error


# --- `response_url` ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def response_url(control):
    """Of a command that no app has heard."""
    await control.command("U0DANA", CHANNEL, "/approvals")
    [delivery] = await control.deliveries()
    return delivery["payload"]["response_url"]


async def test_response_url_works_five_times(response_url, http):
    statuses = []
    for _ in range(6):
        async with http.post(response_url, json={"text": "again"}) as response:
            statuses.append(response.status)

    assert statuses == [200] * 5 + [404]


@pytest.mark.parametrize(
    "body",
    [
        {"text": ""}, {"text": "x", "blocks": [section("x" * 3001)]}, {"text": "x", "response_type": "everybody"},
        {"message": "x"}, ["x"],
    ],
)  # fmt: skip
async def test_answer_that_slack_would_not_take_is_refused(response_url, http, control, body):
    """The same limits hold as for a post."""
    async with http.post(response_url, json=body) as response:
        assert response.status == 400
    assert await control.messages(CHANNEL, as_user="U0DANA") == []


# --- Faults that are switched on, met with the real client ------------------------------------------------------------


async def post_with(slack):
    return await slack.chat_postMessage(channel=CHANNEL, text="x")


async def test_fault_lasts_until_it_is_removed(slack, control):
    """`times=None`; the state lists it."""
    fault_id = await control.fault("*", "error", times=None)
    for _ in range(3):
        with pytest.raises(SlackApiError, match="internal_error"):
            await post_with(slack)
    listed = (await control.state())["faults"]

    await control.remove_fault(fault_id)

    assert [fault["id"] for fault in listed] == [fault_id]
    assert (await post_with(slack))["ok"]


@pytest.mark.parametrize(("kind", "posted"), [("accept_then_drop", 1), ("drop", 0), ("timeout", 0)])
async def test_dropped_connection_leaves_the_caller_in_doubt(slack, control, kind, posted):
    """The message is there where it was accepted before; the caller cannot know."""
    await control.fault("chat.postMessage", kind, seconds=0.01)
    await control.fault("chat.update", "error", times=None)  # another method

    with pytest.raises(ClientError):
        await post_with(slack)

    assert len(await control.messages(CHANNEL)) == posted


@pytest.mark.parametrize(("kind", "said"), [("drop", []), ("timeout", []), ("accept_then_drop", ["x"])])
async def test_response_url_can_lose_its_connection(http, control, response_url, kind, said):
    """Before the answer was taken, or after; it is a method like others here."""
    await control.fault("response_url", kind, seconds=0.01)

    with pytest.raises(ClientError):
        async with http.post(response_url, json={"text": "x"}):
            pass

    assert [message["text"] for message in await control.messages(CHANNEL, as_user="U0DANA")] == said


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"kind": "explode"}, "kind must be one of"),
        ({"kind": "error", "colour": "red"}, "A fault has kind, method, .* and no colour"),
        ({"kind": "delay", "seconds": "long"}, "seconds cannot be 'long'"),
    ],
)
async def test_an_unknown_fault_is_refused(control, asked, sentence):
    """A misspelt fault would make a test pass for nothing; nor can one be removed that is not there."""
    with pytest.raises(ControlError, match="There is no fault F9"):
        await control.remove_fault("F9")
    with pytest.raises(ControlError, match=sentence):
        await control.fault("*", **asked)
