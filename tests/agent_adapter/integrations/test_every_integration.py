"""What every integration does alike, whatever the framework: each decision, each way to end, each way to go wrong."""

import asyncio
import re
from contextlib import suppress

import pytest

from agent_adapter import Outcome, approval_key, approval_receipt
from agent_adapter.errors import ConsumedError, DecisionNotAllowedError, InterruptExpiredError
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations.runs import (
    RUNS,
    TURNS,
    Till,
    function_that_blocks,
    pays,
    spoon,
)
from tests.support.deciding import deciding, outcomes_of
from tests.support.faults import eventually
from tests.support.lanes import require_spoonai
from tests.support.workers import ids


@pytest.fixture(autouse=True)
def package(request):
    if request.node.callspec.params["ask"] is spoon:
        require_spoonai()


def each(asks):
    return pytest.mark.parametrize("ask", asks.values(), ids=asks)


@each(RUNS)
async def test_each_call_of_a_turn_becomes_what_was_decided_about_it(ask):
    """It runs as it was shown, with a person's changes or not at all, with its own key and receipt. What became of it is reported.

    Silence about one leaves the decisions about the others, and never reads as what a person said. The answer is used up.
    """
    approvals = deciding(approve(), edit({"order": 8}), reject("Too much."), respond("Ask Mira."), None)
    till = Till(approvals)

    said = str(await ask(till, approvals, 1, 2, 3, 4, 5))

    assert [(action.name, action.args) for action in approvals.reviewer.asked] == pays(1, 2, 3, 4, 5)
    assert len(approvals.asked) == (1 if ask in TURNS.values() else 5)
    assert sorted(till.paid) == [1, 8]
    assert all(words in said for words in ("paid 1", "paid 8", "Too much.", "Ask Mira."))
    assert not re.search(r"A person (rejected|did not approve)[^']*Nobody decided", said)
    asked = [f"{one.id}:{index}" for one in approvals.asked for index in range(len(one.pauses))]
    assert sorted(till.keys) == sorted(asked[:2])
    assert approval_key() is approval_receipt() is None
    assert await outcomes_of(approvals) == [Outcome.done("paid 1"), Outcome.done("paid 8"), None, None, None]
    for one in approvals.asked:
        with pytest.raises(ConsumedError):
            await approvals.publish(one)


@each(RUNS)
async def test_silence_is_an_error_where_the_caller_wants_one(ask):
    """Nothing runs, and the run ends with it."""
    approvals = deciding(None)
    till = Till(approvals)

    with pytest.raises(InterruptExpiredError):
        await ask(till, approvals, 17, on_expiry="raise")

    assert till.paid == []


@each(RUNS)
async def test_an_edit_that_does_not_fit_the_tool_runs_nothing_of_the_turn(ask):
    approvals = deciding(edit({"order": "many"}), approve())
    till = Till(approvals)

    with pytest.raises(DecisionNotAllowedError, match="does not fit"):
        await ask(till, approvals, 1, 2)

    assert till.paid == []
    # The card says that it did not run, and why. It can be asked again.
    assert "does not fit" in (await approvals.record(approvals.asked[0].id)).unused


@each(RUNS)
async def test_the_error_of_an_approved_call_is_reported(ask):
    """Whether it ends the run, or the model reads it."""
    approvals = deciding(edit({"order": -1}))

    with suppress(Exception):  # each framework has its own
        await ask(Till(approvals), approvals, 17)

    (outcome,) = await outcomes_of(approvals)
    assert outcome.status == "failed"
    assert "no such order" in outcome.text


IN_THIS_LOOP = {name: ask for name, ask in RUNS.items() if ask is not function_that_blocks}


@each(IN_THIS_LOOP)
async def test_a_run_that_is_cancelled_takes_back_a_question_that_no_process_could_find_again(
    ask, client, store
):
    """What is stored can be gone on with, so its question stays."""
    till = Till()
    running = asyncio.create_task(ask(till, client, 17))
    (interrupt_id,) = await eventually(lambda: ids(store))
    running.cancel()
    await asyncio.wait([running])

    assert bool((await store.load(interrupt_id)).withdraw_asked) is not till.is_stored
