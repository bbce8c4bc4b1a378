"""For whom an agent acts, who says so, and what that person may not do."""

import pytest

from agent_adapter import Context, InterruptRefusedError
from tests.support.builders import an_action, review
from tests.support.http_api import a_key, speaking
from tests.support.people import words

STRICT = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  requester: required
agents:
  support-*: {requester: agent}
  assistant: {requester: U0DANA}
rules:
  - name: small
    match:
      tool: pay
      args: {properties: {amount: {type: number, maximum: 50}}, required: [amount]}
    requester: optional
"""


@pytest.fixture
async def strict(start_bot, tmp_path):
    """A bot by a policy that has to know for whom an agent acts."""
    path = tmp_path / "policy.yaml"
    path.write_text(STRICT)
    return await start_bot(policy=str(path), approvers="", channel=None)


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("named", [None, "U0ERIK"])
async def test_an_agent_that_names_nobody_or_that_nobody_vouches_for_is_refused(client, named):
    """Leaving the name out lets nobody approve their own request, and neither does naming somebody else."""
    with pytest.raises(InterruptRefusedError, match="--may-name-requesters") as refused:
        await review(client, context=Context(requested_by=named))

    assert refused.value.code == "requester"


async def test_a_key_vouches_for_whom_its_holder_names(strict, redis_url, dana, erik):
    """The same question with an ordinary key is refused."""
    asked = {"context": {"requested_by": "U0DANA"}}
    async with speaking(strict.http.port, await a_key(redis_url)) as caller:
        refused = await caller.ask(**asked)
        _, state = await caller.send("GET", f"/interrupts/{refused}", params={"wait": 10})
        assert (state["status"], state["code"]) == ("refused", "requester")
    async with speaking(strict.http.port, await a_key(redis_url, may_name_requesters=True)) as caller:
        interrupt_id = await caller.ask(**asked)
        card = await dana.card("for <@U0DANA> · <@U0ERIK> decides")
        await dana.press(card, "approve:0")
        await dana.notice("somebody else has to approve it")
        await erik.press(card, "approve:0")
        _, state = await caller.send("GET", f"/interrupts/{interrupt_id}", params={"wait": 10})
        assert state["records"][0]["decided_by"] == "U0ERIK"


async def test_a_key_of_one_person_acts_for_that_person(strict, redis_url, dana):
    """Without a name it puts the person in, and another one is refused at once."""
    async with speaking(strict.http.port, await a_key(redis_url, requester="U0DANA")) as caller:
        status, answer = await caller.send(
            "POST", "/interrupts", json={"payload": pause(), "context": {"requested_by": "U0ERIK"}}
        )
        assert (status, answer["error"]["code"]) == (403, "requester")
        await caller.ask()
        await dana.press(await dana.card("for <@U0DANA> · <@U0ERIK> decides"), "approve:0")
        await dana.notice("somebody else has to approve it")


def pause():
    return {
        "actionRequests": [{"name": "send_email", "args": {}}],
        "reviewConfigs": [{"actionName": "send_email", "allowedDecisions": ["approve", "reject"]}],
    }


@pytest.mark.usefixtures("strict")
async def test_an_edit_that_meets_a_strict_rule_needs_a_known_requester_too(client, dana):
    """A small payment was asked without a name; made a large one, it would be decided by a rule that requires it."""
    reviewing = review(client, an_action("pay", {"amount": 5}))
    card = await dana.card()
    filled = await dana.fill(await dana.opened(card, "edit:0"), amount="5000")

    assert "only the agent says for whom it acts" in words(filled["views"][-1]["blocks"]) or (
        "only the agent says" in str(filled.get("errors"))
    )
    assert not reviewing.done()
    reviewing.cancel()


# --- The thread that the run came from ----------------------------------------------------------------------------

ELSEWHERE = "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}"


@pytest.mark.parametrize("by_reply", [False, True])
async def test_who_began_the_thread_may_reject_and_not_approve(
    start_bot, slack, client, dana, erik, tmp_path, by_reply
):
    """Also where the rule asks in another channel, and where the agent names a reply in place of the first message."""
    path = tmp_path / "policy.yaml"
    path.write_text(ELSEWHERE)
    await start_bot(policy=str(path), approvers="", channel=None)
    await slack.channel("C0SHARED", members=["U0BOT", "U0DANA", "U0ERIK"])
    thread = (await slack.message("U0DANA", "C0SHARED", "please refund order 7"))["ts"]
    if by_reply:
        thread = (await slack.message("U0ERIK", "C0SHARED", "me too", thread_ts=thread))["ts"]
    reviewing = review(client, channel="C0SHARED", thread_ts=thread)
    card = await dana.card()
    assert card["channel"] == "C0APPROVALS"

    await dana.press(card, "approve:0")
    await dana.notice("This comes from a thread that you started")
    assert not reviewing.done()
    await erik.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0ERIK"


async def test_a_thread_that_cannot_be_read_is_not_asked_about(start_bot, slack, client):
    """Nobody could be kept from approving their own request."""
    await start_bot()

    with pytest.raises(InterruptRefusedError) as refused:
        await review(client, channel="C0APPROVALS", thread_ts="1700000000.000100")

    assert refused.value.code == "thread_not_found"
