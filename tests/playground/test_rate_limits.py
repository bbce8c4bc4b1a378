"""Slack's rate limits, met with the real client."""

import pytest
from slack_sdk.errors import SlackApiError

CHANNEL = "C0APPROVALS"


@pytest.fixture(autouse=True)
async def limited(control):
    """Every test here meets the limits."""
    await control.set_limits(enabled=True)


async def test_posts_pass_in_a_small_burst_then_one_a_second(slack, control):
    """Over it: 429, `Retry-After`, and nothing posted. One slow channel holds up no other."""
    for number in range(3):
        await slack.chat_postMessage(channel=CHANNEL, text=str(number))
    with pytest.raises(SlackApiError) as refused:
        await slack.chat_postMessage(channel=CHANNEL, text="x")

    response = refused.value.response
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers["Retry-After"] == "1"
    assert len(await control.messages(CHANNEL)) == 3
    assert (await slack.chat_postMessage(channel="C0SHARED", text="x"))["ok"]


async def test_edits_are_limited_to_fifty_a_minute_and_groups_to_twenty(slack):
    """In the whole workspace, whatever the message."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x")
    for number in range(50):
        await slack.chat_update(channel=CHANNEL, ts=posted["ts"], text=str(number))

    with pytest.raises(SlackApiError) as refused:
        await slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="x")

    assert refused.value.response.status_code == 429
    assert 1 <= int(refused.value.response.headers["Retry-After"]) <= 60
    for _ in range(20):
        await slack.usergroups_list()  # tier 2
    with pytest.raises(SlackApiError, match="ratelimited"):
        await slack.usergroups_list()
