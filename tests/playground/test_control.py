"""The control API: what there is to see and to change."""

import pytest

from playground.errors import ControlError

CHANNEL = "C0APPROVALS"


async def test_people_groups_and_channels_are_made_and_changed(control, slack):
    """Seen by the app at once."""
    await control.person("U0NEW", name="Nia")
    await control.person("U0NEW", is_restricted=True)
    await control.group("S0NEW", handle="new", users=["U0NEW"])
    await control.channel("C0NEW", name="new", members=["U0BOT", "U0NEW"], is_private=True)
    await control.channel("C0OLD", members=[])

    written = await control.message("U0NEW", CHANNEL, "hello")
    await control.message("U0ERIK", CHANNEL, "hi", thread_ts=written["ts"])

    [first, answer] = await control.messages(CHANNEL)
    assert (first["user"], first["reply_count"], answer["text"]) == ("U0NEW", 1, "hi")
    assert (await slack.users_info(user="U0NEW"))["user"]["is_restricted"] is True
    assert (await slack.usergroups_users_list(usergroup="S0NEW"))["users"] == ["U0NEW"]
    assert (await slack.conversations_info(channel="C0NEW"))["channel"]["is_private"] is True
    assert (await slack.conversations_members(channel="C0OLD"))["members"] == []


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda control: control.person("U0DANA", colour="red"), "colour cannot be set"),
        (lambda control: control.group("S0OPS", users=["U0NOBODY"]), "There is nobody called 'U0NOBODY'"),
        (lambda control: control.deliver_to("localhost:3000"), "events_url is an address such as http://"),
        (lambda control: control.delivery(disconnect="please"), "disconnect is warning or refresh_requested"),
        (lambda control: control.event({"user": "U0DANA"}), "An event is an object with a type"),
        (lambda control: control.messages("C0NONE"), "There is no channel 'C0NONE'"),
    ],
)  # fmt: skip
async def test_an_impossible_change_is_refused_with_a_sentence(control, make, sentence):
    """What is wrong, and with what."""
    with pytest.raises(ControlError, match=sentence):
        await make(control)


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
