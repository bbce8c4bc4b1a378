"""The control API: what there is to see and to change."""

CHANNEL = "C0APPROVALS"


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
