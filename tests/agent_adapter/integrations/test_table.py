"""The table of docs/reference/frameworks.md: what becomes of a call in each framework."""

import asyncio
import re
from functools import partial

import pytest

from agent_adapter.contract.hitl import RespondDecision
from agent_adapter.errors import (
    AgentAdapterError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InterruptWithdrawnError,
    ReceiptError,
)
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject, respond
from tests.agent_adapter.integrations import runs
from tests.agent_adapter.integrations.runs import Till
from tests.support.deciding import admit, deciding, record
from tests.support.faults import eventually
from tests.support.lanes import require_spoonai
from tests.support.pages import ROOT, page
from tests.support.workers import ids

ROWS = {
    "`ask`": [runs.asks],
    "Plain functions": [runs.function_with_a_key],
    "LangChain": [runs.langchain, runs.langchain_per_call, runs.langchain_stream],
    "deepagents": [runs.deepagents],
    "LangGraph": [runs.interrupts],
    "langchain-dev-utils": [runs.dev_utils, runs.with_our_handler],
    "OpenAI Agents SDK": [runs.openai_sdk, runs.openai_sdk_stream],
    "OpenAI Agents SDK, stored": [runs.openai_sdk_stored],
    "Pydantic AI": [runs.pydantic_ai_run],
    "SpoonAI": [runs.spoon],
    "XpertAI": [runs.xpert_ai],
}
"""The rows of which this file runs every cell, in each of these ways. Each cell of another row has a marked test."""


def table():
    """Read the page: the word of each cell, by row and column."""
    text = re.sub(r"\[(.*)\]\(.*?\)", r"\1", page("docs/reference/frameworks.md").partition("\n## ")[0])
    rows = [re.findall(r"[^|]+", line) for line in text.splitlines() if line.startswith("|")]
    (_, *columns), _, *rows = [[cell.strip() for cell in row] for row in rows]
    return {(name, column): word for name, *row in rows for column, word in zip(columns, row, strict=True)}


def marked():
    """Find the cells that tests are marked with, and their words, also in the tests of the npm package."""
    tests = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("packages/*/test*/**/*.*s")]
    found = [re.findall(r'\bcell\(\s*("[^)]*)\)', path.read_text(encoding="utf-8")) for path in tests]
    named = [re.findall(r'"(.*?)"', cell) for cells in found for cell in cells]
    return {(row, *cell.split(": ")) for row, *cells in named for cell in cells}


TABLE = table()


# --- What each column is about ------------------------------------------------------------------------------------


async def decided(answer, ask):
    """Ask about a single call."""
    till, approvals = Till(), deciding(answer)
    try:
        said = str(await ask(till, approvals, 1))
    except AgentAdapterError as error:
        said = error
    config = approvals.asked[0].request.review_configs[0]
    if till.paid:
        assert f"paid {till.paid[0]}" in said
        return {(1,): "runs", (8,): "runs edited"}[tuple(till.paid)]
    if isinstance(said, Exception):
        return "not offered" if "is not one of" in str(said) else "error"
    assert (answer.message if answer else "Nobody decided") in said
    is_no = isinstance(answer, RespondDecision) and "answer_as_rejection" in config.effects
    return "told, as a no" if is_no else "told"


async def batch(ask):
    till, approvals = Till(), deciding(approve(), approve())
    await ask(till, approvals, 1, 2)
    assert sorted(till.paid) == [1, 2]
    return {1: "one card", 2: "a card each"}[len(approvals.asked)]


async def withdrawn(orders, ask, client, store):
    """Approve the first of two calls. If that let it run, it would have run before the question is withdrawn."""
    till = Till()
    running = asyncio.create_task(ask(till, client, *orders))
    (asked,) = await eventually(lambda: ids(store))
    state = await admit(store, asked)
    if len(orders) == 2:
        await record(store, asked, {0: approve()})
    if len(orders) > len(state.actions):

        async def paid():
            return till.paid

        await eventually(paid)
        running.cancel()
        await asyncio.wait([running])
        return "runs"
    await store.settle(asked, "withdrawn", reason="not needed")
    with pytest.raises(InterruptWithdrawnError):
        await running
    assert till.paid == []
    return "waits" if len(orders) == 2 else "error"


class KilledError(Exception):
    """Stands for the end of a process."""


def killed(action, config):
    raise KilledError


async def ended(ask, *, checks=False):
    """Ask in a process that ends meanwhile; return what it has left, and approvals for those who go on."""
    approvals = InMemoryApprovalClient(killed)
    till = Till(approvals if checks else None)
    with pytest.raises(KilledError):
        await ask(till, approvals, 1)
    approvals.reviewer = ScriptedReviewer([approve(), approve()])
    return till, approvals


async def process_ended(ask):
    till, approvals = await ended(ask)
    await ask(till, approvals, 1)
    assert till.paid == [1]
    return {1: "found again", 2: "asked anew"}[len(approvals.asked)]


async def resumed_twice(ask):
    till, approvals = await ended(ask)
    stored = till.stored()
    await ask(till, approvals, 1)
    till.saver, till.text = stored
    try:
        await ask(till, approvals, 1)
    except ConsumedError:
        assert till.paid == [1]
        return "refused"
    assert len(approvals.reviewer.asked) == len(till.paid) == 2
    return "asked anew"


async def changed(ask):
    till, approvals = await ended(ask)
    till.change()
    try:
        await ask(till, approvals, 2)
    except (ConflictError, DecisionNotAllowedError):
        assert till.paid == []
        return "refused"
    assert till.paid == [2]
    (asked,) = approvals.reviewer.asked
    return "asked anew" if asked.args == {"order": 2} else "**runs**"


IN_MEMORY = {
    "Approve": partial(decided, approve()),
    "Edit": partial(decided, edit({"order": 8})),
    "Reject": partial(decided, reject("Too much.")),
    "Respond": partial(decided, respond("Ask Mira.")),
    "Batch": batch,
    "Nobody decides": partial(decided, None),
    "Process ended": process_ended,
    "Resumed twice": resumed_twice,
    "Changed": changed,
}
IN_REDIS = {"Partly decided": partial(withdrawn, (1, 2)), "Withdrawn": partial(withdrawn, (1,))}
EACH = pytest.mark.parametrize(
    ("row", "ask"),
    [pytest.param(row, ask, id=f"{row} {n}") for row, asks in ROWS.items() for n, ask in enumerate(asks, 1)],
)


@pytest.fixture
def package(request):
    if request.node.callspec.params["row"] == "SpoonAI":
        require_spoonai()


@EACH
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("column", IN_MEMORY)
async def test_a_cell_says_what_happens(row, ask, column):
    assert await IN_MEMORY[column](ask) == TABLE[row, column]


@EACH
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("column", IN_REDIS)
async def test_a_cell_says_what_happens_in_redis(row, ask, column, client, store):
    assert await IN_REDIS[column](ask, client, store) == TABLE[row, column]


def test_every_cell_has_a_test():
    """And every mark is one of a cell, and has its word."""
    ours = {(row, column) for row in ROWS for column in (*IN_MEMORY, *IN_REDIS)}

    others = {(*cell, word) for cell, word in TABLE.items() if cell not in ours}
    assert others == marked()
    assert ours <= TABLE.keys()


async def test_a_changed_call_does_not_run_where_its_tool_checks_the_receipt():
    """Where the framework would run it."""
    till, approvals = await ended(runs.dev_utils, checks=True)
    till.change()

    with pytest.raises(ReceiptError, match="no receipt for this call"):
        await runs.dev_utils(till, approvals)
    assert till.paid == []
