"""The gateway between a client and a server of the official package, with people who decide in a real Redis."""

# ruff: noqa: E402  # where mcp 2 is not installed there is nothing to import

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from agent_adapter.contract.numbers import Number
from agent_adapter.testing import ScriptedReviewer, approve, edit, reject, respond
from tests.conftest import an_agent, until
from tests.support.deciding import person, record
from tests.support.faults import eventually
from tests.support.lanes import require_mcp
from tests.support.workers import ids

require_mcp()

from mcp import Client, MCPError
from mcp.server import Server
from mcp.types import ElicitResult

from agent_adapter.mcp import gateway
from agent_adapter.mcp.call import Caller
from agent_adapter.mcp.gateway import Gateway, Rules
from agent_adapter.mcp.upstream import Upstream
from tests.agent_adapter.mcp.places import ORDER, PAID, question, words
from tests.agent_adapter.mcp.shop import PAY, PICTURE, TOOLS, Shop


class Counter:
    """A shop, and gateways before it."""

    def __init__(self, approvals):
        self.approvals = approvals
        self.done = []
        self.shop = Shop(self.done.append)
        self.gateway = None

    @asynccontextmanager
    async def open(self, rules=None, principal="U0NOOR", run="run-1", can_return=True, **options):
        """Connect a client through a gateway of its own."""
        async with Client(self.shop.server, mode="legacy", cache=None) as connected:
            caller = Caller(principal, run, can_return)
            upstream = Upstream("shop", ["shop"])
            upstream._client = asyncio.get_running_loop().create_future()
            upstream._client.set_result(connected)
            self.gateway = own = Gateway(self.approvals, upstream, rules or Rules(), lambda _: caller)
            served = Server("shop", on_list_tools=own.list_tools, on_call_tool=own.call_tool)
            async with Client(served, **{"mode": "legacy", **options}) as client:
                yield client
            await own.aclose()

    async def dropped(self, client, store, number=1):
        """Drop a call once it is asked; give the id of its question."""
        call = asyncio.create_task(client.call_tool("pay", ORDER))
        asked = await question(store, number)
        call.cancel()
        await until(lambda: not self.gateway._calls)
        return asked


@pytest.fixture
async def counter(redis_url):
    async with an_agent(redis_url) as approvals:
        yield Counter(approvals)


# --- What people decide ---------------------------------------------------------------------------------------------


@pytest.mark.cell("MCP gateway", "Approve: runs")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_approved_call_runs_as_it_was_shown(counter, redis_url, mode):
    """For clients of both generations of the protocol. The card names the tool as Claude Code does."""
    reviewer = ScriptedReviewer([approve()])
    async with person(redis_url, reviewer), counter.open(mode=mode) as client:
        result = await client.call_tool("pay", ORDER)

    assert words(result) == "pay: done"
    assert counter.done == [PAID]
    assert [(asked.name, asked.args) for asked in reviewer.asked] == [("mcp__shop__pay", ORDER)]


@pytest.mark.cell("MCP gateway", "Edit: runs edited", "Reject: told", "Respond: told")
@pytest.mark.parametrize(
    ("answer", "text", "is_error", "done"),
    [
        (edit({"order": 8}), "pay: done", False, ['pay {"order": 8}']),
        (edit({"order": Number("1.10")}), "pay: done", False, ['pay {"order": 1.1}']),
        (reject("not today"), "mcp__shop__pay was rejected and did not run: not today", True, []),
        (respond("It is paid."), "It is paid.", False, []),
    ],
)
async def test_a_client_reads_what_people_wrote(counter, redis_url, answer, text, is_error, done):
    """An edit runs as it was edited; nothing else runs."""
    async with person(redis_url, ScriptedReviewer([answer])), counter.open() as client:
        result = await client.call_tool("pay", ORDER)

    assert (words(result), bool(result.is_error), counter.done) == (text, is_error, done)


async def test_an_edit_that_would_run_as_another_number_is_asked_again(counter, redis_url):
    """The libraries of the protocol would round it."""
    answers = ScriptedReviewer([edit({"order": Number("9007199254740993.99")}), approve()])
    async with person(redis_url, answers), counter.open() as client:
        await client.call_tool("pay", ORDER)

    assert (len(answers.asked), counter.done) == (2, [PAID])


async def test_a_question_says_for_whom_it_is_and_what_may_be_decided(counter, store):
    """With the schema of the tool, for the form of an edit. No text stands in for a result whose parts are declared."""
    async with counter.open(Rules(channel="C0OPS", hold=0.01)) as client:
        await client.call_tool("pay", ORDER)
        await client.call_tool("price", ORDER)
        pay, price = [(await counter.approvals.record(id)).interrupt for id in await ids(store)]

    assert (pay.context.requested_by, pay.route.channel) == ("U0NOOR", "C0OPS")
    assert pay.request.review_configs[0].args_schema == PAY.input_schema
    assert pay.request.review_configs[0].allowed_decisions == ("approve", "edit", "reject", "respond")
    assert price.request.review_configs[0].allowed_decisions == ("approve", "edit", "reject")


@pytest.mark.cell("MCP gateway", "Nobody decides: told", "Withdrawn: told")
@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("expired", "pay did not run: nobody decided in time"),
        ("withdrawn", "was withdrawn: not needed"),
        ("refused", "was refused: not needed"),
    ],
)
async def test_a_question_that_ends_without_an_answer_runs_nothing(counter, store, status, said):
    """The client reads how it ended, and the next identical call is asked anew."""
    async with counter.open() as client:
        call = asyncio.create_task(client.call_tool("pay", ORDER))
        asked = await question(store, life=1 if status == "expired" else None)
        reason = "" if status == "expired" else "not needed"

        async def settled():
            return await store.settle(asked, status, reason=reason) == "settled"

        await eventually(settled)
        result = await call
        again = asyncio.create_task(client.call_tool("pay", ORDER))
        await record(store, await question(store, 2), {0: approve()})
        await again

    assert result.is_error
    assert said in words(result)
    assert counter.done == [PAID]


async def test_a_client_that_accepts_every_elicitation_runs_nothing(counter, redis_url):
    """Only people in Slack decide: the gateway asks the client's user nothing."""
    elicited = []

    async def accept(ctx, params):
        elicited.append(params)
        return ElicitResult(action="accept", content={})

    silent = ScriptedReviewer([None])
    async with person(redis_url, silent), counter.open(elicitation_callback=accept) as client:
        call = asyncio.create_task(client.call_tool("pay", ORDER))
        await until(lambda: silent.asked)
        call.cancel()
        await until(lambda: not counter.gateway._calls)

    assert (elicited, counter.done) == ([], [])


# --- What passes through --------------------------------------------------------------------------------------------


async def test_the_tools_are_those_of_the_server(counter):
    """Page by page, as they are."""
    async with counter.open() as client:
        first = await client.list_tools()
        second = await client.list_tools(cursor=first.next_cursor)

    assert [*first.tools, *second.tools] == TOOLS


async def test_results_are_those_of_the_server(counter, redis_url):
    """Pictures, structured content, and results that are errors. Their cards say what came of the calls."""
    people = ScriptedReviewer([approve()] * 4)
    async with person(redis_url, people), counter.open() as client:
        assert (await client.call_tool("paint")).content == [PICTURE]
        assert (await client.call_tool("price", ORDER)).structured_content == {"cents": 5}
        refused = await client.call_tool("refuse")
        with pytest.raises(MCPError) as failed:
            await client.call_tool("fail")

    assert (refused.is_error, words(refused)) == (True, "sold out")
    assert (failed.value.code, failed.value.data) == (-32050, {"until": "9:00"})


async def test_a_card_says_what_came_of_its_call(counter, redis_url, store):
    """Done or failed, in the words of the server; nothing where an answer may be lost, and the next card says that."""
    async with person(redis_url, ScriptedReviewer([approve()] * 4 + [None])), counter.open() as client:
        await client.call_tool("pay", ORDER)
        await client.call_tool("refuse")
        for tool in ("fail", "lose"):
            with pytest.raises(MCPError):
                await client.call_tool(tool)
        *found, lost = [(await counter.approvals.record(id)).outcomes()[0] for id in await ids(store)]
        again = asyncio.create_task(client.call_tool("lose"))
        asked = (await store.load(await question(store, 5))).interrupt
        again.cancel()

    assert [(each.outcome.status, each.outcome.text) for each in found] == [
        ("done", "pay: done"), ("failed", "sold out"), ("failed", "MCPError: the shop is closed"),
    ]  # fmt: skip
    assert lost is None
    assert "nobody knows what became of it" in asked.context.again


async def test_a_server_gets_what_people_saw_and_nothing_else(counter, redis_url):
    """What a client sends beside the arguments is on no card."""
    more = {"meta": {"force": True}, "request_state": "paid"}
    async with person(redis_url, ScriptedReviewer([approve()])), counter.open() as client:
        await client.session.call_tool("pay", ORDER, **more)

    assert counter.done == [PAID]


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (Rules(), ["mcp__shop__look_up", "mcp__shop__pay"]),
        (Rules(allowed=["pay"]), ["mcp__shop__look_up"]),
        (Rules(trusts_read_only=True), ["mcp__shop__pay"]),
    ],
)
async def test_the_operator_says_what_runs_without_a_question(counter, redis_url, rules, asked):
    """What a server says about its own tools counts for nothing without that."""
    reviewer = ScriptedReviewer({"mcp__shop__look_up": reject(), "mcp__shop__pay": reject()})
    async with person(redis_url, reviewer), counter.open(rules) as client:
        await client.call_tool("look_up", ORDER)
        await client.call_tool("pay", ORDER)

    assert [each.name for each in reviewer.asked] == asked
    assert len(counter.done) == 2 - len(asked)


async def test_a_tool_that_the_server_does_not_have_is_not_asked_about(counter, store):
    """And not called."""
    async with counter.open() as client:
        result = await client.call_tool("pya", ORDER)

    assert words(result) == "pya did not run: shop has no tool of this name"
    assert (await ids(store), counter.done) == ([], [])


# --- Calls that are dropped, and calls that come again -----------------------------------------------------------------


async def test_an_open_call_tells_its_client_where_it_waits(counter, store):
    """With progress, so that it does not give up."""
    told = asyncio.Queue()

    async def progress(done, total, message):
        await told.put(message)

    async with counter.open() as client:
        call = asyncio.create_task(client.call_tool("pay", ORDER, progress_callback=progress))
        asked = await question(store)
        assert await told.get() == f"People in Slack decide about {asked}."
        await record(store, asked, {0: approve()})
        await call


@pytest.mark.cell("MCP gateway", "Resumed twice: asked anew")
async def test_a_call_that_was_dropped_runs_when_it_comes_again(counter, store):
    """Approved meanwhile, it waits. It is used up by the first that comes, and the next is asked anew."""
    async with counter.open() as client:
        asked = await counter.dropped(client, store)
        await record(store, asked, {0: approve()})
        assert counter.done == []

        result = await client.call_tool("pay", ORDER)
        assert (words(result), counter.done) == ("pay: done", [PAID])

        await counter.dropped(client, store, 2)
        assert counter.done == [PAID]


async def test_a_call_that_is_held_long_enough_is_answered(counter, store):
    """Its client reads that it should call again."""
    async with counter.open(Rules(hold=0.01)) as client:
        pending = await client.call_tool("pay", ORDER)
        await record(store, await question(store), {0: approve()})
        result = await client.call_tool("pay", ORDER)

    (asked,) = await ids(store)
    assert f"it has not run (request {asked})" in words(pending)
    assert "Call it again with the same arguments" in words(pending)
    assert pending.is_error
    assert (words(result), counter.done) == ("pay: done", [PAID])


async def test_a_client_without_progress_is_answered_before_it_gives_up(counter, store, monkeypatch):
    """One that takes progress waits as long as people may take."""
    monkeypatch.setattr(gateway, "HELD", 0.01)

    async def progress(done, total, message):
        assert message

    async with counter.open() as client:
        call = asyncio.create_task(client.call_tool("pay", ORDER, progress_callback=progress))
        asked = await question(store)
        assert "Still pending" in words(await client.call_tool("pay", ORDER))
        assert not call.done()
        await record(store, asked, {0: approve()})
        assert words(await call) == "pay: done"


async def test_an_approval_that_waited_too_long_is_asked_again(counter, store):
    """The new card says why."""
    async with counter.open(Rules(use_within=timedelta(0))) as client:
        await record(store, await counter.dropped(client, store), {0: approve()})

        asked = await counter.dropped(client, store, 2)

        assert counter.done == []
        again = (await counter.approvals.record(asked)).interrupt.context.again
        assert again == "it was approved, and for too long nobody called it"


async def test_one_approval_is_for_one_of_two_identical_calls(counter, store):
    """Both wait for the same card. One runs, and the other is asked anew."""
    async with counter.open() as client:
        calls = [asyncio.create_task(client.call_tool("pay", ORDER)) for _ in range(2)]
        await until(lambda: len(counter.gateway._calls) == 2)
        await record(store, await question(store), {0: approve()})
        second = await question(store, 2)
        assert counter.done == [PAID]

        await record(store, second, {0: reject("once is enough")})
        texts = sorted([words(await call) for call in calls])

    assert texts == ["mcp__shop__pay was rejected and did not run: once is enough", "pay: done"]
    assert counter.done == [PAID]


@pytest.mark.cell("MCP gateway", "Batch: a card each", "Partly decided: runs")
async def test_calls_of_one_turn_have_a_card_each(counter, store):
    """One that is approved does not wait for the other."""
    async with counter.open() as client:
        first = asyncio.create_task(client.call_tool("pay", ORDER))
        asked = await question(store)
        other = asyncio.create_task(client.call_tool("pay", {"order": 8}))
        await question(store, 2)
        await record(store, asked, {0: approve()})

        assert words(await first) == "pay: done"
        assert (counter.done, other.done()) == ([PAID], False)
        other.cancel()


@pytest.mark.parametrize("other", [{"principal": "U0MIRA"}, {"run": "run-2"}])
async def test_an_approval_is_for_one_principal_and_one_run(counter, store, other):
    """The same call of somebody else, or in another run, is a question of its own."""
    async with counter.open() as client:
        await record(store, await counter.dropped(client, store), {0: approve()})
    async with counter.open(**other) as client:
        await counter.dropped(client, store, 2)

    assert counter.done == []


@pytest.mark.cell("MCP gateway", "Changed: asked anew")
async def test_a_tool_that_changed_is_asked_about_again(counter, store):
    """An approval was for the tool as it was: before the call comes again, or while people decide."""
    async with counter.open() as client:
        await record(store, await counter.dropped(client, store), {0: approve()})
        counter.shop.tools[0] = PAY.model_copy(update={"description": "Pay it twice."})
        call = asyncio.create_task(client.call_tool("pay", ORDER))
        second = await question(store, 2)

        counter.shop.tools[0] = PAY.model_copy(update={"description": "Pay it thrice."})
        await record(store, second, {0: approve()})
        third = await question(store, 3)
        assert counter.done == []
        assert "definition of its tool changed" in (await store.load(third)).interrupt.context.again

        await record(store, third, {0: approve()})
        await call
    assert counter.done == [PAID]


async def test_a_call_that_is_dropped_while_it_runs_is_not_repeated(counter, redis_url, store):
    """Nobody knows what became of it. The next identical call is asked anew, and its card says that."""
    async with person(redis_url, ScriptedReviewer([approve(), None])), counter.open() as client:
        call = asyncio.create_task(client.call_tool("hang"))
        await until(lambda: counter.done)
        call.cancel()
        await until(lambda: not counter.gateway._calls)
        again = asyncio.create_task(client.call_tool("hang"))
        asked = await question(store, 2)
        again.cancel()

    said = (await counter.approvals.record(asked)).interrupt.context.again
    assert "an identical call was approved before, and nobody knows what became of it" in said
    assert counter.done == ["hang {}"]


async def test_an_approval_that_another_process_has_taken_is_asked_again(counter, store):
    """It died with it, and the call may have run."""
    async with counter.open() as client:
        taken = await counter.dropped(client, store)
        await record(store, taken, {0: approve()})
        await counter.approvals.claim(taken, "another", timedelta(milliseconds=1))
        asked = await counter.dropped(client, store, 2)

    said = (await counter.approvals.record(asked)).interrupt.context.again
    assert "nobody knows what became of it" in said
    assert counter.done == []


@pytest.mark.cell("MCP gateway", "Process ended: found again")
async def test_questions_that_nobody_can_find_are_withdrawn_in_the_end(counter, store):
    """Without a run id, the process is the run. With one, another process finds them."""
    async with counter.open(can_return=False) as client:
        first = await counter.dropped(client, store)
    async with counter.open(run="run-2") as client:
        second = await counter.dropped(client, store, 2)

    assert (await store.load(first)).withdraw_asked
    assert not (await store.load(second)).withdraw_asked
    await record(store, second, {0: approve()})
    async with counter.open(run="run-2") as client:
        assert words(await client.call_tool("pay", ORDER)) == "pay: done"
