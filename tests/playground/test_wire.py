"""Every form in which the SDK puts a call on the wire, and some that it never would."""

import json

import pytest

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
