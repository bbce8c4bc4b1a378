"""What a call or an answer may look like on the wire, how its connection may fail, and how all of it is reset."""

import pytest
from aiohttp import ClientError

from tests.playground.builders import section

CHANNEL = "C0APPROVALS"


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


@pytest.mark.parametrize(("kind", "posted"), [("accept_then_drop", 1), ("drop", 0), ("timeout", 0)])
async def test_dropped_connection_leaves_the_caller_in_doubt(slack, control, kind, posted):
    """The message is there where it was accepted before; the caller cannot know."""
    await control.fault("chat.postMessage", kind, seconds=0.01)
    await control.fault("chat.update", "error", times=None)  # another method

    with pytest.raises(ClientError):
        await slack.chat_postMessage(channel=CHANNEL, text="x")

    assert len(await control.messages(CHANNEL)) == posted


async def test_reset_brings_the_defaults_back_and_keeps_sockets(control, slack, over_sockets):
    """The next test starts anew with the app still connected."""
    await slack.chat_postMessage(channel=CHANNEL, text="x")
    await control.person("U0NEW", name="Nia")
    await control.fault("*", "error", times=None)
    await control.revoke_token()
    await control.set_limits(enabled=True)

    await control.reset()

    state = await control.state()
    assert "U0NEW" not in {person["id"] for person in state["people"]}
    assert (state["faults"], state["token"]["revoked"], state["limits"], state["sockets"]) == (
        [],
        False,
        False,
        1,
    )
    assert await control.messages() == []
    assert await control.calls() == []
