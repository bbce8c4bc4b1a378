"""`response_url`, used by Bolt's `respond` and by raw requests."""

import pytest

from tests.playground.builders import actions, section

CHANNEL = "C0APPROVALS"


@pytest.fixture
async def clicked(slack, app, over_sockets, control):
    """Presses the button of a message that only Dana sees; returns the `response_url`."""

    @app.action("approve")
    async def approve(ack):
        await ack()

    async def click(ts=None):
        if ts is None:
            posted = await slack.chat_postEphemeral(
                channel=CHANNEL, user="U0DANA", text="asked", blocks=[actions()]
            )
            ts = posted["message_ts"]
        await control.click("U0DANA", CHANNEL, ts, "approve")
        return (await control.deliveries("block_actions"))[-1]["payload"]["response_url"]

    return click


async def texts(control):
    return [message["text"] for message in await control.messages(CHANNEL, as_user="U0DANA")]


async def test_response_url_works_five_times(clicked, http):
    """The sixth use is refused."""
    url = await clicked()
    statuses = []
    for _ in range(6):
        async with http.post(url, json={"text": "again"}) as response:
            statuses.append(response.status)

    assert statuses == [200] * 5 + [404]


@pytest.mark.parametrize(
    "body",
    [
        {"text": ""}, {"text": "x", "blocks": [section("x" * 3001)]}, {"text": "x", "response_type": "everybody"},
        {"message": "x"}, ["x"],
    ],
)  # fmt: skip
async def test_answer_that_slack_would_not_take_is_refused(clicked, http, control, body):
    """The same limits hold as for a post."""
    url = await clicked()

    async with http.post(url, json=body) as response:
        assert response.status == 400
    assert await texts(control) == ["asked"]
