"""What Slack delivers counts once, and only when it is for this app and this workspace."""

import asyncio
import json
import time
from contextlib import ExitStack
from itertools import product
from urllib.parse import urlencode

import aiohttp
import pytest
from slack_sdk.signature import SignatureVerifier

from tests.support.builders import an_action, review
from tests.support.people import words
from tests.support.topologies import each_primary

TWO_EACH = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK, U0MIRA]
  quorum: 2
  reject_quorum: 2
"""


@pytest.fixture(params=["socket", "http"])
async def start(request, start_bot, slack):
    """Start a bot that Slack reaches either way: `await start(setting=…)`."""

    async def started(**changed):
        if request.param == "socket":
            return await start_bot(**changed)
        bot = await start_bot(SLACK_APP_TOKEN=None, **changed)
        await slack.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
        return bot

    return started


@pytest.fixture
async def two_each(start, tmp_path):
    """A bot by a policy that takes two people, also to reject."""
    path = tmp_path / "policy.yaml"
    path.write_text(TWO_EACH)
    return await start(policy=str(path), approvers="", channel=None)


# --- Once ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("two_each")
async def test_a_click_that_is_sent_again_does_not_take_a_changed_vote_back(client, slack, dana, erik):
    """Dana approves and then rejects. Her first click, recorded and sent again, is acknowledged and changes nothing."""
    reviewing = review(client)
    card = await dana.card()
    first = await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved*")
    await dana.fill(await dana.opened(card, "reject:0"), reason="wrong account")
    await dana.card("*1 of 2 rejected*")

    again = await slack.deliver_again(first["delivery"])
    await erik.press(card, "approve:0")
    await erik.notice("Your approval counts")

    assert again["ack"]["ok"]
    assert not reviewing.done(), "the replay would have been the second approval"
    await dana.card("*1 of 2 approved*: <@U0ERIK>")
    reviewing.cancel()


@pytest.mark.usefixtures("two_each")
async def test_a_form_that_is_sent_again_does_not_take_a_changed_vote_back(client, slack, dana, erik):
    """Dana rejects and then approves. Her form is answered as if it was recorded, and changes nothing."""
    reviewing = review(client)
    card = await dana.card()
    first = await dana.fill(await dana.opened(card, "reject:0"), reason="wrong account")
    await dana.card("*1 of 2 rejected*")
    await dana.press(card, "approve:0")
    await dana.card("*1 of 2 approved*: <@U0DANA>")

    again = await slack.deliver_again(first["delivery"])
    await erik.fill(await erik.opened(card, "reject:0"), reason="wrong account")
    await erik.card("*1 of 2 rejected*: <@U0ERIK>")

    assert again["response"]["response_action"] != "errors"
    assert not reviewing.done()
    reviewing.cancel()


async def test_a_click_that_failed_half_way_can_be_sent_again(start, client, slack, dana, redis_url):
    """Redis does not take the first one, so it is not acknowledged; the same click is then recorded as if it were the first."""
    await start()
    reviewing = review(client)
    card = await dana.card()
    failed = await pressed_in_vain(slack, redis_url, dana, card)
    await dana.notice("may *not* be recorded")

    again = await slack.deliver_again(failed["delivery"])

    assert again["ack"]["ok"]
    assert (await reviewing).records[0].decided_by == "U0DANA"


# --- For this app, from this workspace ----------------------------------------------------------------------------

FOREIGN = [
    {"api_app_id": "A0OTHER"},
    {"api_app_id": None},
    {"team": {"id": "T0OTHER"}},
    {"team": None},
    {"team": None, "enterprise": {"id": "E0OTHER"}, "is_enterprise_install": True},
]


@pytest.mark.parametrize("start", ["http"], indirect=True)
@pytest.mark.parametrize(
    "forged", FOREIGN, ids=["app", "no app", "workspace", "no workspace", "organisation"]
)
async def test_a_click_for_another_app_or_workspace_decides_nothing(start, client, slack, dana, forged):
    """It is not acknowledged, so Slack shows that it failed; the same person's own click counts."""
    await start()
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    await slack.delivery(forge=forged)

    pressed = await dana.press(card, "approve:0")
    filled = await dana.fill(form, reason="no")

    assert not pressed["ack"]["ok"]
    assert (filled["ack"]["ok"], filled["result"]) == (False, "failed")
    assert not reviewing.done()
    await slack.delivery(forge={})
    await dana.press(card, "approve:0")
    assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.parametrize("start", ["http"], indirect=True)
async def test_somebody_who_acts_from_another_workspace_decides_only_where_they_are_named(
    start, client, slack, dana
):
    """Slack delivers the click with a workspace of theirs that is not ours, while it calls them a member when asked."""
    await start(approvers="S0OPS")
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    await slack.delivery(forge={"user": {"team_id": "T0OTHER"}})

    pressed = await dana.press(card, "approve:0")
    filled = await dana.fill(form, reason="no")

    assert pressed["ack"]["ok"]
    await dana.notice("People of other workspaces may not decide here")
    assert "People of other workspaces" in words(filled["views"][-1]["blocks"])
    assert not reviewing.done()
    reviewing.cancel()


async def pressed_in_vain(slack, redis_url, person, card):
    """Approve while Slack takes its time to say who this is, and Redis stops taking writes before it has said so."""
    await slack.fault("users.info", "delay", seconds=0.5)
    pressing = asyncio.create_task(person.press(card, "approve:0"))
    await asyncio.sleep(0.2)
    with ExitStack() as stack:
        servers = [stack.enter_context(each) for each in each_primary(redis_url)]
        for server in servers:
            server.client_pause(2_000, all=False)
        failed = await pressing
        for server in servers:
            server.client_unpause()
    assert not failed["ack"]["ok"]
    assert failed["ack"]["error"] != "timeout", "Slack still listened"
    return failed


# --- Forms that are about no action -------------------------------------------------------------------------------


async def signed(bot, playground, payload):
    """Send a payload with a good signature, and give the answer."""
    body = urlencode({"payload": json.dumps(payload)})
    sent_at = str(int(time.time()))
    signature = SignatureVerifier(playground.signing_secret).generate_signature(timestamp=sent_at, body=body)
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": sent_at,
        "x-slack-signature": signature,
    }
    address = f"http://127.0.0.1:{bot.http.port}/slack/events"
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def test_a_form_that_is_about_no_action_of_the_record_records_nothing(
    start_bot, playground, slack, client, dana
):
    """A negative index counts from the end in Python, and would store a decision of an action that does not exist."""
    bot = await start_bot(SLACK_APP_TOKEN=None)
    await slack.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
    reviewing = review(client, an_action("pay"), an_action("mail"))
    card = await dana.showing("review:0")
    await dana.fill(await dana.opened(card, "edit:0"))
    payload = (await slack.deliveries("view_submission"))[-1]["payload"]
    meta = json.loads(payload["view"]["private_metadata"])
    state = {"values": {"words": {"text": {"type": "plain_text_input", "value": "no"}}}}
    forms = ("confirm", "reject", "edit", "sticky", "respond", "reject_all", "hand_over")
    for form, index in product(forms, (-1, 2, "0", None, True)):
        carried = json.dumps({**meta, "index": index})
        view = {**payload["view"], "callback_id": form, "private_metadata": carried, "state": state}
        status, said = await signed(bot, playground, {**payload, "view": view})
        assert (status, "nothing was recorded" in said) == (200, True), (form, index, said)

    stored = await bot.store._redis.hgetall(bot.store.keys.card(meta["id"]))
    assert [name for name in stored if name.startswith("d:")] == []
    reviewing.cancel()
