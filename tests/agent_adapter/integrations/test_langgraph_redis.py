"""The same runs with the real client: a real Redis, and a person behind the bot's own scripts."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.langgraph import run, to_request
from agent_adapter.testing import ScriptedReviewer, approve, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office
from tests.conftest import an_agent
from tests.support.deciding import person

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
async def test_run_of_another_process_takes_the_answer_of_the_first(mode, client, redis_url):
    """The first process ends once it has asked; the record is found again, and consumed once."""
    office, saver = Office(), InMemorySaver()
    reviewer = ScriptedReviewer(
        {"send_email": [approve()], "delete_file": [approve()], "ask_user": [respond("x")]}
    )
    first = office.agent(TURN, DONE, mode=mode, checkpointer=saver)
    await first.ainvoke(GO, CONFIG)
    pauses = (await first.aget_state(CONFIG)).interrupts
    interrupt = client.interrupt(
        to_request(pauses, tools=office.tools),
        run="thread-1",
        pauses=[p.id for p in pauses for _ in p.value.get("action_requests", [None])],
    )
    await client.publish(interrupt)

    async with an_agent(redis_url) as successor, person(redis_url, reviewer):
        again = office.agent(TURN, DONE, mode=mode, checkpointer=saver)
        await run(again, None, approvals=successor, config=CONFIG)

        assert office.names() == ["delete_file", "read_file", "send_email"]
        with pytest.raises(ConsumedError):
            await successor.publish(interrupt)
