"""Limits of an agent, from the policy file to the error that it gets; other agents notice nothing."""

import pytest

from agent_adapter import InterruptRefusedError
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt
from tests.support.http_api import a_key, speaking
from tests.support.people import Someone, words


@pytest.fixture
def start_limited(start_bot, tmp_path):
    """Start a bot under these limits: `await start_limited("{pending: 2}")`."""

    async def start(limits: str):
        path = tmp_path / "policy.yaml"
        path.write_text(f"default: {{channel: C0APPROVALS, approvers: [U0ERIK]}}\nlimits: [{limits}]\n")
        return await start_bot(policy=str(path), approvers="", channel=None)

    return start


async def test_beyond_its_open_interrupts_an_agent_is_refused_until_one_is_decided(
    start_limited, slack, client, redis_url
):
    """The error names the limit and the cure, another agent is asked as ever, and a decision makes room."""
    await start_limited("{agent: billing, pending: 2}")
    erik = Someone(slack, "U0ERIK")
    first = await client.publish(an_interrupt(an_action("pay_rent"), run="1"))
    one = await erik.card("pay_rent")
    await client.publish(an_interrupt(an_action("send_mail"), run="2"))
    await erik.card("send_mail")

    with pytest.raises(InterruptRefusedError) as refused:
        async with client.reviewing(an_interrupt(an_action("drop_table"), run="3")):
            pass

    assert refused.value.code == "limits"
    assert "agent billing has 2 open interrupts, and the policy allows 2: ask again when" in str(
        refused.value
    )
    async with an_agent(redis_url, "payroll") as other:
        await other.publish(an_interrupt(an_action("pay_wages"), agent="payroll", run="4"))
        await erik.card("pay_wages")

    await erik.press(one, "approve:0")
    await client.wait(first)
    await client.publish(an_interrupt(an_action("ask_bank"), run="5"))
    await erik.card("ask_bank")


async def test_over_http_it_is_429_before_anything_is_stored(start_limited, slack, redis_url):
    """With the seconds to wait; asking again about what is asked already is not refused."""
    bot = await start_limited("{per_minute: 2}")
    async with speaking(bot.http.port, await a_key(redis_url)) as caller:
        asked = [await caller.ask(**_body(run)) for run in ("r-1", "r-2")]
        await until(lambda: all((known := bot.store.recall(each)) and known.is_shown for each in asked))

        status, answer = await caller.send("POST", "/interrupts", json=_body("r-3"))

        assert (status, answer["error"]["code"]) == (429, "limits")
        assert "asked more than 2 times in a minute" in answer["error"]["message"]
        assert (await caller.send("POST", "/interrupts", json=_body("r-1")))[0] == 200
    shown = [words(message.get("blocks", [])) for message in await slack.messages("C0APPROVALS")]
    assert ["r-3" in each for each in shown] == [False, False]


def _body(run: str):
    request = {"action_requests": [{"name": "pay", "args": {"run": run}}],
               "review_configs": [{"action_name": "pay", "allowed_decisions": ["approve"]}]}  # fmt: skip
    return {"payload": request, "run": run, "pause": "p"}
