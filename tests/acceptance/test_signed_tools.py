"""A tool that checks by itself runs what people approved in Slack, and nothing that somebody wrote into Redis."""

import asyncio
import importlib.util
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter import Context, approval_key, approval_receipt, requires_receipt
from agent_adapter.integrations import functions, langgraph
from agent_adapter.receipts.used import SqliteUsed
from tests.support.scripted_model import ScriptedModel, says

VERIFIER = Path(__file__).parents[2] / "verifiers/assent_verify.py"
NOOR = Context(requested_by="U0NOOR")


def verifier():
    spec = importlib.util.spec_from_file_location("assent_verify", VERIFIER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def used(tmp_path):
    with SqliteUsed(tmp_path / "used.db") as store:
        yield store


@pytest.fixture
def guard(signing, used):
    return requires_receipt(keys=signing.ring_path, audience="billing", used=used)


async def test_tools_of_a_graph_run_what_was_approved_in_slack(start_bot, client, dana, guard):
    await start_bot()
    ran = []

    @guard
    def pay(to: str, amount: int = 5) -> str:
        """Pay."""
        ran.append((to, amount, approval_key()[-2:]))
        return "paid"

    agent = create_agent(
        ScriptedModel(turns=[says(("pay", {"to": "al"}), ("pay", {"to": "bo"})), says(text="done")]), [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})], checkpointer=InMemorySaver(),
    )  # fmt: skip
    go, config = {"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}}
    running = asyncio.create_task(langgraph.run(agent, go, approvals=client, config=config, context=NOOR))
    card = await dana.card("rejected at")
    await dana.press(card, "approve_all:0")
    await running

    assert sorted(ran) == [("al", 5, ":0"), ("bo", 5, ":1")]


async def test_the_verifier_in_one_file_says_who_approved_a_real_call(
    start_bot, client, signing, dana, guard
):
    """What the bot signed is proven without anything of Assent."""
    await start_bot()
    given = {}

    @guard
    async def pay(to: str) -> None:
        given["receipt"] = approval_receipt()

    calling = asyncio.create_task(functions.run(pay, {"to": "ål"}, approvals=client, context=NOOR))
    await dana.press(await dana.card("rejected at"), "approve:0")
    await calling

    proof = verifier().verify(
        signing.ring_path.read_text(),
        given["receipt"].dump(),
        audience="billing",
        tool="pay",
        args='{"to":"ål"}'.encode(),
    )
    assert (proof["people"], proof["kind"], proof["how"]) == (["U0DANA"], "approve", "click")
