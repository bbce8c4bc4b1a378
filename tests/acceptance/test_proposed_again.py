"""A call that is proposed again after somebody asked for changes: its card says what is different."""

import pytest

from agent_adapter.contract.identity import interrupt_id
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt
from tests.support.people import words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - name: logins
    match: {tool: connect, args: {properties: {step: {const: 1}}, required: [step]}}
    mask: [password]
  - {name: other logins, match: {tool: connect}, modal_only: [notes]}
"""

pytestmark = pytest.mark.usefixtures("bot")


def asking(tool, args, *, pause):
    """Ask in one run, with a pause of its own."""
    asked = an_interrupt(an_action(tool, args), run="run-1", id=interrupt_id("billing", "run-1", (pause,)))
    return asked.model_copy(update={"pauses": (pause,)})


async def sent_back(client, dana, interrupt, saying):
    """Ask, and have Dana ask for changes."""
    await client.publish(interrupt)
    card = await dana.card(saying)
    await dana.fill(await dana.opened(card, "changes:0"), What="Half of it.")
    await dana.card("Changes requested")
    return card


async def test_the_next_proposal_says_what_is_different_and_links_to_the_one_before(client, redis_url, dana):
    """For the same tool in the same run. Another agent that names this run is told nothing of it."""
    first = await sent_back(client, dana, asking("pay", {"amount": 731946}, pause="a"), "731946")

    await client.publish(asking("pay", {"amount": 528317}, pause="b"))
    shown = words((await dana.card("2nd proposal"))["blocks"])
    assert "<@U0DANA> asked for changes" in shown
    assert "amount: 731946 → 528317" in shown
    assert f"/archives/{first['channel']}/p{first['ts'].replace('.', '')}|" in shown

    async with an_agent(redis_url, "rogue") as other:
        await other.publish(an_interrupt(an_action("pay", {"amount": 41}), agent="rogue", run="run-1"))
        shown = words((await dana.card("rogue: pay 41"))["blocks"])
    assert "proposal" not in shown
    assert "731946" not in shown


async def test_what_one_of_the_two_may_not_show_is_on_neither_card(client, dana):
    """The first rule masks the password, the second keeps the notes for a modal; both hold for the comparison."""
    before = {"step": 1, "password": "hunter2", "notes": "patient 7", "host": "db-1"}
    after = {"step": 2, "password": "hunter3", "notes": "patient 8", "host": "db-2"}
    await sent_back(client, dana, asking("connect", before, pause="a"), "db-1")

    await client.publish(asking("connect", after, pause="b"))
    card = await dana.card("2nd proposal")

    compared = next(words(block) for block in card["blocks"] if block["block_id"] == "a:0:changed")
    assert "db-1 → " in compared.replace('"', "")
    assert not [word for word in ("hunter2", "hunter3", "patient") if word in compared]
