"""langchain-dev-utils: decorated tools ask in Slack, with the decorators' own handler, a custom one and ours."""

import asyncio

import pytest

from agent_adapter.integrations.langchain_dev_utils import handler, handler_async, run
from tests.agent_adapter.integrations.office import CONFIG, GO, answers_to_model
from tests.agent_adapter.integrations.till import Till, agent
from tests.support.people import Someone

REJECTED = "A person rejected this call of pay, and it was not executed. Their reason: Too much."
OURS = {"sync": handler, "async": handler_async}


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("whose", ["theirs", "ours"])
async def test_four_decorated_calls_are_one_card_and_each_is_decided(start_bot, slack, client, kind, whose):
    """Each call pauses by itself; together they are one card, and each decision reaches the call it is about."""
    await start_bot()
    till, dana = Till(), Someone(slack, "U0DANA")
    pay = till.decorated(kind, OURS[kind] if whose == "ours" else None)
    graph = agent(pay, *({"to": to} for to in ("al", "bo", "cy", "di")))
    running = asyncio.create_task(run(graph, GO, approvals=client, config=CONFIG))

    card = await dana.card("if nobody")
    review = await dana.opened(card, "review:0")
    await dana.press_in(review, "approve:0")
    for button, typed in (
        ("edit:1", {"to": "ed", "amount": "7"}),
        ("reject:2", {"reason": "Too much."}),
    ):
        await dana.press_in(await dana.view(), button)
        await dana.fill(await dana.view(depth=2), **typed)
    last = await dana.opened(await dana.showing("respond:3"), "respond:3")
    await dana.fill(last, Your_answer="Paid by hand.")
    said = answers_to_model(await running)

    assert sorted(till.paid) == [("al", 5), ("ed", 7)]
    assert [text for _, text in said.values()] == ["paid 5 to al", "paid 7 to ed", REJECTED, "Paid by hand."]
    await dana.card("the agent has resumed")
