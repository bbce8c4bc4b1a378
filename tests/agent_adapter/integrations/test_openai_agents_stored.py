"""Runs of the OpenAI Agents SDK that pause in one process and go on in another."""

import asyncio
import json

import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel

from agent_adapter.errors import ConflictError, ConsumedError, InvalidRequestError
from agent_adapter.integrations.openai_agents import PausedRun, editable, run
from agent_adapter.testing import approve
from tests.agent_adapter.integrations.desk import DONE, Desk, at, resumed, says
from tests.support.deciding import deciding

CANCEL = ("cancel_order", {"order": 7, "reason": "late"})
AGAIN = says(("cancel_order", {"order": 8, "reason": "x"}), first_call=2)


async def stored(agent, **options):
    """Run an agent to its first pause and give what another process gets."""
    return PausedRun.of(agent, await Runner.run(agent, "go"), **options).dump()


async def test_every_pause_of_a_stored_run_keeps_its_identity():
    """The run's id, its turn and what may be decided for good travel with it."""
    desk = Desk()
    approvals = deciding(approve(), approve())
    text = await stored(desk.agent(says(CANCEL)), allow_always=["cancel_order"])
    agent = desk.agent(AGAIN, DONE)

    first = (await PausedRun.load(agent, text)).interrupt(approvals)
    _, paused = await resumed(await PausedRun.load(agent, text), approvals)
    second = (await PausedRun.load(agent, paused.dump())).interrupt(approvals)

    assert first.run == second.run
    assert first.id != second.id
    assert (first.pauses, second.pauses) == (("1/Support/call_1",), ("2/Support/call_2",))
    assert second.request.review_configs[0].allow_always


def torn(text, **changes):
    """Give a stored run with these parts changed, or taken out."""
    value = {**json.loads(text), **changes}
    return json.dumps({name: part for name, part in value.items() if part is not None})


@pytest.mark.parametrize(
    ("change", "agent", "says_what"),
    [
        (lambda text: "hello", {}, "not JSON"),
        (lambda text: '{"a": 1}', {}, "this is not a paused run of version 1"),
        (lambda text: torn(text, run=None), {}, "cannot be resumed"),
        (lambda text: torn(text, state={**at(text, "state"), "$schemaVersion": "9.9"}), {}, "schema version is not"),
        (lambda text: text, {"name": "Helpdesk"},
         "agent 'Support' stored by openai-agents .* cannot be resumed with agent 'Helpdesk'"),
    ],
    ids=["no JSON", "another text", "a part is missing", "a newer schema", "another agent"],
)  # fmt: skip
async def test_what_cannot_be_resumed_says_so_before_anything_runs(change, agent, says_what):
    """A damaged text is no reason to guess, and what was approved has to be there."""
    text = change(await stored(Desk().agent(says(CANCEL))))
    loading = Agent(**{"name": "Support", "model": ScriptedModel([DONE]), "tools": Desk().tools, **agent})

    with pytest.raises(InvalidRequestError, match=says_what):
        await PausedRun.load(loading, text)


async def test_a_call_whose_tool_has_changed_is_refused():
    """It is another one, with what the tool takes now: the question of before stands."""
    desk, approvals = Desk(), deciding(approve())
    text = await stored(desk.agent(says(CANCEL)))
    agent = desk.agent(DONE)
    await approvals.publish((await PausedRun.load(agent, text)).interrupt(approvals))

    @editable
    @function_tool(needs_approval=True)
    def cancel_order(order: int, reason: str, refund: bool = False) -> str:
        desk.ran.append("newer")
        return "cancelled"

    agent = Agent(name="Support", model=ScriptedModel([DONE]), tools=[cancel_order])
    with pytest.raises(ConflictError, match="published with a different action"):
        await run(agent, await PausedRun.load(agent, text), approvals=approvals)

    assert desk.ran == []


class TestEndings:
    """What becomes of the question when the resumed run does not end well."""

    async def test_a_run_that_fails_has_used_its_answer(self):
        """Its tool may have run, so it is not run again with the same approval."""
        desk, approvals = Desk(), deciding(approve())

        @function_tool(needs_approval=True, failure_error_function=None)
        def break_down() -> str:
            desk.ran.append("break_down")
            raise RuntimeError("boom")

        agent = desk.agent(says(("break_down", {})), DONE, more=[break_down])
        paused = PausedRun.of(agent, await Runner.run(agent, "go"))
        text = paused.dump()

        with pytest.raises(Exception, match="boom"):
            await run(agent, paused, approvals=approvals)
        with pytest.raises(ConsumedError):
            await run(agent, await PausedRun.load(agent, text), approvals=approvals)

        assert desk.ran == ["break_down"]

    async def test_a_cancelled_run_gives_its_answer_back(self):
        """As when its process is killed: whoever resumes it does so with the same decision."""
        desk, approvals = Desk(), deciding(approve())
        started = asyncio.Event()

        @function_tool(needs_approval=True)
        async def think() -> str:
            started.set()
            await asyncio.Event().wait()
            return "thought"

        agent = desk.agent(says(("think", {})), DONE, more=[think])
        paused = PausedRun.of(agent, await Runner.run(agent, "go"))
        interrupt = paused.interrupt(approvals)
        running = asyncio.create_task(run(agent, paused, approvals=approvals))
        await started.wait()
        running.cancel()
        await asyncio.wait([running])

        async with approvals.reviewing(interrupt) as resume:
            assert resume.decisions == (approve(),)
