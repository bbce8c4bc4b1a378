"""Faults that are switched on, met with the real client."""

import pytest
from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from playground.errors import ControlError

CHANNEL = "C0APPROVALS"


async def post(slack):
    return await slack.chat_postMessage(channel=CHANNEL, text="x")


async def test_fault_lasts_until_it_is_removed(slack, control):
    """`times=None`; the state lists it."""
    fault_id = await control.fault("*", "error", times=None)
    for _ in range(3):
        with pytest.raises(SlackApiError, match="internal_error"):
            await post(slack)
    listed = (await control.state())["faults"]

    await control.remove_fault(fault_id)

    assert [fault["id"] for fault in listed] == [fault_id]
    assert (await post(slack))["ok"]


@pytest.mark.parametrize(("kind", "posted"), [("accept_then_drop", 1), ("drop", 0), ("timeout", 0)])
async def test_dropped_connection_leaves_the_caller_in_doubt(slack, control, kind, posted):
    """The message is there where it was accepted before; the caller cannot know."""
    await control.fault("chat.postMessage", kind, seconds=0.01)
    await control.fault("chat.update", "error", times=None)  # another method

    with pytest.raises(ClientError):
        await post(slack)

    assert len(await control.messages(CHANNEL)) == posted


@pytest.mark.parametrize(("kind", "said"), [("drop", []), ("timeout", []), ("accept_then_drop", ["x"])])
async def test_response_url_can_lose_its_connection(http, control, kind, said):
    """Before the answer was taken, or after; it is a method like others here."""
    await control.command("U0DANA", CHANNEL, "/approvals")
    [delivery] = await control.deliveries()
    await control.fault("response_url", kind, seconds=0.01)

    with pytest.raises(ClientError):
        async with http.post(delivery["payload"]["response_url"], json={"text": "x"}):
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
