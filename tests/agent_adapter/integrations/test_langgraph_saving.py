"""What LangGraph cannot save: such an answer resumes nothing, and no worker runs a call again whose result was not saved."""

from contextlib import suppress

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from agent_adapter.errors import DecisionNotAllowedError
from agent_adapter.testing import ScriptedReviewer, approve, edit
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, gated, in_a_node, run_thread
from tests.conftest import an_agent, until
from tests.support.deciding import deciding, person
from tests.support.scripted_model import says
from tests.support.workers import working

PLACES = [f"place-{number:04}-{'x' * 30}" for number in range(1200)]
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "enum": PLACES}, "nights": {}},
    "required": ["place", "nights"],
}


class Disk(InMemorySaver):
    """Keeps a thread until it is full, which may happen while the first tool runs."""

    def __init__(self, *, fills_up=False):
        super().__init__()
        self.fills_up, self.is_full = fills_up, False

    def _check(self):
        if self.is_full:
            raise OSError("no space left")

    async def aput(self, *args):
        self._check()
        return await super().aput(*args)

    async def aput_writes(self, *args):
        self._check()
        return await super().aput_writes(*args)


def booking(ran, saver):
    """Give an agent that asks to book a place out of 1,200, and the call."""

    def book(place, nights):
        ran.append((place, nights))
        saver.is_full = saver.fills_up
        return "booked"

    tool = StructuredTool.from_function(book, name="book", description="Book.", args_schema=SCHEMA)
    return gated([tool], says(("book", {"place": PLACES[0], "nights": 2})), DONE, saver=saver)


def boom(_state):
    raise ValueError("no such place")


def after_an_error(ran, saver):
    """Give an agent that books, and catches an error of a graph that its tool runs."""
    broken = StateGraph(MessagesState).add_node(boom).add_edge(START, "boom").compile()

    async def book():
        """Book."""
        with suppress(ValueError):
            await broken.ainvoke(GO)
        ran.append("booked")
        saver.is_full = True

    return gated([book], says(("book", {})), DONE, saver=saver)


def inside(ran, saver):
    """Give a graph with such an agent as its node, whose error of the checkpointer ends the node around it too."""
    return in_a_node(booking(ran, saver), saver)


@pytest.mark.parametrize("make", [booking, after_an_error, inside])
async def test_error_of_the_checkpointer_says_which_call_may_have_run(make):
    """Whoever goes on with the thread runs it again."""
    ran = []
    with pytest.raises(OSError, match="no space") as caught:
        await run_thread(make(ran, Disk(fills_up=True)), deciding(book=approve()))

    assert caught.value.__notes__[-1] == "book may have run: look before you go on with the thread"
    assert len(ran) == 1


@pytest.mark.parametrize("make", [booking, after_an_error])
async def test_call_that_ran_in_a_worker_which_could_not_save_it_does_not_run_again(redis_url, caplog, make):
    """The worker leaves the run to an operator."""
    ran, saver = [], Disk(fills_up=True)
    office = ResumableGraph("office", make(ran, saver), version="1")
    async with person(redis_url, ScriptedReviewer([approve()])), an_agent(redis_url) as approvals:
        await office.start(GO, approvals=approvals, config=CONFIG)
        async with working(approvals, office):
            await until(lambda: "run.set_aside" in caplog.messages)

    assert len(ran) == 1


@pytest.mark.parametrize(
    "nights", [2**64, {"from": [-(2**63) - 1]}], ids=["too large", "nested and too small"]
)
async def test_answer_that_langgraph_cannot_save_resumes_nothing(redis_url, nights):
    """The question ends with the reason, and the thread can be asked about again."""
    ran, saver = [], Disk()
    agent = booking(ran, saver)
    answers = [edit({"place": PLACES[1], "nights": nights}), approve()]
    async with person(redis_url, ScriptedReviewer(answers)), an_agent(redis_url) as approvals:
        with pytest.raises(DecisionNotAllowedError, match="LangGraph cannot save it: TypeError"):
            await run_thread(agent, approvals)
        assert (await agent.aget_state(CONFIG)).interrupts
        await run_thread(agent, approvals, None)

    assert ran == [(PLACES[0], 2)]


async def test_edit_that_does_not_fit_a_schema_that_was_left_out_is_asked_again(redis_url):
    """People's form did not have the schema; the agent has it, and the second question says what was wrong."""
    ran, reviewer = (
        [],
        ScriptedReviewer([edit({"place": "Rome", "nights": 2}), edit({"place": PLACES[7], "nights": 1})]),
    )
    async with person(redis_url, reviewer), an_agent(redis_url) as approvals:
        await run_thread(booking(ran, Disk()), approvals)
    memory = deciding(edit({"place": "Rome", "nights": 2}), approve())
    await run_thread(booking([], Disk()), memory)

    assert ran == [(PLACES[7], 1)]
    assert [asked.context.again for asked in memory.asked] == [
        None, "the edited `book` does not fit its tool: $.place: enum",
    ]  # fmt: skip
