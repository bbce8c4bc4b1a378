"""What a tool is told about the decided call that it runs for."""

import asyncio

import pytest

from agent_adapter import approval_key, approval_receipt, requires_receipt
from agent_adapter.integrations import functions
from agent_adapter.testing import approve, edit, reject
from tests.agent_adapter.integrations.office import DONE, gated, run_thread, with_subagent
from tests.support.deciding import deciding
from tests.support.scripted_model import says


class Keys:
    """Tools that write down their keys. Those that are gated run with the receipt of their own call, and only then."""

    def __init__(self, approvals):
        self.seen = []
        self.guard = requires_receipt(keys=approvals.ring, audience="test")

    @property
    def tools(self):
        @self.guard
        def pay(to: str) -> str:
            """Pay."""
            self.seen.append((to, approval_key()))
            return "paid"

        @self.guard
        async def send(to: str) -> str:
            """Send."""
            await asyncio.sleep(0)
            self.seen.append((to, approval_key()))
            return "sent"

        def look(to: str) -> str:
            """Look."""
            self.seen.append((to, approval_key()))
            return "seen"

        return [pay, send, look]

    def positions(self):
        return {to: key and key.rpartition(":")[2] for to, key in self.seen}


TURN = says(
    ("look", {"to": "x"}),
    ("pay", {"to": "al"}),
    ("send", {"to": "bo"}),
    ("pay", {"to": "cy"}),
    ("pay", {"to": "di"}),
)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_each_tool_of_a_graph_knows_its_call(mode):
    """Synchronous and asynchronous tools, edited calls too; what nobody was asked about has no key, nor has anything after."""
    approvals = deciding(approve(), edit({"to": "bob"}), reject("no"), approve())
    keys = Keys(approvals)
    turns = [TURN, says(("look", {"to": "y"})), DONE]

    await run_thread(
        gated(keys.tools, *turns, interrupt_on={"pay": True, "send": True}, mode=mode), approvals
    )

    assert keys.positions() == {"x": None, "al": "0", "bob": "1", "di": "3", "y": None}
    assert len({key.rpartition(":")[0] for _, key in keys.seen if key}) == 1
    assert approval_key() is None


async def test_parallel_subagents_that_use_the_same_call_ids_have_keys_of_their_own():
    """Two subagents call the same tool with the same arguments under the same id at the same time."""
    approvals = deciding(pay=approve())
    keys = Keys(approvals)
    pays = says(("pay", {"to": "al"}))

    await run_thread(with_subagent(keys.tools, pays, DONE, tasks=2, interrupt_on={"pay": True}), approvals)

    assert sorted(key.rpartition(":")[2] for _, key in keys.seen) == ["0", "1"]


async def test_a_receipt_goes_on_to_a_tool_in_another_process():
    """A tool that calls a server passes the receipt of its own call on."""

    async def send(to: str) -> str:
        receipt = approval_receipt()
        sent.update(receipt.meta(), header=receipt.header())
        return receipt.args

    sent, approvals = {}, deciding(approve())
    assert approvals.ring  # so that it signs
    assert await functions.run(send, {"to": "al"}, approvals=approvals) == '{"to":"al"}'
    assert set(sent) == {"io.assent/receipt", "header"}
