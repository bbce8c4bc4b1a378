"""What LangGraph cannot save: an answer that it could not keep resumes nothing, and a call that has run does not run again."""

from itertools import product

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.errors import CutOffError, DecisionNotAllowedError
from agent_adapter.testing import ScriptedReviewer, approve, edit
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, run_thread
from tests.conftest import an_agent, until
from tests.support.deciding import deciding, person
from tests.support.scripted_model import ScriptedModel, says
from tests.support.workers import working

PLACES = [f"place-{number:04}-{'x' * 30}" for number in range(1200)]
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "enum": PLACES}, "nights": {}},
    "required": ["place", "nights"],
}


class Disk(InMemorySaver):
    """Keeps a thread until it is full, which happens while the first tool runs."""

    def __init__(self, refuses=()):
        super().__init__()
        self.refuses, self.is_full, self.fails_at = refuses, False, None

    def _check(self, what):
        if self.is_full and what in self.refuses:
            raise OSError(f"no space left: {what}")

    async def aput(self, config, checkpoint, metadata, *args):
        self._check("checkpoints")
        if metadata["step"] == self.fails_at:
            self.fails_at = None
            raise OSError("the disk was away")
        return await super().aput(config, checkpoint, metadata, *args)

    async def aput_writes(self, *args):
        self._check("writes")
        return await super().aput_writes(*args)

    async def aget_tuple(self, *args):
        self._check("reads")
        return await super().aget_tuple(*args)


def booking(ran, saver, mode="batched"):
    """Give an agent that asks to book a place out of 1,200, and the call."""

    def book(place, nights):
        ran.append((place, nights))
        saver.is_full = True
        return "booked"

    tool = StructuredTool.from_function(book, name="book", description="Book.", args_schema=SCHEMA)
    turn = says(("book", {"place": PLACES[0], "nights": 2}))
    review = HumanInTheLoopMiddleware({"book": True}, interrupt_mode=mode)
    return create_agent(ScriptedModel(turns=[turn, DONE]), [tool], middleware=[review], checkpointer=saver)


@pytest.mark.parametrize(
    ("refuses", "durability", "mode"),
    [
        *product(
            [{"writes", "checkpoints"}, {"writes", "checkpoints", "reads"}],
            ["sync", "async", "exit"],
            ["batched", "per_call"],
        )
    ],
)
async def test_call_whose_result_could_not_be_saved_does_not_run_again(refuses, durability, mode):
    """Each later run stops and says that it has run, until somebody has changed the thread."""
    ran, saver = [], Disk(refuses)
    agent, approvals = booking(ran, saver, mode), deciding(book=approve())
    options = {"durability": durability}

    with pytest.raises(CutOffError, match="book has run"):
        await run_thread(agent, approvals, options=options)
    saver.is_full = False
    for _ in range(2):
        with pytest.raises(CutOffError, match="book has run"):
            await run_thread(agent, approvals, None, options=options)
    await run_thread(agent, approvals, {"messages": [("user", "thanks")]}, options=options)

    assert len(ran) == 1


@pytest.mark.parametrize("refuses", ["writes", "checkpoints"])
async def test_run_goes_on_where_the_result_was_saved_in_one_of_two_places(refuses):
    """The checkpointer failed, and the thread has the result: nothing runs twice, and nobody is kept waiting."""
    ran, saver = [], Disk({refuses})
    agent, approvals = booking(ran, saver), deciding(book=approve())
    with pytest.raises(OSError, match=refuses):
        await run_thread(agent, approvals)
    saver.is_full = False

    result = await run_thread(agent, approvals, None)

    assert (len(ran), result["messages"][-1].content) == (1, "done")


async def test_call_that_ran_beside_a_failing_save_does_not_run_again():
    """LangGraph saves what people answered while the tool runs already, and then has lost both."""
    ran, saver = [], Disk()
    saver.fails_at = 2
    agent, approvals = booking(ran, saver), deciding(book=approve())

    for input in (GO, None, None):
        with pytest.raises(CutOffError, match="book has run"):
            await run_thread(agent, approvals, input, options={"durability": "async"})

    assert len(ran) == 1


async def test_call_that_runs_after_a_crash_and_cannot_be_saved_runs_once():
    """Nothing of the decision is known any more, so the tool has no key; it does not run again and again."""
    ran, saver = [], Disk({"writes", "checkpoints"})
    agent, approvals = booking(ran, saver), deciding(book=approve())
    await agent.ainvoke(GO, CONFIG)
    await agent.aupdate_state(CONFIG, None, as_node="HumanInTheLoopMiddleware.after_model")

    for _ in range(2):
        with pytest.raises(CutOffError, match="book has run"):
            await run_thread(agent, approvals, None)

    assert len(ran) == 1


async def test_another_process_knows_that_the_call_has_run(redis_url):
    """The note is in Redis, beside the right to run the thread. It outlives who has looked at it, and could not read the thread."""
    ran, saver = [], Disk({"writes", "checkpoints"})
    agent = booking(ran, saver)
    async with person(redis_url, ScriptedReviewer([approve()])):
        for input, fails in ((GO, CutOffError), (None, OSError), (None, CutOffError)):
            async with an_agent(redis_url) as approvals:
                with pytest.raises(fails, match="book has run" if fails is CutOffError else "reads"):
                    await run_thread(agent, approvals, input)
            saver.refuses, saver.is_full = {"reads"}, input is GO

    assert len(ran) == 1


async def test_call_that_ran_in_a_worker_which_could_not_save_it_does_not_run_again(redis_url, caplog):
    """The worker sets the run aside; a plain run of the same thread knows it, and stops."""
    ran, saver = [], Disk({"writes", "checkpoints"})
    agent = booking(ran, saver)
    office = ResumableGraph("office", agent, version="1")
    async with person(redis_url, ScriptedReviewer([approve()])), an_agent(redis_url) as approvals:
        await office.start(GO, approvals=approvals, config=CONFIG)
        async with working(approvals, office):
            await until(lambda: "run.set_aside" in caplog.messages)
        saver.is_full = False
        with pytest.raises(CutOffError, match="book has run"):
            await run_thread(agent, approvals, None)

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
